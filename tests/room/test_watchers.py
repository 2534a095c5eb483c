"""What watchers are told of, and what goes out."""

import asyncio
import itertools
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual import run_virtual
from wayside.core.errors import WaysideError
from wayside.core.room.agents import Endpoint, InteractionDraft
from wayside.core.room.disclosure import ROOM, Disclosure, among
from wayside.core.room.envelope import RoomEvent
from wayside.runtime.room.router import RoomInteractionRouter
from wayside.runtime.room.watchers import REVISIONS_KEPT, Raised, RoomInteractionWatcherRegistry

GUIDE = Endpoint("agent", "guide")
RIM = Endpoint("watcher", "rim")


def found(name: str = "rim.found", disclosure: Disclosure = ROOM) -> InteractionDraft:
    return InteractionDraft((GUIDE,), {"type": "event", "name": name, "data": {}}, disclosure)


class Watches:
    """Finds the given drafts; waits for `gate` when there is one; fails as often as told."""

    def __init__(self, *drafts: InteractionDraft, fails: int = 0, gate: asyncio.Event | None = None) -> None:
        self.drafts = drafts
        self.fails = fails
        self.gate = gate
        self.seen: list[object] = []

    async def __call__(self, projection):
        self.seen.append(projection)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails:
            self.fails -= 1
            raise OSError("the words of a visitor")
        return self.drafts


class Log:
    """Keeps, in order, what was recorded and what was routed."""

    def __init__(self, *, known: tuple[int, ...] = (), receipt_fails: int = 0, route_fails: int = 0) -> None:
        self.lines: list[object] = []
        self.recorded = set(known)
        self.receipt_fails = receipt_fails
        self.route_fails = route_fails

    async def receipt(self, revision: int, watchers: tuple[str, ...]) -> bool:
        if self.receipt_fails:
            self.receipt_fails -= 1
            raise OSError("disk")
        fresh = revision not in self.recorded
        self.recorded.add(revision)
        self.lines.append((revision, watchers))
        return fresh

    async def route(self, source: Endpoint, draft: InteractionDraft) -> None:
        if self.route_fails:
            self.route_fails -= 1
            raise OSError("lane")
        self.lines.append((source, draft.payload["name"]))


@asynccontextmanager
async def watching(log: Log, *, receipt: bool = True, **watchers):
    async with asyncio.TaskGroup() as tasks:
        registry = RoomInteractionWatcherRegistry(tasks, log.route, log.receipt if receipt else None)
        for name, watcher in watchers.items():
            registry.register(name, watcher)
        yield registry


async def refused(awaitable) -> str:
    with pytest.raises(WaysideError) as refusal:
        await awaitable
    return refusal.value.code


async def test_a_revision_is_raised_once() -> None:
    """W1. The second time nothing happens."""
    log, rim = Log(), Watches(found())
    async with watching(log, rim=rim) as watchers:
        first = await watchers.raise_committed(3, {"board": ["rim"]})
        again = await watchers.raise_committed(3, {"board": ["rim"]})

    assert (Raised(3, fresh=True, routed=(found(),)), Raised(3, fresh=False)) == (first, again)
    assert [{"board": ["rim"]}] == rim.seen


async def test_the_receipt_is_durable_before_anything_is_routed() -> None:
    """W1. The hook is awaited first, with the revision and its watchers."""
    log = Log()
    async with watching(log, rim=Watches(found(), found("again")), foot=Watches(found("foot"))) as watchers:
        await watchers.raise_committed(3, None)

    assert [
        (3, ("rim", "foot")),
        (RIM, "rim.found"),
        (RIM, "again"),
        (Endpoint("watcher", "foot"), "foot"),
    ] == log.lines


async def test_a_revision_that_was_recorded_before_a_restart_is_not_routed_again() -> None:
    """W1. The receipt outlives the process."""
    log = Log(known=(3,))
    async with watching(log, rim=Watches(found())) as watchers:
        raised = await watchers.raise_committed(3, None)
        again = await watchers.raise_committed(3, None)

    assert [Raised(3, fresh=False)] * 2 == [raised, again]
    assert [(3, ("rim",))] == log.lines


