"""A character beside the guide, over the pack that ships: what it answers, what it declines, and in whose words."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wayside.adapters.llm.character import IMAGINED
from wayside.adapters.llm.curator import Curator
from wayside.adapters.llm.evaluate import as_heard, evaluate
from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.core.runs.events import AssistantOutput, Decision, DriverEvent, OfferChoices, ShowExhibit, ShowSources
from wayside.ports.language_model import DialogueContext, HistoryItem
from wayside.releases.check import check_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index
from wayside.wire.pack import QuestionCase

POTTERY = Path(__file__).parents[2] / "assets" / "packs" / "pottery"
LANGUAGES = ("en", "es")

# (language, exhibit in front of the visitor, what was said, topic that answers or None for an honest refusal)
GOLDEN: tuple[tuple[str, str | None, str, str | None], ...] = (
    ("en", None, "so what exactly were you by trade", "what"),
    ("en", None, "how long ago did you work", "what"),
    ("en", None, "who was your teacher", "life"),
    ("en", None, "were you married", "life"),
    ("en", "exekias-amphora", "did you have any children", "life"),
    ("en", None, "who was in charge of athens back then", "athens"),
    ("en", None, "was the parthenon there already", "athens"),
    ("en", None, "where did the potters work", "workshop"),
    ("en", None, "did you have helpers", "workshop"),
    ("en", None, "what did you do all day", "day"),
    ("en", None, "tell me about a normal day", "day"),
    ("en", None, "what clay did you use", "clay"),
    ("en", None, "why is it that orange colour", "clay"),
    ("en", None, "did you throw them on a wheel", "clay"),
    ("en", "exekias-amphora", "is that black paint", "black"),
    ("en", None, "how did you get that shiny black", "black"),
    ("en", None, "how were the thin lines done", "lines"),
    ("en", None, "did you scratch the details", "lines"),
    ("en", None, "how does the kiln work", "firing"),
    ("en", None, "how many times did you fire a pot", "firing"),
    ("en", None, "how hot did it get", "firing"),
    ("en", "exekias-amphora", "did you sign it", "signature"),
    ("en", None, "where is your name written", "signature"),
    ("en", "exekias-amphora", "who are these two guys", "heroes"),
    ("en", "exekias-amphora", "which one is winning", "heroes"),
    ("en", None, "Exekias, why did you choose a board game", "reason"),
    ("en", "exekias-amphora", "did you make this scene up", "reason"),
    ("en", None, "where is your amphora today", "amphora"),
    ("en", None, "how did your vase end up in italy", "amphora"),
    ("en", None, "how does the red light make a hologram", None),
    ("en", None, "who broke the Portland Vase", None),
    ("en", "portland-vase", "who made this", None),
    ("en", None, "what is the capital of France", None),
    ("en", None, "why does the Lycurgus Cup change colour", None),
    ("en", None, "how old is the jomon flame pot", None),
    ("en", "lycurgus-cup", "how old is this cup", None),
    ("en", None, "who won the football", None),
    ("en", None, "what is your favourite football club's budget", None),
    ("en", None, "how do i bake bread", None),
    ("en", None, "do you have a telephone", None),
    ("en", None, "who was Napoleon", None),
    ("en", None, "was the Warka Vase stolen", None),
    ("en", None, "what do you think of computers", None),
    ("es", None, "a que se dedicaba usted", "what"),
    ("es", None, "hace cuanto que trabajo", "what"),
    ("es", None, "quien fue su maestro", "life"),
    ("es", None, "estaba casado", "life"),
    ("es", "exekias-amphora", "tuvo hijos", "life"),
    ("es", None, "quien mandaba en atenas entonces", "athens"),
    ("es", None, "ya estaba el partenon", "athens"),
    ("es", None, "donde trabajaban los alfareros", "workshop"),
    ("es", None, "tenia ayudantes en el taller", "workshop"),
    ("es", None, "que hacia todo el dia", "day"),
    ("es", None, "cuenteme un dia normal", "day"),
    ("es", None, "que barro usaba", "clay"),
    ("es", None, "por que es de ese color naranja", "clay"),
    ("es", None, "lo hacia con un torno", "clay"),
    ("es", "exekias-amphora", "eso negro es pintura", "black"),
    ("es", None, "como consigue un negro tan brillante", "black"),
    ("es", None, "como hizo las lineas tan finas", "lines"),
    ("es", None, "con que rascaba los detalles", "lines"),
    ("es", None, "como funciona el horno", "firing"),
    ("es", None, "cuantas veces se cuece una vasija", "firing"),
    ("es", None, "cuantos grados alcanza el horno", "firing"),
    ("es", "exekias-amphora", "la firmo usted", "signature"),
    ("es", None, "donde esta escrito su nombre", "signature"),
    ("es", "exekias-amphora", "quienes son estos dos guerreros", "heroes"),
    ("es", "exekias-amphora", "quien va ganando", "heroes"),
    ("es", None, "Exequias, por que eligio un juego de mesa", "reason"),
    ("es", "exekias-amphora", "se invento la escena", "reason"),
    ("es", None, "donde esta su anfora hoy", "amphora"),
    ("es", None, "como llego su anfora a italia", "amphora"),
    ("es", None, "quien rompio el Vaso Portland", None),
    ("es", "portland-vase", "quien hizo esto", None),
    ("es", None, "cual es la capital de Francia", None),
    ("es", None, "por que cambia de color la Copa de Licurgo", None),
    ("es", None, "cuantos anos tiene la vasija flamigera", None),
    ("es", "lycurgus-cup", "de cuando es esta copa", None),
    ("es", None, "quien gano el partido de futbol", None),
    ("es", None, "como se hace una tortilla", None),
    ("es", None, "tiene usted telefono", None),
    ("es", None, "quien fue Napoleon", None),
    ("es", None, "robaron el Vaso de Warka", None),
    ("es", None, "que opina de los ordenadores", None),
)
# Written after the passages were, and changed by nobody since: what a visitor meets.
HELD_OUT: tuple[tuple[str, str | None, str, str | None], ...] = (
    ("en", None, "how come the black bits do not go red", "firing"),
    ("en", None, "what did you use as a brush for the black", "black"),
    ("en", None, "do we know anything about your parents", "life"),
    ("en", "exekias-amphora", "what are the two of them playing", "heroes"),
    ("en", None, "how did you purify the clay", "clay"),
    ("en", None, "did other people sign pots too", "signature"),
    ("en", None, "who bought your vases", "amphora"),
    ("en", None, "what did the city look like", "athens"),
    ("en", None, "can you play the guitar", None),
    ("en", None, "what is the weather like tomorrow", None),
    ("en", "warka-vase", "is that made of clay", None),
    ("en", None, "who painted the Mona Lisa", None),
    ("es", None, "por que lo negro no se pone rojo", "firing"),
    ("es", None, "que pincel usaba para el negro", "black"),
    ("es", None, "se sabe algo de sus padres", "life"),
    ("es", "exekias-amphora", "a que juegan estos dos", "heroes"),
    ("es", None, "como limpiaba la arcilla", "clay"),
    ("es", None, "firmaban otros alfareros", "signature"),
    ("es", None, "quien compraba sus vasijas", "amphora"),
    ("es", None, "como era la ciudad", "athens"),
    ("es", None, "sabe tocar la guitarra", None),
    ("es", None, "que tiempo hara manana", None),
    ("es", "warka-vase", "esto es de barro", None),
    ("es", None, "quien pinto la Mona Lisa", None),
)
ANSWERED = 0.95  # of the golden questions; those that it must decline are all declined


class Reply:
    """One whole answer."""

    def __init__(self, events: list[DriverEvent]) -> None:
        self.text = "".join(e.delta for e in events if isinstance(e, AssistantOutput))
        decision = next((e for e in events if isinstance(e, Decision)), Decision())
        self.refused = decision.refused
        self.passages = tuple(p for i in decision.screen if isinstance(i, ShowSources) for p in i.passages)
        self.sources = tuple(s for i in decision.screen if isinstance(i, ShowSources) for s in i.sources)
        self.exhibit = next((i.exhibit for i in decision.screen if isinstance(i, ShowExhibit)), None)
        self.choices = next((i.choices for i in decision.screen if isinstance(i, OfferChoices)), ())


@pytest.fixture(scope="module")
def pack() -> Pack:
    report = check_pack(POTTERY, build_index)
    assert report.pack is not None, str(report)
    return report.pack


@pytest.fixture(scope="module")
def index(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlitePassageIndex]:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    build_index(path, pack.exhibits, pack.passages, pack.agents)
    opened = SqlitePassageIndex(path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def exekias(pack: Pack, index: SqlitePassageIndex) -> Curator:
    return Curator(pack, index, "exekias")


@pytest.fixture(scope="module")
def guide(pack: Pack, index: SqlitePassageIndex) -> Curator:
    return Curator(pack, index)


def ask(
    curator: Curator,
    question: str,
    language: str = "en",
    exhibit: str | None = None,
    history: tuple[HistoryItem, ...] = (),
    variety: int = 1,
) -> Reply:
    context = DialogueContext("run", language, question, exhibit, history, variety)

    async def collect() -> list[DriverEvent]:
        return [event async for event in curator.reply(context)]

    return Reply(asyncio.run(collect()))


def cases(*, answered: bool) -> tuple[QuestionCase, ...]:
    return tuple(
        QuestionCase(text=text, language=language, exhibit=exhibit, expect=topic and f"exekias#{topic}")
        for language, exhibit, text, topic in GOLDEN
        if (topic is not None) == answered
    )


@pytest.mark.parametrize("language", LANGUAGES)
async def test_golden_questions_are_answered_from_its_own_passages(exekias: Curator, language: str) -> None:
    found = await evaluate(exekias, [case for case in cases(answered=True) if case.language == language])

    assert len(found.judged) >= 25
    assert found.right >= ANSWERED, str(found)
    assert found.wrong <= 0.03, str(found)


async def test_questions_nobody_prepared_are_answered_or_declined_but_not_answered_wrongly(exekias: Curator) -> None:
    asked = [
        QuestionCase(text=text, language=language, exhibit=exhibit, expect=topic and f"exekias#{topic}")
        for language, exhibit, text, topic in HELD_OUT
    ]
    found = await evaluate(exekias, asked)

    assert found.right >= 0.75, str(found)
    assert found.wrong <= 0.04, str(found)


async def test_what_it_does_not_know_is_declined_in_character_and_sent_to_the_guide(
    exekias: Curator, pack: Pack
) -> None:
    found = await evaluate(exekias, cases(answered=False))

    assert len(found.judged) >= 20
    assert found.right == 1.0, str(found)
    for language, word in (("en", "guide"), ("es", "guía")):
        wordings = pack.agent("exekias").wordings
        assert all(word in variant for variant in (*wordings["unknown"][language], *wordings["help"][language][:1]))


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_misheard_words_bring_no_answers_to_what_must_be_declined(exekias: Curator, seed: int) -> None:
    declined = await evaluate(exekias, as_heard(cases(answered=False), seed))
    answered = await evaluate(exekias, as_heard(cases(answered=True), seed))

    assert declined.wrong <= 0.05, str(declined)
    assert answered.wrong <= 0.10, str(answered)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_of_its_suggested_questions_is_answered_by_its_passage(
    exekias: Curator, pack: Pack, language: str
) -> None:
    asked = pack.agent("exekias").questions[language]
    told = {q.text: ask(exekias, q.text, language).passages for q in asked}

    assert {q.text: (q.passage,) for q in asked} == told


def test_what_is_imagined_says_so_before_its_sources(exekias: Curator) -> None:
    imagined = ask(exekias, "What was a day in your workshop like?")
    documented = ask(exekias, "How do you make the black?")

    assert [IMAGINED, "noble-techniques"] == [source.id for source in imagined.sources]
    assert "Imagined for this performance; no ancient text says so" == imagined.sources[0].title
    assert ["noble-techniques", "getty-terms"] == [source.id for source in documented.sources]


def test_it_says_that_a_program_plays_it(exekias: Curator) -> None:
    assert "computer program" in ask(exekias, "who are you?").text
    assert "programa informático" in ask(exekias, "¿eres una persona?", "es").text


@pytest.mark.parametrize(("language", "said"), [("en", "Exekias"), ("en", "eggs zekias"), ("es", "¡Exequias!")])
def test_its_name_alone_is_answered_by_a_greeting(exekias: Curator, pack: Pack, language: str, said: str) -> None:
    assert ask(exekias, said, language).text in pack.agent("exekias").wordings["greeting"][language]


def test_its_name_before_a_question_changes_nothing(exekias: Curator) -> None:
    assert ("exekias#firing",) == ask(exekias, "Exekias, how did you fire your pots?").passages


@pytest.mark.parametrize("language", LANGUAGES)
def test_more_tells_each_passage_once_and_then_sends_to_the_guide(exekias: Curator, pack: Pack, language: str) -> None:
    history: tuple[HistoryItem, ...] = ()
    told: list[str] = []
    question = {"en": "tell me more", "es": "cuénteme más"}[language]
    while (reply := ask(exekias, question, language, history=history)).passages:
        told += reply.passages
        history += (HistoryItem("visitor", question), HistoryItem("guide", reply.text, reply.passages))

    own = [p.id for p in pack.agent("exekias").passages if p.language == language]
    assert own == told
    assert reply.text in pack.agent("exekias").wordings["no_more"][language]


def test_three_of_its_own_questions_are_always_offered(exekias: Curator, pack: Pack) -> None:
    own = {q.text for q in pack.agent("exekias").questions["en"]}
    for question in ("hello", "How do you make the black?", "what is the capital of France"):
        choices = ask(exekias, question).choices

        assert len(choices) == 3
        assert {choice.text for choice in choices} <= own - {question}


def test_begins_with_its_first_three_questions(exekias: Curator, pack: Pack) -> None:
    first = [q.text for q in pack.agent("exekias").questions["en"][:3]]

    assert first == [choice.text for choice in ask(exekias, "hello").choices]


def test_it_never_moves_the_screen(exekias: Curator) -> None:
    assert ask(exekias, "Who are Achilles and Ajax?", exhibit="portland-vase").exhibit is None


def test_passages_of_the_guide_in_its_memory_are_not_said_again_in_its_voice(exekias: Curator, pack: Pack) -> None:
    history = (HistoryItem("guide", "Exekias made this amphora.", ("exekias-amphora#maker",)),)

    assert (
        ask(exekias, "say that again", history=history).text in pack.agent("exekias").wordings["repeat_nothing"]["en"]
    )


def test_passages_of_the_character_in_the_guides_memory_do_not_lead_it_astray(guide: Curator) -> None:
    history = (HistoryItem("guide", "The black is neither paint nor glaze.", ("exekias#black",)),)
    reply = ask(guide, "how old is it", history=history, exhibit="portland-vase")

    assert ("portland-vase#date",) == reply.passages
    assert ask(guide, "tell me more", history=history, exhibit="portland-vase").passages


def test_the_guide_never_speaks_the_characters_passages(guide: Curator, pack: Pack) -> None:
    for question in pack.agent("exekias").questions["en"]:
        passages = ask(guide, question.text, exhibit="exekias-amphora").passages

        assert all(not passage.startswith("exekias#") for passage in passages)


def test_danger_is_answered_in_the_museums_words(exekias: Curator, pack: Pack) -> None:
    assert ask(exekias, "I want to hurt myself").text in pack.wordings["danger"]["en"]


def test_nobody_of_this_name_is_refused(pack: Pack, index: SqlitePassageIndex) -> None:
    with pytest.raises(WaysideError) as refused:
        Curator(pack, index, "euphronios")

    assert "room.unknown_agent" == refused.value.code


def test_pack_with_the_guide_alone_answers_as_before(pack: Pack, index: SqlitePassageIndex, guide: Curator) -> None:
    alone = replace(pack, agents=pack.agents[:1])

    assert ask(Curator(alone, index), "who made it", exhibit="portland-vase").text == (
        ask(guide, "who made it", exhibit="portland-vase").text
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.text(max_size=80) | st.sampled_from(["more", "who made it", "again", "no", "who broke the Portland Vase"]),
    st.sampled_from(LANGUAGES),
    st.sampled_from([None, "portland-vase", "exekias-amphora"]),
)
def test_only_its_own_approved_words_are_ever_said(
    exekias: Curator, pack: Pack, question: str, language: str, exhibit: str | None
) -> None:
    who = pack.agent("exekias")
    approved = " ".join([p.text for p in who.passages] + [pack.staff_help[language]])
    approved += " ".join(v for wording in (pack.wordings | who.wordings).values() for v in wording[language])
    reply = ask(exekias, question, language, exhibit)

    assert all(sentence.strip() in approved for sentence in reply.text.split(". ") if sentence)
    assert all(passage.startswith("exekias#") for passage in reply.passages)
