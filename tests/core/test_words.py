"""Which heard words count."""

import pytest
from wayside.core.words import is_acknowledgement, reads_complete, trails_off, visible_text, words


@pytest.mark.parametrize("text", ["Mm-hm.", "Okay!", "yeah, right", "uh huh"])
def test_english_acknowledgements(text: str):
    assert is_acknowledgement(text, "en-GB")


@pytest.mark.parametrize("text", ["Sí, sí.", "Vale", "ajá"])
def test_spanish_acknowledgements(text: str):
    assert is_acknowledgement(text, "es")


@pytest.mark.parametrize("text", ["", "...", "wait", "okay but who made it", "[Music]"])
def test_other_words_and_no_words_are_not_acknowledgements(text: str):
    assert not is_acknowledgement(text, "en")


def test_a_language_without_a_list_has_no_acknowledgements():
    assert not is_acknowledgement("okay", "ja")


def test_stage_directions_and_punctuation_are_not_words():
    assert () == words("[MUSIC] (applause) ♪♪ ... *sighs*")


def test_hesitations_announce_more():
    assert trails_off("Who painted the", "en")
    assert trails_off("Who painted …", "en")
    assert not trails_off("Who broke the vase,", "en")
    assert trails_off("quién pintó el", "es")
    assert not trails_off("Who painted it?", "en")


def test_a_finished_question_reads_complete():
    assert reads_complete("Who painted it?")
    assert not reads_complete("Who.")


def test_invisible_characters_are_stripped_from_typed_text():
    assert "who made it" == visible_text("who\u200b\u202e made\U000e0041\n it", 500).replace("who  ", "who ")
