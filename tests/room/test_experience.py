"""Experience and narration: knowing is continuous, talking is rare (ADR 0123)."""

from dataclasses import fields

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from wayside.core.errors import WaysideError
from wayside.core.room import experience as x
from wayside.core.room.experience import ExperienceSnapshot, Narration, as_memory, read_snapshot, step

STUCK = ExperienceSnapshot(thought="The door is locked.", observed="It did not move", objective="get out", next="push")
OPEN = ExperienceSnapshot(thought="It only wanted a push.", observed="It swung open", objective="get out", next="push")


def run(*events: x.NarrationEvent, state: Narration | None = None) -> tuple[Narration, list[x.NarrationCommand]]:
    state = state or Narration()
    commands: list[x.NarrationCommand] = []
    for event in events:
        state, more = step(state, event)
        commands += more
    return state, commands


def kinds(commands: list[x.NarrationCommand]) -> list[str]:
    return [type(command).__name__ for command in commands]


# --- snapshots ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [{}, {"thought": " \n"}, {"observed": "\u200b", "next": "\t"}])
def test_an_empty_experience_is_refused(texts: dict[str, str]) -> None:
    """N1. Nothing, blanks and invisible characters are no experience."""
    with pytest.raises(WaysideError) as refusal:
        ExperienceSnapshot(**texts)

    assert refusal.value.code == "experience.empty"


@pytest.mark.parametrize(("name", "bound"), [("thought", 160), ("observed", 120), ("objective", 80), ("next", 80)])
def test_an_over_long_field_is_refused_and_not_cut(name: str, bound: int) -> None:
    """N9. At the bound a field is kept whole, one character more refuses the whole snapshot."""
    whole = "é" * bound
    with pytest.raises(WaysideError) as refusal:
        ExperienceSnapshot(**{name: whole + "x"})

    assert refusal.value.code == "experience.too_long"
    assert whole in as_memory(ExperienceSnapshot(**{name: whole}))


@pytest.mark.parametrize(
    "extra",
    [
        {"frame": "iVBORw0KGgo="},
        {"audio": b"\x00\x01"},
        {"say": "The door is open!"},
        {"audience": "room"},
        {"credential": "hunter2"},
        {"observed": b"\x89PNG"},
        {"next": None},
    ],
)
def test_no_other_field_crosses(extra: dict[str, object]) -> None:
    """N2. No frame, sound, authored sentence, audience or credential has a place in an experience."""
    with pytest.raises(WaysideError) as refusal:
        read_snapshot({"thought": "It is dark.", **extra})

    assert refusal.value.code == "experience.malformed"
    assert [field.name for field in fields(ExperienceSnapshot)] == ["thought", "observed", "objective", "next"]


def test_a_field_that_is_not_text_is_refused_where_it_is_made() -> None:
    """N9. A snapshot built in code is held to the same rule as one that was read."""
    with pytest.raises(WaysideError) as refusal:
        ExperienceSnapshot(observed=b"\x89PNG")  # type: ignore[arg-type]

    assert refusal.value.code == "experience.malformed"


def test_plain_fields_are_read() -> None:
    """N2. What an interactive hands over is the snapshot that it means."""
    data = {"thought": STUCK.thought, "observed": STUCK.observed, "objective": STUCK.objective, "next": STUCK.next}

    assert read_snapshot(data) == STUCK


def test_the_memory_is_first_person_and_not_a_sentence_to_repeat() -> None:
    """N2. The persona remembers it as its own, marked as something to know; empty fields leave no label behind."""
    text = as_memory(ExperienceSnapshot(thought="The door\nis locked.", next="push"))

    assert (
        text == "(my own experience while playing, mine to know and not to recite) "
        "I thought: The door is locked.; next I mean to: push"
    )


# --- notes --------------------------------------------------------------------------------------------------------


def test_fresh_evidence_corrects_a_wrong_note() -> None:
    """ADR 0123. The same aim and the same move, seen again: the newest stands, the wrong one is gone."""
    other = ExperienceSnapshot(observed="A bell rang", objective="Listen", next="wait")
    state, _ = run(x.Reported(1, STUCK), x.Reported(2, other), x.Reported(3, OPEN))

    assert [note.snapshot for note in state.notes] == [other, OPEN]


def test_what_it_is_about_tells_notes_apart_and_is_never_worded() -> None:
    """ADR 0123. The engine may say what it is about; that is a key, not a label for the persona."""
    first, second = ExperienceSnapshot(thought="A friend?"), ExperienceSnapshot(thought="A statue.", next="walk on")
    state, commands = run(x.Reported(1, first, about="sprite-17"), x.Reported(2, second, about="sprite-17"))

    assert [note.snapshot for note in state.notes] == [second]
    assert not any("sprite-17" in as_memory(c.note.snapshot) for c in commands if isinstance(c, x.SeedContext))


