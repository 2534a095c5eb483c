import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wayside.adapters.llm.curator import Curator
from wayside.adapters.llm.evaluate import Evaluation, Outcome, as_heard, evaluate
from wayside.core.content import Pack
from wayside.core.runs.events import (
    AssistantOutput,
    Completed,
    Decision,
    DriverEvent,
    OfferChoices,
    ShowExhibit,
    ShowSources,
)
from wayside.ports.language_model import DialogueContext, HistoryItem
from wayside.releases.check import Report, check_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index
from wayside.wire.pack import QuestionCase

POTTERY = Path(__file__).parents[2] / "assets" / "packs" / "pottery"
CHARS_PER_SECOND = 15


class Reply:
    """One whole answer."""

    def __init__(self, events: list[DriverEvent]) -> None:
        self.deltas = [e.delta for e in events if isinstance(e, AssistantOutput)]
        self.text = "".join(self.deltas)
        self.completed = isinstance(events[-1], Completed)
        decision = next((e for e in events if isinstance(e, Decision)), Decision())
        self.refused = decision.refused
        shown = decision.screen
        self.passages = tuple(p for i in shown if isinstance(i, ShowSources) for p in i.passages)
        self.sources = tuple(s.id for i in shown if isinstance(i, ShowSources) for s in i.sources)
        self.exhibit = next((i.exhibit for i in shown if isinstance(i, ShowExhibit)), None)
        self.choices = next((i.choices for i in shown if isinstance(i, OfferChoices)), ())


class Visit:
    """Asks one question after another; everything said is delivered."""

    def __init__(self, curator: Curator, language: str = "en", exhibit: str | None = None) -> None:
        self._curator = curator
        self.context = DialogueContext("run", language, "", exhibit, ())

    def ask(self, question: str, delivered: int | None = None) -> Reply:
        context = replace(self.context, question=question, variety=self.context.variety + 1)

        async def collect() -> list[DriverEvent]:
            return [event async for event in self._curator.reply(context)]

        reply = Reply(asyncio.run(collect()))
        heard = reply.text if delivered is None else reply.text[:delivered]
        history = (*context.history, HistoryItem("visitor", question), HistoryItem("guide", heard, reply.passages))
        self.context = replace(context, history=history, exhibit=reply.exhibit or context.exhibit)
        return reply


@pytest.fixture(scope="module")
def report() -> Report:
    return check_pack(POTTERY, build_index)


@pytest.fixture(scope="module")
def pack(report: Report) -> Pack:
    assert report.pack is not None
    return report.pack


