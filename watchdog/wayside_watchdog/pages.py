"""The watchdog's web server: the page, the pack's fallback, status, heartbeats and staff's entry.

It is up before anything else and stays up when everything else is down.
"""

import hmac
import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from aiohttp import web

from wayside_watchdog import guard, page_files
from wayside_watchdog.guard import refused
from wayside_watchdog.page_files import PageFolder
from wayside_watchdog.staff import IDLE_S, Locked, Staff, Unlocked, WrongPin
from wayside_watchdog.staff_actions import Actions
from wayside_watchdog.supervisor import Supervisor

MAX_BODY_BYTES = 4 * 1024
HEADER_DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True)
class Site:
    """Where the server listens, what it serves, and the secrets it checks. An empty operator token refuses all."""

    port: int
    sidecar_port: int
    page: PageFolder
    pack: Path
    token: str
    operator_token: str

    @property
    def socket(self) -> str:
        return f"ws://127.0.0.1:{self.sidecar_port}"

    @property
    def fallback(self) -> Path:
        return self.pack / "fallback"

    def codes(self) -> tuple[str, ...]:
        """Which of its own files are missing."""
        missing_pack = () if (self.fallback / "manifest.json").is_file() else ("pack.missing",)
        return missing_pack if self.page.exists() else (*missing_pack, "page.missing")


class Pages:
    """The handlers; `application()` puts them together."""

    def __init__(self, site: Site, supervisor: Supervisor, staff: Staff, actions: Actions) -> None:
        self._site = site
        self._supervisor = supervisor
        self._staff = staff
        self._actions = actions

    def application(self) -> web.Application:
        app = web.Application(
            middlewares=[guard.middleware(self._site.port, self._site.socket)], client_max_size=MAX_BODY_BYTES
        )
        app.router.add_get("/", self._page)
        app.router.add_get("/assets/{path:.+}", self._asset)
        app.router.add_get("/fallback/{path:.+}", self._fallback)
        app.router.add_get("/live", self._live)
        app.router.add_get("/ready", self._ready)
        app.router.add_get("/health", self._health)
        app.router.add_get("/v1/status", self._status)
        app.router.add_post("/v1/heartbeat", self._heartbeat)
        app.router.add_post("/v1/staff/unlock", self._unlock)
        app.router.add_post("/v1/staff/action", self._action)
        app.router.add_get("/{name:[^/]+}", self._page_file)
        return app

    async def _page(self, _request: web.Request) -> web.StreamResponse:
        entry = self._site.page.entry()
        if entry is not None:
            return await page_files.answer(self._site.page.folder, entry.name)
        policy = guard.content_security_policy(self._site.socket, style=page_files.PLAIN_STYLE_SOURCE)
        return web.Response(
            text=page_files.plain_page(self._site.fallback),
            content_type="text/html",
            charset="utf-8",
            headers={"Content-Security-Policy": policy},
        )

    async def _asset(self, request: web.Request) -> web.StreamResponse:
        path = "assets/" + request.match_info["path"]
        return await page_files.answer(self._site.page.folder, path, immutable=True)

    async def _page_file(self, request: web.Request) -> web.StreamResponse:
        return await page_files.answer(self._site.page.folder, request.match_info["name"])

    async def _fallback(self, request: web.Request) -> web.StreamResponse:
        return await page_files.answer(self._site.fallback, request.match_info["path"])

    async def _live(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "live"})

    async def _ready(self, _request: web.Request) -> web.StreamResponse:
        codes = [str(issue["code"]) for issue in self._actions.issues()]
        readiness = self._supervisor.readiness()
        # A visitor can be served by the sidecar, or from the cached exhibit without it.
        ready = (readiness is not None and readiness.ready) or "pack.missing" not in codes
        word = "ready" if ready else "not_ready"
        return web.json_response({"status": word, "degraded": codes}, status=200 if ready else 503)

    async def _health(self, request: web.Request) -> web.StreamResponse:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not _same(given, self._site.operator_token):
            return refused(401, "operator.token")
        return web.json_response(
            {
                "version": _version(),
                "build": self._site.page.build(),
                "components": self._supervisor.components(),
                "issues": self._actions.issues(),
            }
        )

    async def _status(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {
                "server": "watchdog",
                "sidecar": self._supervisor.sidecar_word(),
                "socket": self._site.socket + "/v1/visit",
                "staff": True,
                "build": self._site.page.build(),
            }
        )

    async def _heartbeat(self, request: web.Request) -> web.StreamResponse:
        if not self._has_token(request):
            return refused(403, "http.token")
        body = await _body(request)
        frames = body.get("frames") if body is not None else None
        if not isinstance(frames, int) or isinstance(frames, bool):
            return refused(400, "http.bad_body")
        self._supervisor.page_beat(frames)
        return web.Response(status=204)

    async def _unlock(self, request: web.Request) -> web.StreamResponse:
        if not self._has_token(request):
            return refused(403, "http.token")
        body = await _body(request)
        pin = body.get("pin") if body is not None else None
        if not isinstance(pin, str) or not pin:
            return refused(400, "http.bad_body")
        match await self._staff.unlock(pin):
            case Unlocked(session=session):
                return web.json_response({"session": session, "expires_in_s": IDLE_S})
            case WrongPin(retry_in_s=retry_in_s):
                return refused(403, "staff.wrong_pin", retry_in_s=retry_in_s)
            case Locked(retry_in_s=retry_in_s):
                return refused(429, "staff.locked", retry_in_s=retry_in_s)

    async def _action(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        session, action = (body.get("session"), body.get("action")) if body is not None else (None, None)
        if body is None or not isinstance(session, str) or not isinstance(action, str):
            return refused(400, "http.bad_body")
        if not self._staff.admits(session):
            return refused(403, "staff.no_session")
        outcome = await self._actions.do(action, body.get("value"))
        if action != "status":
            code = outcome.get("code", "ok")
            self._staff.record(action if code != "staff.unknown_action" else "unknown", str(code))
        return web.json_response(outcome)

    def _has_token(self, request: web.Request) -> bool:
        return _same(request.headers.get("X-Wayside-Token", ""), self._site.token)


async def _body(request: web.Request) -> dict[str, object] | None:
    # A page of another site can send text/plain without being asked for permission, but not JSON.
    if request.content_type != "application/json":
        return None
    try:
        body = json.loads(await request.read())
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _same(given: str, secret: str) -> bool:
    return bool(secret) and hmac.compare_digest(given.encode(), secret.encode())


def _version() -> str:
    try:
        return version("wayside")
    except PackageNotFoundError:
        return "unknown"
