"""Cutting text into utterances and captions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.sentences import CAPTION_CHARS, MAX_UTTERANCE_CHARS, cut, spans


@pytest.mark.parametrize(
    ("text", "pieces", "rest"),
    [
        ("It is a krater.", ("It is a krater.",), ""),
        ("It is a krater. It", ("It is a krater. ",), "It"),
        ("Ask Mr.", (), "Ask Mr."),
        ("Ask Mr. Beazley about it.", ("Ask Mr. Beazley about it.",), ""),
        ("See number 3.", (), "See number 3."),
        ("It is 3.5 metres tall.", ("It is 3.5 metres tall.",), ""),
        ("J. D. Beazley named it.", ("J. D. Beazley named it.",), ""),
        ("Really? Yes!", ("Really? ", "Yes!"), ""),
        ("«¿Quién ganó?» Aquiles.", ("«¿Quién ganó?» ", "Aquiles."), ""),
        ("An unfinished", (), "An unfinished"),
    ],
)
def test_only_clearly_finished_sentences_are_cut(text: str, pieces: tuple[str, ...], rest: str):
    assert (pieces, rest) == cut(text, final=False)


def test_the_last_sentence_is_cut_when_no_more_text_comes():
    assert (("See number 3.",), "") == cut("See number 3.", final=True)


@given(st.text(max_size=900), st.booleans())
def test_nothing_is_lost_or_invented(text: str, final: bool):
    pieces, rest = cut(text, final=final)

    joined = "".join(pieces) + rest
    assert joined == text or (final and joined.strip() == "" == text.strip())


@given(st.text(max_size=2000))
def test_utterances_are_bounded(text: str):
    pieces, rest = cut(text, final=True)

    assert all(
        len(p.rstrip()) <= MAX_UTTERANCE_CHARS or "." in p or "!" in p or "?" in p or "…" in p or "。" in p
        for p in pieces
    )
    assert rest == "" or not rest.strip()


@given(st.text(alphabet="abc ,.é—", max_size=600))
def test_caption_phrases_cover_the_text_in_order_and_fit_two_lines(text: str):
    found = spans(text)

    assert all(0 < end - start <= CAPTION_CHARS for start, end in found)
    assert "".join(text.split()) == "".join("".join(text[a:b].split()) for a, b in found)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
