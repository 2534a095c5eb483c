"""The Curator: a dialogue provider without a model, which speaks approved passages and nothing else.

It refuses honestly when no passage answers. Every factual word it says stands in a passage of this turn's retrieval;
everything else is one of the approved wordings. It speaks for one agent: the guide from the exhibits' passages, a
character from its own and no others.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace

from wayside.adapters.llm.character import (
    as_pack,
    means_another,
    only_called,
    shown_sources,
    speaker,
    without_name,
)
from wayside.adapters.llm.finding import PassageFinder
from wayside.core.content import GUIDE, Pack, Passage, SuggestedQuestion
from wayside.core.intents import Intent, intent
from wayside.core.questions import content_words, fold, points
from wayside.core.runs.events import (
    AssistantOutput,
    Choice,
    Completed,
    Decision,
    DriverEvent,
    OfferChoices,
    ScreenRequest,
    ShowExhibit,
    ShowSources,
)
from wayside.core.sentences import cut
from wayside.ports.language_model import DialogueContext, HistoryItem
from wayside.ports.passages import PassageIndex

CHOICES = 3
MORE_EVERY = 2  # every second answer offers more aloud; the screen always does
_RECOGNISABLE = 12  # delivered characters by which one of our own wordings is known again


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    passages: tuple[Passage, ...] = ()
    exhibit: str | None = None
    refused: bool = False


class Curator:
    """Implements `LanguageModel`. Choices are exactly the suggested questions, so each has its passage.

    `agent` is who speaks; raises `room.unknown_agent` when the pack has nobody of this id.
    """

    def __init__(self, pack: Pack, index: PassageIndex, agent: str = GUIDE) -> None:
        self._who = speaker(pack, agent)
        self._index = index
        pack = as_pack(pack, self._who)
        self._pack = pack
        self._finder = PassageFinder(pack, index, agent)
        self._exhibits = {exhibit.id: exhibit for exhibit in pack.exhibits}
        self._passages = {(p.id, p.language): p for p in pack.passages}
        self._of: dict[tuple[str, str], list[Passage]] = {}
        for passage in pack.passages:
            self._of.setdefault((passage.exhibit, passage.language), []).append(passage)

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:
        """Answer one turn."""
        if intent(context.question, context.language) is Intent.STOP:
            # Silence is the answer.
            yield Completed()
            return
        there = context.exhibit
        context = self._own(context)
        answer = self._answer(context, there)
        screen: list[ScreenRequest] = []
        if answer.passages:
            sources = shown_sources(self._who, answer.passages, context.language)
            screen.append(ShowSources(sources, tuple(p.id for p in answer.passages)))
        if answer.exhibit is not None and answer.exhibit != context.exhibit:
            screen.append(ShowExhibit(answer.exhibit))
        screen.append(OfferChoices(self._choices(context, answer)))
        yield Decision(tuple(screen), refused=answer.refused)
        sentences, _ = cut(answer.text, final=True)
        for number, sentence in enumerate(sentences, start=1):
            yield AssistantOutput("answer", sentence, final=number == len(sentences))
        yield Completed()

    async def close(self) -> None:
        """Nothing is open."""

    # --- choosing -------------------------------------------------------------------------------------------------

    def _own(self, context: DialogueContext) -> DialogueContext:
        """What of the context this agent may go by: passages of others are no part of what it said."""
        known, language = self._passages, context.language
        history = tuple(
            replace(item, passages=tuple(p for p in item.passages if (p, language) in known))
            for item in context.history
        )
        if self._who.id == GUIDE:
            return replace(context, history=history)
        question = without_name(self._who, context.question, language)
        return replace(context, history=history, question=question, exhibit=self._who.id)

    def _answer(self, context: DialogueContext, there: str | None) -> _Answer:
        question, language = context.question, context.language
        if self._who.id != GUIDE and only_called(self._who, question, language):
            return _Answer(self._wording("greeting", context))
        exact = self._finder.exact(question, language, context.exhibit)
        if exact is not None:
            return self._tell(context, exact)
        heard = self._finder.heard(question, language, context.exhibit)
        kind = intent(question, language) or intent(heard, language)
        if kind is not None:
            return self._talk(context, kind)
        if self._who.id != GUIDE and means_another(self._who, question, language, there, self._index):
            return self._refuse(context)
        last = _last_exhibit(context)
        found = self._finder.find(question, language, context.exhibit, last)
        if found is not None:
            return self._tell(context, found)
        if context.exhibit is None and last is None and points(heard, language) and not content_words(heard, language):
            # "What is this?" with nothing in front of the visitor: say how to choose.
            return _Answer(self._wording("help", context))
        return self._refuse(context)

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
            case Intent.STAFF:
                return _Answer(self._pack.staff_help[context.language], refused=True)
            case Intent.PRICE:
                return self._refuse(context, "price")
            case _:
                return _Answer(self._wording(kind.value, context))

    def _again(self, context: DialogueContext, kind: Intent) -> _Answer:
        last = next((item for item in reversed(context.history) if item.role == "guide" and item.passages), None)
        if last is None:
            return _Answer(self._wording("repeat_nothing", context))
        # By id, so that it is said again in the language of now.
        passages = tuple(p for i in last.passages if (p := self._passages.get((i, context.language))) is not None)
        text = " ".join(p.text for p in passages)
        if kind is Intent.SLOWER:
            text = f"{self._wording('slower', context)} {text}"
        return _Answer(text, passages, passages[0].exhibit if passages else None)

    def _more(self, context: DialogueContext) -> _Answer:
        """The next passage of what was talked about; after "that's all", the next exhibit."""
        exhibit = _last_exhibit(context) or context.exhibit
        if exhibit is None:
            return _Answer(self._wording("help", context))
        left = self._unsaid(context, exhibit)
        if left:
            return self._tell(context, left[0])
        if not self._said_last(context, "no_more"):
            return _Answer(self._wording("no_more", context))
        fresh = (e.id for e in self._pack.exhibits if self._unsaid(context, e.id))
        following = next(fresh, None)
        if following is None:
            return _Answer(self._wording("goodbye", context))
        return self._tell(context, self._unsaid(context, following)[0])

    def _refuse(self, context: DialogueContext, key: str = "unknown") -> _Answer:
        """An honest "I don't know"; the second time in a row it helps instead of saying so again."""
        if self._said_last(context, "unknown") or self._said_last(context, key):
            key = "help"
        return _Answer(self._wording(key, context), refused=True)

    def _choices(self, context: DialogueContext, answer: _Answer) -> tuple[Choice, ...]:
        """Questions this pack answers, nearest to what was asked, neither asked nor answered before."""
        language = context.language
        asked = {fold(item.text) for item in context.history if item.role == "visitor"} | {fold(context.question)}
        said = _said(context) | {p.id for p in answer.passages}
        here = answer.exhibit or context.exhibit or _last_exhibit(context)
        offered: list[SuggestedQuestion] = []
        if here is not None:
            near: Mapping[str, float] = self._finder.like(context.question, language, here) if answer.refused else {}
            offered = sorted(self._exhibits[here].questions.get(language, ()), key=lambda q: -near.get(q.passage, 0.0))
        offered.extend(self._pack.start_questions.get(language, ()))
        fresh = [q for q in offered if fold(q.text) not in asked and q.passage not in said]
        kept: dict[str, SuggestedQuestion] = {}
        for question in (*fresh, *offered):
            kept.setdefault(question.passage, question)
        return tuple(Choice(f"{q.passage}:{language}", q.text) for q in list(kept.values())[:CHOICES])

    def _wording(self, key: str, context: DialogueContext) -> str:
        variants = self._pack.wordings[key][context.language]
        return variants[context.variety % len(variants)]

    # --- what was said ----------------------------------------------------------------------------------------------

    def _unsaid(self, context: DialogueContext, exhibit: str, besides: str = "") -> list[Passage]:
        said = _said(context) | {besides}
        return [p for p in self._of.get((exhibit, context.language), ()) if p.id not in said]

    def _said_last(self, context: DialogueContext, key: str) -> bool:
        """Whether the last thing that reached people was one of these wordings, or the beginning of one."""
        last = next((item.text.strip() for item in reversed(context.history) if item.role == "guide"), "")
        if len(last) < _RECOGNISABLE:
            return False
        variants = self._pack.wordings[key][context.language]
        return any(variant.startswith(last) or last.startswith(variant) for variant in variants)


def _said(context: DialogueContext) -> frozenset[str]:
    return frozenset(passage for item in context.history for passage in item.passages)


def _last_exhibit(context: DialogueContext) -> str | None:
    with_passages: Iterable[HistoryItem] = (item for item in reversed(context.history) if item.passages)
    return next((item.passages[-1].split("#", 1)[0] for item in with_passages), None)
