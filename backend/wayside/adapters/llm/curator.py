"""The Curator: a dialogue provider without a model, which speaks approved passages and nothing else.

It decides which passage answers a question, and refuses honestly when none does. Every factual word it says stands in
a passage of this turn's retrieval; everything else is one of the pack's approved wordings.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from wayside.core.content import Pack, Passage, Source, SuggestedQuestion
from wayside.core.questions import Intent, content_words, fold, intent, stems, topics
from wayside.core.runs.events import (
    AssistantOutput,
    Choice,
    Completed,
    Decision,
    DriverEvent,
    Interaction,
    OfferChoices,
    ShowExhibit,
    ShowSources,
)
from wayside.core.sentences import cut
from wayside.ports.language_model import DialogueContext
from wayside.ports.passages import PassageIndex

CHOICES = 3
NAMED = 0.6  # likeness from which a question is taken to name an exhibit
COVERED = 0.5  # share of the question's own content that a passage must hold
COVERED_ALONE = 0.6  # the same when neither exhibit nor topic is known
MORE_EVERY = 2  # every second answer offers more aloud; the screen always does


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    passages: tuple[Passage, ...] = ()
    exhibit: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class _Words:
    """Stems of a passage: of the questions it is suggested for, and of everything."""

    asked: frozenset[str]
    all: frozenset[str]


class Curator:
    """Implements `LanguageModel`."""

    def __init__(self, pack: Pack, index: PassageIndex) -> None:
        self._pack = pack
        self._index = index
        self._exhibits = {exhibit.id: exhibit for exhibit in pack.exhibits}
        self._passages = {(p.id, p.language): p for p in pack.passages}
        self._by_exhibit: dict[tuple[str, str], list[Passage]] = {}
        self._words: dict[tuple[str, str], _Words] = {}
        for passage in pack.passages:
            language = passage.language
            self._by_exhibit.setdefault((passage.exhibit, language), []).append(passage)
            questions = self._exhibits[passage.exhibit].questions.get(language, ())
            asked = " ".join(q.text for q in questions if q.passage == passage.id)
            own = stems(f"{asked} {passage.topic}", language)
            self._words[passage.id, language] = _Words(own, own | stems(passage.text, language))
        self._names = {
            (exhibit.id, language): frozenset().union(
                *(stems(n, language) for n in (exhibit.title[language], *exhibit.aliases.get(language, ())))
            )
            for exhibit in pack.exhibits
            for language in pack.languages
        }
        self._vocabulary = {
            key: names.union(*(self._words[p.id, p.language].all for p in self._by_exhibit.get(key, ())))
            for key, names in self._names.items()
        }
        self._asked: dict[tuple[str, str], str] = {}
        for language in pack.languages:
            suggested = list(pack.start_questions.get(language, ()))
            for exhibit in pack.exhibits:
                # A question like "Who made this?" belongs to the exhibit it stands at.
                for question in exhibit.questions.get(language, ()):
                    self._asked[f"{exhibit.id} {fold(question.text)}", language] = question.passage
            for question in suggested:
                self._asked[fold(question.text), language] = question.passage

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:
        """Answer one turn."""
        if intent(context.question, context.language) is Intent.STOP:
            # Silence is the answer.
            yield Completed()
            return
        answer = self._answer(context)
        interactions: list[Interaction] = []
        if answer.passages:
            interactions.append(ShowSources(_sources(answer.passages), tuple(p.id for p in answer.passages)))
        if answer.exhibit is not None and answer.exhibit != context.exhibit:
            interactions.append(ShowExhibit(answer.exhibit))
        interactions.append(OfferChoices(self._choices(context, answer)))
        yield Decision(tuple(interactions), refused=answer.refused)
        sentences, _ = cut(answer.text, final=True)
        for number, sentence in enumerate(sentences, start=1):
            yield AssistantOutput("answer", sentence, final=number == len(sentences))
        yield Completed()

    async def close(self) -> None:
        """Nothing is open."""

    # --- choosing -------------------------------------------------------------------------------------------------

    def _answer(self, context: DialogueContext) -> _Answer:
        exact = self._suggested(context)
        if exact is not None:
            return self._tell(context, exact)
        kind = intent(context.question, context.language)
        if kind is not None:
            return self._talk(context, kind)
        found = self._find(context)
        return self._tell(context, found) if found is not None else self._refuse(context)

    def _suggested(self, context: DialogueContext) -> Passage | None:
        asked = fold(context.question)
        for key in (f"{context.exhibit} {asked}", asked):
            passage = self._asked.get((key, context.language))
            if passage is not None:
                return self._passages.get((passage, context.language))
        return None

    def _find(self, context: DialogueContext) -> Passage | None:
        named = self._index.exhibits(context.question, context.language)
        about = named[0].exhibit if named and named[0].likeness >= NAMED else None
        if about is not None and named[0].likeness < 1.0 and self._fits_here(context):
            # "Those soldiers" are the ones in front of the visitor, whatever another exhibit is called.
            about = None
        place = about or context.exhibit or self._last_exhibit(context)
        if place is not None:
            found = self._at(context, place, named=about is not None)
            if found is not None or about is not None or context.exhibit is not None:
                return found
        return self._anywhere(context)

    def _at(self, context: DialogueContext, exhibit: str, *, named: bool) -> Passage | None:
        """The passage of one exhibit that answers best, or None."""
        language = context.language
        own = self._own_words(context, exhibit)
        passages = self._of(exhibit, language)
        said = set(content_words(context.question, language))
        wanted = topics(context.question, language)
        wanted += tuple(p.topic for p in passages if p.topic not in wanted and stems(p.topic, language) & said)
        facts = [self._words[p.id, language] for p in passages]
        known = [word for word in own if any(word in f.all for f in facts)]
        if own and len(known) < COVERED * len(own):
            return None
        weight = {word: 1 / sum(word in f.all for f in facts) for word in known}
        total = sum(weight.values())
        ranks = {f.passage.id: f.score for f in self._index.search(context.question, language, exhibit)}
        most = max(ranks.values(), default=0.0) or 1.0
        # With words of its own a question has evidence already; without, only a topic can choose.
        best, best_score = None, -1.0 if known else 0.0
        for passage, words in zip(passages, facts, strict=True):
            score = 0.6 * ranks.get(passage.id, 0.0) / most if known else 0.0
            if total:
                score += 1.4 * sum(w for word, w in weight.items() if word in words.all) / total
                score += 1.2 * sum(w for word, w in weight.items() if word in words.asked) / total
            if passage.topic in wanted:
                score += 1.8 - 0.15 * wanted.index(passage.topic)
            elif passage.topic == "what":
                score -= 0.35
            elif "size" in wanted and _tells_size(passage.text):
                score += 1.7
            if score > best_score:
                best, best_score = passage, score
        if best is None and named and not own and not wanted:
            # Only a name was said: begin with what it is.
            return passages[0] if passages else None
        return best

    def _fits_here(self, context: DialogueContext) -> bool:
        """Whether the exhibit in front of the visitor holds every content word of the question."""
        if context.exhibit is None:
            return False
        cues = _CUES.get(context.language.split("-", 1)[0], frozenset())
        words = [w for w in content_words(context.question, context.language) if w not in cues]
        vocabulary = self._vocabulary[context.exhibit, context.language]
        return all(word in vocabulary for word in words)

    def _anywhere(self, context: DialogueContext) -> Passage | None:
        """The best passage of the whole pack, when it holds most of what was asked."""
        if not content_words(context.question, context.language):
            return None
        for found in self._index.search(context.question, context.language):
            if found.coverage >= COVERED_ALONE:
                return found.passage
        return None

    def _own_words(self, context: DialogueContext, exhibit: str) -> tuple[str, ...]:
        """What the question says beyond naming the exhibit and beyond its topic's own words."""
        language = context.language
        known = self._names[exhibit, language]
        cues = _CUES.get(language.split("-", 1)[0], frozenset())
        misheard = self._index.exhibits(context.question, language)
        words = content_words(context.question, language)
        if misheard and misheard[0].exhibit == exhibit and misheard[0].likeness >= NAMED:
            words = tuple(w for w in words if not any(_alike(w, k) for k in known))
        return tuple(word for word in words if word not in known and word not in cues)

    # --- saying ---------------------------------------------------------------------------------------------------

    def _tell(self, context: DialogueContext, passage: Passage) -> _Answer:
        text = passage.text
        more = self._unsaid(context, passage.exhibit, besides=passage.id)
        if more and context.variety % MORE_EVERY == 0:
            text = f"{text} {self._wording('more', context)}"
        return _Answer(text, (passage,), passage.exhibit)

    def _talk(self, context: DialogueContext, kind: Intent) -> _Answer:
        match kind:
            case Intent.REPEAT | Intent.SLOWER:
                return self._again(context, kind)
            case Intent.MORE:
                return self._more(context)
            case Intent.NO:
                return _Answer(self._wording("help", context))
            case Intent.PRICE:
                return _Answer(self._wording("price", context), refused=True)
            case _:
                return _Answer(self._wording(kind.value, context))

    def _again(self, context: DialogueContext, kind: Intent) -> _Answer:
        last = next((item for item in reversed(context.history) if item.role == "guide" and item.passages), None)
        if last is None:
            return _Answer(self._wording("repeat_nothing", context))
        passages = tuple(p for i in last.passages if (p := self._passages.get((i, context.language))) is not None)
        text = " ".join(p.text for p in passages)
        if kind is Intent.SLOWER:
            text = f"{self._wording('slower', context)} {text}"
        return _Answer(text, passages, passages[0].exhibit if passages else None)

    def _more(self, context: DialogueContext) -> _Answer:
        exhibit = self._last_exhibit(context) or context.exhibit
        if exhibit is None:
            return _Answer(self._wording("help", context))
        left = self._unsaid(context, exhibit)
        return self._tell(context, left[0]) if left else _Answer(self._wording("no_more", context))

    def _refuse(self, context: DialogueContext) -> _Answer:
        """An honest "I don't know"; never the same words twice in a row."""
        last = next((item.text for item in reversed(context.history) if item.role == "guide"), "")
        variants = self._pack.wordings["unknown"][context.language]
        text = variants[context.variety % len(variants)]
        if last and text.startswith(last[:40]):
            text = variants[(context.variety + 1) % len(variants)]
        return _Answer(text, refused=True)

    def _choices(self, context: DialogueContext, answer: _Answer) -> tuple[Choice, ...]:
        """Questions this pack answers, near what was asked, not asked before."""
        language = context.language
        asked = {fold(item.text) for item in context.history if item.role == "visitor"} | {fold(context.question)}
        said = self._said(context) | {p.id for p in answer.passages}
        here = answer.exhibit or context.exhibit or self._last_exhibit(context)
        offered: list[SuggestedQuestion] = []
        if here is not None:
            offered.extend(self._exhibits[here].questions.get(language, ()))
        offered.extend(self._pack.start_questions.get(language, ()))
        fresh = [q for q in offered if fold(q.text) not in asked and q.passage not in said]
        kept = {q.passage: q for q in reversed(fresh or offered)}
        ordered = [q for q in (fresh or offered) if kept.get(q.passage) is q]
        return tuple(Choice(f"{q.passage}:{language}", q.text) for q in ordered[:CHOICES])

    def _wording(self, key: str, context: DialogueContext) -> str:
        variants = self._pack.wordings[key][context.language]
        return variants[context.variety % len(variants)]

    # --- what was said ----------------------------------------------------------------------------------------------

    def _of(self, exhibit: str, language: str) -> list[Passage]:
        return self._by_exhibit.get((exhibit, language), [])

    def _said(self, context: DialogueContext) -> frozenset[str]:
        return frozenset(p for item in context.history for p in item.passages)

    def _unsaid(self, context: DialogueContext, exhibit: str, besides: str = "") -> list[Passage]:
        said = self._said(context) | {besides}
        return [p for p in self._of(exhibit, context.language) if p.id not in said]

    def _last_exhibit(self, context: DialogueContext) -> str | None:
        for item in reversed(context.history):
            for passage in item.passages:
                return passage.split("#", 1)[0]
        return None


