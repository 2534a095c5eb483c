"""Talking over the guide, judged by the clock of the recordings; and the ends of the process."""

import asyncio
import os
import signal
import socket
import sys
import time
import wave
from pathlib import Path

import aiohttp
import numpy as np
import psutil
import pytest
import soxr
from sidecars import TOKEN, free_port, sidecar
from wayside.commands.null_sinks import RATE, Recording

NOWHERE = {"PULSE_SERVER": "unix:/nonexistent"}
LOUD = 300
pytest_plugins = ["spoken"]
pytestmark = [pytest.mark.models, pytest.mark.timeout(240)]


def loud_times(recording: Recording) -> np.ndarray:
    """Monotonic times of the loud samples."""
    ends = recording.arrivals()
    at, total = np.array([a for a, _ in ends]), np.array([n for _, n in ends])
    found = np.flatnonzero(np.abs(recording.samples().astype(np.int32)) > LOUD)
    piece = np.searchsorted(total, found, side="right")
    return at[piece] - (total[piece] - found) / RATE


def samples(wav: Path) -> np.ndarray:
    """A wav file as it is at the recorder."""
    with wave.open(str(wav)) as file:
        pcm, rate = file.readframes(file.getnframes()), file.getframerate()
    return soxr.resample(np.frombuffer(pcm, dtype="<i2"), rate, RATE)


@pytest.fixture
def echo(audio_server):
    """The guide is heard by its own microphone, as in a room."""
    module = audio_server.echo(-20)
    yield
    audio_server.remove_module(module)


@pytest.mark.device
@pytest.mark.usefixtures("echo")
async def test_the_guide_is_silent_soon_after_a_visitor_speaks(audio_server, built_pack, tmp_path, question):
    wav = await question("Who made the amphora with Achilles and Ajax?")
    async with sidecar(tmp_path / "s", built_pack) as running, running.page() as page:
        audio_server.murmur()
        await page.send("start", language="en")
        await page.send("listen", mode="automatic")
        await page.send("say", text="What game are Achilles and Ajax playing?")
        await page.until(lambda: page.of("caption"))
        old = page.of("caption")[-1]["generation"]
        guide, visitor = audio_server.record_loudspeaker(), audio_server.record("mic.monitor")
        await guide.ready()
        await visitor.ready()
        await asyncio.sleep(1)
        await asyncio.to_thread(audio_server.play_into_microphone, wav)
        await page.until(lambda: any(u["generation"] > old for u in page.of("utterance")))
        guide.stop()
        visitor.stop()

        asked = samples(wav)
        onset = visitor.time_of(visitor.find(asked) + int(np.flatnonzero(np.abs(asked) > LOUD)[0]))
        spoken = loud_times(guide) - onset
        assert np.any((-0.8 < spoken) & (spoken < 0))
        assert not np.any((spoken > 0.4) & (spoken < 1.4))
        clear = next(f for f in page.of("clear") if f["generation"] == old)
        after = page.frames[page.frames.index(clear) + 1 :]
        assert {"interrupted"} >= {f["state"] for f in after if f["type"] == "caption" and f["generation"] <= old}
        assert not [f for f in after if f["type"] == "utterance" and f["generation"] <= old]


@pytest.mark.device
async def test_spoken_words_are_written_nowhere(audio_server, built_pack, tmp_path, question):
    wav = await question("Who broke the Portland Vase?")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    async with sidecar(tmp_path / "s", built_pack, environment={"TMPDIR": str(scratch)}) as running:
        async with running.page() as page:
            await page.send("start", language="en")
            await page.send("talk_down")
            await asyncio.to_thread(audio_server.play_into_microphone, wav)
            await page.send("talk_up")
            await page.until(lambda: page.of("caption"))
            assert "Portland" in page.of("transcript")[-1]["text"]
            await page.send("end")
            await page.until(lambda: page.of("reset"))

        written = [f for d in (tmp_path / "s", scratch) for f in d.rglob("*") if f.is_file()]
        assert tmp_path / "s" / "output.log" in written
        assert not [f for f in written if b"portland" in f.read_bytes().lower()]


async def start(port: int, folder, pack, *more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "wayside.cli", "run", "--supervised", "--port", str(port), "--pack", str(pack)],
        *["--state-dir", str(folder), *more],
        env=os.environ | NOWHERE | {"WAYSIDE_TOKEN": TOKEN, "WAYSIDE_RUNTIME_DIR": str(folder / "run")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_port_in_use_is_one_line(built_pack, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = await start(taken.getsockname()[1], tmp_path, built_pack)
        out, err = await process.communicate()

    assert (2, b"") == (process.returncode, out)
    lines = err.decode().splitlines()
    assert 1 == len(lines)
    assert "port" in lines[0].lower()
    assert "[port.in_use]" in lines[0]


async def test_an_address_of_another_machine_is_one_line(built_pack, tmp_path):
    process = await start(free_port(), tmp_path, built_pack, "--host", "192.0.2.1")
    _, err = await process.communicate()

    assert 2 == process.returncode
    assert 1 == len(err.decode().splitlines())
    assert b"[host.unavailable]" in err


@pytest.mark.parametrize("path", ["/live", "/ready"])
async def test_it_ends_soon_while_models_are_loading(built_pack, tmp_path, path):
    port = free_port()
    process = await start(port, tmp_path, built_pack)
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    if answer.status == 200:
                        break
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    out, err = await process.communicate()
    took = time.monotonic() - began

    assert 3 > took
    assert (0, b"") == (process.returncode, out)
    assert b"Traceback" not in err
    assert not [c for c in children if c.is_running() and c.status() != psutil.STATUS_ZOMBIE]
