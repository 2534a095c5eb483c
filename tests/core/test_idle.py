"""Inactivity."""

from wayside.core.idle import Idle, IdlePhase


def run(idle: Idle, seconds: int, *, playing: bool = False, segment_open: bool = False) -> Idle:
    for _ in range(seconds):
        idle = idle.tick(idle.last + 1, playing=playing, segment_open=segment_open)
    return idle


def test_nobody_is_asked_before_45_seconds():
    assert IdlePhase.ACTIVE is run(Idle(0), 44).phase


def test_the_countdown_lasts_20_seconds_and_then_the_visit_is_over():
    assert IdlePhase.ASKING is run(Idle(0), 45).phase
    assert 20 == run(Idle(0), 45).ends_in_s
    assert IdlePhase.OVER is run(Idle(0), 65).phase


def test_a_touch_withdraws_the_countdown():
    assert IdlePhase.ACTIVE is run(Idle(0), 60).touched(60).phase


def test_playout_pauses_it():
    assert IdlePhase.ACTIVE is run(Idle(0), 600, playing=True).phase


def test_an_open_segment_pauses_it_for_30_seconds_only():
    assert IdlePhase.ACTIVE is run(Idle(0), 40 + 30, segment_open=True).phase
    assert IdlePhase.OVER is run(Idle(0), 30 + 66, segment_open=True).phase
