"""Turn taking under any order of events: the invariants that no list of cases can cover."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from wayside.core import turn_events as e
from wayside.core.turns import Turns, step

WORDS = st.sampled_from(["", "okay", "mm-hm", "who made it", "wait", "...", "and the"])


class TurnsMachine(RuleBasedStateMachine):
    """Models what the commands mean and checks them against the state after every event."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.state = Turns(automatic=True)
        self.open: set[int] = set()  # segments being transcribed
        self.held: set[int] = set()
        self.cleared = 0
        self.playing: int | None = None
        self.run: str | None = None
        self.generation = 0
        self.runs = 0
        self.turns: list[int] = []
        self.timers: dict[str, float] = {}

    def feed(self, event: e.TurnEvent) -> None:
        self.state, commands = step(self.state, event)
        for command in commands:
            self.carry_out(command)

    def carry_out(self, command: e.TurnCommand) -> None:
        match command:
            case e.OpenSegment(segment=segment):
                assert segment not in self.open
                self.open.add(segment)
            case e.CloseSegment(segment=segment):
                assert segment in self.open
            case e.DiscardSegment(segment=segment):
                self.open.discard(segment)
            case e.CommitTurn(turn=turn, text=text):
                assert text.strip(), "a turn without words"
                assert turn not in self.turns, "a turn committed twice"
                self.turns.append(turn)
            case e.HoldReply(generation=generation):
                assert generation == self.playing > self.cleared
                self.held.add(generation)
            case e.ResumeReply(generation=generation):
                assert generation in self.held, "resumed what was not held"
                assert generation > self.cleared, "resumed what was interrupted"
                self.held.discard(generation)
            case e.InterruptReply(generation=generation):
                assert generation > self.cleared, "interrupted twice"
                self.cleared = generation
                self.held.discard(generation)
            case e.SetTimer(timer=timer, at=at):
                self.timers[timer] = at
            case e.CancelTimer(timer=timer):
                self.timers.pop(timer, None)
            case e.CancelRun(run_id=run_id):
                assert run_id == self.run
                self.run = None
            case _:
                pass

    @rule(seconds=st.floats(0.01, 6))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for timer, at in sorted(self.timers.items(), key=lambda item: item[1]):
            if at <= self.now and timer in self.timers:
                del self.timers[timer]
                self.feed(e.TimerFired(self.now, timer))

    @rule()
    def voice_starts(self) -> None:
        self.feed(e.VoiceStarted(self.now))

    @rule()
    def voice_stops(self) -> None:
        self.feed(e.VoiceStopped(self.now, self.now - 0.16))

    @rule()
    def presses(self) -> None:
        self.feed(e.TalkDown(self.now))

    @rule()
    def releases(self) -> None:
        self.feed(e.TalkUp(self.now))

    @rule(text=WORDS, confidence=st.sampled_from([0.0, -2.0]))
    def interim(self, text: str, confidence: float) -> None:
        for segment in sorted(self.open):
            self.feed(e.Interim(self.now, segment, text, confidence))

    @precondition(lambda self: self.state.closing is not None)
    @rule(text=WORDS, confidence=st.sampled_from([0.0, -2.0]))
    def final(self, text: str, confidence: float) -> None:
        segment = self.state.closing.id
        self.open.discard(segment)
        self.feed(e.Final(self.now, segment, text, confidence))

    @precondition(lambda self: self.open)
    @rule()
    def recogniser_fails(self) -> None:
        segment = max(self.open)
        self.open.discard(segment)
        self.feed(e.SegmentFailed(self.now, segment, "stt.failed"))

    @rule(segment=st.integers(0, 3))
    def stale_final(self, segment: int) -> None:
        if segment not in self.open:
            before = self.state
            self.feed(e.Final(self.now, segment, "late"))
            assert before == self.state

    @rule(kind=st.sampled_from(["text", "choice"]))
    def writes(self, kind: str) -> None:
        self.feed(e.Written(self.now, "Who made it?", kind))

    @rule()
    def stops(self) -> None:
        self.feed(e.StopPressed(self.now))
        assert self.state.segment is None and self.state.closing is None and self.state.run_id is None
        assert self.state.playing is None or self.state.playing.accepted

    @precondition(lambda self: self.run is None)
    @rule()
    def run_starts(self) -> None:
        self.runs += 1
        self.run = f"r{self.runs}"
        self.feed(e.RunStarted(self.now, self.run))

    @precondition(lambda self: self.run is not None)
    @rule()
    def run_ends(self) -> None:
        run, self.run = self.run, None
        self.feed(e.RunEnded(self.now, run))

    @precondition(lambda self: self.playing is None)
    @rule(interruptible=st.booleans())
    def reply_starts(self, interruptible: bool) -> None:
        self.generation += 1
        self.playing = self.generation
        self.feed(e.ReplyStarted(self.now, self.generation, interruptible))

    @precondition(lambda self: self.playing is not None)
    @rule()
    def reply_ends(self) -> None:
        generation, self.playing = self.playing, None
        self.held.discard(generation)
        self.feed(e.ReplyEnded(self.now, generation))

    @rule()
    def microphone_goes(self) -> None:
        self.feed(e.MicrophoneLost(self.now))

    @rule(automatic=st.booleans())
    def mode(self, automatic: bool) -> None:
        self.feed(e.ModeChosen(self.now, automatic))

    @invariant()
    def held_in_the_state_is_held_in_fact(self) -> None:
        playing = self.state.playing
        held = playing is not None and playing.held_since is not None
        assert held == bool(self.held)

    @invariant()
    def no_state_without_an_exit(self) -> None:
        if self.state.segment is not None:
            assert "cap" in self.timers, "an open segment without a deadline"
        if self.state.closing is not None:
            assert "final" in self.timers, "a closing segment without a deadline"
        if self.held:
            assert "hold" in self.timers, "a hold without a deadline"

    @invariant()
    def timers_agree(self) -> None:
        assert dict(self.state.deadlines) == self.timers

    @invariant()
    def segments_agree(self) -> None:
        known = {s.id for s in (self.state.segment, self.state.closing) if s is not None}
        assert known == self.open

    @invariant()
    def the_guide_never_talks_over_an_accepted_visitor(self) -> None:
        segment = self.state.segment
        pressed = segment is not None and segment.pressed_at is not None
        playing = self.state.playing
        if pressed and playing is not None and playing.interruptible:
            assert playing.accepted or playing.held_since is not None or self.state.ignoring


TestTurnsMachine = TurnsMachine.TestCase
