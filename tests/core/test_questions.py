"""Reading a question's words: folding, intents, topics, label numbers, misspelt words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.intents import Intent, intent
from wayside.core.questions import content_words, fold, label_number, stem
from wayside.core.spelling import Spelling
from wayside.core.topics import topics

LANGUAGES = st.sampled_from(["en", "es", "en-GB", "de", ""])


@pytest.mark.parametrize(
    ("text", "folded"),
    [("¿Quién LO pintó?", "quien lo pinto"), ("  a\x00b — c ", "a b c"), ("Jōmon", "jomon"), ("🏺", ""), ("", "")],
)
def test_folding_leaves_bare_words(text: str, folded: str):
    assert folded == fold(text)


@given(st.text(max_size=500), LANGUAGES)
def test_any_text_in_any_language_can_be_read(text: str, language: str):
    intent(text, language)
    topics(text, language)
    content_words(text, language)
    label_number(text, language)
    words = fold(text).split()

    assert all(word.isalnum() for word in words)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [("vases", "vase", "en"), ("shields", "shield", "en"), ("escudos", "escudo", "es"), ("flautas", "flauta", "es")],
)
def test_plurals_share_a_stem(one: str, other: str, language: str):
    assert stem(one, language) == stem(other, language)


@pytest.mark.parametrize(
    ("question", "language", "number"),
    [
        ("number three", "en", "3"),
        ("exhibit 12 please", "en", "12"),
        ("what is number seven", "en", "7"),
        ("el número tres", "es", "3"),
        ("pieza 14", "es", "14"),
        ("who are the two men", "en", None),
        ("son dos hombres", "es", None),
        ("number three", "de", None),
    ],
)
def test_label_numbers_are_read_where_a_label_is_meant(question: str, language: str, number: str | None):
    assert number == label_number(question, language)


@pytest.mark.parametrize(
    ("question", "language", "kind"),
    [
        ("stop", "en", Intent.STOP),
        ("yes please", "en", Intent.MORE),
        ("please slow down", "en", Intent.SLOWER),
        ("how much did it cost", "en", Intent.PRICE),
        ("someone has collapsed", "en", Intent.DANGER),
        ("basta", "es", Intent.STOP),
        ("sí, por favor", "es", Intent.MORE),
        ("más despacio", "es", Intent.SLOWER),
        ("¿cuánto cuesta?", "es", Intent.PRICE),
        ("no puedo respirar", "es", Intent.DANGER),
        ("who stopped the fight", "en", None),
        ("who made this", "en", None),
        ("¿para qué servía?", "es", None),
        ("hello", "de", None),
    ],
)
def test_talk_is_told_from_questions(question: str, language: str, kind: Intent | None):
    assert kind is intent(question, language)


@pytest.mark.parametrize(
    ("question", "language", "topic"),
    [
        ("who made this", "en", "maker"),
        ("how old is it", "en", "date"),
        ("where was it dug up", "en", "found"),
        ("what was it for", "en", "use"),
        ("¿quién lo pintó?", "es", "maker"),
        ("¿cuántos años tiene?", "es", "date"),
        ("¿dónde se encontró?", "es", "found"),
        ("¿para qué servía?", "es", "use"),
    ],
)
def test_the_topic_asked_for_comes_first(question: str, language: str, topic: str):
    assert topic == topics(question, language)[0]


@pytest.mark.parametrize(
    ("heard", "repaired"),
    [
        ("amphra", "amphora"),
        ("amhpora", "amphora"),
        ("ammphora", "amphora"),
        ("amphora", "amphora"),
        ("kettle", "kettle"),
    ],
)
def test_one_slip_is_repaired_and_nothing_else(heard: str, repaired: str):
    assert repaired == Spelling(["amphora", "cup"]).repaired(heard)


def test_a_word_between_two_known_words_is_left_alone():
    assert "bost" == Spelling(["boat", "boot"]).repaired("bost")


@given(st.text(max_size=200))
def test_repairing_keeps_the_number_of_words(text: str):
    folded = fold(text)

    assert len(folded.split()) == len(Spelling(["amphora", "krater"]).repaired(folded).split())
