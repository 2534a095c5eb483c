"""A database that fails in the middle of a run costs the visit its recovery and nobody an answer."""

import asyncio

import pytest
from kit import virtually
from room.engine import ROOM_ID, PacedStore, Script, check_invariants, refusal, room, says
from wayside.core.errors import WaysideError
from wayside.core.room.refusals import REFUSALS, refuse
from wayside.core.runs.events import Checkpoint, InputRequested, Progress
from wayside.core.runs.record import RunStatus
from wayside.core.runs.request import ContinuationRef
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.runs.degrading import DegradingRunStore

CODES = sorted(code for code in REFUSALS if code.startswith("store.") and code != "store.closed")
IN_A_RUN = (
    "admit",
    "load",
    "load_by_input",
    "load_open",
    "commit_event",
    "load_events",
    "append_transcript",
    "load_transcript",
    "save_delivery",
    "load_deliveries",
)
WRITES = ("admit", "commit_event", "append_transcript", "save_delivery")


class Fails(PacedStore):
    """Fails at the n-th call of one operation, and then for good, as a database does."""

    durable = True

    def __init__(self, name: str = "", code: str = "store.failed", at: int = 1) -> None:
        super().__init__()
        self.name, self.code, self.left = name, code, at
        self.broken = False

    async def paced(self, name: str, args: tuple, work) -> object:
        if name == self.name:
            self.left -= 1
            self.broken = self.broken or self.left == 0
        if self.broken:
            raise refuse(self.code)
        return await super().paced(name, args, work)


def script() -> Script:
    first = (Progress("look"), Checkpoint({"n": 1}), says("Which one? "), InputRequested("q", "t"))
    return Script(*first, later=((says("That one. "), says("It is old.", "b")), (says("Yes."),)))


async def whole_visit(store: DegradingRunStore) -> list:
    """A question, an answer that continues it, another question, and retries; all of it must work."""
    async with room(store=store, guide=script()) as r:
        first = r.ask("Tell me")
        asked = await r.answer(first)
        await asyncio.sleep(3)
        answered = await r.answer("The left")
        await r.quiet()
        last = await r.answer("Really?")
        await r.quiet()
        again = await r.answer(first)

        assert [RunStatus.WAITING, RunStatus.COMPLETED, RunStatus.COMPLETED] == [
            result.status for result in (asked, answered, last)
        ]
        assert (asked.run_id, 2) == (answered.run_id, answered.attempt)
        assert (True, asked.run_id) == (again.duplicate, again.run_id)
        assert ["Which one? ", "That one. ", "It is old.", "Yes."] == await r.said()
        assert ["Tell me", "The left", "Really?"] == await r.heard()
        assert ["Which one? ", "That one. It is old.", "Yes."] == list(r.voice.spoken.values())
        memory = [item.text for item in r.registry._agents["guide"].driver.contexts[2].memory]
        assert ["Tell me", "Which one?", "The left", "That one. It is old."] == memory
        await check_invariants(store, (r.voice,))
        return await store.load_runs()


async def everything(store: MemoryRunStore) -> tuple:
    runs = await store.load_runs()
    ids = tuple(run.id for run in runs)
    journals = [await store.load_events(run_id) for run_id in ids]
    return runs, journals, await store.load_transcript(ROOM_ID), await store.load_deliveries(ids)


@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize("name", IN_A_RUN)
@pytest.mark.parametrize("code", CODES)
def test_whatever_fails_wherever_the_visit_goes_on(code: str, name: str, at: int) -> None:
    """RFC-022 §4. The run ends well, operators learn the code once, nothing that was committed is lost."""

    @virtually
    async def check() -> None:
        told: list[str] = []
        first = Fails(name, code, at)
        store = DegradingRunStore(first, told.append)
        runs = await whole_visit(store)

        assert 2 == len(runs)
        assert ([code] if first.broken else []) == told
        assert store.durable is not first.broken

    check()


def test_the_operations_do_fail_in_that_visit() -> None:
    """The test above can fail: everything that writes is called, and more than once."""

    @virtually
    async def check() -> None:
        first = Fails()
        await whole_visit(DegradingRunStore(first, lambda _: None))

        assert min(first.calls.count(name) for name in WRITES) >= 2

    check()


