"""The one conversation engine: admits final inputs as runs, drives them, and lets everybody watch what is committed.

Admission is serialised in a lane per channel and never holds it while a driver works; other channels notice nothing.
`respond()` drivers and `handle_final_input` are adapters onto the same runs (RFC-021, RFC-022).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json
from wayside.core.room.agents import RoomUtterance
from wayside.core.room.envelope import RoomInteractionEnvelope
from wayside.core.room.refusals import refuse
from wayside.core.room.routing import RoutingPolicy, route
from wayside.core.runs import admission as admitting
from wayside.core.runs.events import (
    Decision,
    DriverEvent,
    InputRequested,
    JournalEntry,
    Progress,
    RunCanceled,
)
from wayside.core.runs.record import RunRecord, RunStatus, recovered
from wayside.core.runs.request import RunRequest, checked
from wayside.ports.clock import Clock
from wayside.ports.room_agent import AbortSignal, Continuation, TurnContext
from wayside.ports.run_store import RunStore
from wayside.runtime.logs import get_logger
from wayside.runtime.outside import looked_at, told
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import RoomSpeech
from wayside.runtime.runs.attempt import Attempt
from wayside.runtime.runs.entrance import Entrance
from wayside.runtime.runs.execution import RunExecution, follow
from wayside.runtime.runs.journal import RunJournal
from wayside.runtime.runs.memory import ChannelMemory
from wayside.runtime.runs.outcome import Hooks, RunLifecycle, RunResult, result_of

__all__ = ["Hooks", "RoomAgentRuntime", "RunExecution", "RunLifecycle", "RunResult"]

T = TypeVar("T")

RUN_DEADLINE_MS = 20_000
SETTLE_S = 0.4  # an interrupted reply is closed within the link's 250 ms, or counted as last known
CONTEXT_STATE = "room"

log = get_logger()

OnEvent = Callable[[JournalEntry], None]
OnAdmitted = Callable[[RunRecord], None]


@dataclass(slots=True)
class _Live:
    """A run that is being worked on in this process."""

    journal: RunJournal
    abort: AbortSignal
    resumed: bool
    continuation: Continuation | None
    done: "asyncio.Future[RunResult]"
    started: float
    silent: bool = False
    interaction: RoomInteractionEnvelope | None = None
    watchers: list[OnEvent] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


class RoomAgentRuntime:
    """One room for one visit, over one store. Every task it starts belongs to `group`."""

    def __init__(
        self,
        room: str,
        registry: RoomAgentRegistry,
        store: RunStore,
        clock: Clock,
        new_id: Callable[[], str],
        group: asyncio.TaskGroup,
        *,
        policy: RoutingPolicy,
        speech: RoomSpeech | None = None,
        hooks: Hooks | None = None,
        deadline_ms: int = RUN_DEADLINE_MS,
    ) -> None:
        self.room = room
        self.registry = registry
        self._store = store
        self._clock = clock
        self._new_id = new_id
        self._group = group
        self._policy = policy
        self._speech = speech
        self._hooks = hooks or Hooks()
        self._entrance = Entrance(
            room, store, registry, clock, new_id, deadline_ms, stop=self._stop, stop_older=self._stop_older
        )
        self._memory = ChannelMemory(store, room)
        self._lanes: dict[str, asyncio.Lock] = {}
        self._live: dict[str, _Live] = {}
        self.missing: tuple[str, ...] = ()
        self.phase: str | None = None
        self.focus: dict[str, str] = {}

    # --- inputs -----------------------------------------------------------------------------------------------------

    def route(self, request: RunRequest) -> tuple[str, ...]:
        """Whom an input is for: explicit address, its source's focus, the phase, the fallback."""
        source = request.input.source
        present = [agent.id for agent in self.registry.list()]
        return route(
            present,
            self._policy,
            address=request.agents,
            focus=self.focus.get(source.id) if source.kind == "participant" else None,
            phase=self.phase,
        ).agents

    async def handle_run_input(
        self, request: RunRequest, on_event: OnEvent | None = None, on_admitted: OnAdmitted | None = None
    ) -> tuple[RunResult, ...]:
        """Admit one input and wait until each run it starts or continues ends or asks back; one for each agent.

        Cancelling the caller cancels nothing. `on_admitted` learns each record before its driver starts. Refusals
        (`room.*`, `run.*`) leave everything as it was. What continues or replaces one run is for one agent.
        """
        checked(request)
        agents = await self._addressed(request)
        if len(agents) > 1 and not (request.continuation is None and request.supersession is None):
            raise refuse("room.several_targets")
        handled = [self._apart(self._handle(request, agent, on_event, on_admitted)) for agent in agents]
        return tuple(await asyncio.gather(*(asyncio.shield(one) for one in handled)))

    async def handle_final_input(self, request: RunRequest) -> RunResult:
        """RFC-021's single turn for one agent, on the same engine; raises `room.several_targets` for more."""
        if len(self.route(request)) != 1:
            raise refuse("room.several_targets")
        (result,) = await self.handle_run_input(request)
        if self._speech is not None:
            await self._speech.delivered(result.run_id, result.attempt)
        return result

    def start_run(self, request: RunRequest, on_event: OnEvent | None = None) -> RunExecution:
        """Admit and run in the background, for one agent; returns at once."""
        admitted: asyncio.Future[RunRecord | None] = asyncio.get_running_loop().create_future()
        news = asyncio.Event()

        def committed(entry: JournalEntry) -> None:
            news.set()
            if on_event is not None:
                on_event(entry)

        async def handle() -> RunResult:
            try:
                if len(self.route(checked(request))) != 1:
                    raise refuse("room.several_targets")
                (result,) = await self.handle_run_input(request, committed, admitted.set_result)
            except WaysideError as error:
                if not admitted.done():
                    admitted.set_exception(error)
                    admitted.exception()  # told through `result`; a stream nobody reads is fine
                raise
            finally:
                if not admitted.done():
                    admitted.set_result(None)
                news.set()
            return result

        # Its refusal is for whoever awaits it, and must not end the room's task group.
        task = asyncio.ensure_future(handle())
        task.add_done_callback(looked_at)
        task.add_done_callback(lambda _: news.set())
        return RunExecution(follow(self._store, admitted, news, task), task)

    # --- recovery and control -------------------------------------------------------------------------------------

    async def resume_run(self, run_id: str, on_event: OnEvent | None = None, *, present: bool = True) -> RunResult:
        """Take up an active run that a dead process left: next attempt, last checkpoint, same deadline.

        Nothing that was presented is presented again; without `present` what is new is generated silently. A run that
        is over, or waits for a person, is reported as it is.
        """
        live = self._live.get(run_id)
        if live is not None:
            return await asyncio.shield(live.done)
        return await asyncio.shield(self._apart(self._resume(run_id, on_event, present=present)))

    async def _resume(self, run_id: str, on_event: OnEvent | None, *, present: bool) -> RunResult:
        found = await self._store.load(run_id)
        if found is None:
            raise refuse("run.unknown")
        async with self._lane(found.channel):
            live = self._live.get(run_id)
            if live is None:
                record = await self._store.load(run_id) or found
                entries = await self._store.load_events(run_id)
                if record.status is not RunStatus.ACTIVE:
                    await self._silent_journal(record, entries).record_outputs()
                    return result_of(record, duplicate=True)
                taken = recovered(record)
                if not await self._store.save(taken):
                    # Somebody was faster: a cancellation, or another recovery. What they made of it stands.
                    stored = await self._store.load(run_id)
                    return result_of(stored or record, duplicate=True)
                live = self._begin(taken, entries, resumed=True, continuation=_answered(entries), on_event=on_event)
                live.silent = not present
                self._start(live)
        return await asyncio.shield(live.done)

    def _lane(self, channel: str) -> asyncio.Lock:
        """What begins or replaces a run of a channel, one at a time; nothing works in here."""
        return self._lanes.setdefault(channel, asyncio.Lock())

    async def cancel_run(self, run_id: str, reason: str = "canceled") -> RunStatus:
        """Stop a run's work and its interruptible speech, then write its end. A run that is over stays as it ended."""
        return await self._stop(run_id, reason)

    async def replay_run(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        """The journal after sequence `after`; repeats no speech, cue, action or provider call."""
        return await self._store.load_events(run_id, after)

    async def resume(self) -> tuple[RunRecord, ...]:
        """Restore phase, focus and transcript after a restart; the runs that are open. Nothing is spoken by this.

        `missing` are then the agents that were in the room before and are not in it now.
        """
        state = await self._store.load_state(CONTEXT_STATE)
        if isinstance(state, dict):
            phase, focus, agents = state.get("phase"), state.get("focus"), state.get("agents")
            self.phase = phase if isinstance(phase, str) else None
            if isinstance(focus, dict):
                self.focus = {who: agent for who, agent in focus.items() if isinstance(agent, str)}
            if isinstance(agents, list):
                known = [agent for agent in agents if isinstance(agent, str)]
                self.missing = tuple(agent for agent in known if self.registry.get(agent) is None)
        for record in await self._store.load_runs():
            await self._silent_journal(record, await self._store.load_events(record.id)).record_outputs()
        return await self._store.load_open(self.room)

    async def set_phase(self, phase: str | None) -> None:
        """Choose the phase; kept for recovery."""
        self.phase = phase
        await self._save_state()

    async def set_focus(self, participant: str, agent: str | None) -> None:
        """Whom a participant is talking with; kept for recovery. Raises `room.unknown_agent`."""
        if agent is None:
            self.focus.pop(participant, None)
        else:
            self.registry.require(agent)
            self.focus[participant] = agent
            if self._speech is not None:
                self._speech.address(agent)
        await self._save_state()

    async def interrupt(self, reason: str = "interrupted") -> None:
        """Stop all work and all speech in the room, on every channel. A question goes on waiting for its answer."""
        working = tuple(self._live)
        for run_id in working:
            self._live[run_id].abort.abort(reason)
        if self._speech is not None:
            self._speech.withdraw_all()
        for run_id in working:
            await self._stop(run_id, reason, RunStatus.ACTIVE)

    def reached(self, run_id: str) -> int:
        """Characters of a run's words that have reached people, while they are on their way; then the store knows."""
        return self._speech.reached(run_id) if self._speech is not None else 0

    # --- one input, one agent ---------------------------------------------------------------------------------------

    async def _handle(
        self, request: RunRequest, agent: str, on_event: OnEvent | None, on_admitted: OnAdmitted | None
    ) -> RunResult:
        async with self._lane(request.input.channel):
            admitted = await self._entrance.admit(request, agent)
            if isinstance(admitted, RunRecord):
                return result_of(admitted, duplicate=True)
            record, entries = admitted
            if self._speech is not None and request.input.source.kind == "participant":
                # Who asks anew has the floor: what is still being said of earlier answers stops (RFC-021 §7).
                self._speech.withdraw_channel(record.channel, request.input.id)
            answered = _answered(entries)
            live = self._begin(record, entries, resumed=bool(entries), continuation=answered, on_event=on_event)
            live.interaction = request.interaction
            if on_admitted is not None:
                told(lambda: on_admitted(record))
            self._start(live)
        return await asyncio.shield(live.done)

    def _apart(self, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        """Carry work out in the room's own time, whatever becomes of who asked; its refusal is for them alone."""
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def carry() -> None:
            try:
                outcome.set_result(await work)
            except Exception as error:  # noqa: BLE001 - handed on whole
                outcome.set_exception(error)

        def over(_: object = None) -> None:
            work.close()  # never begun when the visit ended first
            if not outcome.done():
                outcome.set_exception(refuse("room.closed"))

        outcome.add_done_callback(looked_at)
        carrying = carry()
        try:
            self._group.create_task(carrying, name="room.input").add_done_callback(over)
        except RuntimeError:
            # The visit is over, and its group takes nothing new.
            carrying.close()
            over()
        return outcome

    async def _addressed(self, request: RunRequest) -> tuple[str, ...]:
        """Whom an input goes to. A retry of one that was routed goes to who had it, wherever it would be routed now."""
        agents = self.route(request)
        if request.agents:
            return agents
        had = await self._entrance.had(request)
        return agents if not had or set(had) & set(agents) else had

    async def _stop_older(self, record: RunRecord) -> None:
        """A newer input makes older work on its own channel stale, whoever does it (RFC-021 §7)."""
        for run_id, live in tuple(self._live.items()):
            other = live.journal.record
            same_channel = other.channel == record.channel and run_id != record.id
            if same_channel and other.status is RunStatus.ACTIVE and other.input.id != record.input.id:
                await self._stop(run_id, admitting.SUPERSEDED, RunStatus.ACTIVE)

    async def _stop(self, run_id: str, reason: str, seen: RunStatus | None = None) -> RunStatus:
        """Abort a run's work and end it; with `seen` only when it still is as it was seen."""
        live = self._live.get(run_id)
        if live is not None:
            live.abort.abort(reason)
        if self._speech is not None:
            self._speech.withdraw(run_id)
        if live is not None:
            journal = live.journal
        else:
            record = await self._store.load(run_id)
            if record is None:
                raise refuse("run.unknown")
            journal = self._silent_journal(record, ())
        status = (await journal.end(RunCanceled(reason), seen=seen)).status
        taken_up = self._live.get(run_id)
        if taken_up is not None and status.terminal:
            # Work that began on it while it was being ended.
            taken_up.abort.abort(reason)
        return status

    def _silent_journal(self, record: RunRecord, entries: tuple[JournalEntry, ...]) -> RunJournal:
        """The journal of a run that is not being worked on here."""
        journal = RunJournal(self._store, record, entries, self._new_id, lambda entry: self._tell(journal, None, entry))
        return journal

    def _begin(
        self,
        record: RunRecord,
        entries: Sequence[JournalEntry],
        *,
        resumed: bool,
        continuation: Continuation | None,
        on_event: OnEvent | None,
    ) -> _Live:
        journal = RunJournal(
            self._store, record, tuple(entries), self._new_id, lambda entry: self._tell(journal, live, entry)
        )
        live = _Live(
            journal,
            AbortSignal(),
            resumed,
            continuation,
            asyncio.get_running_loop().create_future(),
            self._clock.now(),
            watchers=[on_event] if on_event else [],
        )
        self._live[record.id] = live
        self._lifecycle("resumed" if resumed else "started", record)
        return live

    def _start(self, live: _Live) -> None:
        def over(_: object) -> None:
            if not live.done.done():
                live.done.set_result(result_of(live.journal.record))

        self._group.create_task(self._work(live), name="room.run").add_done_callback(over)

    async def _work(self, live: _Live) -> None:
        """Drive one attempt to its end and settle everything that hangs on it."""
        journal = live.journal
        attempt = journal.record.attempt
        run = Attempt(journal, self._events(live), live.abort, self._clock, self._presenter(live))
        fault = ""
        try:
            if live.resumed:
                await journal.record_outputs()
            await run.run()
            if live.abort.aborted and journal.record.status is RunStatus.ACTIVE:
                await journal.end(RunCanceled(live.abort.reason), attempt)
        except WaysideError as error:
            # The store failed and there is no other: the run stays as it was last committed, to be recovered.
            log.warning("run.store_failed", code=error.code)
            fault = error.code
        finally:
            record = journal.record
            if fault:
                record = replace(record, status=RunStatus.FAILED, code=fault)
            if self._live.get(record.id) is live:
                del self._live[record.id]
            aborted = record.status in {RunStatus.FAILED, RunStatus.CANCELED, RunStatus.ACTIVE}
            if self._speech is not None:
                if record.status is RunStatus.CANCELED:
                    self._speech.withdraw(record.id)
                self._speech.attempt_over(record.id, attempt, aborted=aborted)
            if not live.done.done():
                live.done.set_result(result_of(record, decisions=live.decisions, error=run.error))
            self._lifecycle(record.status.value, record, (self._clock.now() - live.started) * 1000)

    async def _events(self, live: _Live) -> AsyncIterator[DriverEvent]:
        """The driver's events, after what it may know has been gathered; all of it inside the attempt's deadline."""
        record = live.journal.record
        if self._speech is not None:
            await self._speech.settled(record.channel, record.input.id, SETTLE_S)
        memory = await self._memory.of(record)
        if self._hooks.remember is not None:
            memory += self._hooks.remember(record)
        observation = await self._hooks.observe(record) if self._hooks.observe is not None else None
        context = TurnContext(
            agent=self.registry.require(record.agent),
            input=replace(record.input, disclosure=record.disclosure),
            abort=live.abort,
            observation=observation,
            memory=memory,
            run_id=record.id,
            attempt=record.attempt,
            resumed=live.resumed,
            checkpoint=record.checkpoint,
            continuation=live.continuation,
            interaction=live.interaction,
        )
        if live.abort.aborted:
            return
        async for event in self.registry.run(record.agent, context):
            yield event

    def _presenter(self, live: _Live) -> Callable[[Progress], Awaitable[RoomUtterance | None]] | None:
        present = self._hooks.present
        return None if present is None else lambda progress: present(live.journal.record, progress)

    def _tell(self, journal: RunJournal, live: _Live | None, entry: JournalEntry) -> None:
        """Everybody who watches learns of a committed event; one who fails is no other's concern."""
        record = journal.record
        if live is not None and isinstance(entry.event, Decision):
            live.decisions.append(entry.event)
        if live is not None and not live.silent and self._speech is not None:
            speech = self._speech
            told(lambda: speech.output(record, entry))
        for watch in tuple(live.watchers) if live else ():
            told(lambda watch=watch: watch(entry))  # type: ignore[misc]  # bound now, called now
        if self._hooks.on_entry is not None:
            on_entry = self._hooks.on_entry
            told(lambda: on_entry(record, entry))

    def _lifecycle(self, kind: str, record: RunRecord, duration_ms: float = 0.0) -> None:
        if self._hooks.lifecycle is not None:
            tell = self._hooks.lifecycle
            news = RunLifecycle(
                kind,
                record.id,
                record.agent,
                record.channel,
                record.attempt,
                record.input.id,
                duration_ms,
                record.code,
            )
            told(lambda: tell(news))

    async def _save_state(self) -> None:
        focus: dict[str, Json] = dict(self.focus)
        agents: list[Json] = [agent.id for agent in self.registry.list()]
        await self._store.save_state(CONTEXT_STATE, {"phase": self.phase, "focus": focus, "agents": agents})


def _answered(entries: Sequence[JournalEntry]) -> Continuation | None:
    for entry in reversed(entries):
        if isinstance(entry.event, InputRequested):
            return Continuation(entry.event.request_id, entry.event.token)
    return None
