"""Turn taking: the rules of the floor, case by case."""

from dataclasses import replace

import pytest
from wayside.core.turn_events import (
    CancelRun,
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DuckReply,
    Final,
    HoldReply,
    Interim,
    InterruptReply,
    MicrophoneLost,
    ModeChosen,
    OpenSegment,
    PauseSegment,
    ReplyEnded,
    ReplyStarted,
    ResumeReply,
    RunEnded,
    RunStarted,
    SegmentFailed,
    StopPressed,
    TalkDown,
    TalkUp,
    Tell,
    TimerFired,
    TurnCommand,
    TurnEvent,
    VoiceStarted,
    VoiceStopped,
    Written,
)
from wayside.core.turns import Turns, step


def play(*events: TurnEvent, automatic: bool = True, **fields) -> tuple[Turns, list[TurnCommand]]:
    """Fold events; returns the state and every command but the timers."""
    state, commands = Turns(automatic=automatic, **fields), []
    for event in events:
        state, new = step(state, event)
        commands.extend(c for c in new if type(c).__name__ not in {"SetTimer", "CancelTimer"})
    return state, commands


def test_a_press_opens_and_a_release_commits_after_the_final():
    _, commands = play(TalkDown(0), TalkUp(2), Final(2.5, 1, "Who made it?"), automatic=False)

    assert [OpenSegment(1, "press"), CloseSegment(1), CommitTurn(1, "Who made it?", "speech", 1)] == commands


def test_a_release_never_commits_before_the_final():
    state, commands = play(TalkDown(0), Interim(1, 1, "who made"), TalkUp(2), automatic=False)

    assert not any(isinstance(c, CommitTurn) for c in commands)
    assert 10 == state.deadline("final")


def test_a_final_that_never_comes_ends_with_the_interim_words():
    _, commands = play(TalkDown(0), Interim(1, 1, "who made it"), TalkUp(2), TimerFired(10, "final"), automatic=False)

    assert CommitTurn(1, "who made it", "speech", 1) == commands[-1]


def test_a_final_that_never_comes_without_words_is_told():
    _, commands = play(TalkDown(0), TalkUp(2), TimerFired(10, "final"), automatic=False)

    assert Tell("stt_failed") == commands[-1]


def test_an_empty_final_after_a_press_says_that_nothing_was_heard():
    _, commands = play(TalkDown(0), TalkUp(2), Final(3, 1, " ... "), automatic=False)

    assert Tell("not_heard") == commands[-1]


def test_a_press_during_playout_interrupts_at_once():
    state, commands = play(RunStarted(0, "r"), ReplyStarted(0, 7), TalkDown(1), automatic=False)

    assert [InterruptReply(7, "press"), CancelRun("r", "barge_in"), OpenSegment(1, "press")] == commands
    assert state.playing is not None and state.playing.accepted


def test_a_short_tap_latches_and_a_second_tap_ends():
    state, commands = play(TalkDown(0), TalkUp(0.2), TalkDown(3), automatic=False)

    assert [OpenSegment(1, "press"), CloseSegment(1)] == commands
    assert state.segment is None and state.closing is not None


def test_a_latched_segment_ends_by_silence_too():
    _, commands = play(
        TalkDown(0), TalkUp(0.2), VoiceStarted(1), VoiceStopped(2.2, 2), TimerFired(2.55, "endpoint"), automatic=False
    )

    assert CloseSegment(1) == commands[-1]


def test_a_lost_release_closes_the_microphone():
    _, commands = play(TalkDown(0), TimerFired(30, "cap"), automatic=False)

    assert CloseSegment(1) == commands[-1]


def test_button_mode_ignores_voices():
    state, commands = play(VoiceStarted(0), VoiceStopped(1, 0.9), automatic=False)

    assert [] == commands
    assert state.segment is None


