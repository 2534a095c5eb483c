import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.intents import Intent, intent
from wayside.core.questions import content_words, fold, label_number, likeness, points, shape, stems, without_label
from wayside.core.spelling import Spelling
from wayside.core.topics import topics


@pytest.mark.parametrize(
    ("language", "said", "meant"),
    [
        ("en", "Hello!", Intent.GREETING),
        ("en", "Can you say that again, please?", Intent.REPEAT),
        ("en", "could you speak more slowly", Intent.SLOWER),
        ("en", "Are you a robot?", Intent.WHO_ARE_YOU),
        ("en", "What can I ask?", Intent.HELP),
        ("en", "thank you very much", Intent.THANKS),
        ("en", "bye bye", Intent.GOODBYE),
        ("en", "tell me a joke", Intent.JOKE),
        ("en", "how are you", Intent.SMALL_TALK),
        ("en", "you are stupid", Intent.ABUSE),
        ("en", "I want to kill myself", Intent.DANGER),
        ("en", "I can't find my mum", Intent.DANGER),
        ("en", "How much is it insured for?", Intent.PRICE),
        ("en", "how could I steal this cup", Intent.PRICE),
        ("en", "Where are the toilets?", Intent.STAFF),
        ("en", "what time do you close", Intent.STAFF),
        ("en", "yes please", Intent.MORE),
        ("en", "no thanks", Intent.NO),
        ("en", "stop", Intent.STOP),
        ("es", "¡Hola!", Intent.GREETING),
        ("es", "¿puede repetirlo?", Intent.REPEAT),
        ("es", "más despacio", Intent.SLOWER),
        ("es", "¿Quién eres?", Intent.WHO_ARE_YOU),
        ("es", "ayuda", Intent.HELP),
        ("es", "muchas gracias", Intent.THANKS),
        ("es", "adiós", Intent.GOODBYE),
        ("es", "cuéntame un chiste", Intent.JOKE),
        ("es", "¿qué tal?", Intent.SMALL_TALK),
        ("es", "eres tonto", Intent.ABUSE),
        ("es", "no encuentro a mi hijo", Intent.DANGER),
        ("es", "¿cuánto vale?", Intent.PRICE),
        ("es", "¿cómo podría robarla?", Intent.PRICE),
        ("es", "¿a qué hora cierran?", Intent.STAFF),
        ("es", "sí, por favor", Intent.MORE),
        ("es", "no, gracias", Intent.NO),
        ("es", "para", Intent.STOP),
    ],
)
def test_talk_is_told_from_questions(language: str, said: str, meant: Intent) -> None:
    assert intent(said, language) is meant


@pytest.mark.parametrize(
    ("language", "asked"),
    [
        ("en", "who made this"),
        ("en", "did New York have to give it back"),
        ("en", "was it stolen"),
        ("en", "is that supposed to be fire"),
        ("en", "why is it so famous"),
        ("es", "¿de quién es esa cara?"),
        ("es", "¿para qué servía?"),
        ("es", "¿es verdad que lo robaron?"),
        ("fr", "bonjour"),
    ],
)
def test_questions_about_objects_are_no_talk(language: str, asked: str) -> None:
    assert intent(asked, language) is None


@pytest.mark.parametrize(
    ("language", "asked", "topic"),
    [
        ("en", "who made this", "maker"),
        ("en", "which artist painted this vase", "maker"),
        ("en", "how old is it", "date"),
        ("en", "is it really old", "date"),
        ("en", "how did they make the black bits", "made"),
        ("en", "what was it used for", "use"),
        ("en", "where did they dig it up", "found"),
        ("en", "which museum is it in", "today"),
        ("en", "who are those two soldiers", "scene"),
        ("en", "how tall is it", "size"),
        ("en", "what is this", "what"),
        ("es", "¿quién la hizo?", "maker"),
        ("es", "¿cuántos años tiene?", "date"),
        ("es", "¿cómo se hizo?", "made"),
        ("es", "¿para qué servía?", "use"),
        ("es", "¿dónde se encontró?", "found"),
        ("es", "¿dónde está ahora?", "today"),
        ("es", "¿quiénes son esos dos soldados?", "scene"),
        ("es", "¿cuánto mide?", "size"),
    ],
)
def test_question_words_name_the_topic(language: str, asked: str, topic: str) -> None:
    assert topics(asked, language)[0] == topic


def test_height_of_a_person_is_no_topic() -> None:
    assert "size" not in topics("how tall was he in real life", "en")


@pytest.mark.parametrize(
    ("language", "said", "number"),
    [
        ("en", "number three", "3"),
        ("en", "what is number 12", "12"),
        ("en", "four", "4"),
        ("en", "exhibit 007", "7"),
        ("es", "el tres", "3"),
        ("es", "¿qué es la pieza número 11?", "11"),
        ("en", "who are the two men", None),
        ("fr", "le trois", None),
    ],
)
def test_label_numbers_are_heard(language: str, said: str, number: str | None) -> None:
    assert label_number(said, language) == number


def test_label_number_leaves_the_rest_of_the_question() -> None:
    assert without_label("Who made number three?", "en") == "who made"


def test_pointing_words_mean_what_stands_in_front() -> None:
    assert points("who made this?", "en")
    assert not points("who made the Portland Vase?", "en")


def test_words_that_only_ask_carry_no_content() -> None:
    assert content_words("Can you tell me what this vase is?", "en") == ()


def test_forms_of_a_word_share_a_stem() -> None:
    assert set(stems("break broke broken smashed", "en")) == set(stems("broken", "en"))
    assert set(stems("rompió romper roto", "es")) == set(stems("roto", "es"))


def test_likeness_is_one_for_the_same_question_and_less_for_another() -> None:
    one = shape("How many figures are there?", "en")

    assert likeness(one, shape("how many figures are there", "en")) == pytest.approx(1.0)
    assert likeness(one, shape("Where was it found?", "en")) < 0.2


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("licurgus", "lycurgus"),
        ("sodliers", "soldiers"),
        ("soldirs", "soldiers"),
        ("solddiers", "soldiers"),
        ("oprtland", "portland"),
        ("weather", "weather"),  # not "feather"
        ("wife", "wife"),  # not "wine"
        ("stoe", "stoe"),  # "stone" or "store"
        ("the", "the"),
    ],
)
def test_one_slip_is_repaired_where_one_word_is_near(heard: str, meant: str) -> None:
    spelling = Spelling(["lycurgus", "soldiers", "portland", "feather", "wine", "stone", "store"])

    assert spelling.repaired(heard) == meant


def test_likely_words_win_among_equally_near_ones() -> None:
    assert Spelling(["stone", "store"]).repaired("stoe", frozenset(["stone"])) == "stone"


@given(st.text(max_size=120), st.sampled_from(["en", "es", "fr", "pt-BR", ""]))
def test_no_text_is_too_strange_to_read(text: str, language: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert isinstance(topics(text, language), tuple)
    assert intent(text, language) is None or isinstance(intent(text, language), Intent)
    assert label_number(text, language) is None or str(label_number(text, language)).isdigit()
    assert all(content_words(text, language))
