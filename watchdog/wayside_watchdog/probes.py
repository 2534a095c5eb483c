"""Questions to the sidecar over loopback: is it live, is it ready, and staff's wishes. Every one has a deadline.

An answer counts only with the body that is expected: some other program on the port is not our sidecar.
"""

import json
from dataclasses import dataclass

import aiohttp

LIVE_DEADLINE_S = 2.0
OPERATOR_DEADLINE_S = 3.0
# A visitor's traces may be reachable for a second after a reset; then their process ends.
RESET_DEADLINE_S = 1.0
MAX_ANSWER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Readiness:
    """The sidecar's own word about itself. `degraded` holds codes such as `audio.microphone_lost`."""

    ready: bool
    degraded: tuple[str, ...]


class SidecarClient:
    """HTTP to the sidecar on loopback. Opened inside the event loop, closed by its owner."""

    def __init__(self, *, port: int, token: str) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def live(self) -> bool:
        """Whether the sidecar's event loop turns."""
        answer = await self._get("/live")
        return answer is not None and answer[0] == 200 and answer[1].get("status") == "live"

    async def ready(self) -> Readiness | None:
        """The sidecar's readiness; None when it did not answer."""
        answer = await self._get("/ready")
        if answer is None or answer[1].get("status") not in {"ready", "not_ready"}:
            return None
        listed = answer[1].get("degraded")
        codes = tuple(str(code)[:100] for code in listed[:50]) if isinstance(listed, list) else ()
        return Readiness(ready=answer[1]["status"] == "ready", degraded=codes)

    async def health(self) -> dict[str, object] | None:
        """The sidecar's own health, for operators."""
        answer = await self._get("/health")
        return answer[1] if answer is not None and answer[0] == 200 else None

    async def reset(self, reason: str) -> bool:
        """End the visit. False when the sidecar did not confirm it in time."""
        answer = await self._post("/v1/operator/reset", {"reason": reason}, RESET_DEADLINE_S)
        return answer is not None and answer.get("ok") is True

    async def volume(self, db: float) -> dict[str, object] | None:
        """Set the site's default volume; None when the sidecar did not confirm it in time."""
        answer = await self._post("/v1/operator/volume", {"db": db}, OPERATOR_DEADLINE_S)
        return answer if answer is not None and answer.get("ok") is True else None

    async def _get(self, path: str) -> tuple[int, dict[str, object]] | None:
        return await self._ask("GET", path, None, LIVE_DEADLINE_S)

    async def _post(self, path: str, body: dict[str, object], deadline_s: float) -> dict[str, object] | None:
        answer = await self._ask("POST", path, body, deadline_s)
        return answer[1] if answer is not None and answer[0] == 200 else None

    async def _ask(
        self, method: str, path: str, body: dict[str, object] | None, deadline_s: float
    ) -> tuple[int, dict[str, object]] | None:
        if self._session is None:
            # No connection is kept: a frozen sidecar must not answer from a socket opened before it froze.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=8, force_close=True), trust_env=False
            )
        timeout = aiohttp.ClientTimeout(total=deadline_s)
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            async with self._session.request(
                method, self._base + path, json=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                if (response.content_length or 0) > MAX_ANSWER_BYTES:
                    return None
                parsed = json.loads(await response.read())
                return (response.status, parsed) if isinstance(parsed, dict) else None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None
