"""What every answer of the watchdog's server carries, and which requests it refuses before looking at them.

A foreign `Host` (DNS rebinding) gets 421, a foreign `Origin` 403. There are no CORS headers anywhere.
"""

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware


def own_hosts(port: int) -> frozenset[str]:
    """The Host values this server answers to."""
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))


def own_origins(port: int) -> tuple[str, ...]:
    """The origins of pages this server serves."""
    return tuple(f"http://{host}" for host in sorted(own_hosts(port)))


def content_security_policy(socket_origin: str, *, style: str = "'self'") -> str:
    """Only what the page needs: its own files and the sidecar's sockets."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src {style}",
            "img-src 'self' data: blob:",
            "media-src 'self' blob:",
            "font-src 'self'",
            f"connect-src 'self' {socket_origin}",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def middleware(port: int, socket_origin: str) -> Middleware:
    """Check the request's Host and Origin, and dress the answer."""
    hosts, origins = own_hosts(port), frozenset(own_origins(port))
    headers = {
        "Content-Security-Policy": content_security_policy(socket_origin),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "microphone=(self), camera=(), geolocation=(), display-capture=(), usb=(), serial=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await _answer(request, handler)
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        response.headers["Server"] = "wayside"
        return response

    async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.get("Host", "").lower() not in hosts:
            return refused(421, "http.foreign_host")
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in origins:
            return refused(403, "http.foreign_origin")
        try:
            return await handler(request)
        except web.HTTPException as error:
            return refused(error.status, f"http.{error.status}")

    return guard


def refused(status: int, code: str, **facts: object) -> web.Response:
    """An error answer: a stable code, never an exception's text."""
    return web.json_response({"code": code, **facts}, status=status)
