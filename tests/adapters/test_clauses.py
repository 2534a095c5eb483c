"""Cutting utterances into what is spoken at once."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.adapters.tts.clauses import FIRST_WORDS, LATER_WORDS, chunks, phrases

LONG = "The bowl was thrown on a wheel and then painted with a brush made of squirrel hair before it was fired."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes, it is. Is it?", [("Yes,", ","), ("it is.", "."), ("Is it?", "?")]),
        ("It is 3.5 cm tall.", [("It is 3.5 cm tall.", ".")]),
        ("Dr. Smith says so.", [("Dr. Smith says so.", ".")]),
        ("Made c. 1500 — “yes”.", [("Made c. 1500 —", ","), ("“yes”.", ".")]),
        ("One\ntwo", [("One", "."), ("two", "")]),
        ("…", []),
    ],
)
def test_phrases_end_at_punctuation(text, expected):
    assert expected == [(phrase.text, phrase.mark) for phrase in phrases(text)]


def test_the_first_chunk_is_short():
    first, *rest = chunks(LONG)

    assert len(first[0].text.split()) <= FIRST_WORDS + 2
    assert rest


@given(st.text(alphabet=st.sampled_from("ab and. ,!?\n—é3"), max_size=400))
def test_every_word_is_spoken_once_in_order(text):
    pieces = [clause for chunk in chunks(text) for clause in chunk]

    assert re.findall(r"\w+", text) == [word for piece in pieces for word in re.findall(r"\w+", piece.text)]
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)
    assert all(a.end <= b.start for a, b in itertools.pairwise(pieces))
    assert all(sum(len(piece.text.split()) for piece in chunk) <= LATER_WORDS for chunk in chunks(text))
