"""What every voice activity detector must do."""

import sys
from collections.abc import Callable

import pytest
from speech import blocks, noise, recording, shelf, silence
from wayside.adapters.vad.silero import silero_streams
from wayside.ports.voice_activity import ScriptedVoiceActivity, VoiceActivity


@pytest.fixture(params=["scripted", pytest.param("silero", marks=pytest.mark.models)])
def stream(request: pytest.FixtureRequest, tmp_path) -> Callable[[], VoiceActivity]:
    if request.param == "scripted":
        return ScriptedVoiceActivity
    return silero_streams(shelf(tmp_path).silero().path)


def probabilities(activity: VoiceActivity, pcm: bytes) -> list[float]:
    return [activity.probability(window) for window in blocks(pcm, 32) if len(window) == 1024]


def test_speech_is_told_from_silence(stream):
    activity = stream()

    spoken = probabilities(activity, recording("weather-question.wav"))
    quiet = probabilities(activity, silence(1.0))

    assert max(spoken) > 0.9
    assert max(quiet[5:]) < 0.3


def test_reset_forgets(stream):
    activity, fresh = stream(), stream()
    probabilities(activity, recording("weather-question.wav"))
    activity.reset()

    assert probabilities(fresh, noise(0.3, 0.001)) == probabilities(activity, noise(0.3, 0.001))


def test_streams_do_not_share_state(stream):
    one, other = stream(), stream()
    speech = recording("weather-question.wav")
    expected = probabilities(stream(), speech)
    got = []
    for window in blocks(speech, 32):
        if len(window) == 1024:
            got.append(one.probability(window))
            other.probability(bytes(1024))

    assert expected == got


@pytest.mark.models
def test_noise_is_not_speech_to_silero(tmp_path):
    activity = silero_streams(shelf(tmp_path).silero().path)()

    assert max(probabilities(activity, noise(2.0))[5:]) < 0.5
    assert "torch" not in sys.modules


@pytest.mark.models
def test_a_window_of_another_size_is_refused(tmp_path):
    activity = silero_streams(shelf(tmp_path).silero().path)()

    with pytest.raises(ValueError, match="512"):
        activity.probability(bytes(100))
