"""Asks a dialogue provider a pack's question set and counts what came of it; independent of how it answers."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from wayside.core.questions import fold
from wayside.core.runs.events import Decision, ShowSources
from wayside.ports.language_model import DialogueContext, LanguageModel
from wayside.wire.pack import QuestionCase

_LONG = 5  # letters from which a recogniser is likely to mishear a word


class Outcome(StrEnum):
    """What came of one question. Only `ANSWERED_WRONG` tells a visitor something that was not asked."""

    ANSWERED_RIGHT = "answered-right"
    ANSWERED_WRONG = "answered-wrong"
    REFUSED_RIGHT = "refused-right"
    REFUSED_WRONG = "refused-wrong"


@dataclass(frozen=True, slots=True)
class Judged:
    """One question and the passages that answered it; none when it was refused."""

    case: QuestionCase
    outcome: Outcome
    passages: tuple[str, ...]

    def __str__(self) -> str:
        place = f" @{self.case.exhibit}" if self.case.exhibit else ""
        got = ", ".join(self.passages) or "refused"
        right = self.case.expect or "a refusal"
        return f"{self.outcome}: {self.case.text} [{self.case.language}]{place}: {got}; right: {right}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All questions of a set, judged."""

    judged: tuple[Judged, ...] = field(default=())

    def count(self, outcome: Outcome) -> int:
        """How many had this outcome."""
        return sum(1 for one in self.judged if one.outcome is outcome)

    @property
    def right(self) -> float:
        """Share answered or refused rightly, 0..1."""
        return (self.count(Outcome.ANSWERED_RIGHT) + self.count(Outcome.REFUSED_RIGHT)) / max(1, len(self.judged))

    @property
    def wrong(self) -> float:
        """Share answered with something else than was asked, 0..1."""
        return self.count(Outcome.ANSWERED_WRONG) / max(1, len(self.judged))

    @property
    def failures(self) -> tuple[Judged, ...]:
        """Every question that did not go as it should."""
        good = {Outcome.ANSWERED_RIGHT, Outcome.REFUSED_RIGHT}
        return tuple(one for one in self.judged if one.outcome not in good)

    def __str__(self) -> str:
        counts = ", ".join(f"{outcome} {self.count(outcome)}" for outcome in Outcome)
        head = f"{len(self.judged)} questions: {self.right:.1%} right, {self.wrong:.1%} wrong ({counts})"
        return "\n".join([head, *(f"  {one}" for one in self.failures)])


async def evaluate(provider: LanguageModel, cases: Iterable[QuestionCase]) -> Evaluation:
    """Ask each question as the first one of a visit."""
    return Evaluation(tuple([await _judge(provider, case, number) for number, case in enumerate(cases)]))


async def _judge(provider: LanguageModel, case: QuestionCase, number: int) -> Judged:
    context = DialogueContext(f"eval-{number}", case.language, case.text, case.exhibit, (), variety=number)
    passages: tuple[str, ...] = ()
    refused = False
    async for event in provider.reply(context):
        if isinstance(event, Decision):
            refused = refused or event.refused
            for item in event.screen:
                if isinstance(item, ShowSources):
                    passages += item.passages
    if case.expect is None:
        # Talk without passages claims nothing, so it is as good as a refusal.
        outcome = Outcome.ANSWERED_WRONG if passages else Outcome.REFUSED_RIGHT
    elif refused or not passages:
        outcome = Outcome.REFUSED_WRONG
    else:
        outcome = Outcome.ANSWERED_RIGHT if case.expect == passages[0] else Outcome.ANSWERED_WRONG
    return Judged(case, outcome, passages)


def as_heard(cases: Sequence[QuestionCase], seed: int = 1) -> tuple[QuestionCase, ...]:
    """The same questions as a recogniser might write them: no punctuation or capitals, one longer word misspelt."""
    dice = random.Random(seed)  # noqa: S311 - the same mistakes every time
    return tuple(case.model_copy(update={"text": _misheard(case.text, dice)}) for case in cases)


def _misheard(text: str, dice: random.Random) -> str:
    words = fold(text).split()
    places = [n for n, word in enumerate(words) if len(word) >= _LONG]
    if places:
        place = dice.choice(places)
        word = words[place]
        at = dice.randrange(1, len(word) - 1)
        changed = dice.choice([word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], _swapped(word, at)])
        words[place] = changed
    return " ".join(words)


def _swapped(word: str, at: int) -> str:
    return word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
