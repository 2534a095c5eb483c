"""`wayside run`: the sidecar. Answers `/live` at once and `/ready` when models are warm."""

import asyncio
import contextlib
import errno
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from aiohttp import web

from wayside import main as wiring
from wayside.adapters.audio.device import DeviceLink, DeviceSettings
from wayside.core.errors import WaysideError
from wayside.ports.clock import SystemClock
from wayside.runtime.answer import Answered
from wayside.runtime.kiosk import Kiosk, ResetReason
from wayside.runtime.logs import configure, get_logger
from wayside.runtime.visit import MAX_VISIT_S
from wayside.server.app import build_app
from wayside.server.security import Access
from wayside.server.visit_socket import Screen
from wayside.stores.sqlite.visits import VisitFolder
from wayside.wire.site import StaffSettings, write_settings
from wayside.wire.visit import Features

SHUTDOWN_S = 0.5
OVERDUE_S = 30.0

log = get_logger()


@dataclass(frozen=True, slots=True)
class Serving:
    """How to serve. Tokens come from the environment; None mints the boot token."""

    place: wiring.Place
    host: str
    port: int
    boot_token: str | None
    operator_token: str | None
    origins: tuple[str, ...]
    runtime_dir: Path | None
    supervised: bool


class Sidecar:
    """One process's life: listen, warm up, serve visits, end in order."""

    def __init__(self, serving: Serving, tell: wiring.Tell) -> None:
        self._serving = serving
        self._tell = tell
        self._epoch = secrets.randbits(32)
        self._ready = False
        self._failure: str | None = None
        self._stop = asyncio.Event()
        self._kiosk: Kiosk | None = None
        self._link: DeviceLink | None = None
        self._speech: wiring.Speech | None = None
        self._stores: VisitFolder | None = None
        self._release = ""

    async def run(self) -> int:
        """Serve until told to stop."""
        serving = self._serving
        configure(verbose=serving.place.verbose)
        wiring.no_core_dumps()
        sock = _listen(serving.host, serving.port)
        site, problems = serving.place.site()
        for line in problems:
            self._tell(line)
        token = serving.boot_token or secrets.token_urlsafe(24)
        address = f"127.0.0.1:{serving.port}"
        access = Access(
            hosts=frozenset({address, f"localhost:{serving.port}"}),
            origins=frozenset({f"http://{address}", f"http://localhost:{serving.port}", *serving.origins}),
            boot_token=token,
            operator_token=serving.operator_token,
        )
        content = await asyncio.to_thread(wiring.content, serving.place)
        self._release = content.pack.release
        self._speech = speech = wiring.Speech(serving.place.shelf())
        build = wiring.build_id()
        screen = Screen(content.pack, _features(speech, content.pack.languages), build, self._epoch)
        self._link = DeviceLink(self._epoch, DeviceSettings(site.audio.microphone, site.audio.loudspeaker))
        self._stores = wiring.visit_stores(serving.runtime_dir, serving.port)
        kiosk = Kiosk(
            wiring.parts(self._link, content, speech, stores=self._stores),
            wiring.kiosk_settings(serving.place),
            show=screen.show,
            visit_changed=lambda reason: self._visit_changed(screen, reason),
            answered=_log_turn,
        )
        screen.kiosk = self._kiosk = kiosk
        app = build_app(
            kiosk=kiosk,
            screen=screen,
            access=access,
            page=wiring.STATIC,
            fallback=content.fallback,
            address=address,
            build=build,
            health=self._health,
            ready=self._readiness,
            save_volume=lambda db: write_settings(serving.place.settings_file, StaffSettings(volume_db=db)),
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await runner.setup()
        await web.SockSite(runner, sock).start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        self._publish("starting")
        try:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kiosk.run())
                warming = group.create_task(self._warm(speech, screen, kiosk, token))
                await self._stop.wait()
                kiosk.close()
                await running
                screen.close()
                warming.cancel()
        finally:
            await runner.cleanup()
            await speech.close()
            content.index.close()
            self._publish("stopped")
            log.info("sidecar.stopped", state="stopped")
        return 0

    async def _warm(self, speech: wiring.Speech, screen: Screen, kiosk: Kiosk, token: str) -> None:
        languages = screen.pack.languages
        await speech.warm(languages[0])
        await kiosk.opened()
        screen.offer(_features(speech, languages))
        self._ready = True
        self._publish("visit" if kiosk.visit else "ready")
        log.info("sidecar.ready", port=self._serving.port, epoch=self._epoch, release=self._release)
        for error in speech.missing:
            self._tell(error.advice)
        if not self._serving.supervised:
            self._tell(f"Wayside is ready. Open http://127.0.0.1:{self._serving.port}/#token={token}")
        # A visit in another language that begins before its model is there waits for it once.
        for language in languages[1:]:
            await speech.warm(language)
        screen.offer(_features(speech, languages))

    def _visit_changed(self, screen: Screen, reason: ResetReason | None) -> None:
        if reason is not None:
            log.info("visit.ended", reason=reason)
        self._publish("ready" if reason else "visit")
        screen.visit_changed(reason)

    def _degraded(self) -> list[str]:
        devices = self._kiosk.degraded if self._kiosk else frozenset()
        return sorted(devices | {error.code for error in self._speech.missing} if self._speech else devices)

    def _readiness(self) -> tuple[bool, list[str]]:
        return self._ready, self._degraded()

    def _health(self) -> dict[str, Any]:
        memory = psutil.Process().memory_info().rss / 2**20
        kiosk = self._kiosk
        notices = sorted(kiosk.notices) if kiosk else []
        return {
            "version": wiring.version(),
            "build": wiring.build_id(),
            "release": self._release,
            "epoch": self._epoch,
            "ready": self._ready,
            "visit": bool(kiosk and kiosk.visit),
            "degraded": self._degraded(),
            "issues": [wiring.issue(code) for code in (*self._degraded(), *notices)],
            "recoverable": "store.not_recoverable" not in notices,
            "volume": kiosk.volume_db if kiosk else None,
            "audio_child": bool(self._link and self._link.child_pid),
            "rss_mb": round(memory, 1),
        }

    def _publish(self, state: str) -> None:
        """Tell the watchdog how things are; the file is switched by rename and holds no content."""
        folder = self._serving.runtime_dir
        if folder is None:
            return
        # A visit that is still there after this is one that this process can't end any more.
        ends_at = SystemClock().boottime_ms() + int((MAX_VISIT_S + OVERDUE_S) * 1000) if state == "visit" else None
        kept = self._stores.folder if self._stores else None
        body = json.dumps(
            {
                "pid": os.getpid(),
                "state": state,
                "visit_ends_at_boottime_ms": ends_at,
                "visits": str(kept) if kept else None,
            }
        )
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = folder / "sidecar.json.new"
            beside.write_text(body, encoding="utf-8")
            beside.replace(folder / "sidecar.json")


