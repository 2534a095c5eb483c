"""A question that was committed in the middle of a breath, and goes on: one input, not two (RFC-022 §6)."""

import pytest
from wayside.core.turn_events import (
    CancelRun,
    CommitTurn,
    Final,
    Interim,
    ReplyStarted,
    RunEnded,
    RunStarted,
    StopPressed,
    TimerFired,
    TurnCommand,
    TurnEvent,
    VoiceStarted,
    VoiceStopped,
    Written,
)
from wayside.core.turns import Turns, step

SUPERSEDED = "superseded_by_new_input"
FIRST = (VoiceStarted(0), VoiceStopped(2.0, 2.0), TimerFired(2.6, "endpoint"), Final(2.8, 1, "Tell me about the"))


def play(*events: TurnEvent) -> list[TurnCommand]:
    state, commands = Turns(automatic=True), []
    for event in events:
        state, new = step(state, event)
        commands.extend(c for c in new if isinstance(c, CommitTurn | CancelRun))
    return commands


def going_on(onset: float) -> tuple[TurnEvent, ...]:
    return (
        VoiceStarted(onset),
        Interim(onset + 0.4, 2, "blue vase"),
        VoiceStopped(onset + 1, onset + 1),
        TimerFired(onset + 2, "endpoint"),
        Final(onset + 2.1, 2, "blue vase"),
    )


@pytest.mark.parametrize(("onset", "resumes"), [(3.0, "r1"), (3.5, "r1"), (3.51, None), (6.0, None)])
def test_speech_within_a_breath_goes_on_with_the_unanswered_question(onset, resumes):
    commands = play(*FIRST, RunStarted(2.9, "r1"), *going_on(onset))

    assert [CancelRun("r1", SUPERSEDED), CommitTurn(2, "blue vase", "speech", 2, resumes)] == commands[1:]


def test_what_was_begun_to_be_answered_is_not_gone_on_with():
    commands = play(*FIRST, RunStarted(2.9, "r1"), ReplyStarted(2.95, 1), *going_on(3.0))

    assert [CancelRun("r1", SUPERSEDED), CommitTurn(2, "blue vase", "speech", 2, None)] == commands[1:]


def test_a_run_that_is_over_is_not_gone_on_with():
    commands = play(*FIRST, RunStarted(2.9, "r1"), RunEnded(2.95, "r1"), *going_on(3.0))

    assert [CommitTurn(2, "blue vase", "speech", 2, None)] == commands[1:]


@pytest.mark.parametrize("between", [Written(3.2, "Who made it?"), StopPressed(3.2)])
def test_a_touch_in_between_ends_the_breath(between):
    commands = play(*FIRST, RunStarted(2.9, "r1"), between, *going_on(3.3))

    assert all(c.resumes is None for c in commands if isinstance(c, CommitTurn))
