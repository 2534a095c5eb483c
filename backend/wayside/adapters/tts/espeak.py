"""eSpeak NG's own voice, for every language without a better one. Robotic, and told as such to people."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import numpy as np

from wayside.adapters.tts.cancelling import Cancellations, Watch
from wayside.adapters.tts.clauses import Clause, sentences
from wayside.adapters.tts.espeak_process import EXECUTABLE, espeak
from wayside.adapters.tts.level import pcm
from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, Voice, VoiceStyle

RATE = 22_050
READ_DEADLINE_S = 3.0
_CHUNK_BYTES = RATE // 5 * 2  # 200 ms
_HEADER_BYTES = 44
_PITCH = 50  # eSpeak NG's own, of 0..99
_STEPS_UP, _STEPS_DOWN = 5.8, 7.3  # of it for a semitone, measured: the lower, the smaller its steps
_GAIN = np.float32(0.8)  # measured: about −20 dBFS with peaks below −1 dBFS


class EspeakTextToSpeech:
    """One voice for many languages. Each sentence is a process of its own (7 ms to start), killed when cancelled.

    `languages` are eSpeak NG's codes; by default the installed program is asked what it knows (10 ms), and
    `tts.failed` is raised when there is none.
    """

    def __init__(self, languages: tuple[str, ...] | None = None, *, words_per_minute: int = 155) -> None:
        known = tuple(language.lower() for language in (_installed() if languages is None else languages))
        # It lists `en-gb` and no `en`, but takes `en`, and knows itself which of its voices is meant by that.
        self._languages = tuple(dict.fromkeys((*known, *(language.split("-", 1)[0] for language in known))))
        self._pace = words_per_minute
        self._cancellations = Cancellations()
        self._voices = (Voice("espeak-ng", self._languages, RATE, robotic=True),)

    @property
    def voices(self) -> tuple[Voice, ...]:
        return self._voices

    async def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        del utterance
        manner = ("-v", self._voice(language), *self._manner(style))
        before = 0
        with self._cancellations.watch(generation) as watch:
            for sentence in sentences(text):
                async with aclosing(self._sentence(sentence, manner, before, watch)) as said:
                    async for chunk in said:
                        before += len(chunk.pcm) // 2
                        yield chunk
                if watch.cancelled:
                    return

    def cancel(self, generation: int) -> None:
        self._cancellations.cancel(generation)

    async def close(self) -> None:
        self._cancellations.cancel_all()

    async def _sentence(
        self, sentence: Clause, manner: tuple[str, ...], before: int, watch: Watch
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Its chunks, one behind what is read: only the last one knows that it is the last."""
        if watch.cancelled:
            return
        waiting = b""
        async with espeak(("--stdout", *manner), sentence.text) as out:
            await self._read(out, _HEADER_BYTES)
            while not watch.cancelled:
                block = await self._read(out, _CHUNK_BYTES)
                if watch.cancelled:
                    return
                if waiting:
                    words = () if block else ((sentence.end, before + len(waiting) // 2),)
                    before += len(waiting) // 2
                    yield SpeechChunk(_levelled(waiting), RATE, words)
                waiting = block
                if not block:
                    return

    async def _read(self, out: asyncio.StreamReader, size: int) -> bytes:
        try:
            async with asyncio.timeout(READ_DEADLINE_S):
                return await out.readexactly(size)
        except asyncio.IncompleteReadError as end:
            return end.partial[: len(end.partial) // 2 * 2]
        except TimeoutError:
            raise WaysideError("tts.timeout", f"{EXECUTABLE} was silent for too long", retryable=True) from None

    def _manner(self, style: VoiceStyle) -> tuple[str, ...]:
        steps = _STEPS_UP if style.pitch_semitones > 0 else _STEPS_DOWN
        pitch = round(_PITCH + steps * style.pitch_semitones)
        return ("-s", str(round(self._pace * style.pace)), "-p", str(pitch))

    def _voice(self, language: str) -> str:
        tag = language.lower()
        for candidate in (tag, tag.split("-", 1)[0]):
            if candidate in self._languages:
                return candidate
        raise WaysideError("tts.language", f"no voice for {language!r}", remedy="Choose another language.")


def _installed() -> tuple[str, ...]:
    try:
        listed = subprocess.run([EXECUTABLE, "--voices"], capture_output=True, check=True, timeout=5, text=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise WaysideError(
            "tts.failed", f"{EXECUTABLE} could not be started", remedy="Install it: apt install espeak-ng"
        ) from error
    rows = (line.split() for line in listed.stdout.splitlines()[1:])
    return tuple(dict.fromkeys(row[1] for row in rows if len(row) > 1))


def _levelled(block: bytes) -> bytes:
    return pcm(np.frombuffer(block, dtype="<i2").astype(np.float32) * (_GAIN / np.float32(32768)))
