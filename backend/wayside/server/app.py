"""The aiohttp application of the sidecar: routes, health, operator commands, the static page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from wayside.runtime.kiosk import Kiosk
from wayside.runtime.logs import get_logger
from wayside.server.security import Access, middleware
from wayside.server.visit_socket import Screen, VisitSocket

MAX_BODY = 16 * 1024

log = get_logger()


def build_app(
    *,
    kiosk: Kiosk,
    screen: Screen,
    access: Access,
    page: Path,
    fallback: Path,
    address: str,
    build: str,
    health: Callable[[], dict[str, Any]],
    ready: Callable[[], tuple[bool, list[str]]],
    save_volume: Callable[[float], None],
) -> web.Application:
    """Wire the routes. `page` is the bundle's folder, `fallback` the pack's; both are served read-only."""
    app = web.Application(middlewares=[middleware(access)], client_max_size=MAX_BODY)

    async def live(_request: web.Request) -> web.Response:
        return web.json_response({"status": "live"})

    async def ready_(_request: web.Request) -> web.Response:
        ok, degraded = ready()
        body = {"status": "ready" if ok else "not_ready", "degraded": degraded}
        return web.json_response(body, status=200 if ok else 503)

    async def status(_request: web.Request) -> web.Response:
        return web.json_response(
            {
                "server": "sidecar",
                "sidecar": "up",
                "socket": f"ws://{address}/v1/visit",
                "staff": False,
                "build": build,
            }
        )

    async def health_(request: web.Request) -> web.Response:
        _authorise(access, request)
        return web.json_response(health())

    async def reset(request: web.Request) -> web.Response:
        _authorise(access, request)
        await kiosk.reset("staff")
        return web.json_response({"ok": True})

    async def volume(request: web.Request) -> web.Response:
        _authorise(access, request)
        db = (await _body(request)).get("db")
        if isinstance(db, bool) or not isinstance(db, int | float) or not -20 <= db <= 12:
            message = "Give db as a number from -20 to 12."
            return web.json_response({"code": "volume.range", "message": message}, status=400)
        kiosk.set_volume(float(db))
        try:
            save_volume(float(db))
        except OSError:  # a full or read-only disk: it sounds as asked, until the next start
            log.warning("settings.not_kept", code="settings.not_kept")
            return web.json_response({"ok": True, "volume": float(db), "kept": False})
        return web.json_response({"ok": True, "volume": float(db)})

    async def index(_request: web.Request) -> web.StreamResponse:
        file = page / "index.html"
        if not file.is_file():
            return web.Response(text="The page has not been built yet: run `make page`.", status=503)
        return web.FileResponse(file)

    app.router.add_get("/live", live)
    app.router.add_get("/ready", ready_)
    app.router.add_get("/health", health_)
    app.router.add_get("/v1/status", status)
    app.router.add_post("/v1/operator/reset", reset)
    app.router.add_post("/v1/operator/volume", volume)
    app.router.add_get("/v1/visit", VisitSocket(screen, kiosk, access).handle)
    app.router.add_get("/", index)
    if (page / "assets").is_dir():
        app.router.add_static("/assets", page / "assets")
    if fallback.is_dir():
        app.router.add_static("/fallback", fallback)
    return app


def _authorise(access: Access, request: web.Request) -> None:
    if not access.bearer_ok(request):
        raise web.HTTPUnauthorized(reason="Token required")


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, LookupError, RecursionError):  # not JSON, not its charset, no such charset, too deep
        raise web.HTTPBadRequest(reason="The body is not JSON") from None
    if not isinstance(body, dict):
        raise web.HTTPBadRequest(reason="The body is not a JSON object")
    return body
