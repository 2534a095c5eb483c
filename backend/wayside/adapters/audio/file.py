"""A wav in, a wav out: the audio link of `wayside say`, scenarios, benches and bug reports.

In real time it follows the event loop's clock. In virtual time `advance` and `run` move an injected clock as fast as
the consumers keep up: one capture frame and one rendered block per 10 ms, then the loop runs until it is idle.
"""

import asyncio
import wave
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, Literal

from wayside.adapters.audio.files import read_audio
from wayside.adapters.audio.resample import resampler
from wayside.core.errors import WaysideError
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.audio_link import BLOCK_MS, CaptureFrame, ClearAck, LinkEnded, LinkEvent
from wayside.ports.clock import ManualClock

OUT_RATE = 48_000
SETTLE_ROUNDS = 50
CATCH_UP_BLOCKS = 20  # a late real-time loop renders at most this much at once


class FileLink:
    """`AudioLink` between files.

    `source` is a path (see `read_audio`) or mono s16le at 16 kHz; after it the microphone is silent and `LinkEnded` is
    told once. With None the microphone stays open and `speak` feeds it. `out` gets mono s16le at `out_rate`: its sample
    n was rendered n/`out_rate` s after start; `on_block` gets each rendered block too. `clock` is
    moved by this link in both modes. `settle` waits until nothing is left to do at this instant; give one when work
    happens outside the event loop.
    """

    def __init__(
        self,
        source: Path | bytes | None,
        out: Path | None = None,
        *,
        mode: Literal["real", "virtual"] = "virtual",
        clock: ManualClock | None = None,
        out_rate: int = OUT_RATE,
        settle: Callable[[], Awaitable[None]] | None = None,
        on_block: Callable[[bytes], None] | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self._source = source
        self._out_path = out
        self._out_file: BinaryIO | None = None
        self._out: wave.Wave_write | None = None
        self._mode = mode
        self._on_block = on_block
        self._settle = settle or settle_loop
        self._link = FakeAudioLink(self.clock, out_rate=out_rate, resampler=resampler, on_block=self._write)
        self._timer: asyncio.TimerHandle | None = None
        self._next_at = 0.0
        self._source_ended = source is None

    @property
    def frames(self) -> AsyncIterator[CaptureFrame]:
        return self._link.frames

    @property
    def events(self) -> AsyncIterator[LinkEvent]:
        return self._link.events

    @property
    def idle(self) -> bool:
        """The source was heard to its end and everything played was rendered."""
        return self._link.spoken and self._link.idle

    async def start(self) -> None:
        """Raises what `read_audio` raises, and `WaysideError("audio.bad_file")` when `out` can't be written."""
        self._link.speak(read_audio(self._source) if isinstance(self._source, Path) else self._source or b"")
        if self._out_path is not None:
            self._out_file = _open_for_writing(self._out_path)
            self._out = wave.open(self._out_file, "wb")  # noqa: SIM115 (closed by `close`)
            self._out.setnchannels(1)
            self._out.setsampwidth(2)
            self._out.setframerate(self._link.out_rate)
        await self._link.start()
        if self._mode == "real":
            loop = asyncio.get_running_loop()
            self._next_at = loop.time() + BLOCK_MS / 1000
            self._timer = loop.call_at(self._next_at, self._real_tick)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._link.close()
        if self._out is not None and self._out_file is not None:
            self._out.close()
            self._out_file.close()
            self._out = None

    def listen(self, open_: bool) -> None:
        self._link.listen(open_)

    def play(self, generation: int, utterance: int, pcm: bytes, rate: int) -> None:
        self._link.play(generation, utterance, pcm, rate)

    def hold(self, generation: int) -> None:
        self._link.hold(generation)

    def resume(self, generation: int) -> None:
        self._link.resume(generation)

    def set_gain(self, generation: int | None, db: float) -> None:
        self._link.set_gain(generation, db)

    async def clear(self, generation: int) -> ClearAck:
        return await self._link.clear(generation)

    def speak(self, pcm: bytes) -> None:
        """Into the microphone, after what is already there: mono s16le at 16 kHz."""
        self._link.speak(pcm)

    # --- virtual time ---

    async def advance(self, seconds: float) -> None:
        """Virtual time passes, in ticks of 10 ms."""
        for _ in range(round(seconds * 1000 / BLOCK_MS)):
            self._tick()
            await self._settle()

    async def run(self, *, until: Callable[[], bool] | None = None, limit_s: float = 600.0) -> None:
        """Until the predicate holds (by default: the source ended and the loudspeaker is silent) or the limit."""
        done = until or (lambda: self.idle)
        for _ in range(round(limit_s * 1000 / BLOCK_MS)):
            self._tick()
            await self._settle()
            if done():
                return

    def _tick(self) -> None:
        self._link.tick()
        if self._link.spoken and not self._source_ended:
            self._source_ended = True
            self._link.emit(LinkEnded("the file ended"))

    def _real_tick(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(CATCH_UP_BLOCKS):
            self._tick()
            self._next_at += BLOCK_MS / 1000
            if self._next_at > loop.time():
                break
        self._timer = loop.call_at(self._next_at, self._real_tick)

    def _write(self, block: bytes) -> None:
        if self._on_block is not None:
            self._on_block(block)
        if self._out is not None:
            self._out.writeframesraw(block)


async def settle_loop() -> None:
    """Lets callbacks and tasks that are ready run, and those they make ready, for a bounded number of rounds."""
    ready = getattr(asyncio.get_running_loop(), "_ready", (None,))  # asyncio's own queue; another loop gets all rounds
    for _ in range(SETTLE_ROUNDS):
        await asyncio.sleep(0)
        if not ready:
            return


def _open_for_writing(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError:
        remedy = "Choose a folder you may write to"
        raise WaysideError("audio.bad_file", f"{path.name} can't be written", remedy=remedy) from None
