"""When a child that ended may be started again. Pure: the time and the jitter are arguments.

The first restart is immediate, later ones wait 1 s, 2 s, 4 s … 60 s. Five restarts within ten minutes open the
breaker; it lets one start through when the ten minutes are over. Ten healthy minutes forget everything.
"""

from dataclasses import dataclass, replace

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
JITTER_SHARE = 0.25
BREAKER_RESTARTS = 5
BREAKER_WINDOW_S = 600.0
HEALTHY_AFTER_S = 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """`restarts_at` are the restarts within the breaker's window; `streak` counts those since the last good stretch."""

    streak: int = 0
    restarts_at: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Start again at `until` (monotonic seconds). `broken` says that the breaker is open until then."""

    until: float
    broken: bool = False


def ended(backoff: Backoff, *, at: float, jitter: float) -> tuple[Backoff, Wait]:
    """Decide the wait after an unwanted end at `at`; `jitter` is drawn from [0, 1)."""
    recent = tuple(t for t in backoff.restarts_at if at - t < BREAKER_WINDOW_S)
    if len(recent) >= BREAKER_RESTARTS:
        # Half open: after the window one start is tried, with a fresh count.
        return Backoff(streak=backoff.streak), Wait(until=at + BREAKER_WINDOW_S, broken=True)
    wait_s = 0.0 if backoff.streak == 0 else _wait_s(backoff.streak, jitter)
    return Backoff(streak=backoff.streak + 1, restarts_at=(*recent, at + wait_s)), Wait(until=at + wait_s)


def healthy(backoff: Backoff, *, up_for_s: float) -> Backoff:
    """Forget the past once the child has been up long enough."""
    if up_for_s < HEALTHY_AFTER_S or backoff == Backoff():
        return backoff
    return replace(backoff, streak=0, restarts_at=())


def _wait_s(streak: int, jitter: float) -> float:
    exact = min(FIRST_WAIT_S * 2.0 ** (streak - 1), LONGEST_WAIT_S)
    return min(exact * (1.0 + JITTER_SHARE * jitter), LONGEST_WAIT_S)
