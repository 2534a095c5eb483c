"""When a device is opened, lost, found and tried again: one slot for the microphone, one for the loudspeaker.

Pure but for the `open` it is given. It retries for ever with backoff and tells each change once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

FIRST_RETRY_S = 0.25
LAST_RETRY_S = 10.0
STEADY_S = 5.0  # a stream that lived this long is opened again at once
NEWS_S = 1.0  # what the server said before may be about the stream before
STALL_S = 1.0  # an open stream whose callback does not run


class Stream(Protocol):
    """An open stream on the device named `on`."""

    on: str
    blocks: int
    finished: bool

    def close(self) -> None: ...


S = TypeVar("S", bound=Stream)


@dataclass(frozen=True, slots=True)
class Change:
    """The device came or went."""

    present: bool
    reason: str = ""


class Slot(Generic[S]):
    """`step` follows the wish of the moment; `stream` is the open stream or None."""

    def __init__(self, open_: Callable[[str], S | None]) -> None:
        self.stream: S | None = None
        self._open = open_
        self._told: Change | None = None
        self._retry_s = FIRST_RETRY_S
        self._next_try = 0.0
        self._seen_blocks = -1
        self._seen_at = 0.0
        self._opened_at = 0.0

    def step(self, now: float, target: str | None, absent: str, moved_to: str = "") -> list[Change]:
        """`target` is the device meant, `absent` why there is none, `moved_to` where the server has the stream."""
        changes: list[Change] = []
        if self.stream is not None:
            reason = self._trouble(self.stream, now, target, absent, moved_to)
            if reason:
                self._fail(now, changes, reason)
        if self.stream is None and target is None:
            self._tell(changes, Change(present=False, reason=absent))
        elif self.stream is None and target is not None and now >= self._next_try:
            self._try(now, changes, target)
        return changes

    def reopen(self) -> None:
        """Closes the stream without a word; the next step opens it again."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def _fail(self, now: float, changes: list[Change], reason: str) -> None:
        self.reopen()
        if now - self._opened_at > STEADY_S:
            self._retry_s = FIRST_RETRY_S
            self._next_try = now
        else:  # one that opens and fails again and again must not be asked fifty times a second
            self._next_try = now + self._retry_s
            self._retry_s = min(LAST_RETRY_S, self._retry_s * 2)
        self._tell(changes, Change(present=False, reason=reason))

    def _try(self, now: float, changes: list[Change], target: str) -> None:
        self.stream = self._open(target)
        if self.stream is None:
            self._next_try = now + self._retry_s
            self._retry_s = min(LAST_RETRY_S, self._retry_s * 2)
            self._tell(changes, Change(present=False, reason="could not be opened"))
            return
        self._seen_blocks, self._seen_at = -1, now
        self._opened_at = now
        self._tell(changes, Change(present=True))

    def _trouble(self, stream: S, now: float, target: str | None, absent: str, moved_to: str) -> str:
        if stream.finished:
            return "stopped"
        if target is None:
            return absent
        if target != stream.on:
            return "another device took its place"
        if moved_to and moved_to != stream.on and now - self._opened_at > NEWS_S:
            return "the audio server moved the stream"
        if stream.blocks != self._seen_blocks:
            self._seen_blocks, self._seen_at = stream.blocks, now
        elif now - self._seen_at > STALL_S:
            return "stalled"
        return ""

    def _tell(self, changes: list[Change], change: Change) -> None:
        if self._told is None or self._told.present != change.present:
            self._told = change
            changes.append(change)