def test_notes_are_bounded_and_the_newest_win() -> None:
    """ADR 0123. However long the play, only the newest subjects are remembered."""
    snapshots = [ExperienceSnapshot(observed=f"Step {n}", next=f"go on {n}") for n in range(100)]
    state, _ = run(*(x.Reported(n, snapshot) for n, snapshot in enumerate(snapshots)))

    assert [note.snapshot for note in state.notes] == snapshots[-x.MAX_NOTES :]


# --- narration ----------------------------------------------------------------------------------------------------


def test_an_ordinary_step_is_only_seeded() -> None:
    """N3. No response and no receipt of a suppression, also while something plays."""
    _, commands = run(x.Reported(1, STUCK), x.AudioStarted(2, 1), x.Reported(3, OPEN))

    assert kinds(commands) == ["SeedContext", "SeedContext"]


def test_a_wanted_step_is_seeded_first_and_asked_for_once() -> None:
    """N2. The persona knows it before it is asked for words."""
    _, commands = run(x.Reported(1, STUCK, "d1"))

    assert commands == [x.SeedContext(x.Note("aim get out / push", STUCK, "d1")), x.RequestResponse("d1")]


@pytest.mark.parametrize(
    ("at", "expected"), [(12.99, x.Suppress("d2", "rate_limited")), (13.0, x.RequestResponse("d2"))]
)
def test_inside_the_interval_everything_is_seeded_and_one_is_asked_for(at: float, expected: x.NarrationCommand) -> None:
    """N4. Twelve seconds lie between two narrations; knowing does not wait for them."""
    _, commands = run(
        x.Reported(1, STUCK, "d1"), x.ResponseEnded(2, "d1"), x.Reported(3, OPEN), x.Reported(at, OPEN, "d2")
    )

    assert kinds(commands)[:4] == ["SeedContext", "RequestResponse", "SeedContext", "SeedContext"]
    assert commands[4] == expected


def test_a_burst_is_seeded_whole_and_asked_for_once() -> None:
    """N5. Of five wanted at once the first is asked for, the others say that they came too soon."""
    _, commands = run(*(x.Reported(1, STUCK, f"d{n}") for n in range(5)))

    assert kinds(commands).count("SeedContext") == 5
    assert [c for c in commands if isinstance(c, x.RequestResponse)] == [x.RequestResponse("d0")]
    assert [c for c in commands if isinstance(c, x.Suppress)] == [
        x.Suppress(f"d{n}", "rate_limited") for n in range(1, 5)
    ]


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ([x.AudioStarted(1, 4)], "playing"),
        ([x.AudioStarted(1, 3), x.AudioStarted(2, 4), x.AudioEnded(3, 3)], "playing"),
        ([x.ResponseStarted(1, "run-1")], "responding"),
        ([x.ResponseStarted(1, "run-1"), x.ResponseStarted(2, "run-2"), x.ResponseEnded(3, "run-1")], "responding"),
        ([x.AudioStarted(1, 4), x.ResponseStarted(2, "run-1")], "playing"),
    ],
)
def test_it_is_held_while_something_sounds_or_is_being_made(before: list[x.NarrationEvent], reason: str) -> None:
    """N6. Each hold says why, and the experience is seeded all the same."""
    _, commands = run(*before, x.Reported(10, STUCK, "d1"))

    assert kinds(commands) == ["SeedContext", "Suppress"]
    assert commands[1] == x.Suppress("d1", reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "before",
    [
        [x.AudioStarted(1, 4), x.AudioEnded(2, 4)],
        [x.AudioStarted(1, 0), x.AudioEnded(2, 0)],
        [x.ResponseStarted(1, "run-1"), x.ResponseEnded(2, "run-1"), x.Tick(3)],
        [x.AudioEnded(1, 9), x.ResponseEnded(1, "never")],
    ],
)
def test_it_is_asked_for_when_all_is_quiet_again(before: list[x.NarrationEvent]) -> None:
    """N6. A hold ends with what it was for."""
    _, commands = run(*before, x.Reported(10, STUCK, "d1"))

    assert kinds(commands) == ["SeedContext", "RequestResponse"]


def test_a_response_that_nobody_ends_does_not_silence_the_persona_for_good() -> None:
    """N6. After a minute a lost response holds nothing any more."""
    held, _ = run(x.ResponseStarted(0, "lost"), x.Tick(59))
    free, _ = run(x.Tick(60), state=held)

    assert ("lost",) == tuple(name for name, _ in held.responding)
    assert () == free.responding


