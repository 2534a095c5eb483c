"""Carries one run's events to whoever shows and speaks them, in order, and keeps what came of the turn."""

from dataclasses import dataclass
from typing import Protocol

from wayside.core.runs.events import (
    AssistantOutput,
    Decision,
    JournalEntry,
    OfferChoices,
    Progress,
    ShowExhibit,
    ShowSources,
)
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.runtime.screen import SourceView
from wayside.runtime.speaker import Delivery


@dataclass(slots=True)
class TurnTimes:
    """Monotonic times of one turn's stages; numbers only, for benches and logs."""

    kind: str
    end_of_speech: float | None = None
    closed: float | None = None
    committed: float | None = None
    first_text: float | None = None
    first_audio: float | None = None
    first_rendered: float | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """One turn and what came of it; handed to whoever watches (the command line, benches), never logged."""

    transcript: str
    answer: str
    sources: tuple[SourceView, ...]
    refused: bool
    status: RunStatus
    delivery: Delivery | None
    times: TurnTimes


class AnswerSink(Protocol):
    """What an answer needs of its visit."""

    def now(self) -> float: ...

    def run_started(self, run_id: str) -> None: ...

    def guide_line(self, generation: int, agent: str) -> None: ...

    def show_sources(self, generation: int, sources: tuple[SourceView, ...]) -> None: ...

    def interaction(self, item: ShowExhibit | OfferChoices) -> None: ...

    def progress(self, progress: Progress) -> None: ...


class Answer:
    """Carries one run's events to the visit, in order."""

    def __init__(self, visit: AnswerSink, times: TurnTimes, record: RunRecord) -> None:
        self._visit = visit
        self._times = times
        self._generation: int | None = None
        self.record = record
        self.text = ""
        self.refused = False
        self.sources: tuple[SourceView, ...] = ()
        self.delivery: Delivery | None = None

    def on_floor(self, generation: int) -> None:
        """The reply is about to be heard."""
        self._generation = generation
        self._visit.guide_line(generation, self.record.agent)
        if self.sources:
            self._visit.show_sources(generation, self.sources)

    def on_event(self, entry: JournalEntry) -> None:
        """Take a committed event."""
        match entry.event:
            case AssistantOutput(delta=delta, purpose=purpose):
                # A spoken progress line is no answer, and latency is not measured on it.
                if self._times.first_text is None and delta and purpose != "notice":
                    self._times.first_text = self._visit.now()
                self.text += delta
            case Progress():
                self._visit.progress(entry.event)
            case Decision(screen=screen, refused=refused):
                self.refused = self.refused or refused
                for item in screen:
                    if isinstance(item, ShowSources):
                        self.sources = tuple(SourceView(s.id, s.title) for s in item.sources)
                        if self._generation is not None:
                            self._visit.show_sources(self._generation, self.sources)
                    else:
                        self._visit.interaction(item)
            case _:
                pass
