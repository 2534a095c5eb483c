"""`wayside bench runs`: what the run engine costs, in RAM and on disk, measured on this machine.

Drivers and voice are fakes that never wait, so everything measured is Wayside's own. Reports as `wayside bench voice`
does; the file systems that were used are named.
"""

import asyncio
import contextlib
import gc
import itertools
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from wayside import main as wiring
from wayside.commands.bench import Samples, Target, Targets, summary
from wayside.core.errors import WaysideError
from wayside.core.room.agents import AgentDescriptor, AgentInput, Endpoint, Participant
from wayside.core.room.arbiter import Reason
from wayside.core.room.disclosure import ROOM
from wayside.core.room.routing import RoutingPolicy
from wayside.core.runs.events import AssistantOutput, Completed, DriverEvent, JournalEntry, OutputOrigin
from wayside.core.runs.record import RunRecord, apply
from wayside.core.runs.request import RunRequest
from wayside.ports.clock import SystemClock
from wayside.ports.room_agent import TurnContext
from wayside.ports.run_store import Admission, RunStore, TranscriptRow
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.logs import configure
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import Reached, RoomSpeech, SpeechRequest
from wayside.runtime.runs.degrading import DegradingRunStore
from wayside.runtime.runs.runtime import RoomAgentRuntime
from wayside.runtime.text_feed import TextFeed
from wayside.stores.sqlite.runs import SqliteRunStore
from wayside.stores.sqlite.visits import in_ram

TARGETS: Targets = {
    "commit_ram_ms": (Target("p50", 1), Target("p95", 5)),
    "commit_disk_ms": (Target("p50", 1), Target("p95", 5)),
    "loop_lag_ms": (Target("p99", 10),),
    "added_latency_ms": (Target("p95", 10),),
    "admission_growth_ratio": (Target("p50", 2),),
    "memory_growth_file_mb": (Target("p50", 5),),
    "memory_growth_memory_mb": (Target("p50", 5),),
}
TURNS = 10_000
COMMITS = 1500
COMMITS_LIMIT_S = 12.0  # a slow disk is measured with fewer
REPLIES = 6
DELTAS = 500
LAG_EVERY_S = 0.002
VOICE_TURNS = 200
COMPARED = 200
ROOM_ID = "bench"
CHANNEL = "visitor.guide"
DELTA = "a word "


@dataclass(frozen=True, slots=True)
class Ground:
    """Where to measure: folders of this bench alone, `ram` None where no memory-backed one was found."""

    ram: Path | None
    disk: Path
    turns: int

    def in_memory(self) -> Path:
        """The RAM-backed folder; raises `bench.no_ram`."""
        if self.ram is None:
            raise WaysideError("bench.no_ram", "No RAM-backed folder was found", remedy="Set XDG_RUNTIME_DIR.")
        return self.ram


async def bench_runs(folder: Path, *, turns: int, only: Sequence[str] | None, tell: wiring.Tell) -> dict[str, Any]:
    """Measure; files on disk go under `folder` and are deleted. `only` names measures, all otherwise."""
    configure()
    wiring.no_core_dumps()
    measures: dict[str, Any] = {}
    stages: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    with _ground(folder, turns) as ground:
        where = {"ram": file_system(ground.ram), "disk": file_system(ground.disk)}
        for names, part in PARTS:
            if only and not set(names) & set(only):
                continue
            tell(f"Measuring {', '.join(names)} …")
            try:
                found = await part(ground, tell)
            except WaysideError as error:
                skipped |= dict.fromkeys(names, f"{error.advice} [{error.code}]")
                continue
            for name, samples in found.items():
                (stages if "/" in name else measures)[name] = summary(name, samples, TARGETS)
    return {"measures": measures, "stages": stages, "skipped": skipped, "where": where}


# --- arithmetic -----------------------------------------------------------------------------------------------------


