"""The visit WebSocket: validates frames, hands commands to the visit, sends what the visit shows.

Every state-changing frame is answered by `ack` or `error`; a repeated command id gets the first outcome again.
"""

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import asdict
from typing import Any, assert_never

from aiohttp import WSCloseCode, WSMsgType, web
from pydantic import ValidationError

from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.runtime import screen
from wayside.runtime.kiosk import OPENING_DEADLINE_S, Kiosk, ResetReason
from wayside.runtime.logs import get_logger
from wayside.runtime.visit import Visit
from wayside.server.security import Access
from wayside.wire import visit as wire

HELLO_DEADLINE_S = 5.0
HEARTBEAT_S = 10.0
MAX_QUEUE = 2000  # frames waiting for a slow page; past it the page is dropped and gets a snapshot when it is back
MAX_OUTCOMES = 256
MAX_FRAMES_PER_S = 100
# A frame past `MAX_FRAME_BYTES` is answered; one past this ends the connection before it is read.
MAX_READ_BYTES = 8 * wire.MAX_FRAME_BYTES

log = get_logger()

_WIRE: dict[type[Any], type[wire.ServerFrame]] = {
    screen.TranscriptFrame: wire.TranscriptFrame,
    screen.ProgressFrame: wire.ProgressFrame,
    screen.UtteranceFrame: wire.UtteranceFrame,
    screen.Caption: wire.Caption,
    screen.Level: wire.Level,
    screen.Clear: wire.Clear,
    screen.Sources: wire.Sources,
    screen.ExhibitShown: wire.ExhibitShown,
    screen.Choices: wire.Choices,
    screen.SettingsFrame: wire.SettingsFrame,
    screen.Notice: wire.Notice,
    screen.Countdown: wire.Countdown,
    screen.Status: wire.Status,
    screen.Focus: wire.Focus,
    screen.Snapshot: wire.Snapshot,
}


class Screen:
    """The page that has the screen, if any. The newest one wins."""

    def __init__(self, pack: Pack, features: "wire.Features", build: str, epoch: int) -> None:
        self.pack = pack
        self.features = features
        self._build = build
        self._epoch = epoch
        self._page: _Page | None = None
        self.kiosk: Kiosk | None = None
        self._home = self.language = pack.languages[0]

    @property
    def connected(self) -> bool:
        """Whether a page is there."""
        return self._page is not None

    def show(self, event: screen.ScreenEvent | screen.Snapshot) -> None:
        """Send what the visit shows; without a page it is in the next snapshot."""
        if self._page is not None:
            self._page.send(_WIRE[type(event)], asdict(event))

    def visit_changed(self, reason: ResetReason | None) -> None:
        """A visit began (None) or ended; the start screen is in its own language again."""
        if reason is not None:
            self.language = self._home
        if self._page is None:
            return
        if reason is not None and reason != "replaced":
            self._page.outcomes.clear()
            self._page.send(wire.Reset, {"reason": reason})
        if reason is None or reason != "shutdown":
            self.welcome()

    def offer(self, features: "wire.Features") -> None:
        """What this kiosk can do, now that it has tried; a page that was told otherwise is told again."""
        if features != self.features:
            self.features = features
            self.welcome()

    def take(self, page: "_Page") -> None:
        """A page takes the screen; the one before is told and let go."""
        if self._page is not None and self._page is not page:
            self._page.send(wire.TakenOver, {})
            self._page.finish()
        self._page = page

    def close(self) -> None:
        """The sidecar ends: let the page go, so that nothing waits for it."""
        if self._page is not None:
            self._page.finish()

    def leave(self, page: "_Page") -> None:
        """A page is gone."""
        if self._page is page:
            self._page = None

    def prefer(self, languages: list[str]) -> None:
        """The languages of the machine that shows the start screen, best first."""
        known = [language for language in languages if language in self.pack.languages]
        if known:
            self._home = known[0]
            if self.kiosk is None or self.kiosk.visit is None:
                self.language = self._home

    def welcome(self) -> None:
        """Send `welcome` and a full snapshot."""
        if self._page is None or self.kiosk is None:
            return
        visit = self.kiosk.visit
        self._page.send(
            wire.Welcome,
            {
                "visit": visit.id if visit else "",
                "visit_token": visit.token if visit else "",
                "epoch": self._epoch,
                "build": self._build,
                "release": self.pack.release,
                "languages": list(self.pack.languages),
                "features": self.features.model_dump(),
            },
        )
        self.snapshot()

    def snapshot(self) -> None:
        """Send everything the page shows."""
        if self.kiosk is not None:
            visit = self.kiosk.visit
            self.show(visit.snapshot() if visit else self.kiosk.attract(self.language))


