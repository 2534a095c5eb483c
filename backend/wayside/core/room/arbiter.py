"""The one speech arbiter of a room: several agents may think at once, one speaks (RFC-021 §7).

Order, priority, expiry and the floor are data; every suppression has a reason. Time is `at` in monotonic seconds.
"""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from wayside.core.room.disclosure import Disclosure

MAX_WAITING = 16
EXPIRES_S = 30.0

Reason = Literal["expired", "queue_full", "not_for_this_surface", "canceled", "superseded", "too_long"]


@dataclass(frozen=True, slots=True)
class SpeechOffer:
    """One reply that wants the floor. Higher `priority` first, then the agent that was addressed, then by age."""

    id: str
    run_id: str
    agent: str
    channel: str
    at: float
    audience: Disclosure
    priority: int = 0
    interruptible: bool = True
    expires_s: float = EXPIRES_S


@dataclass(frozen=True, slots=True)
class Offered:
    """A reply has its first words."""

    offer: SpeechOffer


@dataclass(frozen=True, slots=True)
class Spoken:
    """The reply is over, however it ended; one that still waited is not wanted any more."""

    id: str
    at: float


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A run is not wanted any more: what of it waits is dropped, what of it speaks is interrupted if it may be."""

    run_id: str
    reason: Reason
    at: float


@dataclass(frozen=True, slots=True)
class Looked:
    """Time has passed."""

    at: float


ArbiterEvent = Offered | Spoken | Withdrawn | Looked


@dataclass(frozen=True, slots=True)
class Grant:
    """The floor is this reply's."""

    id: str


@dataclass(frozen=True, slots=True)
class Suppress:
    """This reply will not be spoken, for this reason."""

    id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The reply that speaks must stop; `Spoken` follows when it has."""

    id: str


ArbiterCommand = Grant | Suppress | Interrupt
Commands = tuple[ArbiterCommand, ...]


@dataclass(frozen=True, slots=True)
class Arbiter:
    """Who speaks and who waits. `surface` is who can hear this loudspeaker; `addressed` who was last spoken to."""

    surface: Disclosure
    addressed: str = ""
    speaking: SpeechOffer | None = None
    waiting: tuple[SpeechOffer, ...] = ()

    def next_expiry(self) -> float | None:
        """When the first of those that wait will have waited too long."""
        return min((offer.at + offer.expires_s for offer in self.waiting), default=None)


def step(state: Arbiter, event: ArbiterEvent) -> tuple[Arbiter, Commands]:
    """Take one event; the new state and what to do, in order."""
    match event:
        case Offered(offer=offer):
            if not offer.audience.covers(state.surface):
                # Words for some must not sound where others hear them.
                return state, (Suppress(offer.id, "not_for_this_surface"),)
            state, dropped = _grant(state, offer.at)
            if len(state.waiting) >= MAX_WAITING:
                return state, (*dropped, Suppress(offer.id, "queue_full"))
            state, granted = _grant(replace(state, waiting=(*state.waiting, offer)), offer.at)
            return state, dropped + granted
        case Spoken(id=spoken, at=at):
            gone: Commands = tuple(Suppress(offer.id, "canceled") for offer in state.waiting if offer.id == spoken)
            waiting = tuple(offer for offer in state.waiting if offer.id != spoken)
            speaking = None if state.speaking is not None and state.speaking.id == spoken else state.speaking
            state, granted = _grant(replace(state, speaking=speaking, waiting=waiting), at)
            return state, gone + granted
        case Withdrawn(run_id=run_id, reason=reason, at=at):
            kept = tuple(offer for offer in state.waiting if offer.run_id != run_id)
            commands: Commands = tuple(Suppress(offer.id, reason) for offer in state.waiting if offer.run_id == run_id)
            speaking = state.speaking
            if speaking is not None and speaking.run_id == run_id and speaking.interruptible:
                commands += (Interrupt(speaking.id),)
            state, granted = _grant(replace(state, waiting=kept), at)
            return state, commands + granted
        case Looked(at=at):
            return _grant(state, at)
        case _:
            assert_never(event)


def _grant(state: Arbiter, at: float) -> tuple[Arbiter, Commands]:
    late = tuple(offer for offer in state.waiting if at - offer.at >= offer.expires_s)
    commands: Commands = tuple(Suppress(offer.id, "expired") for offer in late)
    waiting = tuple(offer for offer in state.waiting if offer not in late)
    state = replace(state, waiting=waiting)
    if state.speaking is not None or not waiting:
        return state, commands
    first = min(waiting, key=lambda offer: (-offer.priority, offer.agent != state.addressed, offer.at))
    rest = tuple(offer for offer in waiting if offer is not first)
    return replace(state, speaking=first, waiting=rest), (*commands, Grant(first.id))
