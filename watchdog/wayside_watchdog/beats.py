"""Whether the page shows that it works. Pure.

A heartbeat every three seconds is expected once the first one came. A page that still sends them but paints nothing
any more is as dead to visitors as a silent one; frames count only where they were seen to advance before, because a
hidden page rightly paints nothing.
"""

from dataclasses import dataclass, replace

from wayside_watchdog.ladder import BEAT_EVERY_S

FROZEN_AFTER = 10


@dataclass(frozen=True, slots=True)
class PageBeats:
    """`last_at` is None until the first beat of this shell."""

    last_at: float | None = None
    frames: int = 0
    painting: bool = False
    still: int = 0


def beat(state: PageBeats, *, at: float, frames: int) -> tuple[PageBeats, bool]:
    """Take one heartbeat; the second value says whether it proves work done."""
    first = state.last_at is None
    advanced = not first and frames != state.frames
    still = 0 if advanced else state.still + 1
    painting = state.painting or advanced
    after = PageBeats(last_at=at, frames=frames, painting=painting, still=still)
    return after, not (painting and still >= FROZEN_AFTER)


def overdue(state: PageBeats, *, at: float) -> tuple[PageBeats, bool]:
    """Say whether one more beat is missing at `at`; each missing beat is reported once."""
    if state.last_at is None or at - state.last_at < BEAT_EVERY_S + 0.5:
        return state, False
    return replace(state, last_at=state.last_at + BEAT_EVERY_S), True


def forgive(state: PageBeats, *, lost_s: float) -> PageBeats:
    """Discard an interval in which the watchdog itself did not run."""
    if state.last_at is None:
        return state
    return replace(state, last_at=state.last_at + lost_s, still=0)