class _Page:
    """One connection: a bounded queue out, command outcomes by id."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_QUEUE)
        self.outcomes: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._seq = 0
        self.finished = False

    def send(self, frame: Any, fields: dict[str, Any]) -> None:
        if self.finished:
            return
        self._seq += 1
        try:
            self.queue.put_nowait(frame(**fields, seq=self._seq).model_dump_json())
        except asyncio.QueueFull:
            self.finish()

    def finish(self) -> None:
        self.finished = True
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(None)

    def refuse(self, code: str, message: str, command: str | None = None) -> None:
        self.send(wire.ErrorFrame, {"code": code, "message": message, "id": command})


class VisitSocket:
    """Handler of `/v1/visit`."""

    def __init__(self, screen_: Screen, kiosk: Kiosk, access: Access) -> None:
        self._screen = screen_
        self._kiosk = kiosk
        self._access = access

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection."""
        socket = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=MAX_READ_BYTES, compress=False, autoping=True
        )
        await socket.prepare(request)
        page = _Page()
        try:
            async with asyncio.TaskGroup() as group:
                sender = group.create_task(_send_all(socket, page))
                await self._serve(socket, page)
                page.finish()
                await asyncio.wait({sender}, timeout=2)
                sender.cancel()
        finally:
            self._screen.leave(page)
            if not socket.closed:
                await socket.close(code=WSCloseCode.GOING_AWAY)
        return socket

    async def _serve(self, socket: web.WebSocketResponse, page: _Page) -> None:
        try:
            async with asyncio.timeout(HELLO_DEADLINE_S):
                hello = _parse(await socket.receive())
        except (TimeoutError, WaysideError):
            hello = None
        if not isinstance(hello, wire.Hello):
            page.refuse("hello.expected", "The first frame must be a hello.")
            return
        if not self._access.boot_token_is(hello.token):
            page.refuse(
                "hello.token", "This page is not allowed to use the kiosk; open it from the kiosk's own address."
            )
            return
        await self._greet(hello, page)
        loop = asyncio.get_running_loop()
        window, count = loop.time(), 0
        while not page.finished:
            message = await socket.receive()
            gone = message.type in {WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR}
            if gone or page.finished:  # a newer page may have taken over while this one was waiting
                return
            now = loop.time()
            window, count = (window, count + 1) if now - window < 1.0 else (now, 1)
            if count > MAX_FRAMES_PER_S:
                if count == MAX_FRAMES_PER_S + 1:
                    page.refuse("frame.flood", "Too many frames; some were not read.")
                continue
            try:
                frame = _parse(message)
            except WaysideError as error:
                page.refuse(error.code, error.message)
                continue
            await self._take(frame, page)

    async def _greet(self, hello: wire.Hello, page: _Page) -> None:
        """Give the page the screen and what is on it.

        A page without a visit token is the kiosk's own screen after a reload: it goes on with the visit. A page with
        the token of another visit slept through a reset; whoever stands before it must not read this visitor's words.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPENING_DEADLINE_S):
                await self._kiosk.known()
        visit = self._kiosk.visit
        if visit is not None and hello.visit_token and hello.visit_token != visit.token:
            await self._kiosk.reset("replaced")
        self._screen.take(page)
        self._screen.prefer(hello.languages)
        self._screen.welcome()

    async def _take(self, frame: wire.ClientFrame, page: _Page) -> None:
        if isinstance(frame, wire.Hello):
            page.refuse("hello.again", "This connection has already said hello.")
            return
        if isinstance(frame, wire.Heartbeat):
            return
        visit = self._kiosk.visit
        if isinstance(frame, wire.Activity | wire.Shown):
            if visit is not None:
                if isinstance(frame, wire.Activity):
                    visit.activity()
                else:
                    visit.shown(frame.generation, frame.utterance_id, frame.chars)
            return
        if frame.id in page.outcomes:
            code, message = page.outcomes[frame.id]
        else:
            code, message = await self._command(frame, visit)
            if self._kiosk.visit is not None:
                # What is acknowledged survives a crash that comes right after.
                await self._kiosk.visit.keep()
            page.outcomes[frame.id] = (code, message)
            while len(page.outcomes) > MAX_OUTCOMES:
                page.outcomes.popitem(last=False)
        if code:
            page.refuse(code, message, frame.id)
            if code == "visit.none":
                self._screen.snapshot()
        else:
            page.send(wire.Ack, {"id": frame.id})

    async def _command(self, frame: Any, visit: Visit | None) -> tuple[str, str]:
        """Carry out one command; ("", "") when it was, else its error."""
        if isinstance(frame, wire.Start):
            if frame.language not in self._screen.pack.languages:
                return "language.unknown", "This kiosk does not speak that language."
            if visit is None:
                try:
                    await self._kiosk.start_visit(frame.language)
                except WaysideError as error:
                    return error.code, error.message
                log.info("visit.started", language=frame.language)
            return "", ""
        if isinstance(frame, wire.SetLanguage):
            if frame.language not in self._screen.pack.languages:
                return "language.unknown", "This kiosk does not speak that language."
            self._screen.language = frame.language
            if visit is None:
                self._screen.snapshot()
            else:
                visit.set_language(frame.language)
            return "", ""
        if visit is None:
            return "visit.none", "No visit is running; touch the screen to begin."
        match frame:
            case wire.TalkDown() | wire.TalkUp():
                visit.talk(down=isinstance(frame, wire.TalkDown))
            case wire.Listen(mode=mode):
                visit.listen(mode)
            case wire.Say(text=text):
                visit.say(text)
            case wire.Choose(choice_id=choice_id):
                if not visit.choose(choice_id):
                    return "choice.unknown", "That choice is not on offer any more."
            case wire.Address(agent=agent):
                if not visit.address(agent):
                    return "agent.unknown", "There is nobody of that name to ask."
            case wire.ExhibitFrame(exhibit=exhibit):
                if not visit.look_at(exhibit):
                    return "exhibit.unknown", "There is no such exhibit."
            case wire.Stop():
                visit.stop()
            case wire.Setting(name="volume", value=value):
                visit.set_volume(value)
            case wire.Setting(name="silent", value=value):
                visit.set_silent(silent=bool(value))
            case wire.Extend():
                visit.activity()
            case wire.End():
                await self._kiosk.reset("ended")
            case _:
                assert_never(frame)
        return "", ""


def _parse(message: Any) -> wire.ClientFrame:
    if message.type is not WSMsgType.TEXT:
        raise WaysideError("frame.malformed", "Frames are JSON text.")
    if len(message.data.encode()) > wire.MAX_FRAME_BYTES:
        raise WaysideError("frame.oversize", f"A frame holds at most {wire.MAX_FRAME_BYTES} bytes.")
    try:
        return wire.client_frames.validate_json(message.data)
    except ValidationError as error:
        unknown = any(item["type"] in {"union_tag_invalid", "union_tag_not_found"} for item in error.errors())
        code = "frame.unknown" if unknown else "frame.malformed"
        raise WaysideError(code, "This frame was not understood.") from None


async def _send_all(socket: web.WebSocketResponse, page: _Page) -> None:
    while (text := await page.queue.get()) is not None:
        try:
            await socket.send_str(text)
        except (ConnectionError, RuntimeError):
            page.finished = True
            return
    await socket.close()
