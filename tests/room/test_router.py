"""What crosses a room, and in which order it arrives."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual import run_virtual
from wayside.core.errors import WaysideError
from wayside.core.room.agents import Endpoint, InteractionDraft
from wayside.core.room.disclosure import ROOM, Disclosure, among
from wayside.core.room.envelope import (
    Message,
    RoomInteractionEnvelope,
    Seen,
    derive,
)
from wayside.runtime.room.router import LANE_BOUND, Dispatched, Receipt, RoomInteractionRouter

ANA = Endpoint("participant", "ana")
BEN = Endpoint("participant", "ben")
GUIDE = Endpoint("agent", "guide")
POTTER = Endpoint("agent", "potter")
HINTS = Endpoint("service", "hints")
MESSAGE = {"type": "message", "text": "hm"}


def to(*targets: Endpoint, disclosure: Disclosure = ROOM, payload: dict | None = None) -> InteractionDraft:
    return InteractionDraft(targets, payload or MESSAGE, disclosure)


def code_of(call, *args, **options) -> str:
    with pytest.raises(WaysideError) as refusal:
        call(*args, **options)
    return refusal.value.code


async def refused(awaitable) -> str:
    with pytest.raises(WaysideError) as refusal:
        await awaitable
    return refusal.value.code


class Inbox:
    """Keeps what it receives; sends on the drafts it was given; fails as often as told."""

    def __init__(self, *drafts: InteractionDraft, fails: int = 0) -> None:
        self.drafts = drafts
        self.fails = fails
        self.received: list[RoomInteractionEnvelope] = []

    async def __call__(self, envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        if self.fails:
            self.fails -= 1
            raise OSError("the words of a visitor")
        self.received.append(envelope)
        return self.drafts


@asynccontextmanager
async def routing(**options):
    numbers = itertools.count(1)
    async with asyncio.TaskGroup() as tasks:
        yield RoomInteractionRouter("room", tasks, lambda: f"e-{next(numbers)}", **options)


async def test_the_same_envelope_is_delivered_once() -> None:
    """I1. A repeat is a duplicate and the handler is called once; at the same time or later."""
    guide = Inbox()
    async with routing() as router:
        router.connect(GUIDE, guide)
        envelope = router.create("public", ANA, to(GUIDE))

        first, again = await asyncio.gather(router.dispatch(envelope), router.dispatch(envelope))
        later = await router.dispatch(envelope)

    assert [False, True, True] == [first.duplicate, again.duplicate, later.duplicate]
    assert Dispatched("e-1", (Receipt(GUIDE, "already"),)) == later
    assert [envelope] == guide.received


@pytest.mark.parametrize(
    "change",
    [{"payload": Message("other")}, {"disclosure": among(["ana"])}, {"channel": "private"}, {"source": BEN}],
)
async def test_an_id_with_other_content_is_refused(change: dict) -> None:
    """I1. An envelope id says one thing for ever."""
    guide = Inbox()
    async with routing() as router:
        router.connect(GUIDE, guide)
        envelope = router.create("public", ANA, to(GUIDE))
        await router.dispatch(envelope)

        assert await refused(router.dispatch(replace(envelope, **change))) == "room.envelope_mismatch"

    assert len(guide.received) == 1


async def test_nobody_receives_anything_when_one_target_is_unknown() -> None:
    """I2. All targets are checked before any delivery, and once more when the lane comes to it."""
    guide, gate = Inbox(), asyncio.Event()

    async def slow(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        await gate.wait()
        return ()

    async with routing() as router:
        router.connect(GUIDE, guide)
        router.connect(HINTS, slow)
        unknown = router.create("public", ANA, to(GUIDE, POTTER))
        assert await refused(router.dispatch(unknown)) == "room.unknown_target"

        router.connect(POTTER, Inbox())
        async with asyncio.TaskGroup() as group:
            group.create_task(router.dispatch(router.create("public", ANA, to(HINTS))))
            leaving = group.create_task(refused(router.dispatch(unknown)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            router.disconnect(POTTER)
            router.disconnect(POTTER)
            gate.set()

    assert leaving.result() == "room.unknown_target"
    assert guide.received == []


async def test_a_handmade_derivation_is_refused() -> None:
    """I5. The router alone gives ids and causation."""
    async with routing() as router:
        for end in (GUIDE, POTTER, ANA):
            router.connect(end, Inbox())
        parent = router.create("private", ANA, to(GUIDE, disclosure=among(["ana"])))
        forged = derive(parent, "e-x", GUIDE, to(ANA), delivered=[GUIDE])

        assert await refused(router.dispatch(forged)) == "room.source_spoofed"
        assert code_of(router.derive, parent, GUIDE, to(ANA)) == "room.source_spoofed"
        await router.dispatch(parent)
        widened = replace(parent, disclosure=ROOM)
        assert code_of(router.derive, widened, GUIDE, to(ANA)) == "room.source_spoofed"
        assert await refused(router.dispatch(replace(parent, id="e-y", root_id="e-y", room="other"))) == (
            "room.unknown_target"
        )
        child = router.derive(parent, GUIDE, to(ANA))
        assert child.hop == 1
        assert await refused(router.dispatch(replace(child, hop=0))) == "room.envelope_mismatch"
        for targets in ((), (GUIDE, GUIDE)):
            assert await refused(router.dispatch(replace(parent, id="e-z", root_id="e-z", targets=targets))) == (
                "room.no_target"
            )


async def test_drafts_are_derived_and_delivered_after_their_parent() -> None:
    """I6. A handler returns drafts; the lane delivers them in turn."""
    order: list[str] = []

    async def guide(envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        order.append(f"guide {envelope.id}")
        return (to(POTTER), to(ANA))

    async def others(envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        order.append(f"{envelope.targets[0].id} {envelope.id}<{envelope.parent_id}")
        return ()

    async with routing() as router:
        router.connect(GUIDE, guide)
        router.connect(POTTER, others)
        router.connect(ANA, others)
        first, second = (router.create("public", ANA, to(GUIDE)) for _ in range(2))

        receipts = await asyncio.gather(router.dispatch(first), router.dispatch(second))
        await router.settled("public")

    assert ["guide e-1", "guide e-2", "potter e-3<e-1", "ana e-4<e-1", "potter e-5<e-2", "ana e-6<e-2"] == order
    assert ("e-3", "e-4") == receipts[0].receipts[0].derived


async def test_two_agents_that_answer_each_other_stop() -> None:
    """I4. Hops end a chain, and the budget ends what fans out; both are told in the receipts."""
    hops = Inbox(to(GUIDE), to(GUIDE), to(GUIDE))
    async with routing(budget=20) as router:
        router.connect(GUIDE, hops)
        root = router.create("public", ANA, to(GUIDE))

        await router.dispatch(root)
        await router.settled("public")

    assert len(hops.received) == 21
    async with routing(budget=99) as router:
        router.connect(GUIDE, chain := Inbox(to(GUIDE)))
        await router.dispatch(router.create("public", ANA, to(GUIDE)))
        await router.settled("public")

    assert list(range(9)) == [envelope.hop for envelope in chain.received]


@pytest.mark.parametrize(
    ("code", "drafts"),
    [
        ("room.unknown_target", [to(Endpoint("service", "gone"))]),
        ("room.no_target", [to()]),
        ("room.payload_malformed", ["Hello"]),
        ("room.payload_malformed", "Hello"),
        ("room.payload_malformed", None),
        ("room.undisclosed_target", [to(BEN)]),
        ("room.private_chain", [to(POTTER)]),
    ],
)
async def test_a_draft_that_can_not_be_derived_is_told_and_costs_nothing_else(code: str, drafts) -> None:
    """I5. The delivery stands, the other drafts go out."""

    async def guide(_envelope: RoomInteractionEnvelope):
        return [*drafts, to(ANA)] if isinstance(drafts, list) else drafts

    ana = Inbox()
    async with routing() as router:
        for end, handler in ((GUIDE, guide), (ANA, ana), (BEN, Inbox()), (POTTER, Inbox())):
            router.connect(end, handler)
        done = await router.dispatch(router.create("private", ANA, to(GUIDE, disclosure=among(["ana"]))))
        await router.settled("private")

    assert ((code,), "delivered") == (done.receipts[0].refused, done.receipts[0].state)
    assert len(ana.received) == (1 if isinstance(drafts, list) else 0)


async def test_a_slow_lane_does_not_delay_another() -> None:
    """I6, F4. Unrelated lanes are concurrent."""
    gate = asyncio.Event()
    order: list[str] = []

    async def guide(envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        if envelope.channel == "slow":
            await gate.wait()
        order.append(f"{envelope.channel} {envelope.id}")
        return ()

    async with routing() as router:
        router.connect(GUIDE, guide)
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(router.dispatch(router.create("slow", ANA, to(GUIDE))))
            await asyncio.sleep(0)
            await router.dispatch(router.create("quick", ANA, to(GUIDE)))
            gate.set()

    assert ["quick e-3", "slow e-1", "slow e-2"] == order


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 3)), max_size=15),
)
def test_lanes_keep_their_order_under_any_interleaving(sent) -> None:
    """I6. FIFO per room and channel, one at a time, whatever takes how long."""
    order: dict[str, list[str]] = {}
    busy: set[str] = set()
    slow: dict[str, int] = {}

    async def guide(envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        assert envelope.channel not in busy
        busy.add(envelope.channel)
        await asyncio.sleep(slow[envelope.id])
        busy.remove(envelope.channel)
        order.setdefault(envelope.channel, []).append(envelope.id)
        return ()

    async def main() -> dict[str, list[str]]:
        expected: dict[str, list[str]] = {}
        async with routing() as router, asyncio.TaskGroup() as group:
            router.connect(GUIDE, guide)
            for channel, pause, duration in sent:
                envelope = router.create(channel, ANA, to(GUIDE))
                slow[envelope.id] = duration
                expected.setdefault(channel, []).append(envelope.id)
                group.create_task(router.dispatch(envelope))
                await asyncio.sleep(pause)
        return expected

    assert run_virtual(main()) == order


async def test_a_failed_delivery_is_not_already_seen() -> None:
    """I8, F8. Receipts are per target: a retry delivers what is missing and nothing twice."""
    guide, potter = Inbox(), Inbox(fails=1)
    async with routing() as router:
        router.connect(GUIDE, guide)
        router.connect(POTTER, potter)
        envelope = router.create("public", ANA, to(POTTER, GUIDE))

        first = await router.dispatch(envelope)
        second = await router.dispatch(envelope)
        third = await router.dispatch(envelope)

    assert (Receipt(POTTER, "failed", "room.delivery_failed"), Receipt(GUIDE, "delivered")) == first.receipts
    assert (Receipt(POTTER, "delivered"), Receipt(GUIDE, "already")) == second.receipts
    assert [(False, False), (True, False), (True, True)] == [(d.complete, d.duplicate) for d in (first, second, third)]
    assert (1, 1) == (len(guide.received), len(potter.received))


async def test_a_retry_needs_only_the_targets_that_lack_it() -> None:
    """I8. Who has it may have left meanwhile; who failed is told by its own code."""

    async def full(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        raise WaysideError("run.open_exists", "Busy.")

    async with routing() as router:
        router.connect(GUIDE, Inbox())
        router.connect(POTTER, full)
        envelope = router.create("public", ANA, to(GUIDE, POTTER))
        assert Receipt(POTTER, "failed", "run.open_exists") == (await router.dispatch(envelope)).receipts[1]
        router.disconnect(GUIDE)
        router.connect(POTTER, Inbox())

        assert (await router.dispatch(envelope)).complete


async def test_a_target_that_failed_can_not_send_on() -> None:
    """I5, I8. Only who has received it may be a source."""
    async with routing() as router:
        router.connect(GUIDE, Inbox(fails=1))
        router.connect(ANA, Inbox())
        envelope = router.create("public", ANA, to(GUIDE))
        await router.dispatch(envelope)

        assert code_of(router.derive, envelope, GUIDE, to(ANA)) == "room.source_spoofed"


async def test_what_was_seen_survives_a_restart() -> None:
    """I9, F5. Exported as plain JSON, restored, and still a duplicate; what was missing is still delivered."""
    guide, potter = Inbox(), Inbox(fails=1)
    async with routing() as router:
        router.connect(GUIDE, guide)
        router.connect(POTTER, potter)
        envelope = router.create("public", ANA, to(GUIDE, POTTER))
        await router.dispatch(envelope)
        child = router.derive(envelope, GUIDE, to(POTTER))
        kept = router.export()

    async with routing(budget=1) as router:
        router.restore(kept)
        router.connect(GUIDE, guide)
        router.connect(POTTER, potter)
        again = await router.dispatch(envelope)
        assert code_of(router.derive, envelope, GUIDE, to(POTTER)) == "room.emission_budget"
        assert await refused(router.dispatch(replace(envelope, channel="other"))) == "room.envelope_mismatch"
        await router.dispatch(child)

    assert ["already", "delivered"] == [receipt.state for receipt in again.receipts]
    assert (1, ["e-1", "e-2"]) == (len(guide.received), [received.id for received in potter.received])


async def test_the_seen_set_is_bounded() -> None:
    """I9, F5. The oldest are forgotten first."""
    guide = Inbox()
    async with routing(seen=Seen(bound=3)) as router:
        router.connect(GUIDE, guide)
        envelopes = [router.create("public", ANA, to(GUIDE)) for _ in range(5)]
        for envelope in envelopes:
            await router.dispatch(envelope)

        kept = router.export()
        newest = await router.dispatch(envelopes[-1])
        oldest = await router.dispatch(envelopes[0])

    assert isinstance(kept, dict)
    assert ["e-3", "e-4", "e-5"] == [entry[0] for entry in kept["seen"]]
    assert (True, False) == (newest.duplicate, oldest.duplicate)


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"seen": []},
        {"seen": None, "spent": {}},
        {"seen": [["e", "p"]], "spent": {}},
        {"seen": [["e", "p", [["ghost", "x"]]]], "spent": {}},
        {"seen": [["e", "p", ["agent"]]], "spent": {}},
        {"seen": [], "spent": {"e": -1}},
        {"seen": [], "spent": {"e": True}},
    ],
)
async def test_a_state_that_can_not_be_read_changes_nothing(state) -> None:
    """I9. Refused whole."""
    async with routing() as router:
        router.connect(GUIDE, Inbox())
        envelope = router.create("public", ANA, to(GUIDE))
        await router.dispatch(envelope)

        assert code_of(router.restore, state) == "room.state_malformed"
        assert (await router.dispatch(envelope)).duplicate


async def test_a_handler_changes_nobody_elses_envelope() -> None:
    """I2. Each target gets a copy."""

    async def vandal(envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        envelope.payload.data["seen"].append("fake")
        return ()

    potter = Inbox()
    async with routing() as router:
        router.connect(GUIDE, vandal)
        router.connect(POTTER, potter)
        payload = {**MESSAGE, "data": {"seen": ["rim"]}}
        envelope = router.create("public", ANA, to(GUIDE, POTTER, payload=payload))
        await router.dispatch(envelope)

    assert {"seen": ["rim"]} == potter.received[0].payload.data == envelope.payload.data


async def test_a_caller_that_gives_up_stops_nobody() -> None:
    """I6. The lane goes on with what was dispatched."""
    gate, guide = asyncio.Event(), Inbox()

    async def slow(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        await gate.wait()
        return ()

    async with routing() as router:
        router.connect(POTTER, slow)
        router.connect(GUIDE, guide)
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(router.dispatch(router.create("public", ANA, to(POTTER, GUIDE))))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            impatient.cancel()
        gate.set()
        await router.settled("public")

    assert len(guide.received) == 1


async def test_a_handler_can_not_dispatch_from_inside_its_delivery() -> None:
    """I6. It would wait for itself; it must return drafts."""
    codes = []
    async with routing() as router:

        async def guide(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
            codes.append(await refused(router.dispatch(router.create("public", ANA, to(GUIDE)))))
            codes.append(await refused(router.dispatch(router.create("private", ANA, to(GUIDE)))))
            return ()

        router.connect(GUIDE, guide)
        await router.dispatch(router.create("public", ANA, to(GUIDE)))

    assert ["room.recursive_dispatch"] * 2 == codes


async def test_a_lane_is_bounded() -> None:
    """I6. Full is refused, retryable, and nothing that waits is dropped."""
    gate, count = asyncio.Event(), itertools.count()

    async def slow(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        await gate.wait()
        next(count)
        return ()

    async with routing() as router, asyncio.TaskGroup() as group:
        router.connect(GUIDE, slow)
        for _ in range(LANE_BOUND):
            group.create_task(router.dispatch(router.create("public", ANA, to(GUIDE))))
        await asyncio.sleep(0)

        assert await refused(router.dispatch(router.create("public", ANA, to(GUIDE)))) == "room.lane_full"
        gate.set()

    assert next(count) == LANE_BOUND


async def test_closing_the_room_leaves_nobody_waiting() -> None:
    """I6. What was waiting is cancelled with the room, wherever its caller lives."""
    rooms: list[RoomInteractionRouter] = []

    async def never(_envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        await asyncio.Event().wait()
        return ()

    async def live() -> None:
        async with routing() as router:
            router.connect(GUIDE, never)
            rooms.append(router)
            await asyncio.Event().wait()

    visit = asyncio.ensure_future(live())
    await asyncio.sleep(0)
    sent = [rooms[0].create("public", ANA, to(GUIDE)) for _ in range(2)]
    waiting = [asyncio.ensure_future(rooms[0].dispatch(envelope)) for envelope in sent]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    visit.cancel()
    ended = await asyncio.gather(visit, *waiting, return_exceptions=True)

    assert [asyncio.CancelledError] * 3 == [type(end) for end in ended]
