"""How long after wrong PINs nobody may try again. Pure.

The first wrong PIN costs a second, each further one twice as much; five in a row lock the entry for five minutes,
and longer every time, up to an hour. Times are CLOCK_BOOTTIME seconds with the boot's id: a clock step opens nothing,
and a restart of the machine starts the running wait over.
"""

from dataclasses import dataclass

FIRST_WAIT_S = 1.0
LOCK_AFTER = 5
FIRST_LOCK_S = 300.0
LONGEST_LOCK_S = 3600.0


@dataclass(frozen=True, slots=True)
class Lockout:
    """`failures` in a row; the next attempt is allowed at `until` of the boot named `boot`."""

    failures: int = 0
    until: float = 0.0
    boot: str = ""


def wait_s(state: Lockout, *, at: float, boot: str) -> float:
    """Seconds until an attempt is allowed; 0.0 when it is now."""
    if state.failures == 0:
        return 0.0
    if state.boot != boot:
        # Another boot's clock says nothing; the whole wait counts from this boot's start.
        return max(0.0, penalty_s(state.failures) - at)
    return max(0.0, state.until - at)


def attempted(state: Lockout, *, at: float, boot: str) -> Lockout:
    """Count an attempt as failed, before it is checked: a kill in between refunds nothing."""
    failures = state.failures + 1
    return Lockout(failures=failures, until=at + penalty_s(failures), boot=boot)


def penalty_s(failures: int) -> float:
    """The wait after so many wrong PINs in a row."""
    if failures < LOCK_AFTER:
        return FIRST_WAIT_S * 2.0 ** max(0, failures - 1)
    return min(FIRST_LOCK_S * 2.0 ** min(failures - LOCK_AFTER, 10), LONGEST_LOCK_S)
