"""Whisper as a recogniser: it decodes while the visitor speaks, so that little is left when they stop.

A segment is decoded again and again as it grows. A decode that began after the visitor's last speech sample already
holds everything that will be said, so it *is* the final transcript if nothing but silence follows: `finish` then
returns at once. Such a decode starts by itself after 200 ms of silence, and at `pause` at the latest.

Decodes run one at a time on one thread of lower priority (the model's own threads inherit it), so capture and playout
on the other core are not starved. A thread cannot be killed: a decode in flight at `close` runs to its end (0.15–0.5 s,
seconds at worst), holds the audio that long and its result is dropped. A child process could be killed at reset, but
would cost 0.4 s of loading after each kill and a copy of the model's memory; reset therefore relies on the decode's
bound (its length in tokens) and, past that, on the process ending.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayside.adapters.stt.speech_tail import SpeechTail
from wayside.adapters.stt.whisper_decode import RATE, Decoded, WhisperDecoder
from wayside.core.errors import WaysideError
from wayside.ports.speech_to_text import SpeechToTextCapabilities, Transcript
from wayside.ports.voice_activity import VoiceActivity

INTERIM_EVERY_S = 0.7  # of audio between the beginnings of two interim decodes
FIRST_INTERIM_S = 0.6
LAST_INTERIM_S = 28.0  # longer segments are only decoded at their end
SETTLED_S = 0.2  # silence after which a decode may be the last
LONGEST_S = 90.0  # more is not kept; `finish` then raises
FINISH_DEADLINE_S = 8.0
_CLOSE_DEADLINE_S = 2.0
_NICENESS = 5
# What a decode must reach to be believed where no window held speech.
_SURE = -0.7
_SPOKEN = 0.3
_AFTER_SPEECH_S = 0.1  # of what follows the last speech, for its faintest sounds


class WhisperSpeechToText:
    """A recogniser with one model per language.

    `models` maps a language (`en`) to a Whisper folder; languages that share a folder share the model.
    `activity` starts a voice activity stream, by which speech is told from silence (default: by loudness).
    Models load at `warm` or at first use, in the decode thread.
    """

    def __init__(
        self,
        models: Mapping[str, Path],
        *,
        activity: Callable[[], VoiceActivity] | None = None,
        threads: int = 1,
        finish_deadline_s: float = FINISH_DEADLINE_S,
    ) -> None:
        self._models = dict(models)
        self._activity = activity
        self._threads = threads
        self._finish_deadline_s = finish_deadline_s
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="whisper", initializer=_lower_priority)
        self._loaded: dict[Path, WhisperDecoder] = {}
        self._closed = False

    @property
    def capabilities(self) -> SpeechToTextCapabilities:
        return SpeechToTextCapabilities(languages=tuple(self._models))

    async def warm(self, languages: Sequence[str] | None = None) -> None:
        """Load the models (of `languages`, else all) and decode a second of nothing: the first decode allocates.

        Raises `stt.model_broken` when a model can't be loaded.
        """
        for language in self._models if languages is None else languages:
            try:
                await asyncio.wrap_future(self._executor.submit(self._warm, language))
            except Exception:  # noqa: BLE001 -- each library below raises its own kinds
                raise WaysideError(
                    "stt.model_broken",
                    f"The recogniser's model for {language!r} can not be loaded",
                    remedy=f"Install it again: {self._models[language]}",
                ) from None

    async def open(self, language: str, hints: Sequence[str]) -> "WhisperStream":
        short = language.split("-", 1)[0].lower()
        if short not in self._models:
            raise WaysideError("stt.language", f"no recogniser for {language!r}", remedy="Choose touch or typing.")
        if self._closed:
            raise WaysideError("stt.failed", "the recogniser is closed")
        tail = SpeechTail(self._activity() if self._activity is not None else None)
        return WhisperStream(self._executor, self._decode, short, tuple(hints), tail, self._finish_deadline_s)

    async def close(self) -> None:
        """Stop. Waits at most 2 s for a decode in flight; what is left ends with the process."""
        if self._closed:
            return
        self._closed = True
        last = asyncio.wrap_future(self._executor.submit(self._loaded.clear))
        await asyncio.wait({last}, timeout=_CLOSE_DEADLINE_S)
        self._executor.shutdown(wait=last.done(), cancel_futures=True)

    def _warm(self, language: str) -> None:
        noise = np.random.default_rng(0).normal(0, 300, RATE)
        self._decode(noise.astype("<i2").tobytes(), language, ())

    def _decode(self, pcm: bytes, language: str, hints: Sequence[str], careful: bool = True) -> Decoded:
        """In the decode thread."""
        folder = self._models[language]
        decoder = self._loaded.get(folder)
        if decoder is None:
            decoder = self._loaded[folder] = WhisperDecoder(folder, threads=self._threads)
        audio = np.frombuffer(pcm, dtype="<i2").astype(np.float32) * np.float32(1 / 32768)
        return decoder.decode(audio, language, hints, careful=careful)


@dataclass(frozen=True, slots=True)
class _Decode:
    """A decode of the first `samples` of the segment, in flight or landed. A careful one may take a second try."""

    samples: int
    careful: bool
    result: asyncio.Future[Decoded]


class WhisperStream:
    """One segment. Made by `WhisperSpeechToText.open`; lives on the event loop, decodes in the decode thread."""

    def __init__(
        self,
        executor: ThreadPoolExecutor,
        decode: Callable[[bytes, str, Sequence[str], bool], Decoded],
        language: str,
        hints: Sequence[str],
        tail: SpeechTail,
        deadline_s: float,
    ) -> None:
        self._executor = executor
        self._decode = decode
        self._language = language
        self._hints = hints
        self._tail = tail
        self._deadline_s = deadline_s
        self._pcm = bytearray()
        self._latest: _Decode | None = None
        self._began_at = 0.0
        self._took_s = 0.0
        self._pausing = False
        self._ended = False
        self._overlong = False
        self._fresh: Transcript | None = None
        self._shown = ""
        self._news = asyncio.Event()

    def push(self, pcm: bytes) -> None:
        if self._ended:
            return
        if len(self._pcm) + len(pcm) > LONGEST_S * RATE * 2:
            self._overlong = True
            return
        self._pcm += pcm
        self._tail.feed(pcm)
        self._consider()

    def pause(self) -> None:
        self._pausing = True
        self._consider()

    async def interim(self) -> Transcript | None:
        while self._fresh is None and not self._ended:
            self._news.clear()
            await self._news.wait()
        fresh, self._fresh = self._fresh, None
        return None if self._ended else fresh

    async def finish(self) -> Transcript:
        try:
            return await self._last()
        finally:
            await self.close()

    async def close(self) -> None:
        self._ended = True
        self._news.set()
        self._pcm = bytearray()
        self._fresh = None
        latest, self._latest = self._latest, None
        if latest is not None:
            latest.result.cancel()

    async def _last(self) -> Transcript:
        if self._ended:
            raise WaysideError("stt.failed", "the segment has already ended")
        if self._overlong:
            raise WaysideError("stt.too_long", f"a segment is at most {LONGEST_S:.0f} s", remedy="Ask again, shorter.")
        if not self._pcm:
            return Transcript("", self._language, final=True, no_speech=1.0)
        latest = self._latest
        if latest is None or not self._is_last(latest):
            latest = self._start(careful=True)
        done, _ = await asyncio.wait({latest.result}, timeout=self._deadline_s)
        if not done:
            raise WaysideError("stt.timeout", f"no transcript within {self._deadline_s:g} s", retryable=True)
        if latest.result.cancelled() or latest.result.exception() is not None:
            # The vendor's message could quote what was said.
            raise WaysideError("stt.failed", "the recogniser failed", retryable=True)
        return self._transcript(latest.result.result(), final=True)

    def _is_last(self, decode: _Decode) -> bool:
        """Whether it holds all speech so far, and is (or may still turn out) good."""
        needed = min(self._tail.samples, self._tail.last_speech + int(_AFTER_SPEECH_S * RATE))
        good = not decode.result.done() or (
            not decode.result.cancelled() and decode.result.exception() is None and not decode.result.result().runaway
        )
        return decode.samples >= needed and good and (decode.careful or decode.result.done())

    def _consider(self) -> None:
        """Start a decode, if one is due and none is in flight."""
        if self._ended or not self._pcm:
            return
        latest = self._latest
        if latest is not None and self._is_last(latest):
            self._pausing = False
            return
        if latest is not None and not latest.result.done():
            return
        silence = self._tail.samples - self._tail.last_speech
        since = self._tail.samples - (latest.samples if latest is not None else 0)
        # A slow decode in flight delays the one that counts: on a slow machine interims are fewer.
        every = FIRST_INTERIM_S if latest is None else max(INTERIM_EVERY_S, 2 * self._took_s)
        settled = self._tail.last_speech > 0 and silence >= SETTLED_S * RATE
        growing = (
            self._tail.last_speech > 0
            and silence < SETTLED_S * RATE / 2  # else the decode after the silence is about to start
            and since >= every * RATE
            and self._tail.samples <= LAST_INTERIM_S * RATE
        )
        if self._pausing or settled or growing:
            self._start(careful=self._pausing or settled)

    def _start(self, *, careful: bool) -> _Decode:
        self._pausing = False
        loop = asyncio.get_running_loop()
        self._began_at = loop.time()
        result: asyncio.Future[Decoded]
        try:
            job = self._executor.submit(self._decode, bytes(self._pcm), self._language, self._hints, careful)
            result = asyncio.wrap_future(job)
        except RuntimeError:  # the recogniser was closed under an open segment
            result = loop.create_future()
            result.set_exception(WaysideError("stt.failed", "the recogniser is closed"))
        latest = self._latest = _Decode(self._tail.samples, careful, result)
        latest.result.add_done_callback(self._landed)
        return latest

    def _landed(self, result: asyncio.Future[Decoded]) -> None:
        if result.cancelled() or result.exception() is not None or self._ended:
            return
        self._took_s = asyncio.get_running_loop().time() - self._began_at
        transcript = self._transcript(result.result(), final=False)
        if not result.result().runaway and transcript.text and transcript.text != self._shown:
            self._shown = transcript.text
            self._fresh = transcript
            self._news.set()
        self._consider()

    def _transcript(self, decoded: Decoded, *, final: bool) -> Transcript:
        unheard = self._tail.last_speech == 0
        invented = unheard and (decoded.confidence < _SURE or decoded.no_speech > _SPOKEN)
        text = "" if invented else decoded.text
        return Transcript(text, self._language, final, decoded.confidence, decoded.no_speech)


def _lower_priority() -> None:
    """Niceness belongs to the thread on Linux, and the threads that the model starts inherit it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
