"""Sound and real speech parts for tests."""

import re
import wave
from pathlib import Path

import numpy as np
import pytest
import soxr
from wayside.adapters.models import ModelShelf
from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import SpeechChunk

DATA = Path(__file__).parent / "data"
RATE = 16_000


def recording(name: str) -> bytes:
    """A recording of `tests/data` as mono s16le at 16 kHz."""
    with wave.open(str(DATA / name), "rb") as file:
        return resampled(file.readframes(file.getnframes()), file.getframerate())


def resampled(pcm: bytes, rate: int) -> bytes:
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768
    return (np.clip(soxr.resample(samples, rate, RATE), -1, 1) * 32767).astype("<i2").tobytes()


def silence(seconds: float) -> bytes:
    return bytes(2 * int(seconds * RATE))


def noise(seconds: float, level: float = 0.02) -> bytes:
    samples = np.random.default_rng(7).normal(0, level * 32767, int(seconds * RATE))
    return samples.clip(-32768, 32767).astype("<i2").tobytes()


def blocks(pcm: bytes, milliseconds: int = 10) -> list[bytes]:
    size = RATE * milliseconds // 1000 * 2
    return [pcm[start : start + size] for start in range(0, len(pcm), size)]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def joined(chunks: list[SpeechChunk]) -> bytes:
    return b"".join(chunk.pcm for chunk in chunks)


def shelf(cache: Path) -> ModelShelf:
    """Models as installed; the test is skipped where there are none."""
    found = ModelShelf(cache)
    try:
        found.silero()
        found.voice()
    except WaysideError as missing:
        pytest.skip(f"{missing.message}; `make test` installs the models: {missing.remedy}")
    return found
