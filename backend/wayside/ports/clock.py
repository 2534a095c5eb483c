"""Time as a part that is passed in."""

import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds for durations, boottime milliseconds for anything that must survive a clock step."""

    def now(self) -> float: ...

    def boottime_ms(self) -> int: ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.monotonic()

    def boottime_ms(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class ManualClock:
    """A clock that moves when told."""

    def __init__(self, start: float = 1000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def boottime_ms(self) -> int:
        return int(self._now * 1000)

    def advance(self, seconds: float) -> None:
        self._now += seconds
