"""The sidecar as a process: how soon it is ready, what it costs to stand there with an open microphone."""

import asyncio
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import psutil

from wayside import main as wiring
from wayside.commands.null_sinks import AudioServer
from wayside.core.errors import WaysideError

STARTS = 5
READY_LIMIT_S = 30.0
SETTLE_S = 8.0
WATCH_S = 15.0


async def process(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """Start to ready, five times; then memory and CPU of sidecar and audio child, listening to a quiet room."""
    await asyncio.to_thread(wiring.content, place)  # whatever is built at the first start is there
    server = AudioServer()
    await asyncio.to_thread(server.start)
    found: dict[str, list[float]] = {"ready_ms": []}
    try:
        for number in range(STARTS):
            tell(f"  start {number + 1} of {STARTS}")
            async with _sidecar(place, server) as (child, port, token, took_ms):
                found["ready_ms"].append(took_ms)
                if number == STARTS - 1:
                    tell("  idle with an open microphone")
                    found |= await _idle(server, child.pid, port, token)
    finally:
        await asyncio.to_thread(server.remove)
    return found


@asynccontextmanager
async def _sidecar(
    place: wiring.Place, server: AudioServer
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int, str, float]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_urlsafe(16)
    environment = os.environ | server.environment | {"WAYSIDE_TOKEN": token, "HOME": os.environ.get("HOME", "/")}
    command = [
        sys.executable,
        "-m",
        "wayside.cli",
        "run",
        "--supervised",
        "--port",
        str(port),
        "--state-dir",
        str(place.state),
    ]
    if place.pack is not None:
        command += ["--pack", str(place.pack)]
    began = time.monotonic()
    child = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with aiohttp.ClientSession() as session:
            while not await _ready(session, port):
                if child.returncode is not None or time.monotonic() - began > READY_LIMIT_S:
                    raise WaysideError("bench.start", "The sidecar did not start.", remedy="Try `wayside run`.")
                await asyncio.sleep(0.02)
        yield child, port, token, 1000 * (time.monotonic() - began)
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


async def _ready(session: aiohttp.ClientSession, port: int) -> bool:
    try:
        async with session.get(f"http://127.0.0.1:{port}/ready") as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False


async def _idle(server: AudioServer, pid: int, port: int, token: str) -> dict[str, list[float]]:
    await asyncio.to_thread(server.murmur)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"ws://127.0.0.1:{port}/v1/visit") as page,
        asyncio.TaskGroup() as group,
    ):
        reading = group.create_task(_read(page))
        await page.send_json({"type": "hello", "token": token})
        await page.send_json({"type": "start", "id": "1", "language": "en"})
        await page.send_json({"type": "listen", "id": "2", "mode": "automatic"})
        await asyncio.sleep(SETTLE_S)
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        before = sum(sum(p.cpu_times()[:2]) for p in processes)
        await asyncio.sleep(WATCH_S)
        spent = sum(sum(p.cpu_times()[:2]) for p in processes) - before
        memory = [p.memory_full_info() for p in processes]
        await page.send_json({"type": "end", "id": "3"})
        reading.cancel()
    return {
        "idle_cpu_percent": [100 * spent / WATCH_S],
        "rss_mb": [sum(m.rss for m in memory) / 2**20],
        "pss_mb": [sum(m.pss for m in memory) / 2**20],
    }


async def _read(page: aiohttp.ClientWebSocketResponse) -> None:
    """A page that does not read does not answer pings either, and is given up."""
    async for _ in page:
        pass
