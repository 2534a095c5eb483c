"""The link to this machine's microphone and loudspeaker, which live in a child process.

It decides what an answer that never comes means. It refuses to lose the sidecar: a child that crashes, hangs or has no
devices costs sound, nothing else.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from wayside.adapters.audio.process import ChildProcess
from wayside.core.errors import WaysideError
from wayside.core.playout_ledger import PlayoutLedger
from wayside.ports.audio_link import (
    QUEUE_LIMIT_BYTES,
    QUEUE_LIMIT_S,
    CaptureFrame,
    ClearAck,
    DeviceFound,
    DeviceLost,
    Held,
    LinkEnded,
    LinkEvent,
    Overflow,
    Rendered,
    Underflow,
    UtteranceRendered,
)
from wayside.ports.audio_outlet import Outlet
from wayside.ports.clock import Clock, SystemClock
from wayside.wire import audio as wire

START_DEADLINE_S = 10.0
CLEAR_DEADLINE_S = 0.2  # the port allows 250 ms; the rest is what a busy event loop needs
FRAME_BYTES = 320
FRAME_S = 0.01
PIECE_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """Which devices: USB path, `vendor:product:serial` or part of the audio server's name; None is its default."""

    microphone: str | None = None
    loudspeaker: str | None = None


class DeviceLink:
    """`AudioLink` over the audio child; a child that ends is started again for ever."""

    def __init__(self, epoch: int, settings: DeviceSettings | None = None, clock: Clock | None = None) -> None:
        chosen = settings or DeviceSettings()
        self._clock = clock or SystemClock()
        self._outlet = Outlet()
        self._ledger = PlayoutLedger(QUEUE_LIMIT_S, QUEUE_LIMIT_BYTES)
        names: dict[str, object] = {"microphone": chosen.microphone, "loudspeaker": chosen.loudspeaker}
        self._child = ChildProcess(names, epoch, self._said, self._child_ended)
        self._ready = asyncio.Event()
        self._acks: dict[int, list[asyncio.Future[dict[int, int]]]] = {}
        self._listening = False
        self._volume_db = 0.0
        self._present: dict[Literal["microphone", "loudspeaker"], bool] = {}
        self._offset = 0  # frames of earlier children come before those of this one
        self._next_sample = 0
        self._last_at = 0.0

    @property
    def frames(self) -> AsyncIterator[CaptureFrame]:
        return self._outlet.frames()

    @property
    def events(self) -> AsyncIterator[LinkEvent]:
        return self._outlet.events()

    @property
    def child_pid(self) -> int | None:
        """Process id of the living child, for health and tests."""
        return self._child.pid

    async def start(self) -> None:
        """Raises `WaysideError("audio.no_answer")` when no child answers in time."""
        self._child.start()
        try:
            async with asyncio.timeout(START_DEADLINE_S):
                await self._ready.wait()
        except TimeoutError:
            await self.close()
            raise WaysideError(
                "audio.no_answer", "The audio process does not answer", remedy="Run `wayside doctor`", retryable=True
            ) from None

    async def close(self) -> None:
        await self._child.stop()
        self._settle_acks()
        self._outlet.end()

    def listen(self, open_: bool) -> None:
        self._listening = open_
        if not open_:
            self._outlet.drop_frames()
        self._child.send(wire.Listen(open_))

    def play(self, generation: int, utterance: int, pcm: bytes, rate: int) -> None:
        first = self._ledger.accept(generation, utterance, pcm, rate)
        if first is None:
            return
        if not self._child.connected:
            self._ledger.abandon()
            return
        for at in range(0, len(pcm), PIECE_BYTES):
            piece = pcm[at : at + PIECE_BYTES]
            self._child.send(wire.Playout(generation, utterance, piece, first + at // 2, rate))

    def hold(self, generation: int) -> None:
        self._child.send(wire.Hold(generation))

    def resume(self, generation: int) -> None:
        self._child.send(wire.Resume(generation))

    def set_gain(self, generation: int | None, db: float) -> None:
        if generation is None:
            self._volume_db = db
        self._child.send(wire.Gain(generation, db))

    async def clear(self, generation: int) -> ClearAck:
        known = self._ledger.clear(generation)
        counted: dict[int, int] = {}
        if self._child.connected:
            answer: asyncio.Future[dict[int, int]] = asyncio.get_running_loop().create_future()
            self._acks.setdefault(generation, []).append(answer)
            self._child.send(wire.Clear(generation))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLEAR_DEADLINE_S):
                    counted = await answer
        return ClearAck(
            generation,
            tuple(
                UtteranceRendered(utterance, max(samples, counted.get(utterance, 0)), "counted")
                if whole or utterance in counted
                else UtteranceRendered(utterance, samples, "estimated")
                for utterance, samples, whole in known
            ),
        )

    # --- what the child says -----------------------------------------------------------------------------------------

    def _said(self, message: wire.AudioMessage) -> None:
        now = self._clock.now()
        match message:
            case wire.Capture(pcm=pcm, first_sample=first):
                self._capture(pcm, first, now)
            case wire.RenderedCount(generation=g, utterance=u, samples=samples, level=level):
                count = self._ledger.rendered(g, u, samples)
                if count is not None:
                    self._outlet.event(Rendered(g, u, count, level, now))
            case wire.HeldAck(generation=g):
                self._outlet.event(Held(g, now))
            case wire.Cleared(generation=g, counts=counts):
                self._ledger.abandon(g)  # also said unasked, when there is no loudspeaker for it
                for answer in self._acks.pop(g, []):
                    if not answer.done():
                        answer.set_result(dict(counts))
            case wire.Device(device=kind, present=present, reason=reason):
                self._device(kind, present=present, reason=reason)
            case wire.Lost(samples=samples):
                self._outlet.event(Overflow(samples))
            case wire.Starved(generation=g, utterance=u):
                self._outlet.event(Underflow(g, u))
            case wire.Ready() if not self._ready.is_set():
                self._ready.set()
                self._child.send(wire.Gain(None, self._volume_db))
                self._child.send(wire.Clear(self._ledger.cleared_through))
                self._child.send(wire.Listen(self._listening))
            case _:
                return  # later pings, and what only a parent says

    def _capture(self, pcm: bytes, first: int, now: float) -> None:
        frames = len(pcm) // FRAME_BYTES
        for index in range(frames):
            position = self._offset + first + index * FRAME_BYTES // 2
            self._next_sample = position + FRAME_BYTES // 2
            if self._listening:
                piece = pcm[index * FRAME_BYTES : (index + 1) * FRAME_BYTES]
                # Batches arrive unevenly; time still never goes back.
                self._last_at = max(self._last_at, now - (frames - 1 - index) * FRAME_S)
                self._outlet.frame(CaptureFrame(piece, position, self._last_at))

    def _device(self, kind: Literal["microphone", "loudspeaker"], *, present: bool, reason: str) -> None:
        self._present[kind] = present
        if present:
            self._outlet.event(DeviceFound(kind))
            return
        self._outlet.event(DeviceLost(kind, reason))

    def _child_ended(self) -> None:
        self._outlet.event(LinkEnded("the audio process ended"))
        kinds: tuple[Literal["microphone", "loudspeaker"], ...] = ("microphone", "loudspeaker")
        for kind in kinds:
            if self._present.pop(kind, False):
                self._outlet.event(DeviceLost(kind, "the audio process ended"))
        self._ready.clear()
        self._offset = self._next_sample
        self._ledger.abandon()
        self._settle_acks()

    def _settle_acks(self) -> None:
        for answers in self._acks.values():
            for answer in answers:
                if not answer.done():
                    answer.set_result({})
        self._acks.clear()