@virtually
async def test_without_a_fault_both_hold_the_same() -> None:
    """RFC-022 §4. What memory would go on from is what was committed."""
    first = Fails()
    store = DegradingRunStore(first, lambda _: None)
    await whole_visit(store)

    assert await everything(first) == await everything(store._memory)


@virtually
async def test_refusals_pass_through_and_give_nothing_up() -> None:
    """F2. A stale transition is no fault of the database."""
    told: list[str] = []
    store = DegradingRunStore(Fails(), told.append)
    async with room(store=store, guide=Script(InputRequested("q", "t"))) as r:
        request = r.ask(input_id="x")
        await r.answer(request)
        codes = [
            await refusal(r.answer(r.ask("Other", input_id="x"))),
            await refusal(r.answer(r.ask(continuation=ContinuationRef("id9", "t")))),
            await refusal(store.create((await store.load_runs())[0])),
        ]

    assert ["run.input_mismatch", "run.continuation_mismatch", "run.open_exists"] == codes
    assert ([], True) == (told, store.durable)


@virtually
async def test_a_closed_store_is_not_a_broken_one() -> None:
    """Nothing more of a visit that has ended is kept."""
    told: list[str] = []
    store = DegradingRunStore(Fails(), told.append)
    await store.close()

    assert ("store.closed", []) == (await refusal(store.save_state("room", 1)), told)


@virtually
async def test_a_caller_who_is_cancelled_leaves_both_alike() -> None:
    """RFC-022 §4. The outcome is learnt first."""
    first = Fails()
    store = DegradingRunStore(first, lambda _: None)
    gate = first.gate("save_state", "after")
    task = asyncio.ensure_future(store.save_state("room", {"phase": "quiz"}))
    await gate.reached.wait()
    task.cancel()
    await asyncio.sleep(1)
    waits = not task.done()
    gate.opened.set()
    await asyncio.wait({task})

    assert (True, True) == (waits, task.cancelled())
    assert {"phase": "quiz"} == await store._memory.load_state("room")


@virtually
async def test_a_recovered_visit_goes_on_in_memory_too() -> None:
    """T9, D7. What was left is taken over; a fault right after it loses no run, transcript, delivery or focus."""
    left = PacedStore()
    async with room(store=left, guide=Script(says("Before."), later=((says("Part. "), 3600),))) as r:
        await r.runtime.set_phase("quiz")
        await r.answer("First?")
        await r.quiet()
        r.begin("Second?")
        await asyncio.sleep(2)
        r.kill()
    first = Fails()
    vars(first).update({name: kept for name, kept in vars(left).items() if name.startswith("_")})
    store = DegradingRunStore(first, lambda _: None)
    await store.fill(ROOM_ID)
    async with room(store=store, guide=Script(says("Rest.", "b")), prefix="n") as again:
        (active,) = await again.runtime.resume()
        first.broken = True
        result = await again.runtime.resume_run(active.id)
        await again.runtime.resume()

        assert (RunStatus.COMPLETED, "quiz") == (result.status, again.runtime.phase)
        assert ["Before.", "Part. ", "Rest."] == await again.said()
        await again.quiet()
        deliveries = await store.load_deliveries(tuple(run.id for run in await store.load_runs()))
        assert {"id1/1", "id4/1", "id4/2"} == {row.delivery_id for row in deliveries}
        await check_invariants(store)


@virtually
async def test_a_store_that_can_not_be_read_at_the_start_is_given_up() -> None:
    """The visit begins all the same."""
    told: list[str] = []
    store = DegradingRunStore(Fails("load_transcript", "store.corrupt"), told.append)
    await store.fill(ROOM_ID)
    await whole_visit(store)

    assert (["store.corrupt"], False) == (told, store.durable)


@virtually
async def test_deleting_forgets_both() -> None:
    """A visit that is over is nowhere."""

    class Kept(MemoryRunStore):
        gone = False

        async def delete(self) -> None:
            self.gone = True
            raise WaysideError("store.failed", "x")

    first = Kept()
    store = DegradingRunStore(first, lambda _: None)
    await store.save_state("room", 1)

    assert "store.failed" == await refusal(store.delete())
    assert (True, {}) == (first.gone, store._memory._state)
