"""Capture: echo canceller, noise suppression and the road from 48 kHz blocks to 16 kHz frames."""

from livekit.rtc import AudioFrame
from livekit.rtc.apm import AudioProcessingModule

from wayside.adapters.audio.resample import SoxrResampler
from wayside.adapters.audio.streams import BLOCK, BLOCK_BYTES, DEVICE_RATE

FRAME_BYTES = 320
QUIET_BLOCKS = 200  # 2 s: longer than any echo
IN_STEP_BLOCKS = 40  # further apart, one of the devices was missing, and nothing is known of their alignment
SILENCE = bytes(BLOCK_BYTES)


class EchoCanceller:
    """WebRTC AEC3 with noise suppression and a high pass, 10 ms at 48 kHz. It needs no delay hint up to 500 ms.

    While there is nothing to cancel, both directions rest: speech passes as it came, and an idle kiosk saves a third of
    its audio process. Blocks arrive in batches, so both rarely fall asleep and wake together; each still leaves out
    exactly as many as the other, or the canceller would have to find the delay anew at every sentence.
    """

    def __init__(self) -> None:
        self._quiet = QUIET_BLOCKS
        self._ahead = 0  # blocks that rendering has left out more than capturing
        self._apm = AudioProcessingModule(echo_cancellation=True, noise_suppression=True, high_pass_filter=True)
        self._far_samples = bytearray(BLOCK_BYTES)
        self._near_samples = bytearray(BLOCK_BYTES)
        self._far = AudioFrame(self._far_samples, DEVICE_RATE, 1, BLOCK)
        self._near = AudioFrame(self._near_samples, DEVICE_RATE, 1, BLOCK)

    def rendered(self, block: bytes) -> bool:
        """What the loudspeaker played, before its echo can arrive; says whether it was a sound."""
        sound = block != SILENCE
        self._quiet = 0 if sound else self._quiet + 1
        if self.resting:
            self._ahead += 1
            return False
        self._make_up()
        self._play(block)
        return sound

    def captured(self, block: bytes) -> bytes:
        """The same block without the echo."""
        if self.resting:
            self._ahead -= 1
            return block
        self._make_up()
        return self._cancel(block)

    @property
    def resting(self) -> bool:
        """Whether there is nothing to cancel."""
        return self._quiet >= QUIET_BLOCKS

    def _make_up(self) -> None:
        """Leave out as many of the one as of the other: what one slept through longer is silence."""
        if abs(self._ahead) <= IN_STEP_BLOCKS:
            for _ in range(self._ahead):
                self._play(SILENCE)
            for _ in range(-self._ahead):
                self._cancel(SILENCE)
        self._ahead = 0

    def _play(self, block: bytes) -> None:
        self._far_samples[:] = block
        self._apm.process_reverse_stream(self._far)

    def _cancel(self, block: bytes) -> bytes:
        self._near_samples[:] = block
        self._apm.process_stream(self._near)
        return bytes(self._near_samples)


class Framer:
    """48 kHz blocks in, 16 kHz frames of 10 ms out; one resampler for the life of the link."""

    def __init__(self) -> None:
        self._resampler = SoxrResampler(DEVICE_RATE, 16_000, low_latency=True)
        self._kept = bytearray()

    def push(self, block: bytes) -> list[bytes]:
        self._kept += self._resampler.push(block)
        frames = []
        while len(self._kept) >= FRAME_BYTES:
            frames.append(bytes(self._kept[:FRAME_BYTES]))
            del self._kept[:FRAME_BYTES]
        return frames
