"""Speech to text."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from wayside.core.errors import WaysideError


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


@dataclass(frozen=True, slots=True)
class ScriptedSegment:
    """What the fake hears in one segment: an interim for each 0.5 s pushed, then `text`, `delay_s` after `finish`."""

    text: str
    delay_s: float = 0.0
    interims: tuple[str, ...] = ()
    confidence: float = -0.2
    error: WaysideError | None = None


class ScriptedSpeechToText:
    """A recogniser that hears what it is told, one entry a segment; nothing once the script is used up. For tests."""

    def __init__(self, script: Sequence[ScriptedSegment], languages: tuple[str, ...] = ("en", "es")) -> None:
        self._script = deque(script)
        self._languages = languages
        self.opened: list[tuple[str, tuple[str, ...]]] = []  # language and hints of each segment

    @property
    def capabilities(self) -> SpeechToTextCapabilities:
        return SpeechToTextCapabilities(self._languages)

    async def open(self, language: str, hints: Sequence[str]) -> "ScriptedSpeechStream":
        short = language.split("-", 1)[0]
        if short not in self._languages:
            raise WaysideError("stt.language", f"no recogniser for {language!r}")
        self.opened.append((language, tuple(hints)))
        segment = self._script.popleft() if self._script else ScriptedSegment("")
        return ScriptedSpeechStream(segment, short)

    async def close(self) -> None:
        self._script.clear()


class ScriptedSpeechStream:
    """One scripted segment."""

    def __init__(self, segment: ScriptedSegment, language: str, rate: int = 16_000) -> None:
        self._segment = segment
        self._language = language
        self._rate = rate
        self._given = 0
        self._ended = False
        self._news = asyncio.Event()
        self.samples = 0
        self.pauses = 0

    def push(self, pcm: bytes) -> None:
        if not self._ended:
            self.samples += len(pcm) // 2
            self._news.set()

    def pause(self) -> None:
        self.pauses += 1

    async def interim(self) -> Transcript | None:
        while not self._ended:
            due = min(self.samples * 2 // self._rate, len(self._segment.interims))
            if due > self._given:
                self._given = due
                text = self._segment.interims[due - 1]
                return Transcript(text, self._language, final=False, confidence=self._segment.confidence)
            self._news.clear()
            await self._news.wait()
        return None

    async def finish(self) -> Transcript:
        if self._ended:
            raise WaysideError("stt.failed", "the segment has already ended")
        try:
            await asyncio.sleep(self._segment.delay_s)
        finally:
            await self.close()
        if self._segment.error is not None:
            raise self._segment.error
        if not self.samples:
            return Transcript("", self._language, final=True, no_speech=1.0)
        return Transcript(self._segment.text, self._language, final=True, confidence=self._segment.confidence)

    async def close(self) -> None:
        self._ended = True
        self._news.set()
