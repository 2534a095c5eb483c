"""A room on fakes in virtual time: scripted drivers answer, a scripted voice speaks, everything is recorded."""

import asyncio
import inspect
import itertools
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from virtual import LoopClock
from wayside.core.errors import WaysideError
from wayside.core.room.agents import AgentDescriptor, AgentInput, Endpoint, Participant
from wayside.core.room.disclosure import ROOM, Disclosure
from wayside.core.room.routing import RoutingPolicy
from wayside.core.runs.events import AssistantOutput, Completed, JournalEntry
from wayside.core.runs.record import RunRecord, status_after
from wayside.core.runs.request import RunRequest
from wayside.ports.room_agent import TurnContext
from wayside.ports.run_store import RunStore
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import Reached, RoomSpeech, SpeechRequest
from wayside.runtime.runs.runtime import Hooks, RoomAgentRuntime, RunLifecycle, RunResult

ROOM_ID = "hall"
PEOPLE = ("ana", "ben")


def says(text: str, output_id: str = "answer", **changes) -> AssistantOutput:
    """A whole message at once."""
    return AssistantOutput(output_id, text, final=True, **changes)


class Script:
    """A driver that goes through its steps: events are yielded, numbers waited, exceptions raised, callables called.

    Each further invocation takes the next of `later`, then the last again.
    """

    def __init__(self, *steps: object, later: tuple[tuple[object, ...], ...] = ()) -> None:
        self.scripts = (steps, *later)
        self.contexts: list[TurnContext] = []
        self.closed = 0
        self.steps = 0

    async def run(self, context: TurnContext) -> AsyncIterator[object]:
        self.contexts.append(context)
        script = self.scripts[min(len(self.contexts), len(self.scripts)) - 1]
        try:
            for step in script:
                self.steps += 1
                if isinstance(step, int | float):
                    await asyncio.sleep(step)
                elif isinstance(step, Exception):
                    raise step
                elif callable(step):
                    made = step(context)
                    if inspect.isawaitable(made):
                        await made
                else:
                    yield step
        finally:
            self.closed += 1


class Responds:
    """A driver of RFC-021: one decision, after a while."""

    def __init__(self, *decisions: object, after: float = 0.0) -> None:
        self.decisions = decisions
        self.after = after
        self.contexts: list[TurnContext] = []

    async def respond(self, context: TurnContext) -> object:
        self.contexts.append(context)
        await asyncio.sleep(self.after)
        made = self.decisions[min(len(self.contexts), len(self.decisions)) - 1]
        if isinstance(made, Exception):
            raise made
        return made


