"""The experience seam at work: reports go in without waiting, and what becomes of them is told once (ADR 0123)."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual import LoopClock, run_virtual
from wayside.core.room import verdicts as v
from wayside.core.room.experience import ExperienceSnapshot
from wayside.core.room.verdicts import Verdict, totals, verdict
from wayside.ports.clock import ManualClock
from wayside.ports.room_agent import MemoryItem
from wayside.runtime.room.experience import MAX_WAITING, ExperienceSeam, Receipt

LOCKED = ExperienceSnapshot(thought="The door is locked.", observed="Nothing moved", objective="get out", next="push")
OPEN = ExperienceSnapshot(thought="It only wanted a push.", observed="It opened", objective="get out", next="push")


class Room:
    """A room that remembers what reached its agent."""

    def __init__(self, *, enabled: bool = True, clock: ManualClock | LoopClock | None = None) -> None:
        ids = itertools.count(1)
        self.clock = clock or ManualClock()
        self.there = True
        self.seeded: list[MemoryItem] = []
        self.requested: list[str] = []
        self.log: list[str] = []
        self.fails: set[str] = set()
        self.stuck = False
        self.seam = ExperienceSeam(
            "potter",
            enabled=enabled,
            present=lambda: self.there,
            clock=self.clock,
            new_id=lambda: f"d{next(ids)}",
            seed=self.seed,
            request_response=self.request,
        )

    def seed(self, agent: str, item: MemoryItem) -> None:
        assert agent == item.agent == "potter"
        if "seed" in self.fails:
            raise RuntimeError("memory is full of secrets")
        self.seeded.append(item)
        self.log.append("seed")

    async def request(self, agent: str, delivery_id: str) -> None:
        assert agent == "potter"
        self.requested.append(delivery_id)
        self.log.append(delivery_id)
        if self.stuck:
            await asyncio.Event().wait()
        if "request" in self.fails:
            raise RuntimeError("no")

    def verdicts(self) -> dict[str, str]:
        return {name: str(what) for name, what in self.seam.audit.recent}


async def settle() -> None:
    for _ in range(10 + 3 * MAX_WAITING):
        await asyncio.sleep(0)


@asynccontextmanager
async def at_work(room: Room) -> AsyncIterator[Room]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(room.seam.run())
        try:
            yield room
            await settle()
            assert not task.done(), "the consumer has ended"
        finally:
            task.cancel()


# --- taking reports -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ({}, "experience.empty"),
        ({"thought": " "}, "experience.empty"),
        ({"thought": "x" * 161}, "experience.too_long"),
        ({"thought": "Dark.", "frame": "iVBORw0KGgo="}, "experience.malformed"),
        (None, "experience.malformed"),
    ],
)
async def test_what_is_no_experience_is_a_receipt_and_not_an_exception(report, code: str) -> None:
    """N1. N9. The acting mind is told with a code and goes on; nothing reaches the agent."""
    async with at_work(Room()) as room:
        silent = room.seam.report(report)
        wanted = room.seam.report(report, respond=True)

    assert silent == Receipt(refusal=code)
    assert wanted == Receipt("d1", code)
    assert ([], []) == (room.seeded, room.requested)
    assert {"d1": "refused"} == room.verdicts()


async def test_away_from_the_room_the_acting_mind_goes_on() -> None:
    """N1. N10. Reports are refused one by one while the room is away, and taken again when it is back."""
    async with at_work(Room()) as room:
        room.there = False
        away = [room.seam.report(LOCKED, respond=n == 1) for n in range(3)]
        room.there = True
        back = room.seam.report(OPEN)
        await settle()

    assert [(receipt.delivery_id, receipt.refusal) for receipt in away] == [
        (None, "experience.not_in_room"),
        ("d1", "experience.not_in_room"),
        (None, "experience.not_in_room"),
    ]
    assert Receipt() == back
    assert 1 == len(room.seeded)
    assert {"d1": "refused"} == room.verdicts()


async def test_a_room_that_goes_while_a_report_waits_hears_nothing_of_it() -> None:
    """N10. The queue is no way into a room that is gone."""
    async with at_work(Room()) as room:
        taken = room.seam.report(LOCKED, respond=True)
        room.there = False
        await settle()

    assert Receipt("d1") == taken
    assert ([], []) == (room.seeded, room.requested)
    assert {"d1": "refused"} == room.verdicts()


async def test_only_an_agent_whose_profile_says_so_takes_in_experience() -> None:
    """N1. Without leave nothing is seeded, nothing is asked for."""
    async with at_work(Room(enabled=False)) as room:
        receipt = room.seam.report(LOCKED)

    assert Receipt(refusal="experience.not_enabled") == receipt
    assert ([], ()) == (room.seeded, room.seam.memory())


async def test_a_full_queue_refuses_the_newest_and_waits_for_nobody() -> None:
    """N10. When nobody takes reports the acting mind is told so; what was accepted is still seeded, in order."""
    room = Room()
    receipts = [room.seam.report({"observed": f"Step {n}"}, about=str(n)) for n in range(MAX_WAITING + 2)]
    async with at_work(room):
        await settle()

    assert [None] * MAX_WAITING + ["experience.busy"] * 2 == [receipt.refusal for receipt in receipts]
    assert [f"Step {n}" in item.text for n, item in enumerate(room.seeded)] == [True] * MAX_WAITING


async def test_what_it_is_about_is_bounded_and_reaches_no_agent() -> None:
    """N9. The engine's own key is short, and stays with the engine."""
    async with at_work(Room()) as room:
        refused = room.seam.report(LOCKED, about="k" * 81)
        room.seam.report(LOCKED, about="sherd-17")
        await settle()

    assert Receipt(refusal="experience.too_long") == refused
    assert 1 == len(room.seeded)
    assert "sherd-17" not in room.seeded[0].text