async def test_a_failed_batch_consumes_nothing_and_is_retried_whole() -> None:
    """W1. Not even the drafts of the watchers that worked go out before."""
    log, rim, foot = Log(), Watches(found()), Watches(found("foot"), fails=1)
    async with watching(log, rim=rim, foot=foot) as watchers:
        with pytest.raises(WaysideError) as failure:
            await watchers.raise_committed(3, None)
        assert log.lines == []
        raised = await watchers.raise_committed(3, None)

    assert ("room.watcher_failed", True) == (failure.value.code, failure.value.retryable)
    assert "visitor" not in str(failure.value)
    assert (2, 2, True, 2) == (len(rim.seen), len(foot.seen), raised.fresh, len(raised.routed))


async def test_a_receipt_that_can_not_be_kept_consumes_nothing() -> None:
    """W1. Nothing is routed without it."""
    log = Log(receipt_fails=1)
    async with watching(log, rim=Watches(found())) as watchers:
        assert await refused(watchers.raise_committed(3, None)) == "room.watcher_failed"
        assert log.lines == []
        assert (await watchers.raise_committed(3, None)).fresh


@pytest.mark.parametrize(
    "draft",
    [
        "found",
        None,
        InteractionDraft((GUIDE,), {"type": "message", "text": "I am the guide."}),
        InteractionDraft((), {"type": "event", "name": "x"}),
        InteractionDraft((GUIDE,), {"type": "event", "name": "x", "data": {"at": object()}}),
    ],
)
async def test_a_watcher_emits_typed_events_only(draft: object) -> None:
    """W1. Anything else fails the batch, before anything is recorded."""
    log = Log()
    async with watching(log, rim=Watches(found(), draft)) as watchers:
        assert await refused(watchers.raise_committed(3, None)) == "room.watcher_failed"

    assert log.lines == []


async def test_raises_at_the_same_time_share_one_batch() -> None:
    """W1. While watchers look as well as while drafts go out; giving up stops nobody."""
    gate, routing = asyncio.Event(), asyncio.Event()
    log, rim = Log(), Watches(found(), gate=gate)

    async def slow_route(source: Endpoint, draft: InteractionDraft) -> None:
        await routing.wait()
        await log.route(source, draft)

    async with asyncio.TaskGroup() as tasks:
        watchers = RoomInteractionWatcherRegistry(tasks, slow_route)
        watchers.register("rim", rim)
        raises = [tasks.create_task(watchers.raise_committed(3, None)) for _ in range(3)]
        await asyncio.sleep(0)
        raises[0].cancel()
        gate.set()
        for _ in range(5):
            await asyncio.sleep(0)
        raises.append(tasks.create_task(watchers.raise_committed(3, None)))
        await asyncio.sleep(0)
        routing.set()

    assert [Raised(3, fresh=True, routed=(found(),))] * 3 == [raised.result() for raised in raises[1:]]
    assert (1, 1) == (len(rim.seen), len(log.lines))


async def test_a_failure_is_shared_too_and_then_over() -> None:
    """W1. Who waited for a failed batch raises it again."""
    log, rim = Log(), Watches(found(), fails=1)
    async with watching(log, rim=rim) as watchers:
        codes = await asyncio.gather(*(refused(watchers.raise_committed(3, None)) for _ in range(2)))

        assert ["room.watcher_failed"] * 2 == codes
        assert (await watchers.raise_committed(3, None)).fresh

    assert len(rim.seen) == 2


async def test_revisions_go_out_in_the_order_in_which_they_were_raised() -> None:
    """W1. A slow batch holds up the next one, and is not overtaken."""
    gate = asyncio.Event()
    log, rim = Log(), Watches(found(), gate=gate)
    async with watching(log, rim=rim) as watchers, asyncio.TaskGroup() as group:
        group.create_task(watchers.raise_committed(3, None))
        while not rim.seen:
            await asyncio.sleep(0)
        rim.gate = None
        group.create_task(watchers.raise_committed(4, None))
        for _ in range(5):
            await asyncio.sleep(0)
        gate.set()

    assert [3, 4] == [line[0] for line in log.lines if line[0] != RIM]


