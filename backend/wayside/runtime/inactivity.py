"""Follows whether anybody still uses the visit, and shows the countdown that one tap withdraws."""

from collections.abc import Callable

from wayside.core.idle import Idle, IdlePhase
from wayside.ports.clock import Clock
from wayside.runtime.screen import Countdown, ScreenEvent


class Inactivity:
    """One visit's. `countdown_s` is what the screen shows, None when nobody is being asked."""

    def __init__(self, idle: Idle, clock: Clock, show: Callable[[ScreenEvent], None]) -> None:
        self._idle = idle
        self._clock = clock
        self._show = show
        self.countdown_s: float | None = None

    @property
    def left_s(self) -> float:
        """Seconds until the visit is over if nobody does anything."""
        return max(0.0, self._idle.idle_s + self._idle.countdown_s - self._idle.spent)

    def touched(self) -> None:
        """A touch, a press or a committed turn."""
        self._idle = self._idle.touched(self._clock.now())
        self._tell()

    def over(self, *, playing: bool, segment_open: bool) -> bool:
        """Look at the time; True when the visit is over."""
        self._idle = self._idle.tick(self._clock.now(), playing=playing, segment_open=segment_open)
        self._tell()
        return self._idle.phase is IdlePhase.OVER

    def _tell(self) -> None:
        left = self._idle.ends_in_s
        if (left is None) != (self.countdown_s is None):
            self._show(Countdown(left))
        self.countdown_s = left