# --- seeding and asking -------------------------------------------------------------------------------------------


async def test_it_is_seeded_as_the_agents_own_and_one_response_is_asked_for() -> None:
    """N2. First the memory, then the request, which carries an id and no words."""
    async with at_work(Room()) as room:
        receipt = room.seam.report(LOCKED, respond=True)
        await settle()

    assert ["seed", "d1"] == room.log
    assert Receipt("d1") == receipt
    assert [
        MemoryItem(
            "agent",
            "potter",
            "(my own experience while playing, mine to know and not to recite) I thought: The door is locked.; "
            "I saw: Nothing moved; I am after: get out; next I mean to: push",
            ("experience:d1",),
        )
    ] == room.seeded


async def test_an_ordinary_step_seeds_only() -> None:
    """N3. N7. No response, no fact about a narration and no evidence of one."""
    facts: list[v.Fact] = []
    async with at_work(Room()) as room:
        room.seam.subscribe(facts.append)
        room.seam.audio_started(1)
        room.seam.report(LOCKED)
        room.seam.response_started("run-1")
        room.seam.response_ended("run-1")
        await settle()

    assert ["seed"] == room.log
    assert () == room.seeded[0].evidence
    assert [] == facts


async def test_inside_the_interval_each_report_is_seeded_and_one_asked_for() -> None:
    """N4. A minute of steps, five seconds apart, gives a narration every fifteen."""
    async with at_work(Room()) as room:
        for _ in range(12):
            receipt = room.seam.report(LOCKED, respond=True)
            await settle()
            room.seam.response_ended(receipt.delivery_id or "")
            room.clock.advance(5)

    assert 12 == len(room.seeded)
    assert ["d1", "d4", "d7", "d10"] == room.requested


async def test_a_burst_is_judged_in_the_queue() -> None:
    """N5. Nobody waits between the calls, and still only one is asked for."""
    async with at_work(Room()) as room:
        facts: list[v.Fact] = []
        room.seam.subscribe(facts.append)
        for _ in range(6):
            room.seam.report(LOCKED, respond=True)
        assert [] == room.seeded
        await settle()

    held = [fact for fact in facts if isinstance(fact, v.Suppressed)]
    assert 6 == len(room.seeded)
    assert ["d1"] == room.requested
    assert [v.Suppressed(f"d{n}", "rate_limited") for n in range(2, 7)] == held


