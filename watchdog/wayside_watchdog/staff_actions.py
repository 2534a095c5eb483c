"""What staff can do once the PIN was right. Each action answers with `ok`, or with a code and a sentence."""

from typing import Protocol

from wayside_watchdog.probes import Readiness
from wayside_watchdog.supervisor import SHELL, SIDECAR

LOWEST_DB = -20.0
HIGHEST_DB = 12.0
SUGGESTIONS = {
    "sidecar.down": "The guide's voice is being started again. Visitors can use the exhibits on the screen.",
    "sidecar.safe_mode": "The guide stopped several times. Restart it here; if that does not help, call support.",
    "audio.microphone_lost": "Check the microphone's cable, then restart the guide.",
    "audio.loudspeaker_lost": "Check the loudspeaker's cable and power, then restart the guide.",
    "pack.missing": "No exhibit pack is installed. Build one with: wayside pack build",
    "page.missing": "The page is not built. Build it with: make page",
}
ASK_SUPPORT = "Restart the guide; if it stays, note this code for support."


class Children(Protocol):
    """What the actions need of the supervisor."""

    def components(self) -> list[dict[str, object]]: ...
    def sidecar_word(self) -> str: ...
    def readiness(self) -> Readiness | None: ...
    def restart(self, name: str, *, hung: bool = False) -> bool: ...
    def leave(self) -> None: ...


class Sidecar(Protocol):
    """What the actions need of the sidecar."""

    async def reset(self, reason: str) -> bool: ...
    async def volume(self, db: float) -> dict[str, object] | None: ...
    async def health(self) -> dict[str, object] | None: ...


class Actions:
    """Carries out staff's wishes."""

    def __init__(self, supervised: Children, sidecar: Sidecar, *, local_issues: "LocalIssues") -> None:
        self._children = supervised
        self._sidecar = sidecar
        self._local_issues = local_issues

    async def do(self, action: str, value: object) -> dict[str, object]:
        """Carry out one action; unknown ones are refused."""
        match action, value:
            case "status", _:
                return await self._status()
            case "volume", int() | float() if not isinstance(value, bool) and LOWEST_DB <= value <= HIGHEST_DB:
                return await self._volume(float(value))
            case "volume", _:
                return _failed("staff.bad_value", f"The volume is a number from {LOWEST_DB:g} to {HIGHEST_DB:g} dB.")
            case "reset", _:
                return await self._reset()
            case "restart", "sidecar" | "shell":
                if self._children.restart(SIDECAR if value == "sidecar" else SHELL):
                    return {"ok": True}
                return _failed("staff.not_here", "This kiosk does not run that part.")
            case "leave", _:
                self._children.leave()
                return {"ok": True}
            case _:
                return _failed("staff.unknown_action", "There is no such action.")

    def issues(self) -> list[dict[str, object]]:
        """What is wrong, by code, and what to do about it."""
        codes = list(self._local_issues.codes())
        word = self._children.sidecar_word()
        if word in {"down", "safe_mode"}:
            codes.append(f"sidecar.{word}")
        readiness = self._children.readiness()
        codes.extend(readiness.degraded if readiness is not None else ())
        return [{"code": code, "suggestion": SUGGESTIONS.get(code, ASK_SUPPORT)} for code in codes]

    async def _status(self) -> dict[str, object]:
        health = await self._sidecar.health() or {}
        volume = health.get("volume")
        return {
            "ok": True,
            "components": self._children.components(),
            "issues": self.issues(),
            "volume": volume if isinstance(volume, int | float) else 0,
        }

    async def _volume(self, db: float) -> dict[str, object]:
        answer = await self._sidecar.volume(db)
        if answer is None:
            return _failed("sidecar.no_answer", "The guide did not answer. Restart it, then set the volume again.")
        if answer.get("kept") is False:
            return _failed(
                "settings.not_kept", "The volume is set, but only until the next start: the disk is full or read-only."
            )
        return {"ok": True, "volume": answer.get("volume", db)}

    async def _reset(self) -> dict[str, object]:
        if await self._sidecar.reset("staff"):
            return {"ok": True}
        # A visit that can't be ended ends with its process: nothing of it survives that.
        if self._children.restart(SIDECAR, hung=True):
            return {"ok": True, "restarted": True}
        return _failed("sidecar.no_answer", "The guide did not answer, and this kiosk does not run it.")


class LocalIssues(Protocol):
    """What the watchdog itself finds missing."""

    def codes(self) -> tuple[str, ...]: ...


def _failed(code: str, message: str) -> dict[str, object]:
    return {"ok": False, "code": code, "message": message}
