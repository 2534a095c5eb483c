"""The echo canceller on a made-up room, block by block, without any device."""

import numpy as np
import pytest
from wayside.adapters.audio.echo import EchoCanceller
from wayside.adapters.audio.streams import BLOCK, DEVICE_RATE

SPEAKS_S, RESTS_S, REPLIES = 3.0, 4.0, 6
DELAY_BLOCKS = 4


def voice(seed):
    """Noise in bursts of a syllable: as uneven as speech."""
    rng = np.random.default_rng(seed)
    length = int(SPEAKS_S * DEVICE_RATE)
    syllables = np.repeat(rng.uniform(0, 1, length // 9600 + 1), 9600)[:length]
    return rng.normal(0, 6000, length) * syllables


def room(far):
    rng = np.random.default_rng(7)
    tail = rng.normal(0, 1, 4800) * np.exp(-np.arange(4800) / 1200)
    size = 1 << (len(far) + 4800).bit_length()
    heard = np.fft.irfft(np.fft.rfft(far, size) * np.fft.rfft(0.3 * tail / np.linalg.norm(tail), size), size)
    return np.concatenate([np.zeros(DELAY_BLOCKS * BLOCK), heard])[: len(far)]


def blocks(samples):
    pcm = samples.clip(-32768, 32767).astype("<i2").tobytes()
    return [pcm[at : at + 2 * BLOCK] for at in range(0, len(pcm) - 2 * BLOCK + 1, 2 * BLOCK)]


@pytest.fixture(scope="module")
def replies():
    """What is left of the echo of each reply in dB, with batches of one to five blocks as a busy machine makes them."""
    pause = np.zeros(int(RESTS_S * DEVICE_RATE))
    far = np.concatenate([part for seed in range(REPLIES) for part in (voice(seed), pause)])
    near = room(far) + np.random.default_rng(3).normal(0, 3, len(far))
    played, heard = blocks(far), blocks(near)
    canceller, left = EchoCanceller(), []
    rng, given, taken = np.random.default_rng(11), 0, 0
    while taken < len(heard):
        given_to = min(len(played), given + int(rng.integers(1, 6)))
        for block in played[given:given_to]:
            canceller.rendered(block)
        given = given_to
        taken_to = len(heard) if given == len(played) else max(taken, given - int(rng.integers(0, 3)))
        left += [canceller.captured(block) for block in heard[taken:taken_to]]
        taken = taken_to
    cleaned = np.frombuffer(b"".join(left), dtype="<i2").astype(float)
    each = int((SPEAKS_S + RESTS_S) * DEVICE_RATE)

    def power(samples, number):
        start = number * each
        return np.mean(np.square(samples[start : start + int(SPEAKS_S * DEVICE_RATE)])) + 1

    return [10 * np.log10(power(near, n) / power(cleaned, n)) for n in range(REPLIES)]


def test_the_echo_of_every_reply_is_cancelled(replies):
    assert min(replies[1:]) > 25, replies


def test_a_quiet_room_passes_as_it_came():
    canceller = EchoCanceller()
    speech = blocks(voice(1))
    for block in speech:
        canceller.rendered(bytes(len(block)))

    assert speech == [canceller.captured(block) for block in speech]


@pytest.mark.parametrize("missing", ["rendered", "captured"])
def test_a_device_that_was_missing_for_an_hour_costs_nothing_when_it_is_back(missing):
    canceller = EchoCanceller()
    silence = bytes(2 * BLOCK)
    step = canceller.captured if missing == "rendered" else canceller.rendered
    for _ in range(360_000):
        step(silence)
    far = voice(1)
    near = room(far) + np.random.default_rng(3).normal(0, 3, len(far))
    left = b""
    for played, heard in zip(blocks(far), blocks(near), strict=True):
        canceller.rendered(played)
        left += canceller.captured(heard)

    second = slice(DEVICE_RATE, 3 * DEVICE_RATE)
    cleaned = np.frombuffer(left, dtype="<i2").astype(float)[second]
    assert np.mean(np.square(near[second])) > 300 * np.mean(np.square(cleaned))
