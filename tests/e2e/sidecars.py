"""A real sidecar process and a page made of a WebSocket."""

import asyncio
import os
import socket
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

TOKEN = "boot-token-of-a-test"  # noqa: S105


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Page:
    """Sends commands, keeps every frame."""

    def __init__(self, socket_: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket_
        self.frames: list[dict] = []
        self._next = 0

    async def send(self, kind: str, **fields) -> None:
        self._next += 1
        plain = {"hello", "shown", "activity", "heartbeat"}
        identity = {} if kind in plain else {"id": str(self._next)}
        await self._socket.send_json({"type": kind, **identity, **fields})

    async def read(self) -> None:
        async for message in self._socket:
            self.frames.append(message.json())

    def of(self, kind: str) -> list[dict]:
        return [frame for frame in self.frames if frame["type"] == kind]

    async def until(self, condition, limit_s: float = 20.0) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                await asyncio.sleep(0.02)

    @property
    def said(self) -> str:
        return "".join(frame["text"] for frame in self.of("utterance"))


class Sidecar:
    """A running process."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, folder: Path) -> None:
        self.process = process
        self.port = port
        self.folder = folder

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def page(self, **hello):
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"ws://127.0.0.1:{self.port}/v1/visit") as socket_,
            asyncio.TaskGroup() as group,
        ):
            page = Page(socket_)
            reading = group.create_task(page.read())
            await page.send("hello", token=TOKEN, languages=["en"], **hello)
            await page.until(lambda: page.of("snapshot"))
            yield page
            reading.cancel()

    async def kill(self) -> None:
        """The process is gone at once, with everything it had not written down."""
        self.process.kill()
        await self.process.wait()

    async def get(self, path: str, **headers) -> tuple[int, dict]:
        async with aiohttp.ClientSession(headers=headers) as session, session.get(self.url + path) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def sidecar(
    folder: Path,
    pack: Path,
    *,
    environment: dict[str, str] | None = None,
    port: int | None = None,
    until: str = "/ready",
):
    """Start one, wait until it is ready, end it with SIGTERM. One that died may be started again on its `port`.

    `until` names the path whose 200 is waited for; `/live` is there before anything else.
    """
    port = port or free_port()
    folder.mkdir(parents=True, exist_ok=True)
    # Models are joined once a machine, not once a test.
    (folder / "state").mkdir(exist_ok=True)
    shared = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "wayside-tests" / "models"
    shared.mkdir(parents=True, exist_ok=True)
    if not (folder / "state" / "models").exists():
        (folder / "state" / "models").symlink_to(shared)
    out = (folder / "output.log").open("ab")
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "wayside.cli", "run", "--port", str(port), "--pack", str(pack)],
        *["--state-dir", str(folder / "state"), "--verbose"],
        env=os.environ | {"WAYSIDE_TOKEN": TOKEN, "WAYSIDE_RUNTIME_DIR": str(folder / "run")} | (environment or {}),
        stdout=out,
        stderr=out,
    )
    running = Sidecar(process, port, folder)
    try:
        began = time.monotonic()
        while not await _answers(running, until):
            assert process.returncode is None, (folder / "output.log").read_text()
            assert time.monotonic() - began < 60
            await asyncio.sleep(0.02)
        yield running
    finally:
        if process.returncode is None:
            process.terminate()
        async with asyncio.timeout(10):
            await process.wait()
        out.close()


async def _answers(running: Sidecar, path: str) -> bool:
    try:
        return (await running.get(path))[0] == 200
    except aiohttp.ClientError:
        return False
