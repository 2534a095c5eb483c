"""The road to a microphone and a loudspeaker: one port, several links, one contract suite."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

CAPTURE_RATE = 16_000
BLOCK_MS = 10
QUEUE_LIMIT_S = 120.0  # media duration that may wait to be rendered
QUEUE_LIMIT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CaptureFrame:
    """10 ms of echo-cancelled microphone: 160 samples, mono s16le at 16 kHz. `first_sample` counts from link start."""

    pcm: bytes
    first_sample: int
    at: float  # monotonic time at which the last sample was captured
    rate: int = CAPTURE_RATE


@dataclass(frozen=True, slots=True)
class Rendered:
    """`samples` of the utterance have left the loudspeaker so far (cumulative, at the synthesiser's rate)."""

    generation: int
    utterance: int
    samples: int
    level: float  # RMS of the newest block, 0..1, for the avatar
    at: float  # receiver's monotonic clock


@dataclass(frozen=True, slots=True)
class Held:
    """Zeros are being rendered; the queue and its position are kept."""

    generation: int
    at: float


@dataclass(frozen=True, slots=True)
class DeviceLost:
    """A device is gone, or delivers only zeros. Text and touch go on."""

    kind: Literal["microphone", "loudspeaker"]
    reason: str


@dataclass(frozen=True, slots=True)
class DeviceFound:
    """A device is back (also sent once for each device at start)."""

    kind: Literal["microphone", "loudspeaker"]


@dataclass(frozen=True, slots=True)
class Overflow:
    """Captured samples were lost."""

    samples: int


@dataclass(frozen=True, slots=True)
class Underflow:
    """The loudspeaker wanted samples that had not arrived."""

    generation: int
    utterance: int


@dataclass(frozen=True, slots=True)
class LinkEnded:
    """The far side is gone (the child died, the file ended). A link that can recover follows with `DeviceFound`."""

    reason: str


LinkEvent = Rendered | Held | DeviceLost | DeviceFound | Overflow | Underflow | LinkEnded


@dataclass(frozen=True, slots=True)
class UtteranceRendered:
    """Final count of an utterance at clear."""

    utterance: int
    samples: int
    certainty: Literal["counted", "estimated"]


@dataclass(frozen=True, slots=True)
class ClearAck:
    """Nothing of `generation` or older will be rendered any more.

    `certainty` is `estimated` when no ack came in time: the counts are then what was last known rendered.
    """

    generation: int
    utterances: tuple[UtteranceRendered, ...]


class AudioLink(Protocol):
    """Capture and playout. Frames and events have one consumer each; both end when the link is closed.

    `start` returns when the link answers (devices may still be missing: `DeviceLost`). `listen(True)` opens the
    microphone: up to 300 ms of pre-roll, then live frames; `listen(False)` stops anything from leaving the link.
    `play` raises `WaysideError("audio.queue_full")` past the bounds and silently drops generations at or below the
    cleared watermark; utterances are rendered in the order of their first `play`. `hold` renders zeros within one
    block and keeps queue and position; `resume` goes on with the very next sample. `clear` drops everything of
    `generation` and older, releases its hold and answers within 250 ms. `set_gain(None, db)` is the volume.
    """

    @property
    def frames(self) -> AsyncIterator[CaptureFrame]: ...

    @property
    def events(self) -> AsyncIterator[LinkEvent]: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def listen(self, open_: bool) -> None: ...

    def play(self, generation: int, utterance: int, pcm: bytes, rate: int) -> None: ...

    def hold(self, generation: int) -> None: ...

    def resume(self, generation: int) -> None: ...

    def set_gain(self, generation: int | None, db: float) -> None: ...

    async def clear(self, generation: int) -> ClearAck: ...
