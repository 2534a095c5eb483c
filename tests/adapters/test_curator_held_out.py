"""How well the Curator does on questions it was not tuned on, over the pack that ships.

The held-out questions are written apart from the pack's own `questions.yaml`, before any answer to them was seen.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from wayside.adapters.llm.curator import Curator
from wayside.adapters.llm.evaluate import as_heard, evaluate
from wayside.core.content import Pack
from wayside.core.questions import fold
from wayside.core.runs.events import Decision, OfferChoices, ShowSources
from wayside.ports.language_model import DialogueContext, HistoryItem
from wayside.releases.check import check_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index
from wayside.wire.pack import QuestionCase

PACK = Path(__file__).parents[2] / "assets" / "packs" / "pottery"
LANGUAGES = ("en", "es")
# Floors: what is measured now. The aim is 88 % right and 3 % wrong, as with the pack's own questions.
RIGHT = 0.73
WRONG = 0.20

# (language, exhibit in front of the visitor, what was said, passage that answers or None for an honest refusal)
HELD_OUT: tuple[tuple[str, str | None, str, str | None], ...] = (
    ("en", "exekias-amphora", "so um who are these two guys here", "exekias-amphora#scene"),
    ("en", "exekias-amphora", "was it buried somewhere when they found it", "exekias-amphora#found"),
    ("en", "portland-vase", "how long ago did the romans make this one", "portland-vase#date"),
    ("en", "portland-vase", "has it been mended then", "portland-vase#repair"),
    ("en", "francois-vase", "what do all these little pictures show", "francois-vase#scene"),
    ("en", "francois-vase", "who was francois", "francois-vase#name"),
    ("en", "lycurgus-cup", "is there real gold inside the glass", "lycurgus-cup#colour"),
    ("en", "lycurgus-cup", "so which museum has got it now", "lycurgus-cup#today"),
    ("en", "warka-vase", "is that stone or clay", "warka-vase#made"),
    ("en", "chigi-vase", "what did they pour out of it", "chigi-vase#use"),
    ("en", "chigi-vase", "tell me about the judgement of paris", "chigi-vase#paris"),
    ("en", "sarpedon-krater", "who are the fellows with wings", "sarpedon-krater#winged"),
    ("en", "fenton-vase", "did they drink chocolate out of it", "fenton-vase#use"),
    ("en", "moche-portrait", "did the same man get portrayed again", "moche-portrait#story"),
    ("en", "jomon-flame-pot", "what does jomon actually mean", "jomon-flame-pot#name"),
    ("en", "david-vases", "what animal is that on the front is it a dragon", "david-vases#scene"),
    ("en", "igbo-ukwu-pot", "how did they cast the bronze", "igbo-ukwu-pot#made"),
    ("en", "alhambra-gazelles", "how could something like that stand up on its own", "alhambra-gazelles#base"),
    ("en", "maria-martinez-jar", "how do you get such a shiny surface", "maria-martinez-jar#shine"),
    ("en", "maria-martinez-jar", "what are those feather things", "maria-martinez-jar#feathers"),
    ("en", None, "who stole the warka vase", "warka-vase#stolen"),
    ("en", None, "where is the sarpedon crater now", "sarpedon-krater#today"),
    ("en", "exekias-amphora", "can i bring my dog in here", None),
    ("en", "portland-vase", "how many children did william lloyd have", None),
    ("en", "lycurgus-cup", "who is the president of the united states", None),
    ("en", "warka-vase", "is there a cafe in this building", None),
    ("en", "david-vases", "what would this fetch at auction", None),
    ("en", "chigi-vase", "do you open on sundays", None),
    ("en", None, "how do i cook spaghetti", None),
    ("en", None, "what is seven times eight", None),
    ("es", "exekias-amphora", "eh quienes son estos dos", "exekias-amphora#scene"),
    ("es", "exekias-amphora", "donde fue que la encontraron", "exekias-amphora#found"),
    ("es", "portland-vase", "de que epoca es esto", "portland-vase#date"),
    ("es", "portland-vase", "y quien lo restauro", "portland-vase#repair"),
    ("es", "francois-vase", "que historias cuentan los dibujos", "francois-vase#scene"),
    ("es", "francois-vase", "por que le pusieron ese nombre", "francois-vase#name"),
    ("es", "lycurgus-cup", "por que cambia el color con la luz", "lycurgus-cup#colour"),
    ("es", "lycurgus-cup", "en que museo la tienen", "lycurgus-cup#today"),
    ("es", "warka-vase", "esto es de piedra", "warka-vase#made"),
    ("es", "chigi-vase", "y esto para que lo usaban", "chigi-vase#use"),
    ("es", "chigi-vase", "hableme del juicio de paris", "chigi-vase#paris"),
    ("es", "sarpedon-krater", "quienes son los de las alas", "sarpedon-krater#winged"),
    ("es", "fenton-vase", "bebian chocolate en este vaso", "fenton-vase#use"),
    ("es", "fenton-vase", "se puede leer lo que esta escrito", "fenton-vase#writing"),
    ("es", "jomon-flame-pot", "que quiere decir jomon", "jomon-flame-pot#name"),
    ("es", "david-vases", "eso de ahi es un dragon", "david-vases#scene"),
    ("es", "igbo-ukwu-pot", "como trabajaban el bronce", "igbo-ukwu-pot#made"),
    ("es", "alhambra-gazelles", "como se sostiene con esa base tan pequena", "alhambra-gazelles#base"),
    ("es", "maria-martinez-jar", "como consiguen ese brillo", "maria-martinez-jar#shine"),
    ("es", "maria-martinez-jar", "que es esa serpiente", "maria-martinez-jar#serpent"),
    ("es", None, "quien robo el vaso de warka", "warka-vase#stolen"),
    ("es", None, "donde esta ahora la cratera de sarpedon", "sarpedon-krater#today"),
    ("es", "exekias-amphora", "puedo entrar con mi perro", None),
    ("es", "portland-vase", "cuantos hijos tuvo william lloyd", None),
    ("es", "lycurgus-cup", "quien es el presidente del gobierno", None),
    ("es", "warka-vase", "hay alguna cafeteria en el edificio", None),
    ("es", "david-vases", "cuanto darian por esto en una subasta", None),
    ("es", "chigi-vase", "abren los domingos", None),
    ("es", None, "como se hace una tortilla de patatas", None),
    ("es", None, "cuanto es siete por ocho", None),
)


@pytest.fixture(scope="module")
def pack() -> Pack:
    report = check_pack(PACK, build_index, SqlitePassageIndex)
    assert report.pack is not None, str(report)
    return report.pack


@pytest.fixture(scope="module")
def curator(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    build_index(path, pack.exhibits, pack.passages)
    index = SqlitePassageIndex(path)
    yield Curator(pack, index)
    index.close()


def decided(curator: Curator, context: DialogueContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The passages and the choices of a reply."""

    async def gather() -> tuple[tuple[str, ...], tuple[str, ...]]:
        shown = [i async for event in curator.reply(context) if isinstance(event, Decision) for i in event.screen]
        passages = tuple(p for item in shown if isinstance(item, ShowSources) for p in item.passages)
        choices = tuple(c.text for item in shown if isinstance(item, OfferChoices) for c in item.choices)
        return passages, choices

    return asyncio.run(gather())