@pytest.fixture(scope="module")
def curator(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    build_index(path, pack.exhibits, pack.passages)
    index = SqlitePassageIndex(path)
    yield Curator(pack, index)
    index.close()


def test_answer_is_the_approved_text_with_its_sources(curator: Curator, pack: Pack) -> None:
    reply = Visit(curator, exhibit="exekias-amphora").ask("who painted this?")
    approved = next(p for p in pack.passages if p.id == "exekias-amphora#maker" and p.language == "en")

    assert reply.text.startswith(approved.text)
    assert reply.passages == ("exekias-amphora#maker",)
    assert reply.sources == ("vatican-16757", "abv")
    assert not reply.refused
    assert reply.completed


def test_answer_comes_sentence_by_sentence(curator: Curator) -> None:
    reply = Visit(curator, exhibit="exekias-amphora").ask("who painted this?")

    assert len(reply.deltas) >= 3
    assert reply.deltas[0] == "Exekias made this amphora, and he painted it too. "


def test_first_answers_are_short_enough_to_listen_to(curator: Curator, pack: Pack) -> None:
    for exhibit in pack.exhibits:
        for question in exhibit.questions["en"]:
            assert len(Visit(curator, exhibit=exhibit.id).ask(question.text).text) / CHARS_PER_SECOND <= 26


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_suggested_question_is_answered_by_its_passage(curator: Curator, pack: Pack, language: str) -> None:
    for exhibit in pack.exhibits:
        for question in exhibit.questions[language]:
            assert Visit(curator, language, exhibit.id).ask(question.text).passages == (question.passage,)
    for question in pack.start_questions[language]:
        for place in (None, "portland-vase"):
            assert Visit(curator, language, place).ask(question.text).passages == (question.passage,)


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("exhibit", [None, "warka-vase"])
def test_three_choices_are_always_offered_and_lead_to_their_passage(
    curator: Curator, language: str, exhibit: str | None
) -> None:
    visit = Visit(curator, language, exhibit)
    asked: list[str] = []
    reply = visit.ask("hello")
    for _ in range(6):
        assert len(reply.choices) == 3
        assert not {choice.text for choice in reply.choices} & set(asked)
        choice = reply.choices[0]
        asked.append(choice.text)
        reply = visit.ask(choice.text)

        assert f"{reply.passages[0]}:{language}" == choice.id


def test_question_without_evidence_is_refused_with_choices(curator: Curator, pack: Pack) -> None:
    reply = Visit(curator, exhibit="exekias-amphora").ask("what is the capital of France")

    assert reply.refused
    assert reply.passages == ()
    assert reply.text in pack.wordings["unknown"]["en"]
    assert len(reply.choices) == 3


def test_second_unknown_in_a_row_helps_instead_of_repeating(curator: Curator, pack: Pack) -> None:
    visit = Visit(curator, exhibit="exekias-amphora")
    visit.ask("what is the capital of France")
    second = visit.ask("what is the capital of Spain")

    assert second.refused
    assert second.text in pack.wordings["help"]["en"]


def test_second_unknown_is_known_also_when_the_first_was_cut_short(curator: Curator, pack: Pack) -> None:
    visit = Visit(curator, exhibit="exekias-amphora")
    visit.ask("what is the capital of France", delivered=20)

    assert visit.ask("what is the capital of Spain").text in pack.wordings["help"]["en"]


@pytest.mark.parametrize(
    "question",
    [
        "how much does the Portland Vase cost",
        "how heavy is the Portland Vase",
        "who is the curator of the Portland Vase",
    ],
)
def test_naming_an_exhibit_does_not_get_a_random_passage(curator: Curator, question: str) -> None:
    reply = Visit(curator).ask(question)

    assert reply.refused
    assert reply.passages == ()


def test_other_exhibit_by_name_is_shown(curator: Curator) -> None:
    reply = Visit(curator, exhibit="exekias-amphora").ask("how old is the Portland Vase")

    assert reply.passages == ("portland-vase#date",)
    assert reply.exhibit == "portland-vase"


def test_exhibit_in_front_is_not_shown_again(curator: Curator) -> None:
    assert Visit(curator, exhibit="exekias-amphora").ask("who made it").exhibit is None


@pytest.mark.parametrize(("language", "said"), [("en", "number three"), ("en", "the François vase"), ("es", "el tres")])
def test_number_or_name_alone_begins_with_what_it_is(curator: Curator, language: str, said: str) -> None:
    assert Visit(curator, language).ask(said).passages == ("francois-vase#what",)


def test_pronoun_means_the_exhibit_of_the_last_answer(curator: Curator) -> None:
    visit = Visit(curator)
    visit.ask("who smashed the Portland Vase")
    visit.context = replace(visit.context, exhibit=None)

    assert visit.ask("how old is it").passages == ("portland-vase#date",)


def test_pronoun_without_anything_to_mean_gets_help(curator: Curator, pack: Pack) -> None:
    reply = Visit(curator).ask("what is this?")

    assert reply.text in pack.wordings["help"]["en"]
    assert len(reply.choices) == 3


def test_pointing_stays_with_the_exhibit_in_front(curator: Curator) -> None:
    # Another exhibit is called "the soldiers jug".
    assert Visit(curator, exhibit="exekias-amphora").ask("who are those two soldiers").passages == (
        "exekias-amphora#scene",
    )


@pytest.mark.parametrize(("language", "more"), [("en", "yes please"), ("es", "cuénteme más")])
def test_more_tells_what_was_not_said_until_nothing_is_left(
    curator: Curator, pack: Pack, language: str, more: str
) -> None:
    visit = Visit(curator, language, "igbo-ukwu-pot")
    every = {p.id for p in pack.passages if p.exhibit == "igbo-ukwu-pot"}
    told = [visit.ask(more).passages[0] for _ in every]
    after = visit.ask(more)

    assert sorted(told) == sorted(every)
    assert after.passages == ()
    assert after.text in pack.wordings["no_more"][language]


def test_yes_after_no_more_goes_on_with_another_exhibit(curator: Curator, pack: Pack) -> None:
    visit = Visit(curator, exhibit="igbo-ukwu-pot")
    for _ in range(sum(1 for p in pack.passages if p.exhibit == "igbo-ukwu-pot" and p.language == "en") + 1):
        visit.ask("tell me more")

    assert visit.ask("yes").exhibit == "exekias-amphora"


def test_repeat_says_the_last_answer_again_in_the_language_of_now(curator: Curator, pack: Pack) -> None:
    visit = Visit(curator, exhibit="portland-vase")
    visit.ask("who made it")
    visit.context = replace(visit.context, language="es")
    again = visit.ask("otra vez")
    spanish = next(p for p in pack.passages if p.id == "portland-vase#maker" and p.language == "es")

    assert again.text == spanish.text


def test_slower_says_so_and_repeats(curator: Curator, pack: Pack) -> None:
    visit = Visit(curator, exhibit="portland-vase")
    visit.ask("who made it")
    slower = visit.ask("more slowly please")

    assert slower.text.startswith(pack.wordings["slower"]["en"])
    assert slower.passages == ("portland-vase#maker",)


def test_repeat_before_anything_was_said_admits_it(curator: Curator, pack: Pack) -> None:
    assert Visit(curator).ask("say that again").text in pack.wordings["repeat_nothing"]["en"]


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("hello", "greeting"),
        ("who are you", "who_are_you"),
        ("thanks", "thanks"),
        ("goodbye", "goodbye"),
        ("tell me a joke", "joke"),
        ("how are you", "small_talk"),
        ("you idiot", "abuse"),
        ("I want to hurt myself", "danger"),
        ("how much is it worth", "price"),
    ],
)
def test_talk_gets_its_approved_wording(curator: Curator, pack: Pack, said: str, key: str) -> None:
    assert Visit(curator, exhibit="portland-vase").ask(said).text in pack.wordings[key]["en"]


