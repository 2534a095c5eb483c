"""Run events by the names of RFC-022: what a driver yields and what the journal records."""

from dataclasses import dataclass
from typing import Literal

from wayside.core.content import Source
from wayside.core.plain_json import Json
from wayside.core.room.agents import ActionProposal, InteractionDraft, RoomUtterance
from wayside.core.room.disclosure import Disclosure


@dataclass(frozen=True, slots=True)
class Progress:
    """Truthful, structured work state; never wording."""

    stage: str
    current: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class OutputOrigin:
    """What the runtime knows of an output: who made it, in which attempt, under which logical id (RFC-022 §3)."""

    origin: Literal["driver", "progress", "decision"]
    attempt: int
    input_id: str
    logical_id: str


@dataclass(frozen=True, slots=True)
class AssistantOutput:
    """A delta of one assistant message; deltas of one `output_id` form it and `final` closes it.

    A driver's `output_id` is logical and local to its attempt; a journaled one is an opaque delivery id, and `origin`
    says what it stands for. `audience` may narrow the run's disclosure, never widen it; None means all of it.
    """

    output_id: str
    delta: str
    purpose: Literal["answer", "question", "notice"] = "answer"
    final: bool = False
    history: Literal["record", "ephemeral"] = "record"
    audience: Disclosure | None = None
    interruptible: bool = True
    origin: OutputOrigin | None = None


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


ScreenRequest = ShowSources | ShowExhibit | OfferChoices


@dataclass(frozen=True, slots=True)
class Decision:
    """What a turn brings beside streamed words. `refused` marks an honest "I don't know".

    `screen` is for the host's screen. Utterances are spoken after it, interactions are drafts for the router, `action`
    is a proposal for the game's host.
    """

    screen: tuple[ScreenRequest, ...] = ()
    refused: bool = False
    utterances: tuple[RoomUtterance, ...] = ()
    interactions: tuple[InteractionDraft, ...] = ()
    action: ActionProposal | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Opaque product recovery state, plain JSON."""

    state: Json


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
    """One run event in its place; `sequence` begins at one within its run. `event_id` makes a retry harmless.

    `attempt` and `input_id` name the input attempt that produced it.
    """

    run_id: str
    sequence: int
    attempt: int
    event: RunEvent
    event_id: str = ""
    input_id: str = ""