def growth_ratio(costs: Sequence[float], compared: int = COMPARED) -> list[float]:
    """The median of the last `compared` costs over that of the first; nothing when they would overlap."""
    if compared < 1 or len(costs) < 2 * compared:
        return []
    first, last = (float(np.median(part)) for part in (costs[:compared], costs[-compared:]))
    return [last / first] if first > 0 else []


def lags_ms(wakes: Sequence[float], every_s: float) -> list[float]:
    """How late each wake was that had been asked for `every_s` after the one before, in ms; never negative."""
    return [max(0.0, 1000 * (after - before - every_s)) for before, after in itertools.pairwise(wakes)]


def file_system(path: Path | None, mounts: Iterable[tuple[str, str]] | None = None) -> str:
    """`type on mount point` of the file system that holds `path`; `mounts` are (mount point, type)."""
    if path is None:
        return "none"
    if mounts is None:
        mounts = [(each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True)]
    place = path.resolve()
    holding = [(len(Path(point).parts), point, kind) for point, kind in mounts if place.is_relative_to(point)]
    if not holding:
        return "unknown"
    deepest = max(depth for depth, _, _ in holding)
    # Of several mounted on one point, the last one is seen.
    _, point, kind = next(each for each in reversed(holding) if each[0] == deepest)
    return f"{kind} on {point}"


# --- commits --------------------------------------------------------------------------------------------------------


async def commits_in_ram(ground: Ground, tell: wiring.Tell) -> Samples:
    """One run event and the state it leads to, in the file that visits are kept in."""
    del tell
    return {"commit_ram_ms": await _commits(ground.in_memory())}


async def commits_on_disk(ground: Ground, tell: wiring.Tell) -> Samples:
    """The same on a disk, as a visit never is: what WAL and synchronous=FULL cost there."""
    del tell
    if in_ram(ground.disk):
        raise WaysideError("bench.no_disk", f"{ground.disk} is in RAM", remedy="Name a folder on a disk with --folder.")
    return {"commit_disk_ms": await _commits(ground.disk)}


async def _commits(folder: Path) -> list[float]:
    took: list[float] = []
    async with _file(folder) as store:
        ids = _ids()
        record, began = await _admitted(store, next(ids)), time.monotonic()
        while len(took) < COMMITS and time.monotonic() - began < COMMITS_LIMIT_S:
            if record.sequence >= DELTAS:
                record, _ = await _committed(store, record, Completed(), next(ids))
                record = await _admitted(store, next(ids))
            origin = OutputOrigin("driver", 1, record.input.id, "answer")
            event = AssistantOutput("1.driver.answer", DELTA, origin=origin)
            record, cost = await _committed(store, record, event, next(ids))
            took.append(cost)
    return took


async def _committed(
    store: RunStore, record: RunRecord, event: AssistantOutput | Completed, event_id: str
) -> tuple[RunRecord, float]:
    after = apply(record, event)
    entry = JournalEntry(record.id, after.sequence, 1, event, event_id, record.input.id)
    began = time.perf_counter()
    await store.commit_event(entry, after)
    return after, 1000 * (time.perf_counter() - began)


async def _admitted(store: RunStore, name: str) -> RunRecord:
    given = _input(name)
    record = RunRecord(f"run-{name}", ROOM_ID, CHANNEL, "guide", name, given, ROOM, 20_000, 20_000)
    row = TranscriptRow(ROOM_ID, CHANNEL, f"in:{name}", "visitor", "visitor", given.text, record.id, ROOM)
    return await store.admit(Admission(record, name, row))


# --- turns ----------------------------------------------------------------------------------------------------------


async def lag(ground: Ground, tell: wiring.Tell) -> Samples:
    """How late the event loop is while replies of 500 deltas are committed and handed to a voice."""
    found: list[float] = []
    async with _file(ground.in_memory()) as store, _room(_kept(store), DELTAS) as room:
        for number in range(REPLIES):
            tell(f"  reply {number + 1} of {REPLIES}")
            wakes: list[float] = []
            watching = asyncio.ensure_future(_watch(wakes))
            try:
                await room.turn(f"lag-{number}")
            finally:
                watching.cancel()
            found += lags_ms(wakes, LAG_EVERY_S)
    return {"loop_lag_ms": found}


