"""Finding approved passages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wayside.core.content import GUIDE, Agent, Exhibit, Passage


@dataclass(frozen=True, slots=True)
class Found:
    """A passage and how well it fits.

    `score` ≥ 0, larger is better; `coverage` is the share of the question's content words that the passage (with its
    exhibit's names) contains, 0..1.
    """

    passage: Passage
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Named:
    """An exhibit that a question names; `likeness` is 1 for its exact name or number, less for a misheard one."""

    exhibit: str
    likeness: float


class PassageIndex(Protocol):
    """Search over approved passages of one pack. The question is words, never syntax.

    With `exhibit` only its passages are searched. An agent's passages are found by asking for that `agent` alone.
    `exhibits` finds names, label numbers and misheard names, best first.
    """

    def search(
        self, question: str, language: str, exhibit: str | None = None, limit: int = 6, *, agent: str = GUIDE
    ) -> Sequence[Found]: ...

    def exhibits(self, question: str, language: str) -> Sequence[Named]: ...

    def close(self) -> None: ...


class PassageIndexBuilder(Protocol):
    """Writes an index file."""

    def __call__(
        self,
        target: Path,
        exhibits: Iterable[Exhibit],
        passages: Iterable[Passage],
        agents: Iterable[Agent] = (),
    ) -> None: ...
