"""One speaks at a time in a room, and whoever does not speak has a reason."""

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from wayside.core.room.arbiter import (
    EXPIRES_S,
    MAX_WAITING,
    Arbiter,
    Grant,
    Interrupt,
    Looked,
    Offered,
    SpeechOffer,
    Spoken,
    Suppress,
    Withdrawn,
    step,
)
from wayside.core.room.disclosure import NOBODY, ROOM, among

ANA, BEN = among(["ana"]), among(["ben"])


def offer(name: str, at: float = 0.0, **changes) -> SpeechOffer:
    return replace(SpeechOffer(name, f"run-{name}", "guide", "public", at, ROOM), **changes)


def after(*events, arbiter: Arbiter | None = None):
    """The state and all commands after these events; an offer stands for its being offered."""
    state, told = arbiter or Arbiter(ROOM), ()
    for event in events:
        state, commands = step(state, Offered(event) if isinstance(event, SpeechOffer) else event)
        told += commands
    return state, told


def test_the_first_offer_gets_the_floor_and_the_next_waits_for_its_end() -> None:
    """T5. One at a time."""
    state, told = after(offer("a"), offer("b", 1))

    assert ((Grant("a"),), "a", ("b",)) == (told, state.speaking.id, tuple(o.id for o in state.waiting))
    assert (Grant("b"),) == step(state, Spoken("a", 2))[1]


@pytest.mark.parametrize(
    ("waiting", "first"),
    [
        ((offer("b", 2), offer("c", 1)), "c"),
        ((offer("b", 1), offer("c", 1)), "b"),
        ((offer("b", 1), offer("c", 2, agent="potter")), "c"),
        ((offer("b", 2, priority=1), offer("c", 1, agent="potter")), "b"),
    ],
)
def test_priority_goes_before_the_addressed_agent_before_age(waiting, first: str) -> None:
    """T5. The order is data."""
    _, told = after(offer("a"), *waiting, Spoken("a", 3), arbiter=Arbiter(ROOM, "potter"))

    assert (Grant("a"), Grant(first)) == told


@pytest.mark.parametrize(
    ("surface", "audience", "spoken"),
    [
        (ROOM, ROOM, True),
        (ROOM, ANA, False),
        (ROOM, NOBODY, False),
        (ANA, ROOM, True),
        (ANA, ANA, True),
        (ANA, BEN, False),
        (among(["ana", "ben"]), ANA, False),
        (ANA, among(["ana", "ben"]), True),
    ],
)
def test_words_for_some_do_not_sound_where_others_hear_them(surface, audience, spoken: bool) -> None:
    """T3. A surface has an audience, too."""
    expected = Grant("a") if spoken else Suppress("a", "not_for_this_surface")

    assert (expected,) == after(offer("a", audience=audience), arbiter=Arbiter(surface))[1]


def test_what_has_waited_too_long_is_never_granted() -> None:
    """T5. Looked at, or found when the floor is free."""
    state, _ = after(offer("a"), offer("b", 1), offer("c", 5))

    assert 1 + EXPIRES_S == state.next_expiry()
    assert (Suppress("b", "expired"),) == step(state, Looked(1 + EXPIRES_S))[1]
    assert () == step(state, Looked(0.9 + EXPIRES_S))[1]
    assert (Suppress("b", "expired"), Grant("c")) == step(state, Spoken("a", 2 + EXPIRES_S))[1]


def test_the_queue_is_bounded() -> None:
    """T5. What is too much is told; what has expired takes no place."""
    full, _ = after(offer("a"), *(offer(f"w{n}", 1) for n in range(MAX_WAITING)))

    assert (Suppress("z", "queue_full"),) == step(full, Offered(offer("z", 2)))[1]
    later, told = step(full, Offered(offer("z", 2 + EXPIRES_S)))
    assert {Suppress(f"w{n}", "expired") for n in range(MAX_WAITING)} == set(told)
    assert ("z",) == tuple(o.id for o in later.waiting)


