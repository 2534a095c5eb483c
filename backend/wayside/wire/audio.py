"""The binary audio codec of `/v1/audio` and of the audio child's socketpair.

Little-endian header `u8 version, u8 kind, u16 rate_div_50, u32 epoch, u32 generation, u32 utterance, u64 first_sample`,
then a payload that depends on the kind (PCM16 for capture and playout). Pure: it encodes, decodes and refuses; it does
not decide which epoch is current.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, assert_never

from wayside.core.errors import WaysideError

VERSION = 1
HEADER = struct.Struct("<BBHIIIQ")
MAX_MESSAGE_BYTES = 256 * 1024
MAX_REASON_BYTES = 200
U32_MAX = 0xFFFF_FFFF
_LENGTH = struct.Struct("<I")
_LEVEL = struct.Struct("<f")
_GAIN = struct.Struct("<Bf")
_COUNT = struct.Struct("<IQ")


class Kind(IntEnum):
    """The second byte of every message."""

    CAPTURE = 1
    PLAYOUT = 2
    HOLD = 3
    HELD = 4
    RESUME = 5
    GAIN = 6
    CLEAR = 7
    CLEAR_ACK = 8
    RENDERED = 9
    LISTEN = 10
    DEVICE = 11
    READY = 12
    OVERFLOW = 13
    UNDERFLOW = 14


@dataclass(frozen=True, slots=True)
class Capture:
    """Microphone samples, mono s16le at `rate`; `first_sample` counts from the sender's start."""

    pcm: bytes
    first_sample: int
    rate: int


@dataclass(frozen=True, slots=True)
class Playout:
    """Samples of an utterance, mono s16le at the synthesiser's `rate`; `first_sample` is local to the utterance."""

    generation: int
    utterance: int
    pcm: bytes
    first_sample: int
    rate: int


@dataclass(frozen=True, slots=True)
class Hold:
    """Render zeros from the next block on and keep the position."""

    generation: int


@dataclass(frozen=True, slots=True)
class HeldAck:
    """Zeros are being rendered."""

    generation: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on with the very next sample."""

    generation: int


@dataclass(frozen=True, slots=True)
class Gain:
    """Gain in dB of one generation, or the volume when `generation` is None."""

    generation: int | None
    db: float


@dataclass(frozen=True, slots=True)
class Clear:
    """Drop everything of `generation` and older."""

    generation: int


@dataclass(frozen=True, slots=True)
class Cleared:
    """Answer to `Clear`: `counts` are pairs of utterance and samples rendered at the synthesiser's rate."""

    generation: int
    counts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class RenderedCount:
    """`samples` of the utterance rendered so far, with the RMS of the newest block (0..1)."""

    generation: int
    utterance: int
    samples: int
    level: float


@dataclass(frozen=True, slots=True)
class Listen:
    """Open or close the microphone."""

    open_: bool


@dataclass(frozen=True, slots=True)
class Device:
    """A device came (`present`) or went."""

    device: Literal["microphone", "loudspeaker"]
    present: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The far side answers."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Captured samples that were lost, at 16 kHz."""

    samples: int


@dataclass(frozen=True, slots=True)
class Starved:
    """The loudspeaker wanted samples of this utterance that had not arrived."""

    generation: int
    utterance: int


AudioMessage = (
    Capture
    | Playout
    | Hold
    | HeldAck
    | Resume
    | Gain
    | Clear
    | Cleared
    | RenderedCount
    | Listen
    | Device
    | Ready
    | Lost
    | Starved
)


def encode(message: AudioMessage, epoch: int) -> bytes:
    """Bytes of one message. Raises `WaysideError("audio.malformed")` for a rate that is not a multiple of 50."""
    match message:
        case Capture(pcm=pcm, first_sample=first, rate=rate):
            return _pack(Kind.CAPTURE, epoch, rate=rate, first=first, payload=pcm)
        case Playout(generation=g, utterance=u, pcm=pcm, first_sample=first, rate=rate):
            return _pack(Kind.PLAYOUT, epoch, rate=rate, generation=g, utterance=u, first=first, payload=pcm)
        case Hold(generation=g):
            return _pack(Kind.HOLD, epoch, generation=g)
        case HeldAck(generation=g):
            return _pack(Kind.HELD, epoch, generation=g)
        case Resume(generation=g):
            return _pack(Kind.RESUME, epoch, generation=g)
        case Gain(generation=g, db=db):
            return _pack(Kind.GAIN, epoch, generation=g or 0, payload=_GAIN.pack(g is not None, db))
        case Clear(generation=g):
            return _pack(Kind.CLEAR, epoch, generation=g)
        case Cleared(generation=g, counts=counts):
            return _pack(Kind.CLEAR_ACK, epoch, generation=g, payload=b"".join(_COUNT.pack(*pair) for pair in counts))
        case RenderedCount(generation=g, utterance=u, samples=samples, level=level):
            payload = _LEVEL.pack(level)
            return _pack(Kind.RENDERED, epoch, generation=g, utterance=u, first=samples, payload=payload)
        case Listen(open_=open_):
            return _pack(Kind.LISTEN, epoch, payload=bytes([open_]))
        case Device(device=device, present=present, reason=reason):
            text = reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore").encode()
            return _pack(Kind.DEVICE, epoch, payload=bytes([device == "loudspeaker", present]) + text)
        case Ready():
            return _pack(Kind.READY, epoch)
        case Lost(samples=samples):
            return _pack(Kind.OVERFLOW, epoch, first=samples)
        case Starved(generation=g, utterance=u):
            return _pack(Kind.UNDERFLOW, epoch, generation=g, utterance=u)
        case _:
            assert_never(message)


