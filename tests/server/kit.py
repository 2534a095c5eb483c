"""The real application over a kiosk on fakes, and pages that are sockets."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientWebSocketResponse, WSMsgType
from aiohttp.test_utils import TestClient, TestServer
from runtime.kit import PACK, ScriptedDialogue
from virtual import LoopClock
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.run_store_memory import MemoryRunStores
from wayside.ports.speech_to_text import ScriptedSpeechToText
from wayside.ports.text_to_speech import ToneTextToSpeech
from wayside.ports.voice_activity import ScriptedVoiceActivity
from wayside.runtime.guide import room_registry
from wayside.runtime.kiosk import Kiosk, KioskSettings
from wayside.runtime.parts import Generations, Parts
from wayside.server.app import build_app
from wayside.server.security import Access
from wayside.server.visit_socket import Screen
from wayside.wire.visit import Features

TOKEN = "boot-token"  # noqa: S105
OPERATOR = "operator-token"
HOST = "kiosk.test:8765"
ORIGIN = "http://127.0.0.1:8780"
HEADERS = {"Host": HOST}


class Page:
    """What a page sends, and every frame it got."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.socket = socket
        self.frames: list[dict] = []
        self.closed = asyncio.Event()

    async def read(self) -> None:
        async for message in self.socket:
            if message.type is WSMsgType.TEXT:
                self.frames.append(message.json())
        self.closed.set()

    async def hello(self, **fields) -> None:
        await self.socket.send_json({"type": "hello", "token": TOKEN, **fields})
        await self.until(lambda: self.of("snapshot"))

    async def send(self, kind: str, id_: str | None = None, **fields) -> None:
        await self.socket.send_json({"type": kind, **({"id": id_} if id_ else {}), **fields})

    async def ask(self, kind: str, id_: str, **fields) -> dict:
        """Send a command; returns its ack or error."""
        seen = len(self._answers(id_))
        await self.send(kind, id_, **fields)
        await self.until(lambda: len(self._answers(id_)) > seen)
        return self._answers(id_)[-1]

    def _answers(self, id_: str) -> list[dict]:
        return [f for f in self.frames if f["type"] in {"ack", "error"} and f.get("id") == id_]

    def of(self, kind: str) -> list[dict]:
        return [f for f in self.frames if f["type"] == kind]

    @property
    def errors(self) -> list[str]:
        return [f["code"] for f in self.of("error")]

    @property
    def snapshot(self) -> dict:
        return self.of("snapshot")[-1]

    async def until(self, condition, limit_s: float = 10.0) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                await asyncio.sleep(0.005)


@dataclass
class Served:
    client: TestClient
    kiosk: Kiosk
    screen: Screen
    link: FakeAudioLink
    dialogue: ScriptedDialogue
    group: asyncio.TaskGroup
    volumes: list[float] = field(default_factory=list)
    ready: bool = True
    disk_full: bool = False

    def save_volume(self, db: float) -> None:
        if self.disk_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.volumes.append(db)

    @asynccontextmanager
    async def page(self, *, hello: bool = True, **fields) -> AsyncIterator[Page]:
        async with self.client.ws_connect("/v1/visit", headers=HEADERS) as socket:
            page = Page(socket)
            reading = self.group.create_task(page.read())
            if hello:
                await page.hello(**fields)
            try:
                yield page
            finally:
                await socket.close()
                reading.cancel()

    @asynccontextmanager
    async def visit(self, **fields) -> AsyncIterator[Page]:
        """A page whose visit has begun."""
        async with self.page(**fields) as page:
            assert (await page.ask("start", "start", language="en"))["type"] == "ack"
            yield page


@asynccontextmanager
async def served(
    tmp_path: Path, *, settings: KioskSettings | None = None, running: bool = True
) -> AsyncIterator[Served]:
    page, fallback = tmp_path / "static", tmp_path / "fallback"
    for file, text in {
        page / "index.html": "<!doctype html>",
        page / "assets" / "kiosk.js": "1",
        fallback / "manifest.json": "{}",
        tmp_path / "secret.txt": "secret",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    link, dialogue = FakeAudioLink(), ScriptedDialogue()
    ids = iter(range(10_000))
    parts = Parts(
        *[link, ScriptedVoiceActivity(), ScriptedSpeechToText([]), ToneTextToSpeech()],
        *[room_registry(PACK, {"guide": dialogue}), MemoryRunStores(frozenset()), LoopClock(), PACK],
        *[lambda: f"id{next(ids)}", Generations()],
    )
    screen = Screen(PACK, Features(speech_in=True, speech_out=True, automatic=True), "build", 7)
    kiosk = Kiosk(parts, settings or KioskSettings(), show=screen.show, visit_changed=screen.visit_changed)
    screen.kiosk = kiosk
    async with asyncio.TaskGroup() as group:
        scene = Served(None, kiosk, screen, link, dialogue, group)  # type: ignore[arg-type]
        app = build_app(
            kiosk=kiosk,
            screen=screen,
            access=Access(frozenset({HOST}), frozenset({ORIGIN}), TOKEN, OPERATOR),
            page=page,
            fallback=fallback,
            address=HOST,
            build="build",
            health=lambda: {"version": "1"},
            ready=lambda: (scene.ready, ["audio.microphone_lost"]),
            save_volume=scene.save_volume,
        )
        pump = group.create_task(_pump(link))
        kiosk_task = group.create_task(kiosk.run()) if running else None
        async with TestClient(TestServer(app)) as client:
            scene.client = client
            await asyncio.sleep(0.02)
            try:
                yield scene
            finally:
                kiosk.close()
                if kiosk_task is not None:
                    await kiosk_task
        pump.cancel()


async def _pump(link: FakeAudioLink) -> None:
    """Audio passes three times as fast as in life."""
    while True:
        await asyncio.sleep(0.01)
        for _ in range(3):
            link.tick()
