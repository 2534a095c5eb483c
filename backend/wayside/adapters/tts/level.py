"""One level for every voice, without clipping."""

import numpy as np
from numpy.typing import NDArray

TARGET_RMS = 10 ** (-20 / 20)  # of full scale, over the parts that are speech
PEAK = 10 ** (-1 / 20)
_GATE = 10 ** (-30 / 20)  # below the loudest block
_BLOCK_S = 0.02

Samples = NDArray[np.float32]


def gain(samples: Samples, rate: int) -> float:
    """The factor that brings `samples` (−1..1) to the target level, or as near as the peak allows."""
    block = int(rate * _BLOCK_S)
    whole = samples.size // block * block
    if whole == 0 or not np.any(samples):
        return 1.0
    power = np.square(samples[:whole].reshape(-1, block)).mean(axis=1)
    speech = power[power >= power.max() * _GATE**2]
    rms = float(np.sqrt(speech.mean()))
    return min(TARGET_RMS / max(rms, 1e-6), PEAK / float(np.abs(samples).max()))


def trimmed(samples: Samples, rate: int, *, keep_s: float = 0.03) -> Samples:
    """Without the near-silence at both ends, but for `keep_s`, and faded over 5 ms."""
    loud = np.flatnonzero(np.abs(samples) > max(0.01, float(np.abs(samples).max(initial=0.0)) * 0.02))
    if loud.size == 0:
        return samples[:0]
    keep = int(keep_s * rate)
    cut = samples[max(0, loud[0] - keep) : loud[-1] + 1 + keep].copy()
    fade = min(int(0.005 * rate), cut.size)
    ramp = np.linspace(0, 1, fade, dtype=np.float32)
    cut[:fade] *= ramp
    cut[cut.size - fade :] *= ramp[::-1]
    return cut


def pcm(samples: Samples) -> bytes:
    """Mono s16le."""
    return (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
