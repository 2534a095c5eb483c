"""Text to speech."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """Mono s16le at `rate`. `words` are (end of word as character offset in the text, last sample of it) when known;
    samples are cumulative within the utterance.
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
    """

    @property
    def voices(self) -> tuple[Voice, ...]: ...

    def speak(self, text: str, language: str, generation: int, utterance: int) -> AsyncIterator[SpeechChunk]: ...

    def cancel(self, generation: int) -> None: ...

    async def close(self) -> None: ...