@pytest.mark.parametrize(
    ("run_id", "interruptible", "expected"),
    [
        ("run-a", True, (Interrupt("a"),)),
        ("run-a", False, ()),
        ("run-b", True, (Suppress("b", "superseded"),)),
        ("run-x", True, ()),
    ],
)
def test_what_is_not_wanted_any_more_stops_or_is_dropped(run_id: str, interruptible: bool, expected) -> None:
    """T8. What may not be interrupted is said to its end."""
    state, _ = after(offer("a", interruptible=interruptible), offer("b", interruptible=interruptible))
    state, told = step(state, Withdrawn(run_id, "superseded", 1))

    assert expected == told
    assert "a" == state.speaking.id


def test_an_end_that_nobody_waits_for_changes_nothing() -> None:
    """T5. Told twice, or of another reply."""
    state, _ = after(offer("a"), offer("b"))

    assert (state, ()) == step(state, Spoken("x", 1))
    assert (Suppress("b", "canceled"),) == step(state, Spoken("b", 1))[1]


class Floor(RuleBasedStateMachine):
    """Any order of events; what was offered ends in exactly one way."""

    def __init__(self) -> None:
        super().__init__()
        self.state = Arbiter(ROOM)
        self.now = 0.0
        self.offers: dict[str, SpeechOffer] = {}
        self.granted: list[str] = []
        self.suppressed: list[str] = []
        self.speaking: str | None = None

    def take(self, event) -> None:
        self.state, commands = step(self.state, event)
        for command in commands:
            given = self.offers[command.id]
            match command:
                case Grant():
                    assert self.speaking is None, "two speak at once"
                    assert self.now - given.at < given.expires_s, "expired"
                    assert given.audience.covers(self.state.surface), "private words"
                    self.speaking = command.id
                    self.granted.append(command.id)
                case Suppress():
                    self.suppressed.append(command.id)
                case Interrupt():
                    assert command.id == self.speaking
                    assert given.interruptible

    @rule(
        audience=st.sampled_from([ROOM, ROOM, ANA, NOBODY]),
        priority=st.integers(0, 1),
        interruptible=st.booleans(),
        expires_s=st.sampled_from([2.0, EXPIRES_S]),
        run=st.integers(0, 3),
        agent=st.sampled_from(["guide", "potter"]),
    )
    def offered(self, audience, priority, interruptible, expires_s, run, agent) -> None:
        made = SpeechOffer(
            str(len(self.offers)), f"run-{run}", agent, "c", self.now, audience, priority, interruptible, expires_s
        )
        self.offers[made.id] = made
        self.take(Offered(made))

    @precondition(lambda self: self.speaking is not None)
    @rule()
    def spoken(self) -> None:
        over, self.speaking = self.speaking, None
        self.take(Spoken(over, self.now))

    @rule(run=st.integers(0, 3))
    def withdrawn(self, run: int) -> None:
        self.take(Withdrawn(f"run-{run}", "canceled", self.now))

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.9, 5.0, 31.0]), look=st.booleans())
    def passes(self, seconds: float, look: bool) -> None:
        self.now += seconds
        if look:
            self.take(Looked(self.now))

    @invariant()
    def everything_offered_is_in_one_place(self) -> None:
        waiting = [o.id for o in self.state.waiting]
        assert sorted(self.offers) == sorted([*self.granted, *self.suppressed, *waiting])
        assert self.speaking == (self.state.speaking.id if self.state.speaking else None)
        assert len(waiting) <= MAX_WAITING

    @invariant()
    def nobody_waits_for_a_free_floor(self) -> None:
        assert self.speaking is not None or not self.state.waiting

    def teardown(self) -> None:
        self.now += 100.0
        self.take(Looked(self.now))
        while self.speaking is not None:
            self.spoken()
        assert sorted(self.offers) == sorted([*self.granted, *self.suppressed])


TestFloor = Floor.TestCase
TestFloor.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
