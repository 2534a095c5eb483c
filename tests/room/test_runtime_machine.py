"""Any order of inputs, retries, answers, replacements, cancellations and deaths of the process, on a slow store."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from room.engine import ROOM_ID, Engine, PacedStore, Voice, check_invariants, room, says
from virtual import run_virtual
from wayside.core.errors import WaysideError
from wayside.core.room.agents import RoomUtterance
from wayside.core.runs.admission import SUPERSEDED
from wayside.core.runs.events import AssistantOutput, Checkpoint, Completed, Decision, InputRequested, Progress
from wayside.core.runs.record import RunStatus
from wayside.core.runs.request import ContinuationRef, InputPolicy, RunRequest, Supersession
from wayside.ports.room_agent import TurnContext
from wayside.runtime.runs.runtime import Hooks, RunResult

CHANNELS = st.sampled_from(["hall", "phone"])
AGENTS = st.sampled_from([("guide",), ("potter",), ("guide", "potter")])
PLANS = st.sampled_from(["answers", "asks", "slow", "raises", "half", "deaf", "decides", "late", "odd"])
WHO = st.sampled_from(["ana", "ana", "ben"])
NUMBERS = st.integers(0, 5)
OPERATIONS = st.one_of(
    st.tuples(st.just("ask"), CHANNELS, AGENTS, PLANS, WHO),
    st.tuples(st.just("ask"), CHANNELS, AGENTS, PLANS, WHO),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.003, 0.01, 0.05, 0.3, 2.0, 9.0])),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.003, 0.01, 0.05, 0.3, 2.0, 9.0])),
    st.tuples(st.just("retry"), NUMBERS),
    st.tuples(st.just("continue"), CHANNELS, PLANS, st.booleans()),
    st.tuples(st.just("supersede"), CHANNELS, PLANS, st.booleans()),
    st.tuples(st.just("cancel"), NUMBERS),
    st.tuples(st.just("interrupt")),
    st.tuples(st.just("die")),
)
ALLOWED = {"run.continuation_mismatch", "run.supersession_mismatch", "run.input_mismatch", "room.closed"}


class SlowStore(PacedStore):
    """Every operation takes a moment before and after its transaction: others come in between, or the end does."""

    def __init__(self) -> None:
        super().__init__()
        self.committed: set[tuple[str, int]] = set()

    async def paced(self, name: str, args: tuple, work) -> object:
        await asyncio.sleep(0.004)
        result = await super().paced(name, args, work)
        if name == "commit_event":
            self.committed.add((args[0].run_id, args[0].sequence))
        await asyncio.sleep(0.003)
        return result


@dataclass
class Life:
    """All processes of one visit, one after the other."""

    store: SlowStore = field(default_factory=SlowStore)
    voices: list[Voice] = field(default_factory=list)
    requests: list[RunRequest] = field(default_factory=list)
    calls: list["asyncio.Task[object]"] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    async def run(self, context: TurnContext):
        """The driver of every agent: does what the last word of its input says. Its words are always the same ones."""
        stored = await self.unpaced("load", context.run_id)
        if context.abort.aborted or (stored.status is RunStatus.CANCELED and stored.code == SUPERSEDED):
            self.faults.append("a superseded run's driver was entered")
        name = f"{context.run_id}.{context.input.id}"
        yield Progress("look", 1, 2)
        yield says(f"<{name}.1> ", "1")
        await asyncio.sleep(0.2)
        match context.input.text.split()[-1]:
            case "asks" if context.attempt < 4:
                yield Checkpoint({"at": context.input.id})
                yield InputRequested("which", f"token-{context.run_id}")
            case "slow":
                await asyncio.sleep(30)
            case "raises":
                raise ValueError("secret")
            case "half":
                yield AssistantOutput("2", "half ")
                await asyncio.sleep(1)
            case "deaf":
                await _deaf(3)
                yield says(f"<{name}.2> ", "2")
            case "decides":
                yield Decision(utterances=(RoomUtterance(f"<{name}.d> "), RoomUtterance("aside ", history="ephemeral")))
            case "late":
                yield Completed()
                yield says("never said ", "2")
            case "odd":
                yield says("never said ", "2", purpose=[])
            case _:
                yield AssistantOutput("2", "and ")
                await asyncio.sleep(0.5)
                yield AssistantOutput("2", "more. ", final=True)
                yield Completed()

    async def unpaced(self, name: str, *args):
        return await getattr(super(PacedStore, self.store), name)(*args)

    def seen(self, record, entry) -> None:
        if (entry.run_id, entry.sequence) not in self.store.committed:
            self.faults.append("an event was seen before it was committed")

    async def live(self, operations: list[tuple]) -> None:
        left, process = list(operations), 0
        while left is not None:
            process += 1
            self.voices.append(Voice(rate=60))
            hooks = Hooks(on_entry=self.seen)
            driver = _Driver(self)
            left, rest = None, left
            async with room(
                store=self.store, voice=self.voices[-1], hooks=hooks, prefix=f"p{process}-", guide=driver, potter=driver
            ) as r:
                r.numbers = _Numbers(process)
                # What a process that died had committed and not shown is known at once (RFC-022 §4).
                opened = await r.runtime.resume()
                self.watch(asyncio.ensure_future(self.take_up(r, opened)))
                while rest:
                    operation, *rest = rest
                    if operation == ("die",):
                        left = rest
                        r.kill()
                    await self.do(r, *operation)
                    await self.always()
                await asyncio.sleep(60)
                await r.quiet()
                assert {} == r.runtime._live
                assert all(run.status is RunStatus.WAITING for run in await self.store.load_open(ROOM_ID))
        await asyncio.wait(self.calls)

    async def take_up(self, r: Engine, opened) -> None:
        for record in opened:
            if record.status is RunStatus.ACTIVE:
                await r.runtime.resume_run(record.id)

    def watch(self, call) -> None:
        self.calls.append(call)

    async def do(self, r: Engine, kind: str, *args) -> None:
        match kind, *args:
            case "ask", channel, agents, plan, who:
                self.send(r, r.ask(plan, channel=channel, agents=agents, who=who))
            case "wait", seconds:
                await asyncio.sleep(seconds)
            case "retry", number if self.requests:
                self.watch(
                    asyncio.ensure_future(r.runtime.handle_run_input(self.requests[number % len(self.requests)]))
                )
            case "continue", channel, plan, right:
                for run in await self.store.load_open(ROOM_ID, channel):
                    token = f"token-{run.id}" if right else "guessed"
                    given = ContinuationRef(run.id, token)
                    self.send(r, r.ask(plan, channel=channel, agents=(run.agent,), continuation=given))
            case "supersede", channel, plan, append:
                for run in await self.store.load_open(ROOM_ID, channel):
                    policy = InputPolicy("append" if append else "replace")
                    given = Supersession(run.id, {"seed": run.id}, policy)
                    self.send(r, r.ask(plan, channel=channel, agents=(run.agent,), supersession=given))
            case "cancel", number:
                runs = await self.store.load_runs()
                if runs:
                    self.watch(asyncio.ensure_future(r.runtime.cancel_run(runs[number % len(runs)].id)))
            case ("interrupt",):
                self.watch(asyncio.ensure_future(r.runtime.interrupt()))

    def send(self, r: Engine, request: RunRequest) -> None:
        self.requests.append(request)
        self.watch(asyncio.ensure_future(r.runtime.handle_run_input(request)))

    async def always(self) -> None:
        """What holds in the middle of everything, too."""
        runs = await self.unpaced("load_runs")
        places = Counter((run.channel, run.agent) for run in runs if run.open)
        assert not places or max(places.values()) == 1
        for run in runs:
            entries = await self.unpaced("load_events", run.id)
            assert list(range(1, run.sequence + 1)) == [entry.sequence for entry in entries]

    async def check(self) -> None:
        """What holds when it is all over."""
        assert [] == self.faults
        await check_invariants(self.store, tuple(self.voices))
        rows = await self.store.load_transcript(ROOM_ID, None, 1000)
        spoken = Counter(
            word for voice in self.voices for text in voice.spoken.values() for word in text.split() if word[0] == "<"
        )
        assert not spoken or max(spoken.values()) == 1, "spoken twice"
        recorded = {row.text.strip() for row in rows if row.role == "agent"}
        assert set(spoken) <= recorded
        assert "never said" not in repr((rows, [voice.spoken for voice in self.voices]))
        roots = Counter((run.channel, run.agent, run.root_input_id) for run in await self.store.load_runs())
        assert not roots or max(roots.values()) == 1, "admitted twice"
        for call in self.calls:
            if not call.cancelled():
                error = call.exception()
                assert error is None or (isinstance(error, WaysideError) and error.code in ALLOWED), error
                results = call.result() if error is None else ()
                for result in results if isinstance(results, tuple) else ():
                    assert isinstance(result, RunResult)
                    assert "store." not in result.code
        assert {asyncio.current_task()} == asyncio.all_tasks()


class _Driver:
    def __init__(self, life: Life) -> None:
        self.run = life.run


class _Numbers:
    """Input ids that no other process gives."""

    def __init__(self, process: int) -> None:
        self.process, self.count = process, 0

    def __next__(self) -> str:
        self.count += 1
        return f"{self.process}-{self.count}"


async def _deaf(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while (left := until - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


async def _whole(operations: list[tuple]) -> None:
    life = Life()
    await life.live(operations)
    await life.check()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(OPERATIONS, max_size=14))
@example(
    [
        ("ask", "hall", ("guide", "potter"), "asks", "ana"),
        ("wait", 2.0),
        ("die",),
        ("continue", "hall", "answers", True),
    ]
)
@example(
    [
        ("ask", "hall", ("guide",), "slow", "ana"),
        ("wait", 0.3),
        ("die",),
        ("supersede", "hall", "answers", True),
        ("retry", 1),
    ]
)
@example(
    [
        ("ask", "hall", ("guide",), "deaf", "ana"),
        ("wait", 0.3),
        ("ask", "hall", ("guide",), "answers", "ana"),
        ("die",),
        ("retry", 0),
    ]
)
def test_whatever_happens_in_whatever_order(operations: list[tuple]) -> None:
    """D8, D16-D21, D26, F1-F3. One open run in a place; journals whole; each word once; nothing left behind."""
    run_virtual(_whole(operations))