def test_responses_that_nobody_ends_are_not_collected() -> None:
    """N6. However many are lost at once, only the newest are remembered, and they hold."""
    state, commands = run(*(x.ResponseStarted(1, f"run-{n}") for n in range(100)), x.Reported(2, STUCK, "d1"))

    assert [f"run-{n}" for n in range(100)][-x.MAX_RESPONDING :] == [name for name, _ in state.responding]
    assert commands[-1] == x.Suppress("d1", "responding")


def test_a_suppressed_narration_does_not_begin_the_interval_anew() -> None:
    """N4. The interval runs from what was asked for, so a talkative mind is still heard."""
    late = [x.Reported(float(at), STUCK, f"d{at}") for at in range(1, 13)]
    _, commands = run(x.Reported(0, STUCK, "d0"), x.ResponseEnded(1, "d0"), *late)

    assert [c.delivery_id for c in commands if isinstance(c, x.RequestResponse)] == ["d0", "d12"]


def test_a_context_update_carries_no_delivery_id() -> None:
    """N7. Only the note of an attempt that was really made names its delivery."""
    _, commands = run(x.Reported(1, STUCK), x.Reported(2, STUCK, "d1"), x.Reported(3, STUCK, "d2"))
    seeds = [command.note.delivery_id for command in commands if isinstance(command, x.SeedContext)]

    assert [None, "d1", None] == seeds
    assert x.evidence("d1") == "experience:d1"


def test_time_alone_asks_for_nothing() -> None:
    """N3. A clock is no reason to speak."""
    _, commands = run(x.Reported(1, STUCK), *(x.Tick(float(at)) for at in range(2, 200)))

    assert kinds(commands) == ["SeedContext"]


class NarrationMachine(RuleBasedStateMachine):
    """Any order of reports, sound and responses."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.state = Narration()
        self.live: dict[str, float] = {}
        self.playing: int | None = None
        self.generation = 0
        self.ids = 0
        self.asked: list[float] = []
        self.decided: dict[str, str] = {}

    def feed(self, event: x.NarrationEvent) -> None:
        self.live = {name: since for name, since in self.live.items() if self.now - since < x.RESPONSE_S}
        self.state, commands = step(self.state, event)
        if not isinstance(event, x.Reported):
            assert () == commands
            return
        assert isinstance(commands[0], x.SeedContext), "a report that was not seeded"
        assert commands[0].note.snapshot == event.snapshot
        assert len(commands) == (2 if event.speak_wanted else 1)
        for command in commands[1:]:
            assert not isinstance(command, x.SeedContext)
            assert command.delivery_id == event.delivery_id
            assert command.delivery_id not in self.decided, "decided twice"
            self.decided[command.delivery_id] = type(command).__name__
            if isinstance(command, x.RequestResponse):
                assert self.playing is None, "asked for while something sounds"
                assert not self.live, "two responses at a time"
                assert not self.asked or self.now - self.asked[-1] >= x.NARRATION_INTERVAL_S
                self.asked.append(self.now)
                self.live[command.delivery_id] = self.now
            elif command.reason == "playing":
                assert self.playing is not None
            elif command.reason == "responding":
                assert self.live

    @rule(seconds=st.floats(0.01, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.feed(x.Tick(self.now))

    @rule(wanted=st.booleans(), what=st.sampled_from([STUCK, OPEN]), about=st.sampled_from(["", "door", "bell"]))
    def reports(self, wanted: bool, what: ExperienceSnapshot, about: str) -> None:
        self.ids += wanted
        self.feed(x.Reported(self.now, what, f"d{self.ids}" if wanted else None, about))

    @rule()
    def sounds(self) -> None:
        self.generation += 1
        self.playing = self.generation
        self.feed(x.AudioStarted(self.now, self.generation))

    @rule(back=st.integers(0, 2))
    def falls_silent(self, back: int) -> None:
        generation = self.generation - back
        if self.playing is not None and generation >= self.playing:
            self.playing = None
        self.feed(x.AudioEnded(self.now, generation))

    @rule(name=st.sampled_from(["run-1", "run-2"]))
    def a_visitor_is_answered(self, name: str) -> None:
        self.live[name] = self.now
        self.feed(x.ResponseStarted(self.now, name))

    @rule(data=st.data())
    def a_response_ends(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.live) or ["nobody"]))
        self.live.pop(name, None)
        self.feed(x.ResponseEnded(self.now, name))

    @invariant()
    def every_wanted_report_was_decided(self) -> None:
        assert {f"d{n}" for n in range(1, self.ids + 1)} == set(self.decided)

    @invariant()
    def bounded(self) -> None:
        subjects = [note.subject for note in self.state.notes]
        assert len(subjects) == len(set(subjects)) <= x.MAX_NOTES
        assert len(self.state.responding) <= x.MAX_RESPONDING


TestNarrationMachine = NarrationMachine.TestCase
