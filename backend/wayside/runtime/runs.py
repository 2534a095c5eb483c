"""Runs: the one way a visitor's turn is answered, by the names of RFC-022.

Journals live in memory and go with the visit. Every event is in its journal before anybody observes it (RFC-022 §9.7).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from wayside.core.errors import WaysideError
from wayside.core.runs.events import AssistantOutput, Completed, JournalEntry, RunCanceled, RunEvent, RunFailed
from wayside.ports.language_model import DialogueContext, HistoryItem, LanguageModel

RUN_DEADLINE_S = 20.0
MAX_RUNS = 500  # oldest journals are dropped first; a visit of half an hour stays far below
MAX_EVENTS = 2000

OnEvent = Callable[[JournalEntry], None]


class RunStatus(StrEnum):
    """Where a run is."""

    ACTIVE = "active"
    WAITING = "waiting_for_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class RunInput:
    """One committed visitor turn. `input_id` makes a retry harmless; `disclosure` is who may see the answer."""

    input_id: str
    text: str
    language: str
    exhibit: str | None
    history: tuple[HistoryItem, ...]
    channel: str = "visitor"
    speaker: str = "visitor"
    agent: str = "guide"
    disclosure: frozenset[str] = frozenset({"room"})
    variety: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `duplicate` marks the answer to a retried input."""

    run_id: str
    status: RunStatus
    code: str = ""
    duplicate: bool = False


@dataclass(slots=True)
class _Run:
    id: str
    request: RunInput
    status: RunStatus = RunStatus.ACTIVE
    code: str = ""
    journal: list[JournalEntry] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    observer: OnEvent | None = None


class RoomAgentRuntime:
    """Runs turns against one driver. Cancelling is cooperative and immediate for observers: nothing follows it."""

    def __init__(self, driver: LanguageModel, new_id: Callable[[], str], *, deadline_s: float = RUN_DEADLINE_S) -> None:
        self._driver = driver
        self._new_id = new_id
        self._deadline_s = deadline_s
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._by_input: dict[tuple[str, str], str] = {}

    async def handle_run_input(
        self, request: RunInput, on_event: OnEvent, on_admitted: Callable[[str], None] | None = None
    ) -> RunResult:
        """Admit one input and run it to its end.

        `on_admitted` learns the run id before the driver starts. An exact retry answers with the first outcome;
        a different input under the same id raises `run.input_mismatch`.
        """
        known = self._by_input.get((request.channel, request.input_id))
        if known is not None:
            run = self._runs[known]
            if run.request != request:
                raise WaysideError("run.input_mismatch", "This input id was used for another input.")
            return RunResult(run.id, run.status, run.code, duplicate=True)
        run = self._admit(request)
        run.observer = on_event
        if on_admitted is not None:
            on_admitted(run.id)
        try:
            async with asyncio.timeout(self._deadline_s), asyncio.TaskGroup() as group:
                run.task = group.create_task(self._drive(run))
        except TimeoutError:
            self._end(run, RunStatus.FAILED, RunFailed("deadline_exceeded"))
        except asyncio.CancelledError:
            self._end(run, RunStatus.CANCELED, RunCanceled("visit_over"))
            raise
        finally:
            run.task = None
            run.observer = None
        return RunResult(run.id, run.status, run.code)

    def cancel_run(self, run_id: str, reason: str) -> bool:
        """Cancel an active run; False when it has already ended or is unknown."""
        run = self._runs.get(run_id)
        if run is None or run.status is not RunStatus.ACTIVE:
            return False
        self._end(run, RunStatus.CANCELED, RunCanceled(reason))
        if run.task is not None:
            run.task.cancel()
        return True

    def replay_run(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        """The journal after sequence `after`; repeats no speech and no call."""
        run = self._runs.get(run_id)
        return () if run is None else tuple(run.journal[after:])

    def _admit(self, request: RunInput) -> _Run:
        while len(self._runs) >= MAX_RUNS:
            _, old = self._runs.popitem(last=False)
            self._by_input.pop((old.request.channel, old.request.input_id), None)
        run = _Run(self._new_id(), request)
        self._runs[run.id] = run
        self._by_input[request.channel, request.input_id] = run.id
        return run

    async def _drive(self, run: _Run) -> None:
        request = run.request
        context = DialogueContext(
            run.id, request.language, request.text, request.exhibit, request.history, request.variety
        )
        try:
            async for event in self._driver.reply(context):
                if run.status is not RunStatus.ACTIVE:
                    return
                if len(run.journal) >= MAX_EVENTS:
                    self._end(run, RunStatus.FAILED, RunFailed("run_processing_failed"))
                    return
                if isinstance(event, Completed):
                    self._end(run, RunStatus.COMPLETED, event)
                    return
                self._commit(run, event)
        except Exception:  # noqa: BLE001 - a driver is outside code; its message may hold content and is not kept
            self._end(run, RunStatus.FAILED, RunFailed("run_processing_failed"))
            return
        # A driver that falls silent without saying that it is done has not succeeded.
        self._end(run, RunStatus.FAILED, RunFailed("run_processing_failed"))

    def _end(
        self, run: _Run, status: Literal[RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED], event: RunEvent
    ) -> None:
        if run.status is not RunStatus.ACTIVE:
            return
        run.status = status
        if isinstance(event, RunFailed):
            run.code = event.code
        self._commit(run, event)

    def _commit(self, run: _Run, event: RunEvent) -> None:
        entry = JournalEntry(run.id, len(run.journal) + 1, 1, event)
        run.journal.append(entry)
        if run.observer is not None:
            run.observer(entry)


def answer_text(journal: tuple[JournalEntry, ...]) -> str:
    """All recorded assistant text of a run: what was generated, whether or not anybody heard it."""
    return "".join(e.event.delta for e in journal if isinstance(e.event, AssistantOutput))