async def test_what_counts_is_when_the_report_is_taken_out() -> None:
    """N5. Sound that begins after the call and before its turn holds it; sound that ends by then does not."""
    async with at_work(Room()) as room:
        room.seam.report(LOCKED, respond=True)
        room.seam.audio_started(1)
        await settle()
        room.seam.report(LOCKED, respond=True)
        room.seam.audio_ended(1)
        await settle()

    assert ["d2"] == room.requested
    assert {"d1": "suppressed", "d2": "attempted_no_receipt"} == room.verdicts()


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (lambda seam: seam.audio_started(1), "playing"),
        (lambda seam: seam.response_started("run-1"), "responding"),
    ],
)
async def test_a_hold_says_why(before: Callable[[ExperienceSeam], None], reason: str) -> None:
    """N6. The experience is seeded, the narration held with its reason."""
    async with at_work(Room()) as room:
        facts: list[v.Fact] = []
        room.seam.subscribe(facts.append)
        before(room.seam)
        room.seam.report(LOCKED, respond=True)
        await settle()

    assert [v.Wanted("d1"), v.Suppressed("d1", reason)] == facts  # type: ignore[arg-type]
    assert ["seed"] == room.log


async def test_a_lost_response_is_let_go() -> None:
    """N6. A response that nobody ended holds for a minute and no longer."""
    async with at_work(Room()) as room:
        room.seam.response_started("lost")
        room.clock.advance(60)
        room.seam.report(LOCKED, respond=True)
        await settle()

    assert ["d1"] == room.requested


async def test_a_corrected_note_leaves_the_memory() -> None:
    """ADR 0123. What the agent knows now holds the newest evidence on a subject and not the old guess."""
    async with at_work(Room()) as room:
        room.seam.report(LOCKED)
        room.seam.report(OPEN)
        await settle()

    assert 2 == len(room.seeded)
    assert (room.seeded[1],) == room.seam.memory()


# --- what becomes of it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("receipts", "expected"),
    [
        (lambda seam: None, Verdict.ATTEMPTED_NO_RECEIPT),
        (lambda seam: seam.response_ended("d1", "silent"), Verdict.MODEL_SILENT),
        (lambda seam: seam.response_ended("d1", "failed"), Verdict.FAILED),
        (lambda seam: seam.response_ended("d1", "words"), Verdict.UNSPOKEN),
        (lambda seam: (seam.response_ended("d1"), seam.audio_started(1, "d1")), Verdict.PLAYED),
        (lambda seam: (seam.audio_started(1, "d1"), seam.response_ended("d1", "failed")), Verdict.PLAYED),
        (lambda seam: seam.audio_started(1), Verdict.ATTEMPTED_NO_RECEIPT),
    ],
)
async def test_receipts_give_the_verdict(receipts: Callable[[ExperienceSeam], object], expected: Verdict) -> None:
    """N7. What was asked for ends in exactly what the room says of it."""
    async with at_work(Room()) as room:
        room.seam.report(LOCKED, respond=True)
        await settle()
        receipts(room.seam)

    assert expected == verdict(room.seam.audit, "d1")


def test_a_report_that_nobody_ever_takes_out_was_no_attempt() -> None:
    """N7. With the seam asleep, a wanted narration is neither asked for nor held back."""
    room = Room()
    room.seam.report(LOCKED, respond=True)

    assert {"d1": "no_attempt"} == room.verdicts()


