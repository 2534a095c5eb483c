"""A ladder of truthful progress while a provider is silent (RFC-022 §5)."""

import asyncio

import pytest
from kit import virtually
from room.engine import refusal
from wayside.core.runs.events import Progress
from wayside.ports.room_agent import AbortSignal
from wayside.runtime.runs.progress import Finished, wait_with_room_agent_progress

LOOK, READ, THINK = Progress("look"), Progress("read", 1, 3), Progress("think")


async def work(seconds: float, result: object = "value") -> object:
    await asyncio.sleep(seconds)
    if isinstance(result, Exception):
        raise result
    return result


async def climbed(given, rungs, abort: AbortSignal | None = None) -> list[tuple[int, object]]:
    """What came, and after how many milliseconds."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    return [
        (round((loop.time() - begun) * 1000), item)
        async for item in wait_with_room_agent_progress(given, rungs, abort or AbortSignal())
    ]


@virtually
async def test_each_rung_comes_after_the_one_before_and_then_the_value() -> None:
    """P1. 6000 and 9000 ms for delays of 6000 and 3000; rungs that are not reached never come."""
    rungs = [(6000, LOOK), (3000, READ), (3000, THINK)]

    assert [(6000, LOOK), (9000, READ), (10_000, Finished("value"))] == await climbed(work(10), rungs)


@pytest.mark.parametrize(
    ("seconds", "rungs", "expected"),
    [
        (2, [(6000, LOOK)], [(2000, Finished("value"))]),
        (1, [(0, LOOK)], [(0, LOOK), (1000, Finished("value"))]),
        (9, [(1000, LOOK)], [(1000, LOOK), (9000, Finished("value"))]),
        (9, [], [(9000, Finished("value"))]),
    ],
)
def test_the_value_comes_as_soon_as_it_is_there(seconds: float, rungs: list, expected: list) -> None:
    """P1, P2. No cadence but the product's: without rungs there is silence."""

    @virtually
    async def check() -> None:
        assert expected == await climbed(work(seconds), rungs)

    check()


@pytest.mark.parametrize("at", [0.0, 1.0, 7.0, 12.0])
def test_an_abort_ends_it_silently_and_stops_the_work(at: float) -> None:
    """P2. Before the first rung, between rungs and after the last; no error, no value."""

    @virtually
    async def check() -> None:
        abort, loop = AbortSignal(), asyncio.get_running_loop()
        task = asyncio.ensure_future(work(20))
        if at:
            loop.call_later(at, abort.abort, "enough")
        else:
            abort.abort("enough")
        came = await climbed(task, [(0 if not at else 6000, LOOK), (5000, READ)], abort)
        await asyncio.wait({task})

        assert [item for time, item in [(6000, LOOK), (11_000, READ)] if time < at * 1000] == [item for _, item in came]
        assert task.cancelled()

    check()


@virtually
async def test_what_the_work_raises_is_raised() -> None:
    """P2. Also when it comes between two rungs."""
    rungs = [(6000, LOOK), (6000, READ)]
    ladder = wait_with_room_agent_progress(work(8, ValueError("provider")), rungs, AbortSignal())
    came = [await anext(ladder)]
    with pytest.raises(ValueError, match="provider"):
        await anext(ladder)

    assert [LOOK] == came


@virtually
async def test_what_the_work_raises_after_an_abort_is_nobodys() -> None:
    """P2. Not raised, and not logged by the loop either, for it may hold content."""
    logged = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: logged.append(context))
    abort = AbortSignal()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(20)
        finally:
            raise ValueError("secret")

    asyncio.get_running_loop().call_later(1, abort.abort, "enough")
    came = await climbed(stubborn(), [(6000, LOOK)], abort)
    await asyncio.sleep(1)

    assert ([], []) == (came, logged)


@pytest.mark.parametrize("delay", [-1, 1.5, "6000", None, True, float("nan")])
def test_a_broken_delay_is_refused_before_anything_is_waited_for(delay: object) -> None:
    """P2. Wherever it stands in the ladder; the work isn't begun."""
    begun = []

    async def begins() -> None:
        begun.append(True)

    @virtually
    async def check() -> None:
        loop = asyncio.get_running_loop()
        at = loop.time()
        ladder = wait_with_room_agent_progress(begins(), [(6000, LOOK), (delay, READ)], AbortSignal())

        assert "run.delay_malformed" == await refusal(anext(ladder))
        assert (at, []) == (loop.time(), begun)

    check()


@virtually
async def test_a_driver_that_leaves_stops_the_work() -> None:
    """P2. Closing the generator cancels what it waited for."""
    task = asyncio.ensure_future(work(20))
    ladder = wait_with_room_agent_progress(task, [(1000, LOOK), (5000, READ)], AbortSignal())
    first = await anext(ladder)
    await ladder.aclose()
    await asyncio.wait({task})

    assert (LOOK, True) == (first, task.cancelled())
