"""The PortAudio streams of the audio child. Their callbacks copy and count, nothing else.

Mono s16le at 48 kHz; 10 ms blocks for the loudspeaker, so that hold is heard within one. No callback logs, locks,
allocates buffers that grow or aborts a stream: hold and clear are decided in `Playout.render`, which writes zeros.
"""

import contextlib
import math
import os
from typing import Any

import numpy as np
import sounddevice as sd

from wayside.core.playout import Playout

DEVICE_RATE = 48_000
BLOCK = DEVICE_RATE // 100
BLOCK_BYTES = BLOCK * 2
RING_BYTES = BLOCK_BYTES * 64
MIN_DB, MAX_DB = -60.0, 12.0


class Ring:
    """Bytes between one writer and one reader, preallocated. What does not fit is counted in `lost`, never queued."""

    def __init__(self, size: int = RING_BYTES) -> None:
        self._buffer = memoryview(bytearray(size))
        self._size = size
        self._written = 0
        self._taken = 0
        self.lost = 0

    def write(self, data: memoryview) -> None:
        count = len(data)
        if self._written - self._taken + count > self._size:
            self.lost += count
            return
        at = self._written % self._size
        first = min(count, self._size - at)
        self._buffer[at : at + first] = data[:first]
        self._buffer[: count - first] = data[first:]
        self._written += count

    def read_block(self) -> bytes | None:
        """The next 10 ms, or None. Blocks never wrap: the size is a multiple of a block."""
        if self._written - self._taken < BLOCK_BYTES:
            return None
        at = self._taken % self._size
        block = bytes(self._buffer[at : at + BLOCK_BYTES])
        self._taken += BLOCK_BYTES
        return block


class Loudspeaker:
    """Renders a `Playout`; what was rendered, gain included, can be read from `heard`."""

    def __init__(self, playout: Playout, gains: "Gains", device: str | None, on: str) -> None:
        self.on = on
        self.heard = Ring()
        self.blocks = 0
        self.underflows = 0
        self.finished = False
        self._playout = playout
        self._gains = gains
        self._scratch = np.zeros(4 * BLOCK, dtype=np.float32)
        self._stream = sd.RawOutputStream(
            samplerate=DEVICE_RATE,
            blocksize=BLOCK,
            device=device,
            channels=1,
            dtype="int16",
            latency="low",
            callback=self._render,
            finished_callback=self._end,
        )
        self._stream.start()
        self.latency_s = min(0.2, max(0.0, float(self._stream.latency)))

    def close(self) -> None:
        """Ends the stream; whatever PortAudio says about it no longer matters."""
        with contextlib.suppress(sd.PortAudioError):
            self._stream.close(ignore_errors=True)

    def _render(self, out: Any, frames: int, _time: Any, status: sd.CallbackFlags) -> None:
        view = memoryview(out).cast("B")
        if self._playout.render(view):
            gain = self._gains.factor(self._playout)
            if gain != 1.0:
                samples = np.frombuffer(view, dtype=np.int16)
                scratch = self._scratch[:frames]
                np.multiply(samples, gain, out=scratch)
                np.clip(scratch, -32768, 32767, out=scratch)
                samples[:] = scratch
        self.heard.write(view)
        self.blocks += 1
        if status.output_underflow:
            self.underflows += 1

    def _end(self) -> None:
        self.finished = True


class Microphone:
    """Raw blocks of the microphone in `captured`; `signal` (an eventfd) says so every 20 ms, or 10 ms when `eager`."""

    def __init__(self, device: str | None, on: str, signal: int) -> None:
        self._signal = signal
        self.on = on
        self.eager = False
        self.captured = Ring()
        self.blocks = 0
        self.overflows = 0
        self.finished = False
        self._stream = sd.RawInputStream(
            samplerate=DEVICE_RATE,
            blocksize=BLOCK,
            device=device,
            channels=1,
            dtype="int16",
            latency="low",
            callback=self._capture,
            finished_callback=self._end,
        )
        self._stream.start()
        self.latency_s = min(0.2, max(0.0, float(self._stream.latency)))

    def close(self) -> None:
        """Ends the stream; whatever PortAudio says about it no longer matters."""
        with contextlib.suppress(sd.PortAudioError):
            self._stream.close(ignore_errors=True)

    def _capture(self, data: Any, _frames: int, _time: Any, status: sd.CallbackFlags) -> None:
        self.captured.write(memoryview(data).cast("B"))
        self.blocks += 1
        if self.eager or self.blocks % 2 == 0:
            os.eventfd_write(self._signal, 1)
        if status.input_overflow:
            self.overflows += 1

    def _end(self) -> None:
        self.finished = True


class Gains:
    """Volume and the gain of one generation, as one factor that a callback may read."""

    def __init__(self) -> None:
        self._volume = 1.0
        self._generation = 0
        self._ducking = 1.0

    def set(self, generation: int | None, db: float) -> None:
        """dB, clamped to −60..+12; None is the volume."""
        factor = math.pow(10, min(MAX_DB, max(MIN_DB, db)) / 20)
        if generation is None:
            self._volume = factor
        else:
            self._ducking = 1.0  # never the old gain for the new generation, whichever the callback reads first
            self._generation = generation
            self._ducking = factor

    def factor(self, playout: Playout) -> float:
        track = playout.current
        ducked = track is not None and track.generation == self._generation
        return self._volume * self._ducking if ducked else self._volume


def reinitialise() -> None:
    """Has PortAudio look for devices again; only while no stream is open (its list is frozen otherwise)."""
    sd._terminate()  # noqa: SLF001 (sounddevice has no public name for it)
    sd._initialize()  # noqa: SLF001


def pulse_device() -> str | None:
    """`pulse` when PortAudio knows it, else None (the default device)."""
    return "pulse" if any(device["name"] == "pulse" for device in sd.query_devices()) else None
