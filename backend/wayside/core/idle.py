"""Decides when a visit that nobody uses any more is reset.

45 s without touch, push-to-talk or a committed turn, then a countdown of 20 s that one tap withdraws (WCAG 2.2.1:
at least 20 s). Voice activity alone never renews it; playout and at most 30 s of an open segment pause it.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

MAX_SEGMENT_PAUSE_S = 30.0


class IdlePhase(StrEnum):
    """What the timer says."""

    ACTIVE = "active"
    ASKING = "asking"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Idle:
    """Idle seconds spent since the visitor last did something; `last` is the monotonic time of the last tick."""

    last: float
    spent: float = 0.0
    segment_since: float | None = None
    idle_s: float = 45.0
    countdown_s: float = 20.0

    @property
    def phase(self) -> IdlePhase:
        """What the timer says now."""
        if self.spent < self.idle_s:
            return IdlePhase.ACTIVE
        return IdlePhase.ASKING if self.spent < self.idle_s + self.countdown_s else IdlePhase.OVER

    @property
    def ends_in_s(self) -> float | None:
        """Seconds left of the countdown, or None when nobody is being asked."""
        return None if self.phase is IdlePhase.ACTIVE else max(0.0, self.idle_s + self.countdown_s - self.spent)

    def touched(self, at: float) -> "Idle":
        """A touch, a press or a committed turn."""
        return replace(self, last=at, spent=0.0)

    def tick(self, at: float, *, playing: bool, segment_open: bool) -> "Idle":
        """Look at the time; call about once a second."""
        segment_since = None if not segment_open else self.segment_since if self.segment_since is not None else at
        paused = playing or (segment_since is not None and at - segment_since <= MAX_SEGMENT_PAUSE_S)
        spent = self.spent if paused else self.spent + max(0.0, at - self.last)
        return replace(self, last=at, spent=spent, segment_since=segment_since)
