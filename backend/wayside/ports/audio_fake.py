"""An audio link without devices: time passes when `tick` is called. Fakes, files and benches share it."""

import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Literal

from wayside.core.playout import Playout, Resampler, Track
from wayside.core.playout_ledger import PlayoutLedger
from wayside.ports.audio_link import (
    BLOCK_MS,
    CAPTURE_RATE,
    QUEUE_LIMIT_BYTES,
    QUEUE_LIMIT_S,
    CaptureFrame,
    ClearAck,
    DeviceFound,
    DeviceLost,
    Held,
    LinkEvent,
    Rendered,
    Underflow,
    UtteranceRendered,
)
from wayside.ports.audio_outlet import Outlet
from wayside.ports.clock import ManualClock

Device = Literal["microphone", "loudspeaker"]
FRAME_BYTES = CAPTURE_RATE * BLOCK_MS // 1000 * 2
PREROLL_FRAMES = 300 // BLOCK_MS


class Nearest:
    """A resampler that repeats or skips samples: exact in count, good enough for a fake."""

    def __init__(self, rate: int, out_rate: int) -> None:
        self._rate, self._out_rate = rate, out_rate
        self._taken = self._given = 0

    def push(self, pcm: bytes) -> bytes:
        samples = memoryview(pcm).cast("h")
        first, self._taken = self._taken, self._taken + len(samples)
        end = self._taken * self._out_rate // self._rate
        picked = (samples[max(0, k * self._rate // self._out_rate - first)] for k in range(self._given, end))
        self._given = end
        return b"".join(value.to_bytes(2, "little", signed=True) for value in picked)


class FakeAudioLink:
    """`AudioLink` whose microphone is `speak` and whose loudspeaker is `heard` (mono s16le at `out_rate`).

    `tick` delivers one capture frame and renders one block of 10 ms, then advances the clock. `lose` and `find` play
    tricks with devices; `answers = False` makes every clear time out, so that its counts are estimates.
    """

    def __init__(
        self,
        clock: ManualClock | None = None,
        *,
        out_rate: int = 24_000,
        resampler: Callable[[int, int], Resampler] = Nearest,
        missing: frozenset[Device] = frozenset(),
        on_block: Callable[[bytes], None] | None = None,
    ) -> None:
        self.clock = clock or ManualClock()
        self.out_rate = out_rate
        self.heard = bytearray()
        self.answers = True
        self.gains: dict[int | None, float] = {}
        self.listening = False
        self._on_block = on_block or self.heard.extend
        self._outlet = Outlet()
        self._playout = Playout(out_rate, resampler)
        self._ledger = PlayoutLedger(QUEUE_LIMIT_S, QUEUE_LIMIT_BYTES)
        self._missing: set[Device] = set(missing)
        self._microphone = bytearray()
        self._preroll: deque[CaptureFrame] = deque(maxlen=PREROLL_FRAMES)
        self._captured = 0
        self._told: dict[Track, int] = {}
        self._holds: list[int] = []
        self._closed = False

    @property
    def frames(self) -> AsyncIterator[CaptureFrame]:
        return self._outlet.frames()

    @property
    def events(self) -> AsyncIterator[LinkEvent]:
        return self._outlet.events()

    @property
    def idle(self) -> bool:
        """Everything that was played has been rendered."""
        return self._playout.idle

    async def start(self) -> None:
        kinds: tuple[Device, ...] = ("loudspeaker", "microphone")
        for kind in kinds:
            self.emit(DeviceLost(kind, f"no {kind}") if kind in self._missing else DeviceFound(kind))

    async def close(self) -> None:
        self._closed = True
        self._outlet.end()

    def listen(self, open_: bool) -> None:
        self.listening = open_
        if open_:
            for frame in self._preroll:
                self._outlet.frame(frame)
        else:
            self._outlet.drop_frames()
        self._preroll.clear()

    def play(self, generation: int, utterance: int, pcm: bytes, rate: int) -> None:
        if self._ledger.accept(generation, utterance, pcm, rate) is None:
            return
        if "loudspeaker" in self._missing:
            self._abandon(generation)
            self.emit(DeviceLost("loudspeaker", "no loudspeaker"))
        elif not self._playout.play(generation, utterance, pcm, rate):
            self.emit(Underflow(generation, utterance))

    def hold(self, generation: int) -> None:
        self._playout.hold(generation)
        self._holds.append(generation)

    def resume(self, generation: int) -> None:
        self._playout.resume(generation)

    def set_gain(self, generation: int | None, db: float) -> None:
        self.gains[generation] = db

    async def clear(self, generation: int) -> ClearAck:
        counts = {track.utterance: track.rendered(self.out_rate) for track in self._playout.clear(generation)}
        known = self._ledger.clear(generation)
        self._told = {track: samples for track, samples in self._told.items() if track.generation > generation}
        return ClearAck(
            generation,
            tuple(
                UtteranceRendered(utterance, max(samples, counts.get(utterance, 0)), "counted")
                if whole or (self.answers and utterance in counts)
                else UtteranceRendered(utterance, samples, "estimated")
                for utterance, samples, whole in known
            ),
        )

    # --- driving it --------------------------------------------------------------------------------------------------

    def speak(self, pcm: bytes) -> None:
        """Into the microphone, after what is already there: mono s16le at 16 kHz; then it is silent."""
        self._microphone += pcm

    @property
    def spoken(self) -> bool:
        """Everything given to `speak` was captured."""
        return not self._microphone

    def lose(self, kind: Device, reason: str = "unplugged") -> None:
        self._missing.add(kind)
        if kind == "loudspeaker":
            self._abandon(max((track.generation for track in self._playout.tracks()), default=0))
        self.emit(DeviceLost(kind, reason))

    def find(self, kind: Device) -> None:
        self._missing.discard(kind)
        self.emit(DeviceFound(kind))

    def emit(self, event: LinkEvent) -> None:
        """Any event, for tests that need one out of nowhere."""
        self._outlet.event(event)

    def tick(self, count: int = 1) -> None:
        """`count` blocks of 10 ms pass."""
        for _ in range(count):
            if not self._closed:
                self._tick()

    def _tick(self) -> None:
        self.clock.advance(BLOCK_MS / 1000)
        if "microphone" not in self._missing:
            self._capture()
        if "loudspeaker" not in self._missing:
            self._render()
        for generation in self._holds:
            self.emit(Held(generation, self.clock.now()))
        self._holds.clear()

    def _capture(self) -> None:
        pcm = bytes(self._microphone[:FRAME_BYTES])
        del self._microphone[:FRAME_BYTES]
        frame = CaptureFrame(pcm.ljust(FRAME_BYTES, b"\0"), self._captured, self.clock.now())
        self._captured += FRAME_BYTES // 2
        if self.listening:
            self._outlet.frame(frame)
        else:
            self._preroll.append(frame)

    def _render(self) -> None:
        block = bytearray(self.out_rate * BLOCK_MS // 1000 * 2)
        self._playout.prepare(len(block))
        sounding = self._playout.render(memoryview(block))
        self._on_block(bytes(block))
        level = _rms(block) if sounding else 0.0
        tracks = self._playout.tracks()
        self._told = {track: self._told[track] for track in tracks if track in self._told}
        for track in tracks:
            samples = track.rendered(self.out_rate)
            if track.played and self._told.get(track) != samples:
                self._told[track] = samples
                self._ledger.rendered(track.generation, track.utterance, samples)
                self.emit(Rendered(track.generation, track.utterance, samples, level, self.clock.now()))

    def _abandon(self, generation: int) -> None:
        self._playout.clear(generation)
        self._ledger.abandon(generation)


def _rms(pcm: bytes | bytearray) -> float:
    samples = memoryview(pcm).cast("h")
    return math.sqrt(sum(value * value for value in samples) / len(samples)) / 32768