def test_automatic_turn_commits_once_after_the_silence():
    _, commands = play(
        VoiceStarted(0),
        VoiceStopped(1.16, 1),
        TimerFired(1.55, "endpoint"),
        Final(1.7, 1, "Who made it?"),
        Interim(1.8, 1, "late"),
        Final(1.9, 1, "Who made it?"),
    )

    expected = [
        OpenSegment(1, "voice"),
        PauseSegment(1),
        CloseSegment(1),
        CommitTurn(1, "Who made it?", "speech", 1),
    ]
    assert expected == commands


def test_speech_within_the_silence_goes_on_with_the_same_turn():
    state, commands = play(VoiceStarted(0), VoiceStopped(1.16, 1), VoiceStarted(1.4))

    assert state.deadline("endpoint") is None
    assert state.segment is not None and state.segment.id == 1
    assert not any(isinstance(c, CloseSegment) for c in commands)


@pytest.mark.parametrize(("text", "silence"), [("who made", 0.55), ("Who made it?", 0.40), ("who made the", 1.1)])
def test_the_silence_fits_what_was_said(text: str, silence: float):
    state, _ = play(VoiceStarted(0), Interim(0.9, 1, text), VoiceStopped(1.16, 1))

    assert pytest.approx(1 + silence) == state.deadline("endpoint")


def test_a_timer_that_fires_early_or_twice_does_nothing():
    state, commands = play(VoiceStarted(0), VoiceStopped(1.16, 1), TimerFired(1.2, "endpoint"))
    assert CloseSegment(1) not in commands

    state, _ = step(state, TimerFired(1.6, "endpoint"))
    assert () == step(state, TimerFired(1.7, "endpoint"))[1]


def test_speech_onset_during_playout_holds_before_anything_else():
    _, commands = play(ReplyStarted(0, 3), VoiceStarted(1))

    assert [HoldReply(3), OpenSegment(1, "voice")] == commands


def test_the_first_real_word_accepts_and_cancels_in_one_step():
    state, _ = play(RunStarted(0, "r"), ReplyStarted(0, 3), VoiceStarted(1))

    _, commands = step(state, Interim(1.5, 1, "wait"))

    assert [InterruptReply(3, "speech"), CancelRun("r", "superseded_by_new_input")] == [
        c for c in commands if isinstance(c, InterruptReply | CancelRun)
    ]


@pytest.mark.parametrize("text", ["", "mm-hm", "Okay.", "[noise]"])
def test_acknowledgements_and_noise_release_the_hold_without_a_turn(text: str):
    state, commands = play(
        ReplyStarted(0, 3), VoiceStarted(1), VoiceStopped(1.4, 1.2), TimerFired(1.75, "endpoint"), Final(1.9, 1, text)
    )

    assert ResumeReply(3, restart=False) == commands[-1]
    assert not any(isinstance(c, InterruptReply | CommitTurn | Tell) for c in commands)
    assert state.ignoring


def test_noisy_words_do_not_interrupt():
    _, commands = play(ReplyStarted(0, 3), VoiceStarted(1), Interim(1.5, 1, "thank you", confidence=-1.4))

    assert not any(isinstance(c, InterruptReply) for c in commands)


def test_four_seconds_without_words_release_and_forget():
    _, commands = play(ReplyStarted(0, 3), VoiceStarted(1), TimerFired(5, "hold"))

    assert [ResumeReply(3, restart=True), DiscardSegment(1)] == commands[-2:]


def test_after_a_release_sounds_are_ignored_until_it_was_quiet():
    state, _ = play(ReplyStarted(0, 3), VoiceStarted(1), TimerFired(5, "hold"))

    state, commands = step(state, VoiceStarted(5.2))
    assert not any(isinstance(c, HoldReply) for c in commands)

    state, _ = step(state, VoiceStopped(5.6, 5.5))
    state, _ = step(state, TimerFired(6.0, "quiet"))
    _, commands = step(state, VoiceStarted(6.5))
    assert HoldReply(3) in commands


def test_a_notice_that_must_be_heard_is_ducked_not_held():
    _, commands = play(ReplyStarted(0, 3, interruptible=False), VoiceStarted(1))

    assert [DuckReply(3, down=True), OpenSegment(1, "voice")] == commands


