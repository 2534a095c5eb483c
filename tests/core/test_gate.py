"""SpeechGate: hysteresis, minimum speech, sample positions."""

from hypothesis import given
from hypothesis import strategies as st
from wayside.core.gate import WINDOW_SAMPLES, GateEvent, GateSettings, SpeechGate, SpeechStarted, SpeechStopped


def run(probabilities: list[float], settings: GateSettings | None = None) -> list[GateEvent]:
    gate, events = SpeechGate(settings or GateSettings()), []
    for probability in probabilities:
        gate, event = gate.step(probability)
        if event is not None:
            events.append(event)
    return events


def test_a_window_below_the_upper_threshold_is_not_speech():
    assert [] == run([0.0, 0.49, 0.49, 0.0])


def test_a_single_window_above_it_is_speech_at_once():
    assert [SpeechStarted(WINDOW_SAMPLES)] == run([0.0, 0.5])


def test_where_more_is_asked_for_speech_starts_with_its_first_window():
    asked = GateSettings(start_windows=2)

    assert [] == run([0.1, 0.6, 0.1, 0.6, 0.1], asked)
    assert [SpeechStarted(2 * WINDOW_SAMPLES)] == run([0.1, 0.1, 0.6, 0.6], asked)


def test_a_dip_between_the_thresholds_does_not_end_speech():
    assert [SpeechStarted(0)] == run([0.9, 0.9] + [0.4] * 20)


def test_speech_stops_at_the_end_of_its_last_voiced_window():
    events = run([0.9, 0.9, 0.9] + [0.0] * 5)

    assert [SpeechStarted(0), SpeechStopped(3 * WINDOW_SAMPLES)] == events


@given(st.lists(st.floats(0, 1), max_size=300))
def test_starts_and_stops_alternate_and_positions_rise(probabilities: list[float]):
    events = run(probabilities)

    assert all(isinstance(e, SpeechStarted) == (n % 2 == 0) for n, e in enumerate(events))
    assert [e.sample for e in events] == sorted(e.sample for e in events)
