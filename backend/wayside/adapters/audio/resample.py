"""Streaming resamplers from `soxr`, kept for the life of their stream so that a pause never eats samples."""

import numpy as np
import soxr

from wayside.core.playout import Resampler, Unchanged


class SoxrResampler:
    """Mono s16le from `rate` to `out_rate`, without drift.

    `low_latency` holds back a constant 12 ms at 48 → 16 kHz instead of up to 30 ms in bursts.
    """

    def __init__(self, rate: int, out_rate: int, *, low_latency: bool = False) -> None:
        self._stream = soxr.ResampleStream(rate, out_rate, 1, dtype="int16", quality="HQ", vr=low_latency)

    def push(self, pcm: bytes) -> bytes:
        out: bytes = self._stream.resample_chunk(np.frombuffer(pcm, dtype=np.int16)).tobytes()
        return out


def resampler(rate: int, out_rate: int) -> Resampler:
    """The resampler of a playout stream."""
    return Unchanged() if rate == out_rate else SoxrResampler(rate, out_rate)


def rms(pcm: bytes | memoryview) -> float:
    """Root mean square of s16le samples, 0..1."""
    samples = np.frombuffer(pcm, dtype=np.int16)
    if not len(samples):
        return 0.0
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float32)))) / 32768