def test_the_words_over_such_a_notice_are_kept_and_answered():
    _, commands = play(
        ReplyStarted(0, 3, interruptible=False),
        VoiceStarted(1),
        VoiceStopped(2.1, 2),
        TimerFired(2.55, "endpoint"),
        Final(2.7, 1, "Who made it?"),
    )

    assert CommitTurn(1, "Who made it?", "speech", 1) == commands[-1]
    assert not any(isinstance(c, InterruptReply) for c in commands)


def test_stop_stops_everything_even_such_a_notice():
    _, commands = play(RunStarted(0, "r"), ReplyStarted(0, 3, interruptible=False), VoiceStarted(1), StopPressed(2))

    assert [DiscardSegment(1), InterruptReply(3, "stop"), CancelRun("r", "stop")] == commands[-3:]


def test_a_reply_that_starts_while_somebody_speaks_waits():
    _, commands = play(VoiceStarted(0), ReplyStarted(0.5, 4))

    assert HoldReply(4) == commands[-1]


def test_a_choice_interrupts_cancels_and_commits():
    _, commands = play(RunStarted(0, "r"), ReplyStarted(0, 3), Written(1, "Who made it?", "choice"))

    assert [
        InterruptReply(3, "choice"),
        CancelRun("r", "superseded_by_new_input"),
        CommitTurn(1, "Who made it?", "choice"),
    ] == commands


def test_barge_in_before_the_first_sample_cancels_the_run_without_waiting():
    _, commands = play(RunStarted(0, "r"), VoiceStarted(1), Interim(1.5, 1, "no wait"))

    assert CancelRun("r", "superseded_by_new_input") in commands


def test_words_that_went_on_before_the_final_came_are_one_turn():
    _, commands = play(
        VoiceStarted(0),
        VoiceStopped(1.1, 1),
        TimerFired(1.55, "endpoint"),
        VoiceStarted(1.6),
        Final(1.8, 1, "Who made"),
        VoiceStopped(2.6, 2.5),
        TimerFired(3.6, "endpoint"),
        Final(3.8, 2, "the vase?"),
    )

    assert [CommitTurn(1, "Who made the vase?", "speech", 2)] == [c for c in commands if isinstance(c, CommitTurn)]


def test_a_recogniser_that_fails_is_told_and_leaves_nothing_stuck():
    state, commands = play(TalkDown(0), SegmentFailed(1, 1, "stt.failed"), automatic=False)

    assert [DiscardSegment(1), Tell("stt_failed")] == commands[-2:]
    assert state.segment is None and state.closing is None and not state.deadlines


def test_a_lost_microphone_ends_the_segment_with_what_it_has():
    _, commands = play(VoiceStarted(0), MicrophoneLost(1))

    assert CloseSegment(1) == commands[-1]


def test_leaving_automatic_listening_discards_an_open_voice_segment():
    state, commands = play(VoiceStarted(0), ModeChosen(1, automatic=False))

    assert DiscardSegment(1) == commands[-1]
    assert state.segment is None


def test_fifty_rapid_starts_open_one_segment_and_no_turn():
    events = [e for n in range(50) for e in (VoiceStarted(n * 0.2), VoiceStopped(n * 0.2 + 0.16, n * 0.2 + 0.1))]
    _, commands = play(*events)

    assert 1 == sum(isinstance(c, OpenSegment) for c in commands)
    assert not any(isinstance(c, CommitTurn) for c in commands)


def test_events_of_another_reply_or_run_change_nothing():
    state, _ = play(RunStarted(0, "r"), ReplyStarted(0, 3))

    assert (state, ()) == step(state, ReplyEnded(1, 2))
    assert (state, ()) == step(state, RunEnded(1, "other"))
    assert (state, ()) == step(state, Final(1, 99, "late words"))


def test_the_state_is_a_value():
    state = Turns()

    step(state, TalkDown(0))

    assert Turns() == state
    assert replace(state) == state
