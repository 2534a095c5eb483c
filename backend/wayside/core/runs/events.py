"""Run events by the names of RFC-022: what a driver yields and what the journal records."""

from dataclasses import dataclass
from typing import Literal

from wayside.core.content import Source


@dataclass(frozen=True, slots=True)
class Progress:
    """Truthful, structured work state; never wording."""

    stage: str
    current: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class AssistantOutput:
    """A delta of one assistant message; deltas of one `output_id` form it and `final` closes it."""

    output_id: str
    delta: str
    purpose: Literal["answer", "question", "notice"] = "answer"
    final: bool = False
    history: Literal["record", "ephemeral"] = "record"


@dataclass(frozen=True, slots=True)
class ShowSources:
    """Evidence behind the answer, for the screen; `passages` are the ids of the approved passages used."""

    sources: tuple[Source, ...]
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShowExhibit:
    """Bring an exhibit's picture up."""

    exhibit: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing the visitor may touch; `text` is what touching it says."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class OfferChoices:
    """Questions that this pack can answer, at most three."""

    choices: tuple[Choice, ...]


Interaction = ShowSources | ShowExhibit | OfferChoices


@dataclass(frozen=True, slots=True)
class Decision:
    """Interactions beside the words. `refused` marks an honest "I don't know"."""

    interactions: tuple[Interaction, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Opaque product recovery state, plain JSON."""

    state: str


@dataclass(frozen=True, slots=True)
class InputRequested:
    """A pause for the visitor's next input."""

    request_id: str
    token: str


@dataclass(frozen=True, slots=True)
class Completed:
    """Explicit success."""


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without success; `code` is stable (`run_processing_failed`, `deadline_exceeded`)."""

    code: str


@dataclass(frozen=True, slots=True)
class RunCanceled:
    """The run was cancelled."""

    reason: str


DriverEvent = Progress | AssistantOutput | Checkpoint | InputRequested | Decision | Completed
RunEvent = DriverEvent | RunFailed | RunCanceled


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One run event in its place; `sequence` begins at one within its run."""

    run_id: str
    sequence: int
    attempt: int
    event: RunEvent
