"""Dialogue: what a guide answers, as RFC-022 driver events."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from wayside.core.runs.events import DriverEvent


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """Delivered text only: what the visitor said, or what of a reply reached people."""

    role: Literal["visitor", "guide"]
    text: str
    passages: tuple[str, ...] = ()  # ids of passages behind it


@dataclass(frozen=True, slots=True)
class DialogueContext:
    """Everything a provider may know when it answers. `variety` is a counter for choosing among approved variants."""

    run_id: str
    language: str
    question: str
    exhibit: str | None
    history: tuple[HistoryItem, ...]
    variety: int = 0


class LanguageModel(Protocol):
    """A dialogue provider. Yields assistant output and decisions; ends with `Completed`. Must stop when closed."""

    def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]: ...

    async def close(self) -> None: ...
