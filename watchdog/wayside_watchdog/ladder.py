"""What to do about one child: start it, stop it, wait, or give up for now. Pure; commands are data.

Evidence comes in as events: beats of work done, misses of an expected beat, the child's end, staff's wishes. An
interval in which the watchdog itself stalled (suspend, a starved machine, a clock step) is no evidence against
anybody and forgives what was missed. Degraded is never a reason to restart; only silence is.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from wayside_watchdog import backoff as backoffs
from wayside_watchdog.backoff import Backoff

BEAT_EVERY_S = 3.0
MISSES_ALLOWED = 3
START_DEADLINE_S = 90.0
GRACE_S = 5.0
# A child that answers nothing will hardly answer TERM; visitors wait for it.
HUNG_GRACE_S = 1.0


class Phase(StrEnum):
    """Where a child is."""

    OFF = "off"
    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"
    WAITING = "waiting"
    SAFE_MODE = "safe_mode"


@dataclass(frozen=True, slots=True)
class Ladder:
    """One child's supervision. `since` is when the phase began; `restarts` counts over the watchdog's life."""

    phase: Phase = Phase.OFF
    since: float = 0.0
    misses: int = 0
    restarts: int = 0
    wanted: bool = False
    asked: bool = False
    retry_at: float = 0.0
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True)
class Begin:
    """Supervision starts."""

    at: float


@dataclass(frozen=True, slots=True)
class Beat:
    """The child proved that it works."""

    at: float


@dataclass(frozen=True, slots=True)
class Missed:
    """An expected beat did not come."""

    at: float


@dataclass(frozen=True, slots=True)
class Stalled:
    """The watchdog itself did not run for `lost_s`."""

    at: float
    lost_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The child's process is gone (or could not be started)."""

    at: float
    jitter: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""

    at: float


@dataclass(frozen=True, slots=True)
class RestartAsked:
    """Staff, or a reset that the child could not carry out, want it started anew: no backoff, breaker closed."""

    at: float
    grace_s: float = GRACE_S


@dataclass(frozen=True, slots=True)
class Leave:
    """Stop for good."""

    at: float


Event = Begin | Beat | Missed | Stalled | Ended | Tick | RestartAsked | Leave


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start the child's process."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the child's process group: TERM, then KILL after `grace_s`."""

    grace_s: float


Command = Spawn | Stop


def step(state: Ladder, event: Event) -> tuple[Ladder, tuple[Command, ...]]:
    """Fold one event into the child's supervision."""
    match event:
        case Begin(at=at):
            return _spawn(replace(state, wanted=True), at)
        case Leave(at=at):
            running = state.phase in {Phase.STARTING, Phase.UP}
            phase = Phase.STOPPING if running or state.phase is Phase.STOPPING else Phase.OFF
            left = replace(state, wanted=False, asked=False, phase=phase, since=at)
            return left, (Stop(GRACE_S),) if running else ()
        case Beat(at=at):
            if state.phase is Phase.STARTING:
                return replace(state, phase=Phase.UP, since=at, misses=0), ()
            return replace(state, misses=0), ()
        case Missed(at=at):
            return _missed(state, at)
        case Stalled(lost_s=lost_s):
            return replace(state, misses=0, since=state.since + lost_s, retry_at=state.retry_at + lost_s), ()
        case Ended(at=at, jitter=jitter):
            return _ended(state, at, jitter)
        case Tick(at=at):
            return _tick(state, at)
        case RestartAsked(at=at, grace_s=grace_s):
            return _restart_asked(state, at, grace_s)
        case _:
            assert_never(event)


def _spawn(state: Ladder, at: float) -> tuple[Ladder, tuple[Command, ...]]:
    return replace(state, phase=Phase.STARTING, since=at, misses=0, asked=False), (Spawn(),)


def _missed(state: Ladder, at: float) -> tuple[Ladder, tuple[Command, ...]]:
    if state.phase is not Phase.UP:
        # While it starts, the start deadline judges it.
        return state, ()
    misses = state.misses + 1
    if misses < MISSES_ALLOWED:
        return replace(state, misses=misses), ()
    return replace(state, phase=Phase.STOPPING, since=at, misses=misses), (Stop(HUNG_GRACE_S),)


def _ended(state: Ladder, at: float, jitter: float) -> tuple[Ladder, tuple[Command, ...]]:
    if not state.wanted:
        return replace(state, phase=Phase.OFF, since=at), ()
    if state.phase in {Phase.OFF, Phase.WAITING, Phase.SAFE_MODE}:
        return state, ()
    restarted = replace(state, restarts=state.restarts + 1)
    if state.asked:
        return _spawn(restarted, at)
    backoff, wait = backoffs.ended(state.backoff, at=at, jitter=jitter)
    if not wait.broken and wait.until <= at:
        return _spawn(replace(restarted, backoff=backoff), at)
    phase = Phase.SAFE_MODE if wait.broken else Phase.WAITING
    return replace(state, phase=phase, since=at, misses=0, retry_at=wait.until, backoff=backoff), ()


def _tick(state: Ladder, at: float) -> tuple[Ladder, tuple[Command, ...]]:
    match state.phase:
        case Phase.WAITING | Phase.SAFE_MODE if at >= state.retry_at:
            return _spawn(replace(state, restarts=state.restarts + 1), at)
        case Phase.STARTING if at - state.since >= START_DEADLINE_S:
            return replace(state, phase=Phase.STOPPING, since=at), (Stop(HUNG_GRACE_S),)
        case Phase.UP:
            return replace(state, backoff=backoffs.healthy(state.backoff, up_for_s=at - state.since)), ()
        case _:
            return state, ()


def _restart_asked(state: Ladder, at: float, grace_s: float) -> tuple[Ladder, tuple[Command, ...]]:
    if not state.wanted:
        return state, ()
    fresh = replace(state, backoff=Backoff(), asked=True)
    match state.phase:
        case Phase.STARTING | Phase.UP:
            return replace(fresh, phase=Phase.STOPPING, since=at), (Stop(grace_s),)
        case Phase.WAITING | Phase.SAFE_MODE:
            return _spawn(replace(fresh, restarts=state.restarts + 1), at)
        case Phase.OFF | Phase.STOPPING:
            return fresh, ()
        case _:
            assert_never(state.phase)
