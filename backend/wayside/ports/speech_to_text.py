"""Speech to text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Transcript:
    """Words of one segment. `confidence` is the mean log-probability (≤ 0); noisy decodes are below −1."""

    text: str
    language: str
    final: bool
    confidence: float = 0.0
    no_speech: float = 0.0  # probability that there was no speech at all


@dataclass(frozen=True, slots=True)
class SpeechToTextCapabilities:
    """What a recogniser can do."""

    languages: tuple[str, ...]
    rate: int = 16_000
    interim: bool = True
    endpointing: bool = False


class SpeechStream(Protocol):
    """One segment. `push` takes mono s16le at 16 kHz and never blocks.

    `pause` says that the visitor may have finished: a decode may start now so that little is left at the end.
    `interim` returns the newest interim transcript not yet returned, waiting for one (None when the stream ended).
    `finish` returns the final transcript of everything pushed; it raises `WaysideError` (`stt.timeout`, `stt.failed`).
    `close` abandons it; closing twice is fine.
    """

    def push(self, pcm: bytes) -> None: ...

    def pause(self) -> None: ...

    async def interim(self) -> Transcript | None: ...

    async def finish(self) -> Transcript: ...

    async def close(self) -> None: ...


class SpeechToText(Protocol):
    """A recogniser. `hints` are words of the catalogue. Unsupported languages raise `stt.language`."""

    @property
    def capabilities(self) -> SpeechToTextCapabilities: ...

    async def open(self, language: str, hints: Sequence[str]) -> SpeechStream: ...

    async def close(self) -> None: ...