def told(curator: Curator, language: str, question: str, exhibit: str | None = None) -> tuple[str, ...]:
    return decided(curator, DialogueContext("run", language, question, exhibit, ()))[0]


def held_out() -> tuple[QuestionCase, ...]:
    return tuple(QuestionCase(text=t, language=lang, exhibit=e, expect=x) for lang, e, t, x in HELD_OUT)


async def test_held_out_questions_do_not_get_worse(curator: Curator):
    result = await evaluate(curator, held_out())

    assert result.right >= RIGHT, str(result)
    assert result.wrong <= WRONG, str(result)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_misheard_words_do_not_bring_more_wrong_answers(curator: Curator, seed: int):
    result = await evaluate(curator, as_heard(held_out(), seed))

    assert result.wrong <= WRONG, str(result)


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "how much is it worth"),
        ("en", "how much is it insured for"),
        ("en", "how could I steal this cup"),
        ("en", "what time do you close"),
        ("en", "what are your opening hours"),
        ("es", "¿cuánto vale?"),
        ("es", "¿por cuánto está asegurado?"),
        ("es", "¿cómo podría robarla?"),
        ("es", "¿a qué hora cierran?"),
        ("es", "¿cuál es el horario del museo?"),
    ],
)
def test_money_theft_and_opening_hours_never_get_a_passage(curator: Curator, pack: Pack, language: str, question: str):
    places = [None, *(exhibit.id for exhibit in pack.exhibits)]

    spoken = {place: told(curator, language, question, place) for place in places}

    assert {} == {place: passages for place, passages in spoken.items() if passages}


def test_a_question_about_something_else_gets_no_passage(curator: Curator):
    assert () == told(curator, "en", "who won the football", "lycurgus-cup")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_title_alone_begins_with_what_it_is(curator: Curator, pack: Pack, language: str):
    begun = {exhibit.id: told(curator, language, exhibit.title[language]) for exhibit in pack.exhibits}

    assert {exhibit.id: (f"{exhibit.id}#what",) for exhibit in pack.exhibits} == begun


@pytest.mark.parametrize("language", LANGUAGES)
def test_choices_never_repeat_what_was_asked(curator: Curator, pack: Pack, language: str):
    for exhibit in pack.exhibits:
        history: tuple[HistoryItem, ...] = ()
        for question in exhibit.questions[language]:
            context = DialogueContext("run", language, question.text, exhibit.id, history)
            passages, choices = decided(curator, context)
            history += (HistoryItem("visitor", question.text), HistoryItem("guide", "Said.", passages))
            asked = {fold(item.text) for item in history if item.role == "visitor"}
            assert not asked & {fold(choice) for choice in choices}, exhibit.id
