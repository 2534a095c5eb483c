"""Staff's entry: the PIN, who is unlocked, and the record of what was done. It works with a dead sidecar.

The PIN is stored as a scrypt hash; it is printed once, when it is made, and never again. Sessions live in memory and
end when nobody used them for two minutes.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from wayside_watchdog import lockout
from wayside_watchdog.lockout import Lockout

IDLE_S = 120
MAX_SESSIONS = 4
PIN_DIGITS = 6
MAX_PIN_CHARS = 32
AUDIT_BYTES = 256 * 1024
_N, _R, _P = 2**14, 8, 1


@dataclass(frozen=True, slots=True)
class Unlocked:
    """The PIN was right."""

    session: str


@dataclass(frozen=True, slots=True)
class WrongPin:
    """The PIN was wrong; try again after `retry_in_s`."""

    retry_in_s: int


@dataclass(frozen=True, slots=True)
class Locked:
    """Nothing was checked: the entry is locked for `retry_in_s`."""

    retry_in_s: int


class Staff:
    """PIN, lockout, sessions and audit in one state folder. `made_pin` is the new PIN at the very first start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boot = _boot_id()
        self._sessions: dict[str, float] = {}
        self._one_at_a_time = asyncio.Lock()
        self.made_pin: str | None = None
        self._salt, self._hash = self._load_or_make()
        self._lockout = self._load_lockout()

    async def unlock(self, pin: str) -> Unlocked | WrongPin | Locked:
        """Check a PIN in constant time; every attempt counts until it proves right."""
        async with self._one_at_a_time:
            wait_s = lockout.wait_s(self._lockout, at=_boottime(), boot=self._boot)
            if wait_s > 0:
                return Locked(_whole(wait_s))
            self._save_lockout(lockout.attempted(self._lockout, at=_boottime(), boot=self._boot))
            given = await asyncio.to_thread(_scrypt, pin[:MAX_PIN_CHARS], self._salt)
            if not hmac.compare_digest(given, self._hash):
                self.record("unlock", "wrong_pin")
                return WrongPin(_whole(lockout.penalty_s(self._lockout.failures)))
            self._save_lockout(Lockout())
            self.record("unlock", "ok")
            return Unlocked(self._open())

    def admits(self, session: str) -> bool:
        """Whether `session` is open; using it keeps it open."""
        now = time.monotonic()
        self._sessions = {key: until for key, until in self._sessions.items() if until > now}
        for key in self._sessions:
            if hmac.compare_digest(key.encode(), session.encode()):
                self._sessions[key] = now + IDLE_S
                return True
        return False

    def record(self, what: str, outcome: str) -> None:
        """Append to the audit file: role, what, when, outcome. Never content."""
        line = json.dumps({"at": int(time.time()), "who": "staff", "what": what, "outcome": outcome})
        file = self._folder / "audit.jsonl"
        # A full disk must not take the controls from staff.
        with contextlib.suppress(OSError):
            if file.exists() and file.stat().st_size > AUDIT_BYTES:
                file.replace(file.with_suffix(".jsonl.1"))
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(line + "\n")

    def _open(self) -> str:
        session = secrets.token_urlsafe(24)
        while len(self._sessions) >= MAX_SESSIONS:
            self._sessions.pop(min(self._sessions, key=self._sessions.__getitem__))
        self._sessions[session] = time.monotonic() + IDLE_S
        return session

    def _load_or_make(self) -> tuple[bytes, bytes]:
        file = self._folder / "staff.json"
        try:
            stored = json.loads(file.read_text(encoding="ascii"))
            return bytes.fromhex(stored["salt"]), bytes.fromhex(stored["hash"])
        except (OSError, ValueError, KeyError, TypeError):
            # Missing or damaged. Only somebody who can write this folder gets here, and the new PIN is printed.
            self.made_pin = "".join(secrets.choice("0123456789") for _ in range(PIN_DIGITS))
        salt = secrets.token_bytes(16)
        hashed = _scrypt(self.made_pin, salt)
        _write_private(file, {"salt": salt.hex(), "hash": hashed.hex()})
        return salt, hashed

    def _load_lockout(self) -> Lockout:
        file = self._folder / "staff-lockout.json"
        try:
            stored = json.loads(file.read_text(encoding="ascii"))
            return Lockout(int(stored["failures"]), float(stored["until"]), str(stored["boot"]))
        except FileNotFoundError:
            return Lockout()
        except (OSError, ValueError, KeyError, TypeError):
            # Damaged is not the same as clean: start with one lock.
            return lockout.attempted(Lockout(lockout.LOCK_AFTER - 1), at=_boottime(), boot=self._boot)

    def _save_lockout(self, state: Lockout) -> None:
        self._lockout = state
        with contextlib.suppress(OSError):
            _write_private(self._folder / "staff-lockout.json", asdict(state))


def _scrypt(pin: str, salt: bytes) -> bytes:
    return hashlib.scrypt(pin.encode("utf-8"), salt=salt, n=_N, r=_R, p=_P, dklen=32)


def _write_private(file: Path, content: dict[str, object]) -> None:
    beside = file.with_name(file.name + ".new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        json.dump(content, stream)
    beside.replace(file)


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"


def _whole(seconds: float) -> int:
    return max(1, -int(-seconds // 1))
