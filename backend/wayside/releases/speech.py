"""Records approved text in advance, for the fallback: Ogg Opus, reused while text and voice stay the same.

Text is spoken sentence by sentence, as in a visit. A passage that cannot be spoken stays silent, and is told.
"""

import hashlib
import io
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.resampler import AudioResampler

from wayside.core.errors import WaysideError
from wayside.core.sentences import cut
from wayside.ports.text_to_speech import TextToSpeech

RATE = 24_000
BIT_RATE = 32_000
PAUSE_S = 0.25  # between sentences
_CACHE_VERSION = "opus-1"


@dataclass(frozen=True, slots=True)
class Recording:
    """Mono s16le at `rate`."""

    pcm: bytes
    rate: int


@dataclass(frozen=True, slots=True)
class Narrator:
    """Speaks whole passages. `voices` names the voice of each language; a language without one stays silent."""

    voices: Mapping[str, str]
    synthesise: Callable[[str, str], Awaitable[Recording]]  # text, language


def narrator(voice: TextToSpeech, languages: tuple[str, ...]) -> Narrator:
    """A narrator that uses a synthesiser's first voice of each language."""
    chosen: dict[str, str] = {}
    for language in languages:
        short = language.split("-", maxsplit=1)[0]
        for offered in voice.voices:
            if any(known.split("-", maxsplit=1)[0] == short for known in offered.languages):
                chosen.setdefault(language, offered.id)
    spoken = 0

    async def synthesise(text: str, language: str) -> Recording:
        nonlocal spoken
        pcm = bytearray()
        rate = RATE
        sentences, _ = cut(text, final=True)
        for sentence in sentences:
            spoken += 1
            if pcm:
                pcm.extend(bytes(2 * int(PAUSE_S * rate)))
            async for chunk in voice.speak(sentence.strip(), language, spoken, spoken):
                rate = chunk.rate
                pcm.extend(chunk.pcm)
        if not pcm:
            raise WaysideError("tts.failed", "the voice made no sound")
        return Recording(bytes(pcm), rate)

    return Narrator(chosen, synthesise)


async def record(text: str, language: str, by: Narrator, cache: Path | None) -> bytes:
    """The passage as an Ogg Opus file, from the cache when the same voice has spoken the same text."""
    key = hashlib.sha256("\0".join((_CACHE_VERSION, by.voices[language], language, text)).encode()).hexdigest()
    kept = cache / f"{key}.ogg" if cache is not None else None
    if kept is not None and (known := _read(kept)) is not None:
        return known
    made = encode(await by.synthesise(text, language))
    if kept is not None:
        _keep(kept, made)
    return made


def encode(recording: Recording) -> bytes:
    """Ogg Opus, mono; the same samples give the same bytes."""
    target = io.BytesIO()
    # Without bitexact the stream's serial number is random, and so would be the release's id.
    with av.open(target, "w", format="ogg", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libopus", rate=RATE)
        stream.bit_rate = BIT_RATE
        stream.codec_context.layout = "mono"
        samples = np.frombuffer(recording.pcm, dtype="<i2").reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format="s16", layout="mono")
        frame.sample_rate = recording.rate
        frame.time_base = Fraction(1, recording.rate)
        frame.pts = 0
        resampler = AudioResampler(format="s16", layout="mono", rate=RATE)
        for ready in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(stream.encode(ready))
        container.mux(stream.encode(None))
    return target.getvalue()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _keep(path: Path, data: bytes) -> None:
    # A cache that cannot be written costs time, nothing else.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        beside.write_bytes(data)
        beside.replace(path)