def _features(speech: wiring.Speech, languages: tuple[str, ...]) -> Features:
    return Features(
        speech_in=speech.can_hear,
        speech_out=speech.can_speak,
        automatic=speech.can_hear,
        robotic_voice=speech.robotic(languages),
    )


def _listen(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        if error.errno == errno.EACCES:
            raise WaysideError(
                "port.forbidden",
                f"Port {port} is only for the system.",
                remedy="Choose one above 1023 with --port.",
            ) from None
        if error.errno != errno.EADDRINUSE:
            raise WaysideError(
                "host.unavailable",
                f"{host} is no address of this machine.",
                remedy="Choose another with --host, or leave it out.",
            ) from None
        raise WaysideError(
            "port.in_use",
            f"Port {port} is in use, perhaps by a Wayside that is already running.",
            remedy="Stop it, or choose another port with --port.",
        ) from None
    sock.listen(64)
    sock.setblocking(False)
    return sock


def _log_turn(turn: Answered) -> None:
    """Numbers of a turn, no words."""
    times = turn.times
    start = times.end_of_speech if times.end_of_speech is not None else times.committed
    audible = (
        round(1000 * (times.first_rendered - start)) if times.first_rendered is not None and start is not None else None
    )
    log.info(
        "turn.answered",
        kind=times.kind,
        run_status=str(turn.status),
        refused=turn.refused,
        end_of_speech_to_first_audio_ms=audible,
    )


def serve(serving: Serving, tell: Callable[[str], None]) -> int:
    """Run the sidecar until it is told to stop."""
    return asyncio.run(Sidecar(serving, tell).run())