async def test_a_throwing_subscriber_starves_no_other() -> None:
    """N8. Whoever listens badly loses its own news only, and may leave twice."""

    def throws(_fact: v.Fact) -> None:
        raise RuntimeError("no")

    facts: list[v.Fact] = []
    late: list[v.Fact] = []
    async with at_work(Room()) as room:
        room.seam.subscribe(throws)
        room.seam.subscribe(facts.append)
        leave = room.seam.subscribe(late.append)
        leave()
        leave()
        room.seam.report(LOCKED, respond=True)
        await settle()

    assert [v.Wanted("d1"), v.Requested("d1")] == facts
    assert [] == late
    assert ["seed", "d1"] == room.log


@pytest.mark.parametrize("what", ["seed", "request"])
async def test_a_host_that_fails_is_a_verdict_and_the_next_report_is_taken(what: str, capsys) -> None:
    """N8. N10. The consumer lives on; nothing holds the next narration; the fault's text is logged nowhere."""
    async with at_work(Room()) as room:
        room.fails = {what}
        room.seam.report(LOCKED, respond=True)
        await settle()
        room.fails = set()
        room.clock.advance(12)
        room.seam.report(OPEN, respond=True)
        await settle()

    assert {"d1": "failed", "d2": "attempted_no_receipt"} == room.verdicts()
    # Without the memory nothing was asked for either: the persona would have made something up.
    assert room.requested == (["d2"] if what == "seed" else ["d1", "d2"])
    assert "secrets" not in "".join(capsys.readouterr())


def test_a_request_that_hangs_is_given_up() -> None:
    """N10. After five seconds the next report has its turn."""

    async def scene() -> Room:
        room = Room(clock=LoopClock())
        async with at_work(room):
            room.stuck = True
            room.seam.report(LOCKED, respond=True)
            await asyncio.sleep(4.9)
            assert ({"d1": "attempted_no_receipt"}, 1) == (room.verdicts(), len(room.seeded))
            room.seam.report(OPEN)
            await asyncio.sleep(0.2)
        return room

    room = run_virtual(scene())

    assert {"d1": "failed"} == room.verdicts()
    assert 2 == len(room.seeded)


OPS = st.lists(
    st.sampled_from(
        ["ordinary", "wanted", "burst", "starts", "ends", "words", "silent", "heard", "leaves", "back", "fails"]
    )
    | st.floats(0.1, 30),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(OPS)
def test_whatever_happens_each_wanted_narration_has_one_verdict(ops: list[str | float]) -> None:
    """N4. N5. N7. Any order of reports, sound, absence and faults: one response at a time, never two in an interval."""

    async def scene() -> None:
        room = Room(clock=LoopClock())
        wanted: list[str] = []
        accepted = sound = 0
        times: list[float] = []
        room.seam.subscribe(lambda fact: times.append(room.clock.now()) if isinstance(fact, v.Requested) else None)
        async with at_work(room):
            for op in ops:
                match op:
                    case float():
                        await asyncio.sleep(op)
                    case "ordinary" | "wanted" | "burst":
                        for _ in range(5 if op == "burst" else 1):
                            receipt = room.seam.report(LOCKED, respond=op != "ordinary")
                            wanted += [receipt.delivery_id] if receipt.delivery_id else []
                            accepted += receipt.refusal is None
                    case "starts":
                        sound += 1
                        room.seam.audio_started(sound)
                    case "ends":
                        room.seam.audio_ended(sound)
                    case "words" | "silent":
                        if room.requested:
                            room.seam.response_ended(room.requested[-1], op)  # type: ignore[arg-type]
                    case "heard":
                        if room.requested:
                            sound += 1
                            room.seam.audio_started(sound, room.requested[-1])
                    case "leaves" | "back":
                        await settle()
                        room.there = op == "back"
                    case _:
                        await settle()
                        room.fails ^= {"request"}
                await settle()
        assert accepted == len(room.seeded)
        assert wanted == list(dict(room.seam.audit.recent))
        assert len(wanted) == sum(totals(room.seam.audit).values()) == len(set(wanted))
        assert Verdict.NO_ATTEMPT not in room.verdicts().values()
        assert room.requested == [name for name in wanted if name in room.requested]
        assert all(later - earlier >= 12 for earlier, later in itertools.pairwise(times))

    run_virtual(scene())