def test_wordings_vary(curator: Curator) -> None:
    visit = Visit(curator)

    assert visit.ask("hello").text != visit.ask("hello").text


def test_museum_matters_go_to_staff(curator: Curator, pack: Pack) -> None:
    assert Visit(curator).ask("where are the toilets?").text == pack.staff_help["en"]


def test_stop_is_answered_by_silence(curator: Curator) -> None:
    reply = Visit(curator, exhibit="portland-vase").ask("stop")

    assert reply.text == ""
    assert reply.completed


async def test_question_set_is_answered_well_also_as_a_recogniser_hears_it(curator: Curator, report: Report) -> None:
    clean = await evaluate(curator, report.cases)
    heard = [await evaluate(curator, as_heard(report.cases, seed)) for seed in range(1, 4)]

    assert clean.right >= 0.95, str(clean)
    assert clean.wrong <= 0.03, str(clean)
    for one in heard:
        assert one.right >= 0.85, str(one)
        assert one.wrong <= 0.03, str(one)


async def test_questions_nobody_prepared_are_answered_or_refused(curator: Curator) -> None:
    text = (Path(__file__).parent / "paraphrases.yaml").read_text(encoding="utf-8")
    cases = [QuestionCase(**case) for case in yaml.safe_load(text)]
    found = await evaluate(curator, cases)

    assert found.right >= 0.93, str(found)
    assert found.wrong <= 0.04, str(found)


async def test_evaluation_tells_which_questions_failed_and_how(curator: Curator, report: Report) -> None:
    right = report.cases[0]
    cases = [
        right,
        right.model_copy(update={"expect": "exekias-amphora#back"}),
        right.model_copy(update={"expect": None}),
        right.model_copy(update={"text": "what is the capital of France"}),
        right.model_copy(update={"text": "what is the capital of France", "expect": None}),
    ]
    found = await evaluate(curator, cases)

    assert [one.outcome for one in found.judged] == [
        Outcome.ANSWERED_RIGHT,
        Outcome.ANSWERED_WRONG,
        Outcome.ANSWERED_WRONG,
        Outcome.REFUSED_WRONG,
        Outcome.REFUSED_RIGHT,
    ]
    assert (found.right, found.wrong) == (0.4, 0.4)
    assert "exekias-amphora#game; right: exekias-amphora#back" in str(found)
    assert Evaluation().right == 0.0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(st.text(max_size=80) | st.sampled_from(["more", "who made it", "again", "no"]), min_size=1, max_size=4),
    st.sampled_from(["en", "es"]),
    st.sampled_from([None, "portland-vase"]),
)
def test_only_approved_words_are_ever_said(
    curator: Curator, pack: Pack, questions: list[str], language: str, exhibit: str | None
) -> None:
    approved = " ".join([p.text for p in pack.passages] + [pack.staff_help[language]])
    approved += " ".join(v for wording in pack.wordings.values() for v in wording[language])
    visit = Visit(curator, language, exhibit)
    for question in questions:
        reply = visit.ask(question)

        assert reply.completed
        assert all(delta.strip() in approved for delta in reply.deltas)
        assert len(reply.choices) == 3 or not reply.text