def _sources(passages: Iterable[Passage]) -> tuple[Source, ...]:
    return tuple({source.id: source for passage in passages for source in passage.sources}.values())


def _alike(one: str, other: str) -> bool:
    shared = len(set(_pairs(one)) & set(_pairs(other)))
    return shared >= 2 and 2 * shared / (len(set(_pairs(one))) + len(set(_pairs(other)))) >= 0.45


def _pairs(word: str) -> list[str]:
    return [word[n : n + 2] for n in range(len(word) - 1)]


def _tells_size(text: str) -> bool:
    words = fold(text)
    return any(unit in words for unit in ("centimet", "metre", "meter", "metro", " tall", " de alto", "de altura"))


# Words that only say which topic is meant; they need not stand in the passage.
_CUES = {
    language: stems(text, language)
    for language, text in {
        "en": "artist potter painter maker author craftsman painted paint create created craft built build produce design "
        "sign decorate year century period date age long ago ancient technique material clay fired purpose function store "
        "hold contain inside drink keep put discovered dig dug unearth excavate real original live lives city "
        "country kept own owner happening depict represent picture pictures doing scene figure figures people person men "
        "women man woman story legend myth happened history big tall high large wide heavy size height weigh side back "
        "behind reverse broke broken break smash damage repair restore stolen loot today now someone somebody person "
        "supposed true fall top life bits bit better little magic magical two three both round anyone anybody ever so lot first time day place come from original originally special famous important interesting",
        "es": "artista alfarero alfarera pintor pintora autor autora ceramista pinto pintaron creo fabrico firmo decoro "
        "ano anos siglo siglos epoca fecha edad tiempo tecnica material barro arcilla funcion uso utilizaba guardaba "
        "dentro bebia descubrio descubrieron hallo hallaron hallazgo excavo aparecio ciudad pais original ahora hoy "
        "actualmente conserva guarda representa pasa ocurre haciendo escena figuras dibujo dibujos persona personas "
        "hombres mujeres hombre mujer gente historia leyenda mito paso cuento grande alto alta mide altura tamano lado "
        "cara reverso detras rompio roto rota reparo restauro robada robado viene procede pintado pintada pintaron primera "
        "vez sitio lugar famosa famoso importante especial dos tres ambos verdad arriba abajo tan pequeno pequena magica "
        "magico",
    }.items()
}