def decode(data: bytes) -> tuple[int, AudioMessage]:
    """Epoch and message. Raises `WaysideError("audio.malformed")` for anything `encode` can't have written."""
    if not HEADER.size <= len(data) <= MAX_MESSAGE_BYTES:
        raise _malformed(f"{len(data)} bytes")
    version, kind, rate_div_50, epoch, generation, utterance, first = HEADER.unpack_from(data)
    if version != VERSION:
        raise _malformed(f"version {version}")
    payload = data[HEADER.size :]
    return epoch, _message(
        kind, payload, rate=rate_div_50 * 50, generation=generation, utterance=utterance, first=first
    )


def pack_stream(message: AudioMessage, epoch: int) -> bytes:
    """One message for a byte stream: a u32 length, then the message."""
    data = encode(message, epoch)
    return _LENGTH.pack(len(data)) + data


class StreamDecoder:
    """Cuts a byte stream written with `pack_stream` back into messages; refuses lengths past the bound."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, AudioMessage]]:
        """Epoch and message of every message that is complete now."""
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_MESSAGE_BYTES:
                raise _malformed(f"length {length}")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            message = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield decode(message)


def _message(kind: int, payload: bytes, *, rate: int, generation: int, utterance: int, first: int) -> AudioMessage:
    match kind:
        case Kind.CAPTURE | Kind.PLAYOUT:
            if len(payload) % 2 or not rate:
                raise _malformed("half a sample or no rate")
            if kind == Kind.CAPTURE:
                return Capture(payload, first, rate)
            return Playout(generation, utterance, payload, first, rate)
        case Kind.CLEAR_ACK:
            if len(payload) % _COUNT.size:
                raise _malformed("clear_ack")
            return Cleared(generation, tuple(_COUNT.iter_unpack(payload)))
        case Kind.RENDERED:
            if len(payload) != _LEVEL.size:
                raise _malformed("rendered")
            return RenderedCount(generation, utterance, first, _finite(_LEVEL.unpack(payload)[0]))
        case Kind.GAIN:
            if len(payload) != _GAIN.size or payload[0] > 1:
                raise _malformed("gain")
            scoped, db = _GAIN.unpack(payload)
            return Gain(generation if scoped else None, _finite(db))
        case Kind.LISTEN:
            if payload not in {b"\0", b"\1"}:
                raise _malformed("listen")
            return Listen(payload == b"\1")
        case Kind.DEVICE:
            return _device(payload)
    if payload:
        raise _malformed(f"kind {kind} with a payload")
    match kind:
        case Kind.HOLD:
            return Hold(generation)
        case Kind.HELD:
            return HeldAck(generation)
        case Kind.RESUME:
            return Resume(generation)
        case Kind.CLEAR:
            return Clear(generation)
        case Kind.READY:
            return Ready()
        case Kind.OVERFLOW:
            return Lost(first)
        case Kind.UNDERFLOW:
            return Starved(generation, utterance)
    raise _malformed(f"kind {kind}")


def _device(payload: bytes) -> Device:
    if not 2 <= len(payload) <= 2 + MAX_REASON_BYTES or payload[0] > 1 or payload[1] > 1:
        raise _malformed("device")
    try:
        reason = payload[2:].decode()
    except UnicodeDecodeError:
        raise _malformed("device reason") from None
    return Device("loudspeaker" if payload[0] else "microphone", bool(payload[1]), reason)


def _finite(value: float) -> float:
    if not -1e6 < value < 1e6:
        raise _malformed("a number out of range")
    return value


def _pack(
    kind: Kind,
    epoch: int,
    *,
    rate: int = 0,
    generation: int = 0,
    utterance: int = 0,
    first: int = 0,
    payload: bytes = b"",
) -> bytes:
    if rate % 50:
        raise _malformed(f"rate {rate} is not a multiple of 50")
    try:
        header = HEADER.pack(VERSION, kind, rate // 50, epoch, generation, utterance, first)
    except struct.error:
        raise _malformed("a header field out of range") from None
    return header + payload


def _malformed(what: str) -> WaysideError:
    return WaysideError("audio.malformed", f"Not an audio message: {what}")
