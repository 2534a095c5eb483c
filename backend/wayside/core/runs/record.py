"""The record of a run and how each event moves it: a run's state is a fold over its journal (RFC-022 §4)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from wayside.core.plain_json import Json
from wayside.core.room.agents import AgentInput
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import (
    Checkpoint,
    Completed,
    InputRequested,
    JournalEntry,
    RunCanceled,
    RunEvent,
    RunFailed,
)


class RunStatus(StrEnum):
    """Where a run is."""

    ACTIVE = "active"
    WAITING = "waiting_for_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def terminal(self) -> bool:
        """Whether nothing can follow."""
        return self in {RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One logical task. `disclosure` is the run's own and only narrows; `input` is the one being answered now.

    `deadline_ms` is the active attempt's, in CLOCK_BOOTTIME milliseconds, None while the run waits for a person;
    `budget_ms` is what each fresh attempt gets. `code` is the failure's code or the reason of a cancellation.
    `appended_to` is the run whose unanswered input this run's input begins with.
    """

    id: str
    room: str
    channel: str
    agent: str
    root_input_id: str
    input: AgentInput
    disclosure: Disclosure
    budget_ms: int
    deadline_ms: int | None
    status: RunStatus = RunStatus.ACTIVE
    attempt: int = 1
    sequence: int = 0
    checkpoint: Json = None
    waiting: InputRequested | None = None
    code: str = ""
    appended_to: str = ""

    @property
    def open(self) -> bool:
        """Whether it is active or waits for input."""
        return not self.status.terminal


def apply(record: RunRecord, event: RunEvent) -> RunRecord:
    """The record after `event`. Raises `run.stale_transition` when the run can't take it any more."""
    if record.status.terminal:
        raise refuse("run.stale_transition")
    if record.status is RunStatus.WAITING and not isinstance(event, RunCanceled | RunFailed):
        raise refuse("run.stale_transition")
    after = replace(record, sequence=record.sequence + 1)
    match event:
        case Checkpoint(state=state):
            return replace(after, checkpoint=state)
        case InputRequested():
            return replace(after, status=RunStatus.WAITING, waiting=event, deadline_ms=None)
        case Completed():
            return _end(after, RunStatus.COMPLETED, "")
        case RunFailed(code=code):
            return _end(after, RunStatus.FAILED, code)
        case RunCanceled(reason=reason):
            return _end(after, RunStatus.CANCELED, reason)
        case _:
            return after


def continued(record: RunRecord, answer: AgentInput, now_ms: int) -> RunRecord:
    """The waiting run, taken up again by `answer` (RFC-022 §6).

    Same run and root input, next attempt, checkpoint kept, disclosure intersected, a fresh deadline.
    """
    if record.status is not RunStatus.WAITING:
        raise refuse("run.continuation_mismatch")
    return replace(
        record,
        input=answer,
        status=RunStatus.ACTIVE,
        attempt=record.attempt + 1,
        waiting=None,
        disclosure=record.disclosure.intersect(answer.disclosure),
        deadline_ms=now_ms + record.budget_ms,
    )


def recovered(record: RunRecord) -> RunRecord:
    """The active run in the attempt that recovers it; its deadline stays (RFC-022 §7)."""
    if record.status is not RunStatus.ACTIVE:
        raise refuse("run.not_recoverable")
    return replace(record, attempt=record.attempt + 1)


def status_after(entries: Iterable[JournalEntry]) -> RunStatus:
    """What a journal alone says of its run's status, for checks; an empty journal belongs to an active run."""
    status = RunStatus.ACTIVE
    attempt = 0
    for entry in entries:
        if entry.attempt > attempt and not status.terminal:
            status = RunStatus.ACTIVE
        attempt = entry.attempt
        match entry.event:
            case InputRequested():
                status = RunStatus.WAITING
            case Completed():
                status = RunStatus.COMPLETED
            case RunFailed():
                status = RunStatus.FAILED
            case RunCanceled():
                status = RunStatus.CANCELED
            case _:
                pass
    return status


def _end(record: RunRecord, status: RunStatus, code: str) -> RunRecord:
    return replace(record, status=status, code=code, waiting=None, deadline_ms=None)
