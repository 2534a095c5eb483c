"""Carries out what admission decides about an input: cancels what must end first, asks again, writes it in one step.

One input at a time in a channel is its caller's to see to (RFC-022 §6).
"""

from collections.abc import Awaitable, Callable

from wayside.core.errors import WaysideError
from wayside.core.room.refusals import refuse
from wayside.core.runs import admission as admitting
from wayside.core.runs.admission import Admit, CancelFirst, Duplicate, Known, Situation
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.core.runs.request import RunRequest
from wayside.ports.clock import Clock
from wayside.ports.run_store import Admission, RunStore, TranscriptRow
from wayside.runtime.room.registry import RoomAgentRegistry

ADMISSION_TRIES = 20


class Entrance:
    """The way into one room's store. `deadline_ms` is the budget of an attempt that brings none of its own."""

    def __init__(
        self,
        room: str,
        store: RunStore,
        registry: RoomAgentRegistry,
        clock: Clock,
        new_id: Callable[[], str],
        deadline_ms: int,
        stop: Callable[[str, str, RunStatus | None], Awaitable[RunStatus]],
        stop_older: Callable[[RunRecord], Awaitable[None]],
    ) -> None:
        self._room = room
        self._store = store
        self._registry = registry
        self._clock = clock
        self._new_id = new_id
        self._deadline_ms = deadline_ms
        self._stop = stop
        self._stop_older = stop_older

    async def had(self, request: RunRequest) -> tuple[str, ...]:
        """The agents that got this input before."""
        had: list[str] = []
        for agent in self._registry.list():
            known = await self._known(request, agent.id)
            if known is not None and known.run_id is not None:
                had.append(agent.id)
        return tuple(had)

    async def admit(self, request: RunRequest, agent: str) -> tuple[RunRecord, tuple[JournalEntry, ...]] | RunRecord:
        """The admitted run with its journal so far; or, alone, the run of an input that was in before."""
        visibility = self._registry.require(agent).visibility
        for _ in range(ADMISSION_TRIES):
            situation = await self._situation(request, agent)
            decision = admitting.decide(
                request,
                situation,
                room=self._room,
                agent=agent,
                visibility=visibility,
                new_run_id=self._new_id(),
                budget_ms=self._deadline_ms,
                now_ms=self._clock.boottime_ms(),
            )
            match decision:
                case Duplicate(run_id=run_id):
                    known = await self._store.load(run_id)
                    if known is None:
                        raise refuse("run.unknown")
                    return known
                case CancelFirst(run_id=run_id, reason=reason):
                    # A question that is asked meanwhile wins the race: it is looked at again (RFC-022 §6).
                    await self._stop(run_id, reason, situation.open_run.status if situation.open_run else None)
                case Admit(record=record):
                    # Before it is in: nothing may fail between the admission and the work.
                    entries = await self._store.load_events(record.id) if decision.continued else ()
                    await self._stop_older(record)
                    try:
                        stored = await self._store.admit(_written(decision, request))
                    except WaysideError as error:
                        if error.code not in {"run.open_exists", "run.stale_transition"}:
                            raise
                        continue
                    return (record, entries) if stored.id == record.id else stored
        raise refuse("run.stale_transition", retryable=True)

    async def _known(self, request: RunRequest, agent: str) -> Known | None:
        given = request.input
        index = await self._store.load_by_input(self._room, given.channel, given.id, agent)
        return None if index is None else Known(index.fingerprint, index.run_id)

    async def _situation(self, request: RunRequest, agent: str) -> Situation:
        known = await self._known(request, agent)
        if known is not None and known.run_id is not None:
            return Situation(known, None, None)
        found = await self._store.load_open(self._room, request.input.channel, agent)
        named = await self._store.load(request.supersession.run_id) if request.supersession else None
        return Situation(known, found[0] if found else None, named)


def _written(decision: Admit, request: RunRequest) -> Admission:
    record, given = decision.record, request.input
    row = TranscriptRow(
        record.room,
        record.channel,
        f"in:{given.id}",
        "visitor",
        given.source.id,
        given.text,
        record.id,
        record.disclosure,
    )
    return Admission(record, decision.fingerprint, row, decision.continued)
