"""Reading people's audio files: any rate, width and channel count, as 16 kHz mono.

It refuses what is not audio, is cut off, or is longer than a visitor's turn can be; it never guesses a format.
"""

from pathlib import Path
from typing import Any

import av
import numpy as np

from wayside.core.errors import WaysideError

RATE = 16_000
LIMIT_S = 120
LIMIT_BYTES = 64 * 1024 * 1024
_STREAMED = 0xFFFF_FFFF  # the size in a wav that was written to a pipe


def read_audio(path: Path) -> bytes:
    """The whole file as mono s16le at 16 kHz. Raises `WaysideError("audio.bad_file")` or `audio.file_too_long`."""
    try:
        size = path.stat().st_size
        if size > LIMIT_BYTES:
            raise _too_long(path)
        if size == 0:
            raise _bad(path, "is empty")
        _check_wav(path, size)
        pcm = _decode(path)
    except OSError as error:  # av's own errors are OSError or ValueError
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "can't be read"
        raise _bad(path, reason) from None
    except ValueError:
        raise _bad(path, "is not an audio file") from None
    if not pcm:
        raise _bad(path, "holds no sound")
    return pcm


def _decode(path: Path) -> bytes:
    pieces: list[bytes] = []
    total = 0
    resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
    with av.open(str(path), mode="r", metadata_errors="ignore") as container:
        if not container.streams.audio:
            raise _bad(path, "has no sound in it")
        stream = container.streams.audio[0]
        expected = float(stream.duration * stream.time_base) if stream.duration else 0.0
        if expected > LIMIT_S:
            raise _too_long(path)
        for frame in _frames(container, resampler):
            data = np.ascontiguousarray(frame.to_ndarray()).tobytes()
            total += len(data)
            if total > LIMIT_S * RATE * 2:
                raise _too_long(path)
            pieces.append(data)
    if total / 2 / RATE < expected - 0.1:
        raise _bad(path, "is cut off")
    return b"".join(pieces)


def _frames(container: Any, resampler: Any) -> Any:
    for frame in container.decode(audio=0):
        yield from resampler.resample(frame)
    yield from resampler.resample(None)


def _check_wav(path: Path, size: int) -> None:
    """A wav says how long it is; decoders forgive a lie, people who debug a missing half sentence don't."""
    with path.open("rb") as file:
        head = file.read(12)
        if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
            return
        while len(chunk := file.read(8)) == 8:
            length = int.from_bytes(chunk[4:], "little")
            if chunk[:4] == b"data":
                if length == 0:
                    raise _bad(path, "holds no sound")
                if length != _STREAMED and file.tell() + length > size:
                    raise _bad(path, "is cut off")
                return
            file.seek(length + length % 2, 1)
    raise _bad(path, "is cut off")


def _bad(path: Path, what: str) -> WaysideError:
    return WaysideError("audio.bad_file", f"{path} {what}", remedy="Give a WAV or FLAC file with speech in it")


def _too_long(path: Path) -> WaysideError:
    remedy = f"Give a file of at most {LIMIT_S} s and {LIMIT_BYTES >> 20} MB"
    return WaysideError("audio.file_too_long", f"{path} is too long for one turn", remedy=remedy)
