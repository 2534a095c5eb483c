"""A gallery without devices: a whole kiosk on a file link in real time, both signals kept on one time line.

Scenarios and benches speak into its microphone and look at what its loudspeaker played. Times are seconds since the
room opened, in steps of one block.
"""

import asyncio
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

from wayside.adapters.audio.file import FileLink
from wayside.core.errors import WaysideError
from wayside.ports.audio_link import CAPTURE_RATE
from wayside.ports.text_to_speech import TextToSpeech
from wayside.runtime.answer import Answered
from wayside.runtime.kiosk import Kiosk, KioskSettings
from wayside.runtime.parts import Parts
from wayside.runtime.screen import Notice, ScreenEvent, UtteranceFrame
from wayside.runtime.visit import Visit

RATE = CAPTURE_RATE
BLOCK = RATE // 100
AUDIBLE = 100  # of 32768: −50 dB
POLL_S = 0.005

Samples = npt.NDArray[np.int16]


class Room:
    """The microphone and the loudspeaker of one kiosk, and what its screen was told."""

    def __init__(self) -> None:
        self.link = FileLink(None, mode="real", out_rate=RATE, on_block=self._heard)
        self.answered: list[Answered] = []
        self.notices: list[str] = []
        self.replies: list[int] = []
        self._loudspeaker = bytearray()
        self._sounding: list[bool] = []
        self._spoken: list[tuple[int, bytes]] = []
        self._spoken_until = 0

    @property
    def now(self) -> float:
        """Seconds since the room opened."""
        return len(self._sounding) / 100

    def speak(self, pcm: bytes) -> tuple[float, float]:
        """Say mono s16le at 16 kHz; when its first and its last audible samples are captured."""
        start = max(len(self._sounding) * BLOCK, self._spoken_until)
        whole = pcm + bytes(-len(pcm) % (2 * BLOCK))
        self._spoken.append((start, whole))
        self._spoken_until = start + len(whole) // 2
        self.link.speak(whole)
        samples = np.abs(np.frombuffer(pcm, dtype=np.int16).astype(np.int32))
        loud = np.flatnonzero(samples > max(AUDIBLE, int(samples.max(initial=0)) // 100))
        first, last = (int(loud[0]), int(loud[-1])) if loud.size else (0, len(samples))
        return (start + first) / RATE, (start + last) / RATE

    @property
    def speaking_until(self) -> float:
        """When everything said into the microphone has been captured."""
        return self._spoken_until / RATE

    def sound_from(self, at: float) -> float | None:
        """The first audible sample of the loudspeaker at `at` or later."""
        for block in range(round(at * 100), len(self._sounding)):
            if self._sounding[block]:
                piece = np.frombuffer(self._loudspeaker[2 * block * BLOCK : 2 * (block + 1) * BLOCK], dtype=np.int16)
                return (block * BLOCK + int(np.flatnonzero(np.abs(piece) > AUDIBLE)[0])) / RATE
        return None

    def silence_from(self, at: float, lasting: float = 0.3) -> float | None:
        """When the loudspeaker fell silent at `at` or later for so long."""
        quiet = 0
        for block in range(round(at * 100), len(self._sounding)):
            quiet = 0 if self._sounding[block] else quiet + 1
            if quiet >= lasting * 100:
                return max(at, (block + 1 - quiet) / 100)
        return None

    def last_sound(self) -> float:
        """The end of the newest audible block."""
        return next((n + 1 for n in reversed(range(len(self._sounding))) if self._sounding[n]), 0) / 100

    async def until(self, condition: Callable[[], object], limit_s: float) -> bool:
        """Whether it came true in time."""
        try:
            async with asyncio.timeout(limit_s):
                while not condition():  # noqa: ASYNC110 - blocks of sound set no events
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            return False
        return True

    def save(self, path: Path) -> None:
        """Both signals as one wav: microphone left, loudspeaker right."""
        both = np.zeros((len(self._sounding) * BLOCK, 2), dtype=np.int16)
        for start, pcm in self._spoken:
            samples = np.frombuffer(pcm, dtype=np.int16)[: max(0, len(both) - start)]
            both[start : start + len(samples), 0] = samples
        both[:, 1] = np.frombuffer(bytes(self._loudspeaker), dtype=np.int16)
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(2)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(both.tobytes())

    def show(self, event: ScreenEvent) -> None:
        """Take what the screen is told."""
        match event:
            case Notice(code=code):
                self.notices.append(code)
            case UtteranceFrame(generation=generation) if generation not in self.replies:
                self.replies.append(generation)
            case _:
                pass

    def _heard(self, block: bytes) -> None:
        self._loudspeaker += block
        self._sounding.append(int(np.abs(np.frombuffer(block, dtype=np.int16).astype(np.int32)).max()) > AUDIBLE)


@asynccontextmanager
async def visit_in(
    room: Room, parts: Parts, settings: KioskSettings, language: str
) -> AsyncIterator[tuple[Kiosk, Visit]]:
    """A kiosk in this room with a visit that has begun."""
    async with kiosk_open(parts, settings, room.show, room.answered.append) as kiosk:
        yield kiosk, await kiosk.start_visit(language)


@asynccontextmanager
async def kiosk_open(
    parts: Parts, settings: KioskSettings, show: Callable[[ScreenEvent], None], answered: Callable[[Answered], None]
) -> AsyncIterator[Kiosk]:
    """A running kiosk; what breaks inside comes out as itself."""
    kiosk = Kiosk(parts, settings, show=show, visit_changed=lambda _reason: None, answered=answered)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kiosk.run())
            await kiosk.opened()
            try:
                yield kiosk
            finally:
                kiosk.close()
                await running
    except* WaysideError as errors:
        raise _first(errors) from None


async def spoken(voice: TextToSpeech, text: str, language: str, generation: int) -> bytes:
    """`text` in the embedded voice, as mono s16le at 16 kHz; `generation` must not have been cancelled."""
    sound = bytearray()
    rate = RATE
    async for chunk in voice.speak(text, language, generation, 0):
        rate = chunk.rate
        sound += chunk.pcm
    samples = np.frombuffer(sound, dtype="<i2").astype(np.float32)
    heard = samples if rate == RATE else soxr.resample(samples, rate, RATE)
    return bytes(heard.clip(-32768, 32767).astype("<i2").tobytes())


def _first(errors: BaseExceptionGroup[WaysideError]) -> WaysideError:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
