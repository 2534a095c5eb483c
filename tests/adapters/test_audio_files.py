"""Files people bring, and the link between files."""

import asyncio
import wave

import av
import numpy as np
import pytest
from wayside.adapters.audio.file import FileLink
from wayside.adapters.audio.files import read_audio
from wayside.core.errors import WaysideError
from wayside.ports.audio_link import LinkEnded, Rendered


def write_wav(path, samples, *, rate=16_000, channels=1, width=2):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples)
    return path


def sine(seconds, rate, hertz=440.0):
    return 10_000 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def pitch(pcm):
    samples = np.frombuffer(pcm, dtype=np.int16)
    return np.argmax(np.abs(np.fft.rfft(samples))) * 16_000 / len(samples)


def test_eight_bits_are_read(tmp_path):
    path = write_wav(tmp_path / "a.wav", (sine(1, 8000) / 256 + 128).astype(np.uint8).tobytes(), rate=8000, width=1)
    pcm = read_audio(path)

    assert abs(len(pcm) - 32_000) <= 4
    assert abs(pitch(pcm) - 440) < 2


def test_stereo_at_48_khz_is_mixed_and_resampled(tmp_path):
    stereo = np.repeat(sine(1, 48_000).astype(np.int16), 2)
    pcm = read_audio(write_wav(tmp_path / "a.wav", stereo.tobytes(), rate=48_000, channels=2))

    assert abs(len(pcm) - 32_000) <= 4
    assert abs(pitch(pcm) - 440) < 2


def test_flac_is_read(tmp_path):
    path = tmp_path / "a.flac"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("flac", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(sine(1, 16_000).astype(np.int16)[None, :], format="s16", layout="mono")
        frame.sample_rate = 16_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))

    assert abs(pitch(read_audio(path)) - 440) < 2


def truncated(path):
    data = write_wav(path, sine(1, 16_000).astype(np.int16).tobytes()).read_bytes()
    path.write_bytes(data[:20_000])


@pytest.mark.parametrize(
    "make",
    [
        lambda path: None,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"RIFF"),
        lambda path: path.write_text("This is not a recording. " * 50),
        lambda path: write_wav(path, b""),
        lambda path: path.mkdir(),
        truncated,
    ],
    ids=["missing", "empty", "stub", "text", "silent", "folder", "truncated"],
)
def test_what_is_not_sound_is_refused_with_a_remedy(tmp_path, make):
    path = tmp_path / "a.wav"
    make(path)
    with pytest.raises(WaysideError) as caught:
        read_audio(path)

    assert caught.value.code == "audio.bad_file"
    assert caught.value.remedy


def test_two_minutes_are_the_limit(tmp_path):
    path = write_wav(tmp_path / "a.wav", bytes(16_000 * 2 * 121))
    with pytest.raises(WaysideError) as caught:
        read_audio(path)

    assert caught.value.code == "audio.file_too_long"


async def test_the_written_timeline_is_sample_exact(tmp_path):
    out = tmp_path / "out.wav"
    link = FileLink(bytes(320), out)
    await link.start()
    await link.advance(0.25)
    link.play(1, 1, b"\x01\x10" * 4800, 48_000)
    await link.advance(0.05)
    link.hold(1)
    await link.advance(0.10)
    link.resume(1)
    await link.advance(0.10)
    await link.close()
    with wave.open(str(out)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)
    sounding = np.flatnonzero(samples)

    assert len(samples) == 24_000
    assert sounding.tolist() == [*range(12_000, 14_400), *range(19_200, 21_600)]


async def test_virtual_time_passes_as_fast_as_it_is_consumed():
    link = FileLink(sine(60, 16_000).astype(np.int16).tobytes())
    frames, events = [], []

    async def collect(source, into):
        async for item in source:
            into.append(item)

    await link.start()
    link.listen(True)
    began = asyncio.get_running_loop().time()
    start = link.clock.now()
    async with asyncio.TaskGroup() as group:
        group.create_task(collect(link.frames, frames))
        group.create_task(collect(link.events, events))
        link.play(1, 1, bytes(2 * 22_050), 22_050)
        await link.run()
        await link.close()

    assert len(frames) == 6000
    assert round(link.clock.now() - start) == 60
    assert asyncio.get_running_loop().time() - began < 20
    assert [event for event in events if isinstance(event, Rendered)][-1].samples == 22_050
    assert LinkEnded("the file ended") in events


async def test_an_unwritable_reply_file_is_said(tmp_path):
    link = FileLink(bytes(320), tmp_path / "no folder" / "out.wav")
    with pytest.raises(WaysideError) as caught:
        await link.start()

    assert caught.value.code == "audio.bad_file"
