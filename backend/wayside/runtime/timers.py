"""Turn taking's timers: one of each name, which come back as events."""

import asyncio
from collections.abc import Callable

from wayside.core.turn_events import Timer, TimerFired
from wayside.ports.clock import Clock


class TurnTimers:
    """On the running loop; `fired` gets each timer that was not cancelled."""

    def __init__(self, clock: Clock, fired: Callable[[TimerFired], None]) -> None:
        self._clock = clock
        self._fired = fired
        self._armed: dict[Timer, asyncio.TimerHandle] = {}

    def set(self, timer: Timer, at: float) -> None:
        """Fire `timer` at this time, in place of when it would have."""
        self.cancel(timer)
        delay = max(0.0, at - self._clock.now())
        self._armed[timer] = asyncio.get_running_loop().call_later(delay, self._fire, timer, at)

    def cancel(self, timer: Timer) -> None:
        """Never mind; one that is not armed is fine."""
        handle = self._armed.pop(timer, None)
        if handle is not None:
            handle.cancel()

    def _fire(self, timer: Timer, at: float) -> None:
        self._armed.pop(timer, None)
        # A loop's timer may come a hair before its time.
        self._fired(TimerFired(max(at, self._clock.now()), timer))