class Voice:
    """Speaks word by word; keeps what sounded, in which order, and that it was never two at once."""

    def __init__(self, rate: float = 20.0) -> None:
        self.rate = rate  # characters a second
        self.spoken: dict[str, str] = {}
        self.order: list[str] = []
        self.told: list[tuple[str, str]] = []  # (started | ended | a reason, delivery id)
        self.ended_at: dict[str, float] = {}
        self.fails: Exception | None = None
        self.faults: list[str] = []  # told at the end of the room: what a voice raises is nobody's there
        self.now: SpeechRequest | None = None
        self._stop = asyncio.Event()
        self._generation = 0

    async def speak(self, request: SpeechRequest, feed, reached: Callable[[Reached], None]) -> None:
        if self.now is not None:
            self.faults.append("two speak at once")
        if request.delivery_id in self.spoken:
            self.faults.append("spoken twice")
        self._generation += 1
        generation, self.now, self._stop = self._generation, request, asyncio.Event()
        self.spoken[request.delivery_id] = ""
        self.order.append(request.agent)
        try:
            while (delta := await feed.next()) is not None and not feed.aborted:
                for word in re.findall(r"\S*\s*", delta):
                    if await self._stopped(len(word) / self.rate) or feed.aborted:
                        return
                    self.spoken[request.delivery_id] += word
                    reached(self._reached(generation, request, "speaking"))
                if self.fails is not None:
                    raise self.fails
        finally:
            self.now = None
            self.ended_at[request.delivery_id] = asyncio.get_running_loop().time()
            reached(self._reached(generation, request, "interrupted" if self._stop.is_set() else "finished"))

    def interrupt(self, run_id: str) -> None:
        if self.now is not None and self.now.run_id == run_id:
            self._stop.set()

    def speech_started(self, request: SpeechRequest) -> None:
        self.told.append(("started", request.delivery_id))

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None:
        self.told.append(("ended", request.delivery_id))

    def speech_suppressed(self, request: SpeechRequest, reason: str) -> None:
        self.told.append((reason, request.delivery_id))

    def _reached(self, generation: int, request: SpeechRequest, state: str) -> Reached:
        return Reached(generation, "voice", len(self.spoken[request.delivery_id]), "timed", state)

    async def _stopped(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return False
        return True


class Gate:
    """A place where an operation of the store stands still until it is opened."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def stand(self) -> None:
        self.reached.set()
        await self.opened.wait()


class PacedStore(MemoryRunStore):
    """Can be made to stand still, or to fail, before or after any operation."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._gates: list[tuple[str, str, Callable[..., bool], Gate]] = []
        self.faults: dict[str, WaysideError] = {}

    def gate(self, name: str, when: str = "before", match: Callable[..., bool] = lambda *_: True) -> Gate:
        """The next operation of this name whose arguments match stands still there, once."""
        gate = Gate()
        self._gates.append((name, when, match, gate))
        return gate

    async def paced(self, name: str, args: tuple, work) -> object:
        self.calls.append(name)
        if name in self.faults:
            raise self.faults[name]
        await self._stand(name, "before", args)
        result = await work(*args)
        await self._stand(name, "after", args)
        return result

    async def _stand(self, name: str, when: str, args: tuple) -> None:
        for waiting in tuple(self._gates):
            if waiting[:2] == (name, when) and waiting[2](*args):
                self._gates.remove(waiting)
                await waiting[3].stand()


OPERATIONS = ("admit", "save", "load", "load_by_input", "load_open", "commit_event", "load_events",
              "append_transcript", "load_transcript", "save_delivery", "load_deliveries", "save_state",
              "load_state")  # fmt: skip


def _paced(name: str):
    inner = getattr(MemoryRunStore, name)

    async def operation(self: PacedStore, *args) -> object:
        return await self.paced(name, args, lambda *given: inner(self, *given))

    return operation


for _name in OPERATIONS:
    setattr(PacedStore, _name, _paced(_name))


class _Killed(Exception):  # noqa: N818 - not an error, an end
    pass


@dataclass
class Engine:
    """One process in its room."""

    runtime: RoomAgentRuntime
    registry: RoomAgentRegistry
    store: RunStore
    speech: RoomSpeech
    voice: Voice
    group: asyncio.TaskGroup
    entries: list[tuple[RunRecord, JournalEntry]] = field(default_factory=list)
    lifecycle: list[RunLifecycle] = field(default_factory=list)
    numbers: itertools.count = field(default_factory=lambda: itertools.count(1))

    def ask(
        self,
        text: str = "Why?",
        *,
        input_id: str | None = None,
        channel: str = "public",
        disclosure: Disclosure = ROOM,
        who: str = "ana",
        agents: tuple[str, ...] = ("guide",),
        **changes,
    ) -> RunRequest:
        """One final input of somebody in the room."""
        name = input_id or f"in-{next(self.numbers)}"
        given = AgentInput(name, text, Endpoint("participant", who), channel, disclosure, Participant(who), "en")
        return RunRequest(given, agents=agents, **changes)

    async def answer(self, request: RunRequest | str = "Why?", *watch) -> RunResult:
        (result,) = await self.runtime.handle_run_input(
            self.ask(request) if isinstance(request, str) else request, *watch
        )
        return result

    def begin(self, request: RunRequest | str = "Why?") -> "asyncio.Task[RunResult]":
        """Ask, and go on; for those who await it later."""
        return asyncio.ensure_future(self.answer(request))

    async def journal(self, run_id: str) -> tuple[JournalEntry, ...]:
        return await self.store.load_events(run_id)

    async def kinds(self, run_id: str) -> list[str]:
        return [type(entry.event).__name__ for entry in await self.journal(run_id)]

    async def said(self, channel: str | None = None) -> list[str]:
        """The agents' words in the transcript."""
        return [row.text for row in await self.store.load_transcript(ROOM_ID, channel, 1000) if row.role == "agent"]

    async def heard(self, channel: str | None = None) -> list[str]:
        """The visitors' words in the transcript."""
        return [row.text for row in await self.store.load_transcript(ROOM_ID, channel, 1000) if row.role == "visitor"]

    async def quiet(self) -> None:
        """Until nothing is said or waits to be."""
        while self.speech._outgoing:
            await asyncio.sleep(0.1)

    def kill(self) -> None:
        """The process dies here; nothing after this line of the test's block runs."""
        raise _Killed


@asynccontextmanager
async def room(
    *,
    store: RunStore | None = None,
    voice: Voice | None = None,
    policy: RoutingPolicy | None = None,
    surface: Disclosure = ROOM,
    hooks: Hooks | None = None,
    deadline_ms: int = 20_000,
    visibility: Disclosure = ROOM,
    prefix: str = "id",
    observer: object | None = None,
    **drivers: object,
) -> AsyncIterator[Engine]:
    """A process in the room; at the end everything it began is over, or it was killed."""
    registry = RoomAgentRegistry()
    for person in PEOPLE:
        registry.join(Participant(person))
    for name, driver in drivers.items():
        registry.register(AgentDescriptor(name, name.title(), visibility=visibility), driver)
    store = store if store is not None else MemoryRunStore()
    voice = voice or Voice()
    ids = itertools.count(1)
    given = hooks or Hooks()
    try:
        async with asyncio.TaskGroup() as group:
            speech = RoomSpeech(voice, store, LoopClock(), group, observer or voice, surface)
            entries: list[tuple[RunRecord, JournalEntry]] = []
            lifecycle: list[RunLifecycle] = []
            runtime = RoomAgentRuntime(
                ROOM_ID,
                registry,
                store,
                LoopClock(),
                lambda: f"{prefix}{next(ids)}",
                group,
                policy=policy or RoutingPolicy(fallback="guide"),
                speech=speech,
                hooks=Hooks(
                    given.observe,
                    given.present,
                    given.on_entry or (lambda record, entry: entries.append((record, entry))),
                    given.lifecycle or lifecycle.append,
                    given.remember,
                ),
                deadline_ms=deadline_ms,
            )
            yield Engine(runtime, registry, store, speech, voice, group, entries, lifecycle)
    except* _Killed:
        pass
    assert [] == voice.faults


async def refusal(awaitable) -> str:
    """The code with which it is refused."""
    with pytest.raises(WaysideError) as refused:
        await awaitable
    return refused.value.code


async def check_invariants(store: RunStore, voices: tuple[Voice, ...] = ()) -> None:
    """What holds of every store at every moment that nothing is half done in."""
    runs = await store.load_runs(1000)
    places = [(run.channel, run.agent) for run in runs if run.open]
    assert len(places) == len(set(places)), "two open runs in one place"
    expected: list[tuple[str, str]] = []
    for run in runs:
        entries = await store.load_events(run.id)
        assert (
            [entry.sequence for entry in entries]
            == list(range(1, len(entries) + 1))
            == list(range(1, run.sequence + 1))
        )
        if run.status.terminal or (entries and entries[-1].attempt == run.attempt):
            assert status_after(entries) == run.status
        messages: dict[str, str] = {}
        for entry in entries:
            event = entry.event
            if isinstance(event, AssistantOutput):
                messages[event.output_id] = messages.get(event.output_id, "") + event.delta
                if event.final and event.history == "record":
                    expected.append((f"out:{run.id}:{event.output_id}", messages[event.output_id]))
    rows = [(row.key, row.text) for row in await store.load_transcript(ROOM_ID, None, 10_000) if row.role == "agent"]
    assert sorted(expected) == sorted(rows), "the transcript is not what was closed"
    spoken = [delivery for voice in voices for delivery in voice.spoken]
    assert len(spoken) == len(set(spoken)), "spoken twice"


DONE = Completed()
