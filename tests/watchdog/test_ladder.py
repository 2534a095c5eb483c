from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside_watchdog import backoff, beats, ladder
from wayside_watchdog.ladder import (
    Beat,
    Begin,
    Ended,
    Ladder,
    Leave,
    Missed,
    Phase,
    RestartAsked,
    Spawn,
    Stalled,
    Stop,
    Tick,
)


def _up(at=0.0):
    state, _ = ladder.step(Ladder(), Begin(at=at))
    return ladder.step(state, Beat(at=at))[0]


def test_the_first_restart_is_immediate_and_later_ones_wait_longer_each_time():
    state, waits = backoff.Backoff(), []
    for at in (0.0, 1.0, 3.0, 6.0, 11.0):
        state, wait = backoff.ended(state, at=at, jitter=0.0)
        waits.append(wait.until - at)

    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0]


def test_the_sixth_end_within_ten_minutes_opens_the_breaker_for_ten_minutes():
    state = backoff.Backoff()
    for at in range(5):
        state, _ = backoff.ended(state, at=float(at), jitter=0.0)

    assert backoff.ended(state, at=30.0, jitter=0.0)[1] == backoff.Wait(until=630.0, broken=True)


@given(st.integers(1, 40), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_longer_than_a_minute(streak, jitter):
    wait = backoff.ended(backoff.Backoff(streak=streak), at=0.0, jitter=jitter)[1]

    assert 1.0 <= wait.until <= 60.0


def test_ten_healthy_minutes_forget_the_past():
    past = backoff.Backoff(streak=3, restarts_at=(1.0,))

    assert past == backoff.healthy(past, up_for_s=599.0)
    assert backoff.Backoff() == backoff.healthy(past, up_for_s=600.0)


def test_three_misses_stop_a_running_child_and_two_do_not():
    state, sent = _up(), []
    for at in (3.0, 6.0, 9.0):
        state, commands = ladder.step(state, Missed(at=at))
        sent.append(commands)

    assert sent == [(), (), (Stop(ladder.HUNG_GRACE_S),)]
    assert state.phase is Phase.STOPPING


def test_a_stalled_watchdog_forgives_what_was_missed():
    state = replace(_up(), misses=2)
    state, _ = ladder.step(state, Stalled(at=100.0, lost_s=90.0))
    state, commands = ladder.step(state, Missed(at=101.0))

    assert commands == ()
    assert state.misses == 1


def test_a_missed_beat_while_starting_is_left_to_the_start_deadline():
    state, _ = ladder.step(Ladder(), Begin(at=0.0))
    for at in range(20):
        state, commands = ladder.step(state, Missed(at=float(at)))
        assert commands == ()

    assert ladder.step(state, Tick(at=ladder.START_DEADLINE_S))[1] == (Stop(ladder.HUNG_GRACE_S),)


def test_a_crash_loop_ends_in_safe_mode_and_one_start_is_tried_when_it_is_over():
    state, now = _up(), 0.0
    while state.phase is not Phase.SAFE_MODE:
        state, _ = ladder.step(state, Ended(at=now, jitter=0.5))
        now = max(now, state.retry_at)
        if state.phase is Phase.WAITING:
            state, _ = ladder.step(state, Tick(at=now))

    assert state.restarts == backoff.BREAKER_RESTARTS
    assert ladder.step(state, Tick(at=state.retry_at - 1))[1] == ()
    assert ladder.step(state, Tick(at=state.retry_at))[1] == (Spawn(),)


def test_staff_restart_closes_the_breaker_at_once():
    broken = replace(_up(), phase=Phase.SAFE_MODE, retry_at=600.0)
    state, commands = ladder.step(broken, RestartAsked(at=5.0))

    assert commands == (Spawn(),)
    assert state.backoff == backoff.Backoff()


def test_a_restart_that_was_asked_for_costs_no_backoff():
    state, commands = ladder.step(_up(), RestartAsked(at=5.0))
    assert commands == (Stop(ladder.GRACE_S),)

    state, commands = ladder.step(state, Ended(at=6.0, jitter=0.0))

    assert commands == (Spawn(),)
    assert state.backoff == backoff.Backoff()


_EVENTS = st.one_of(
    st.builds(Begin, at=st.just(0.0)),
    st.builds(Beat, at=st.just(0.0)),
    st.builds(Missed, at=st.just(0.0)),
    st.builds(Ended, at=st.just(0.0), jitter=st.just(0.5)),
    st.builds(Tick, at=st.just(0.0)),
    st.builds(RestartAsked, at=st.just(0.0)),
    st.builds(Leave, at=st.just(0.0)),
    st.builds(Stalled, at=st.just(0.0), lost_s=st.floats(0, 100)),
)


@given(st.lists(st.tuples(_EVENTS, st.floats(0, 200)), max_size=80))
def test_there_is_never_more_than_one_process_and_none_starts_after_leaving(script):
    # A process exists from Spawn until Ended; Begin comes once and first, Ended only while one exists.
    state, commands = ladder.step(Ladder(), Begin(at=0.0))
    alive, left, now = True, False, 0.0
    for event, gap in script:
        now += gap
        if isinstance(event, Begin) or (isinstance(event, Ended) and not alive):
            continue
        if isinstance(event, Ended):
            alive = False
        left = left or isinstance(event, Leave)
        state, commands = ladder.step(state, replace(event, at=now))
        for command in commands:
            if isinstance(command, Spawn):
                assert not alive
                assert not left
                alive = True
        assert alive or state.phase in {Phase.WAITING, Phase.SAFE_MODE, Phase.OFF}


@pytest.mark.parametrize(
    ("frames", "alive"),
    [([1, 2, 3], True), ([5] * 30, True), ([1, 2, *[2] * 9], True), ([1, 2, *[2] * 10], False)],
)
def test_a_page_that_stopped_painting_counts_as_silent_only_if_it_painted_before(frames, alive):
    state, word = beats.PageBeats(), True
    for index, count in enumerate(frames):
        state, word = beats.beat(state, at=index * 3.0, frames=count)

    assert alive is word


def test_each_missing_page_beat_is_reported_once():
    state, _ = beats.beat(beats.PageBeats(), at=0.0, frames=1)
    reports = []
    for tick in range(1, 21):
        state, missed = beats.overdue(state, at=tick * 0.5)
        reports.append(missed)

    assert reports.count(True) == 3
    assert not any(reports[:6])


def test_a_page_that_never_beat_is_not_overdue():
    assert beats.overdue(beats.PageBeats(), at=1e6)[1] is False
