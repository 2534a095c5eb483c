"""Text to speech."""

import asyncio
import math
import re
from array import array
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from wayside.core.content import VoiceStyle
from wayside.core.errors import WaysideError

__all__ = ["NEUTRAL", "SpeechChunk", "TextToSpeech", "ToneTextToSpeech", "Voice", "VoiceStyle"]

NEUTRAL = VoiceStyle()


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """Mono s16le at `rate`.

    `words` are (end of word as character offset in the text, last sample of it) when known; samples are cumulative
    within the utterance.
    """

    pcm: bytes
    rate: int
    words: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Voice:
    """One voice a provider offers. `robotic` voices are told as such to people."""

    id: str
    languages: tuple[str, ...]
    rate: int
    robotic: bool = False


class TextToSpeech(Protocol):
    """A synthesiser. Breaking off the iteration (aclose) or `cancel(generation)` stops the work; nothing follows.

    `speak` yields chunks, the first one early; it raises `WaysideError` (`tts.failed`, `tts.timeout`, `tts.language`).
    A style changes how the voice sounds, neither its rate nor that the word ends belong to the samples.
    """

    @property
    def voices(self) -> tuple[Voice, ...]: ...

    def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]: ...

    def cancel(self, generation: int) -> None: ...

    async def close(self) -> None: ...


_TONE_RATE = 22_050
_TONE_PERIOD = 100  # samples: 220.5 Hz


class ToneTextToSpeech:
    """Speaks a tone, `ms_per_char` long for each character, one chunk a word with its exact end. For tests.

    The first chunk comes after `first_delay_s`, each later one after `delay_s`. `error` is raised instead of the chunk
    of word number `fails_at`.
    """

    def __init__(
        self,
        languages: tuple[str, ...] = ("en", "es"),
        *,
        ms_per_char: float = 60.0,
        first_delay_s: float = 0.0,
        delay_s: float = 0.0,
        robotic: bool = False,
        error: WaysideError | None = None,
        fails_at: int = 0,
    ) -> None:
        self._voices = (Voice("tone", languages, _TONE_RATE, robotic),)
        self._samples_per_char = ms_per_char * _TONE_RATE / 1000
        self._delays_s = (first_delay_s, delay_s)
        self._error = error
        self._fails_at = fails_at
        self._cancelled = -1
        self._changed = asyncio.Event()
        self.spoken: list[tuple[str, str, int, int]] = []  # text, language, generation, utterance
        self.styles: list[VoiceStyle] = []  # of each of them

    @property
    def voices(self) -> tuple[Voice, ...]:
        return self._voices

    async def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        if language.split("-", 1)[0] not in {known.split("-", 1)[0] for known in self._voices[0].languages}:
            raise WaysideError("tts.language", f"no voice for {language!r}")
        self.spoken.append((text, language, generation, utterance))
        self.styles.append(style)
        period = _period(style)
        before = 0
        for number, word in enumerate(re.finditer(r"\s*\S+\s*?(?=\s*\S|\s*$)", text)):
            await self._wait(self._delays_s[min(number, 1)], generation)
            if generation <= self._cancelled:
                return
            if self._error is not None and number == self._fails_at:
                raise self._error
            after = round(word.end() * self._samples_per_char / style.pace)
            yield SpeechChunk(_tone(period, before, after), _TONE_RATE, ((word.end(), after),))
            before = after

    def cancel(self, generation: int) -> None:
        self._cancelled = max(self._cancelled, generation)
        self._changed.set()

    async def close(self) -> None:
        self.cancel(2**32)

    async def _wait(self, delay_s: float, generation: int) -> None:
        """Sleep, but no longer than until the generation is cancelled."""
        try:
            async with asyncio.timeout(delay_s):
                while generation > self._cancelled and delay_s > 0:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return


def _period(style: VoiceStyle) -> bytes:
    samples = round(_TONE_PERIOD / 2 ** (style.pitch_semitones / 12))
    return array("h", (round(6000 * math.sin(2 * math.pi * i / samples)) for i in range(samples))).tobytes()


def _tone(period: bytes, start: int, end: int) -> bytes:
    """Samples `start` to `end` of the tone, in phase with what came before."""
    length = len(period) // 2
    offset = start % length
    periods = (end - start + offset) // length + 1
    return (period * periods)[2 * offset : 2 * (offset + end - start)]
