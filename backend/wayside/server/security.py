"""Who may talk to the sidecar: hosts, origins, tokens, and the headers every answer carries.

Refuses foreign `Host` (DNS rebinding) with 421 and foreign `Origin` with 403; knows nothing of visits.
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Middleware

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Access:
    """`hosts` are allowed Host headers; `origins` allowed page origins; tokens are bound to this boot."""

    hosts: frozenset[str]
    origins: frozenset[str]
    boot_token: str
    operator_token: str | None = None

    def boot_token_is(self, given: str) -> bool:
        """Timing-safe comparison with the boot token."""
        return _same(given, self.boot_token)

    def bearer_ok(self, request: web.Request) -> bool:
        """Whether the request carries the boot or the operator token."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        operator = self.operator_token is not None and _same(given, self.operator_token)
        return scheme == "Bearer" and (self.boot_token_is(given) or operator)

    def csp(self) -> str:
        """Content security policy of the page: nothing from elsewhere, sockets to the configured hosts only."""
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
        return (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
            f"media-src 'self'; connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )


def middleware(access: Access) -> Middleware:
    """Check Host and Origin before any route sees the request; add headers to every answer."""
    csp = access.csp()

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.host not in access.hosts:
            return web.json_response({"code": "host.unknown", "message": "Unknown host."}, status=421)
        origin = request.headers.get("Origin")
        if origin is not None and origin not in access.origins:
            return web.json_response({"code": "origin.unknown", "message": "Unknown origin."}, status=403)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            response = web.json_response({"code": f"http.{error.status}", "message": error.reason}, status=error.status)
        if not response.prepared:
            response.headers["Content-Security-Policy"] = csp
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    return check


def _same(given: str, token: str) -> bool:
    # Bytes of a header that are no UTF-8 arrive as lone surrogates.
    return hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode())