async def test_a_draft_that_can_not_be_routed_stops_no_other() -> None:
    """W1. The revision is consumed: what went out must not go out again."""
    log = Log(route_fails=1)
    async with watching(log, rim=Watches(found("a"), found("b"))) as watchers:
        raised = await watchers.raise_committed(3, None)
        again = await watchers.raise_committed(3, None)

    assert (("room.delivery_failed",), (found("b"),)) == (raised.refused, raised.routed)
    assert not again.fresh


async def test_an_event_never_widens_the_projections_disclosure() -> None:
    """W1. A watcher of a private projection tells the room nothing."""
    async with watching(Log(), rim=Watches(found(), found(disclosure=among(["ana", "ben"])))) as watchers:
        raised = await watchers.raise_committed(3, None, disclosure=among(["ana"]))

    assert [among(["ana"])] * 2 == [draft.disclosure for draft in raised.routed]


async def test_a_watcher_sees_a_copy_of_the_projection() -> None:
    """W1. Neither the host nor the next watcher sees what one changes."""
    projection = {"board": ["rim"]}

    async def vandal(seen):
        seen["board"].append("fake")
        return ()

    rim = Watches()
    async with watching(Log(), vandal=vandal, rim=rim) as watchers:
        await watchers.raise_committed(3, projection)

    assert {"board": ["rim"]} == projection == rim.seen[0]


async def test_a_watcher_that_left_is_told_nothing() -> None:
    """W1. Leaving twice is fine."""
    rim = Watches(found())
    async with watching(Log(), rim=rim) as watchers:
        watchers.unregister("rim")
        watchers.unregister("rim")
        raised = await watchers.raise_committed(3, None)

    assert (Raised(3, fresh=True), []) == (raised, rim.seen)


def test_a_watcher_that_hangs_fails_its_batch_by_a_deadline() -> None:
    """W1. In virtual time; the revision can be raised again."""

    async def main() -> tuple[str, bool]:
        rim = Watches(found(), gate=asyncio.Event())
        async with watching(Log(), rim=rim) as watchers:
            code = await refused(watchers.raise_committed(3, None))
            rim.gate = None
            return code, (await watchers.raise_committed(3, None)).fresh

    assert run_virtual(main()) == ("room.watcher_failed", True)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_each_revision_goes_out_at_most_once_however_often_it_is_raised(raises) -> None:
    """W1. And exactly once when one of its batches worked."""
    log, rim = Log(), Watches(found())

    async def main() -> None:
        async with watching(log, rim=rim) as watchers:
            for revision, fails in raises:
                rim.fails = int(fails)
                await asyncio.gather(watchers.raise_committed(revision, None), return_exceptions=True)

    asyncio.run(main())
    expected = {revision for revision, fails in raises if not fails}

    assert expected == log.recorded
    assert len(expected) == sum(1 for line in log.lines if line[0] == RIM)


async def test_what_is_remembered_of_revisions_is_bounded() -> None:
    """W1. Older ones than those still count as raised."""
    async with watching(Log(), receipt=False) as watchers:
        for revision in range(REVISIONS_KEPT + 10):
            await watchers.raise_committed(revision, None)

        assert not (await watchers.raise_committed(0, None)).fresh
        assert len(watchers._consumed) == REVISIONS_KEPT


async def test_a_watchers_event_reaches_an_agent_as_a_new_root() -> None:
    """W1, I7. The router gives it its id; the watcher is its source."""
    received = []

    async def guide(envelope):
        received.append(envelope)
        return ()

    numbers = itertools.count(1)
    async with asyncio.TaskGroup() as tasks:
        router = RoomInteractionRouter("room", tasks, lambda: f"e-{next(numbers)}")
        router.connect(GUIDE, guide)

        async def route(source: Endpoint, draft: InteractionDraft) -> None:
            await router.dispatch(router.create("public", source, draft))

        watchers = RoomInteractionWatcherRegistry(tasks, route)
        watchers.register("rim", Watches(found()))
        raised = await watchers.raise_committed(3, None)

    assert raised.refused == ()
    assert [(RIM, RoomEvent("rim.found"), 0)] == [(got.source, got.payload, got.hop) for got in received]
