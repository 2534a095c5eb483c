"""The one conversation engine: admits final inputs as runs, drives them, and lets everybody watch what is committed.

Admission is serialised in a lane per channel and never holds it while a driver works; other channels notice nothing.
`respond()` drivers and `handle_final_input` are adapters onto the same runs (RFC-021, RFC-022).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json
from wayside.core.room.agents import ActionProposal, AgentDecision, InteractionDraft, RoomUtterance
from wayside.core.room.refusals import refuse
from wayside.core.room.routing import RoutingPolicy, route
from wayside.core.runs import admission as admitting
from wayside.core.runs.admission import Admit, CancelFirst, Duplicate, Known, Situation
from wayside.core.runs.events import (
    AssistantOutput,
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
from wayside.ports.room_agent import AbortSignal, Continuation, MemoryItem, TurnContext
from wayside.ports.run_store import Admission, RunStore, TranscriptRow
from wayside.runtime.logs import get_logger
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import RoomSpeech
from wayside.runtime.runs.attempt import Attempt
from wayside.runtime.runs.journal import RunJournal
from wayside.runtime.runs.memory import ChannelMemory

RUN_DEADLINE_MS = 20_000
ADMISSION_TRIES = 20
SETTLE_S = 0.4  # an interrupted reply is closed within the link's 250 ms, or counted as last known
CONTEXT_STATE = "room"

log = get_logger()

OnEvent = Callable[[JournalEntry], None]
OnAdmitted = Callable[[RunRecord], None]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run stands after one input. `duplicate` marks the answer to a retried input.

    `decision` gathers what the attempt decided; an action in it is a proposal that nobody has submitted. `error` is
    what the driver raised, for the caller alone.
    """

    run_id: str
    agent: str
    status: RunStatus
    attempt: int = 1
    code: str = ""
    duplicate: bool = False
    decision: AgentDecision = field(default_factory=AgentDecision)
    error: Exception | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RunLifecycle:
    """What operators may know of a run: no text, ever."""

    kind: str  # "started" | "resumed" | the status it came to
    run_id: str
    agent: str
    channel: str
    attempt: int
    input_id: str = ""
    duration_ms: float = 0.0
    code: str = ""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the product adds, all of it optional.

    `observe` projects what an agent's binding may see; `present` words progress (ephemeral unless it says otherwise);
    `on_entry` sees every committed event; `lifecycle` gets durations and codes; `remember` adds to an agent's memory
    what it lived through elsewhere.
    """

    observe: Callable[[RunRecord], Awaitable[Json]] | None = None
    present: Callable[[RunRecord, Progress], Awaitable[RoomUtterance | None]] | None = None
    on_entry: Callable[[RunRecord, JournalEntry], None] | None = None
    lifecycle: Callable[[RunLifecycle], None] | None = None
    remember: Callable[[RunRecord], tuple[MemoryItem, ...]] | None = None


@dataclass(slots=True)
class _Live:
    """A run that is being worked on in this process."""

    journal: RunJournal
    abort: AbortSignal
    order: int
    resumed: bool
    continuation: Continuation | None
    done: "asyncio.Future[RunResult]"
    started: float
    silent: bool = False
    watchers: list[OnEvent] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


class RunExecution:
    """A run on its way: `events` is a view over the durable journal, `result` how it stands at the end."""

    def __init__(self, events: AsyncIterator[JournalEntry], result: "asyncio.Task[RunResult]") -> None:
        self.events = events
        self.result = result


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
        self._deadline_ms = deadline_ms
        self._memory = ChannelMemory(store, room)
        self._lanes: dict[str, asyncio.Lock] = {}
        self._live: dict[str, _Live] = {}
        self._order = 0
        self.phase: str | None = None
        self.focus: dict[str, str] = {}

    # --- inputs -----------------------------------------------------------------------------------------------------

    def route(self, request: RunRequest) -> tuple[str, ...]:
        """Whom an input is for: explicit address, its source's focus, the phase, the fallback."""
        present = [agent.id for agent in self.registry.list()]
        return route(
            present,
            self._policy,
            address=request.agents,
            focus=self.focus.get(request.input.source.id),
            phase=self.phase,
        ).agents

    async def handle_run_input(
        self, request: RunRequest, on_event: OnEvent | None = None, on_admitted: OnAdmitted | None = None
    ) -> tuple[RunResult, ...]:
        """Admit one input and wait until each run it starts or continues ends or asks back; one for each agent.

        Cancelling the caller cancels nothing. `on_admitted` learns each record before its driver starts. Refusals
        (`room.*`, `run.*`) leave everything as it was.
        """
        checked(request)
        agents = self.route(request)
        if len(agents) == 1:
            return (await self._handle(request, agents[0], on_event, on_admitted),)
        return tuple(await asyncio.gather(*(self._handle(request, agent, on_event, on_admitted) for agent in agents)))

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
        admitted: asyncio.Future[RunRecord] = asyncio.get_running_loop().create_future()

        async def handle() -> RunResult:
            try:
                if len(self.route(checked(request))) != 1:
                    raise refuse("room.several_targets")
                (result,) = await self.handle_run_input(request, on_event, admitted.set_result)
            except WaysideError as error:
                if not admitted.done():
                    admitted.set_exception(error)
                    admitted.exception()  # told through `result`; a stream nobody reads is fine
                raise
            return result

        # Its refusal is for whoever awaits it, and must not end the room's task group.
        task = asyncio.ensure_future(handle())
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return RunExecution(self._follow(admitted, task), task)

    async def _follow(
        self, admitted: "asyncio.Future[RunRecord]", over: "asyncio.Task[RunResult]"
    ) -> AsyncIterator[JournalEntry]:
        record = await admitted
        seen = 0
        news = asyncio.Event()
        live = self._live.get(record.id)
        if live is not None:
            live.watchers.append(lambda _: news.set())
        over.add_done_callback(lambda _: news.set())
        while True:
            ended = over.done() or record.id not in self._live
            news.clear()
            for entry in await self._store.load_events(record.id, seen):
                seen = entry.sequence
                yield entry
            if ended:
                return
            await news.wait()

    # --- recovery and control -------------------------------------------------------------------------------------

    async def resume_run(self, run_id: str, on_event: OnEvent | None = None, *, present: bool = True) -> RunResult:
        """Take up an active run that a dead process left: next attempt, last checkpoint, same deadline.

        Nothing that was presented is presented again; without `present` what is new is generated silently. A run that
        is over, or waits for a person, is reported as it is.
        """
        live = self._live.get(run_id)
        if live is not None:
            return await asyncio.shield(live.done)
        record = await self._store.load(run_id)
        if record is None:
            raise refuse("run.unknown")
        if record.status is not RunStatus.ACTIVE:
            return _result(record, duplicate=True)
        entries = await self._store.load_events(run_id)
        taken = recovered(record)
        if not await self._store.save(taken):
            # Somebody was faster: a cancellation, or another recovery. What they made of it stands.
            stored = await self._store.load(run_id)
            return _result(stored or record, duplicate=True)
        live = self._begin(taken, entries, resumed=True, continuation=None, on_event=on_event)
        live.silent = not present
        await live.journal.record_outputs()
        self._group.create_task(self._work(live), name="room.run")
        return await asyncio.shield(live.done)

    async def cancel_run(self, run_id: str, reason: str = "canceled") -> RunStatus:
        """Stop a run's work and its interruptible speech, then write its end. A run that is over stays as it ended."""
        live = self._live.get(run_id)
        if live is not None:
            live.abort.abort(reason)
        if self._speech is not None:
            self._speech.withdraw(run_id)
        if live is not None:
            return (await live.journal.end(RunCanceled(reason))).status
        record = await self._store.load(run_id)
        if record is None:
            raise refuse("run.unknown")
        journal = RunJournal(self._store, record, (), self._new_id, lambda entry: self._tell(journal, None, entry))
        return (await journal.end(RunCanceled(reason))).status

    async def replay_run(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        """The journal after sequence `after`; repeats no speech, cue, action or provider call."""
        return await self._store.load_events(run_id, after)

    async def resume(self) -> tuple[RunRecord, ...]:
        """Restore phase and focus after a restart; the runs that are open. Nothing is spoken by this."""
        state = await self._store.load_state(CONTEXT_STATE)
        if isinstance(state, dict):
            phase, focus = state.get("phase"), state.get("focus")
            self.phase = phase if isinstance(phase, str) else None
            if isinstance(focus, dict):
                self.focus = {who: agent for who, agent in focus.items() if isinstance(agent, str)}
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
        """Stop every run and all speech in the room, on every channel."""
        for run_id in tuple(self._live):
            await self.cancel_run(run_id, reason)

    def reached(self, run_id: str) -> int:
        """Characters of a run's words that have reached people in this process so far."""
        return self._speech.reached(run_id) if self._speech is not None else 0

    # --- one input, one agent ---------------------------------------------------------------------------------------

    async def _handle(
        self, request: RunRequest, agent: str, on_event: OnEvent | None, on_admitted: OnAdmitted | None
    ) -> RunResult:
        lane = self._lanes.setdefault(request.input.channel, asyncio.Lock())
        async with lane:
            admitted = await self._admit(request, agent)
            if isinstance(admitted, RunRecord):
                return _result(admitted, duplicate=True)
            record, was_continued = admitted.record, admitted.continued
            entries = await self._store.load_events(record.id) if was_continued else ()
            continuation = _answered(entries) if was_continued else None
            live = self._begin(record, entries, resumed=was_continued, continuation=continuation, on_event=on_event)
        if on_admitted is not None:
            on_admitted(record)
        self._group.create_task(self._work(live), name="room.run")
        return await asyncio.shield(live.done)

    async def _admit(self, request: RunRequest, agent: str) -> Admit | RunRecord:
        """Carry out what admission decides, until the input is in or was in before."""
        visibility = self.registry.require(agent).visibility
        for _ in range(ADMISSION_TRIES):
            decision = admitting.decide(
                request,
                await self._situation(request, agent),
                room=self.room,
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
                    await self.cancel_run(run_id, reason)
                case Admit():
                    await self._cancel_older(request, decision.record)
                    try:
                        stored = await self._store.admit(_written(decision, request))
                    except WaysideError as error:
                        if error.code not in {"run.open_exists", "run.stale_transition"}:
                            raise
                        continue
                    return decision if stored.id == decision.record.id else stored
        raise refuse("run.stale_transition", retryable=True)

    async def _situation(self, request: RunRequest, agent: str) -> Situation:
        given = request.input
        index = await self._store.load_by_input(self.room, given.channel, given.id, agent)
        known = None if index is None else Known(index.fingerprint, index.run_id)
        if known is not None and known.run_id is not None:
            return Situation(known, None, None)
        found = await self._store.load_open(self.room, given.channel, agent)
        named = await self._store.load(request.supersession.run_id) if request.supersession else None
        return Situation(known, found[0] if found else None, named)

    async def _cancel_older(self, request: RunRequest, record: RunRecord) -> None:
        """A newer input makes older work on its own channel stale, whoever does it (RFC-021 §7)."""
        for run_id, live in tuple(self._live.items()):
            other = live.journal.record
            same_channel = other.channel == request.input.channel and run_id != record.id
            if same_channel and other.status is RunStatus.ACTIVE and other.input.id != request.input.id:
                await self.cancel_run(run_id, admitting.SUPERSEDED)

    def _begin(
        self,
        record: RunRecord,
        entries: Sequence[JournalEntry],
        *,
        resumed: bool,
        continuation: Continuation | None,
        on_event: OnEvent | None,
    ) -> _Live:
        self._order += 1
        journal = RunJournal(
            self._store, record, tuple(entries), self._new_id, lambda entry: self._tell(journal, live, entry)
        )
        live = _Live(
            journal,
            AbortSignal(),
            self._order,
            resumed,
            continuation,
            asyncio.get_running_loop().create_future(),
            self._clock.now(),
            watchers=[on_event] if on_event else [],
        )
        self._live[record.id] = live
        self._lifecycle("resumed" if resumed else "started", record)
        return live

    async def _work(self, live: _Live) -> None:
        """Drive one attempt to its end and settle everything that hangs on it."""
        journal = live.journal
        attempt = journal.record.attempt
        run = Attempt(journal, self._events(live), live.abort, self._clock, self._presenter(live))
        fault = ""
        try:
            await run.run()
            if live.abort.aborted and journal.record.open:
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
                self._speech.attempt_over(record.id, attempt, aborted=aborted)
            if not live.done.done():
                live.done.set_result(_result(record, decisions=live.decisions, error=run.error))
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
        )
        async for event in self.registry.run(record.agent, context):
            yield event

    def _presenter(self, live: _Live) -> Callable[[Progress], Awaitable[RoomUtterance | None]] | None:
        present = self._hooks.present
        return None if present is None else lambda progress: present(live.journal.record, progress)

    def _tell(self, journal: RunJournal, live: _Live | None, entry: JournalEntry) -> None:
        """Everybody who watches learns of a committed event; one who fails is no other's concern."""
        record = journal.record
        audible = live is not None and not live.silent
        if audible and isinstance(entry.event, AssistantOutput) and self._speech is not None:
            self._speech.output(record, entry)
        watchers: list[OnEvent] = list(live.watchers) if live else []
        if live is not None and isinstance(entry.event, Decision):
            live.decisions.append(entry.event)
        if self._hooks.on_entry is not None:
            on_entry = self._hooks.on_entry
            watchers.append(lambda committed: on_entry(record, committed))
        for watch in watchers:
            try:
                watch(entry)
            except Exception:  # noqa: BLE001 - an observer is outside code; what it raises may hold content
                log.warning("run.observer_failed", code="run.observer_failed")

    def _lifecycle(self, kind: str, record: RunRecord, duration_ms: float = 0.0) -> None:
        if self._hooks.lifecycle is not None:
            self._hooks.lifecycle(
                RunLifecycle(
                    kind,
                    record.id,
                    record.agent,
                    record.channel,
                    record.attempt,
                    record.input.id,
                    duration_ms,
                    record.code,
                )
            )

    async def _save_state(self) -> None:
        focus: dict[str, Json] = dict(self.focus)
        agents: list[Json] = [agent.id for agent in self.registry.list()]
        await self._store.save_state(CONTEXT_STATE, {"phase": self.phase, "focus": focus, "agents": agents})


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


def _answered(entries: Sequence[JournalEntry]) -> Continuation | None:
    for entry in reversed(entries):
        if isinstance(entry.event, InputRequested):
            return Continuation(entry.event.request_id, entry.event.token)
    return None


def _result(
    record: RunRecord,
    *,
    duplicate: bool = False,
    decisions: Sequence[Decision] = (),
    error: Exception | None = None,
) -> RunResult:
    utterances: tuple[RoomUtterance, ...] = ()
    interactions: tuple[InteractionDraft, ...] = ()
    action: ActionProposal | None = None
    for decision in decisions:
        utterances += decision.utterances
        interactions += decision.interactions
        action = decision.action or action
    return RunResult(
        record.id,
        record.agent,
        record.status,
        record.attempt,
        record.code,
        duplicate,
        AgentDecision(utterances, interactions, action),
        error,
    )