async def added(ground: Ground, tell: wiring.Tell) -> Samples:
    """An input handed to the engine → the first delta at the voice, with a driver that yields at once."""
    del tell
    found: Samples = {"added_latency_ms": [], "added/input_to_admitted_ms": [], "added/admitted_to_voice_ms": []}
    async with _file(ground.in_memory()) as store, _room(_kept(store), 3) as room:
        for number in range(VOICE_TURNS):
            took = await room.turn(f"voice-{number}")
            found["added_latency_ms"].append(took.first_words_ms)
            found["added/input_to_admitted_ms"].append(took.admitted_ms)
            found["added/admitted_to_voice_ms"].append(took.first_words_ms - took.admitted_ms)
    return found


async def many(ground: Ground, tell: wiring.Tell) -> Samples:
    """Turns one after another in one visit's file: what admission costs in the end, and the memory it takes."""
    async with _file(ground.in_memory()) as store:
        costs, grown = await _many(_kept(store), ground.turns, tell)
    compared = min(COMPARED, ground.turns // 2)
    return {
        "admission_growth_ratio": growth_ratio(costs, compared),
        "memory_growth_file_mb": [grown],
        "admission/first_ms": costs[:compared],
        "admission/last_ms": costs[-compared:],
    }


async def many_in_memory(ground: Ground, tell: wiring.Tell) -> Samples:
    """The same where no file can be had."""
    _, grown = await _many(MemoryRunStore(), ground.turns, tell)
    return {"memory_growth_memory_mb": [grown]}


async def _many(store: RunStore, turns: int, tell: wiring.Tell) -> tuple[list[float], float]:
    """Each turn's admission in ms, and the resident MB gained after a quarter of them, when every bound is reached."""
    process = psutil.Process()
    costs: list[float] = []
    before = 0.0
    async with _room(store, 1) as room:
        for number in range(turns):
            if number == turns // 4:
                gc.collect()
                before = process.memory_info().rss
            if number % 2000 == 0:
                tell(f"  turn {number} of {turns}")
            costs.append((await room.turn(f"turn-{number}")).admitted_ms)
    gc.collect()
    return costs, (process.memory_info().rss - before) / 2**20


async def _watch(wakes: list[float]) -> None:
    while True:
        wakes.append(time.perf_counter())
        await asyncio.sleep(LAG_EVERY_S)


# --- a room of fakes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Took:
    admitted_ms: float
    first_words_ms: float


class _AtOnce:
    """A driver that has its whole answer ready."""

    def __init__(self, deltas: int) -> None:
        self._deltas = deltas

    async def run(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        del context
        for number in range(self._deltas):
            yield AssistantOutput("answer", DELTA, final=number == self._deltas - 1)
        yield Completed()


class _Voice:
    """Takes every word as it comes, and notes when the first one did."""

    def __init__(self) -> None:
        self.first_at = 0.0
        self.suppressed = ""
        self._generation = 0

    async def speak(self, request: SpeechRequest, feed: TextFeed, reached: Callable[[Reached], None]) -> None:
        del request
        self._generation += 1
        chars = 0
        while (delta := await feed.next()) is not None:
            self.first_at = self.first_at or time.perf_counter()
            chars += len(delta)
        reached(Reached(self._generation, "voice", chars, "timed", "completed"))

    def interrupt(self, run_id: str) -> None:
        pass

    def speech_started(self, request: SpeechRequest) -> None:
        pass

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None:
        pass

    def speech_suppressed(self, request: SpeechRequest, reason: Reason) -> None:
        del request
        self.suppressed = reason


class _Room:
    def __init__(self, runtime: RoomAgentRuntime, speech: RoomSpeech, voice: _Voice) -> None:
        self._runtime = runtime
        self._speech = speech
        self._voice = voice

    async def turn(self, name: str) -> _Took:
        """One turn until its words are spoken."""
        admitted: list[float] = []
        self._voice.first_at = 0.0
        began = time.perf_counter()
        (result,) = await self._runtime.handle_run_input(
            RunRequest(_input(name)), on_admitted=lambda _: admitted.append(time.perf_counter())
        )
        await self._speech.delivered(result.run_id, result.attempt)
        if self._voice.suppressed or not self._voice.first_at:
            why = self._voice.suppressed or result.status
            raise WaysideError("bench.not_spoken", f"A reply was not spoken: {why}", remedy="Measure again.")
        return _Took(1000 * (admitted[0] - began), 1000 * (self._voice.first_at - began))


@asynccontextmanager
async def _room(store: RunStore, deltas: int) -> AsyncIterator[_Room]:
    registry = RoomAgentRegistry()
    registry.join(Participant("visitor"))
    registry.register(AgentDescriptor("guide", "Guide"), _AtOnce(deltas))
    ids, clock, voice = _ids(), SystemClock(), _Voice()
    try:
        async with asyncio.TaskGroup() as group:
            speech = RoomSpeech(voice, store, clock, group, voice)
            policy = RoutingPolicy(fallback="guide")
            runtime = RoomAgentRuntime(
                ROOM_ID, registry, store, clock, lambda: next(ids), group, policy=policy, speech=speech
            )
            yield _Room(runtime, speech, voice)
    except ExceptionGroup as found:
        known = next((error for error in found.exceptions if isinstance(error, WaysideError)), None)
        raise known or found from None


def _kept(store: RunStore) -> RunStore:
    """The store as a visit has it: with what it falls back on."""

    def failed(code: str) -> None:
        raise WaysideError("bench.store_failed", f"The store gave up ({code})", remedy="Measure again.")

    return DegradingRunStore(store, failed)


def _input(name: str) -> AgentInput:
    me = Participant("visitor")
    return AgentInput(name, "What is this made of?", Endpoint("participant", me.id), CHANNEL, ROOM, me, "en")


def _ids() -> Iterator[str]:
    return (f"id-{number}" for number in itertools.count())


@asynccontextmanager
async def _file(folder: Path) -> AsyncIterator[SqliteRunStore]:
    path = folder / f"{time.monotonic_ns()}.bench"
    store = await SqliteRunStore(path).open()
    try:
        yield store
    finally:
        await store.delete()


@contextlib.contextmanager
def _ground(folder: Path, turns: int) -> Iterator[Ground]:
    session = os.environ.get("XDG_RUNTIME_DIR")
    places = [Path(session)] if session else []
    ram = next((place for place in [*places, Path("/dev/shm")] if place.is_dir() and in_ram(place)), None)  # noqa: S108
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            on_disk = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-runs-", dir=folder)))
        except OSError:
            raise WaysideError(
                "bench.folder", f"{folder} can not be written", remedy="Name another --folder."
            ) from None
        try:
            kept = stack.enter_context(tempfile.TemporaryDirectory(prefix="wayside-bench-", dir=ram)) if ram else None
        except OSError:
            kept = None
        yield Ground(Path(kept) if kept else None, on_disk, turns)


Part = Callable[[Ground, wiring.Tell], Awaitable[Samples]]
PARTS: tuple[tuple[tuple[str, ...], Part], ...] = (
    (("commit_ram_ms",), commits_in_ram),
    (("commit_disk_ms",), commits_on_disk),
    (("loop_lag_ms",), lag),
    (("added_latency_ms",), added),
    (("memory_growth_memory_mb",), many_in_memory),
    (("admission_growth_ratio", "memory_growth_file_mb"), many),
)
