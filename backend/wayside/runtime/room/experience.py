"""Decides nothing: carries an acting mind's reports to one agent of the room, in order, without ever holding it up.

ADR 0123: a report goes into a bounded queue and is judged where it is taken out, never where it was called. A report
that can not be taken (no room, no leave, no place, no experience) is a receipt with its refusal, not an exception.
Keeps no sound and no words but the notes of `core/room/experience.py`, and dies with the visit that owns its task.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from wayside.core.errors import WaysideError
from wayside.core.room import experience as x
from wayside.core.room.refusals import refuse
from wayside.core.room.verdicts import (
    Answered,
    Audit,
    Fact,
    Heard,
    Refused,
    Requested,
    Suppressed,
    Wanted,
    note,
    verdict,
)
from wayside.ports.clock import Clock
from wayside.ports.room_agent import MemoryItem
from wayside.runtime.logs import get_logger

# A report is a few hundred characters and a step takes seconds: more than this waiting means that nobody takes them.
MAX_WAITING = 32
REQUEST_S = 5.0

Outcome = Literal["words", "silent", "failed"]
Report = x.ExperienceSnapshot | Mapping[str, object]
Seed = Callable[[str, MemoryItem], None]
RequestResponse = Callable[[str, str], Awaitable[None]]
Subscriber = Callable[[Fact], None]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a call of `report`. `delivery_id` is there for wanted narrations only; `refusal` is a code."""

    delivery_id: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    snapshot: x.ExperienceSnapshot
    delivery_id: str | None
    about: str


class ExperienceSeam:
    """One agent's share in what its acting mind lives through.

    `enabled` is the agent's profile; `present` says whether the room is there. `seed` puts one item into the agent's
    memory, at once; `request_response` asks for words of the agent's own and returns when that is admitted, within 5 s.
    Words made for a delivery carry `core.room.experience.evidence(delivery_id)`.
    """

    def __init__(
        self,
        agent: str,
        *,
        enabled: bool,
        present: Callable[[], bool],
        clock: Clock,
        new_id: Callable[[], str],
        seed: Seed,
        request_response: RequestResponse,
        interval_s: float = x.NARRATION_INTERVAL_S,
    ) -> None:
        self._agent = agent
        self._enabled = enabled
        self._present = present
        self._clock = clock
        self._new_id = new_id
        self._seed = seed
        self._request_response = request_response
        self._state = x.Narration(interval_s)
        self._audit = Audit()
        self._subscribers: list[Subscriber] = []
        # When it is full the newest report is refused: what waits was accepted, and dropping it would break that.
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue(MAX_WAITING)
        self._log = get_logger()

    # --- the acting mind's side ---------------------------------------------------------------------------------

    def report(self, snapshot: Report, *, respond: bool = False, about: str = "") -> Receipt:
        """Hand over one settled step; never waits and never raises for anything that the room may answer.

        `respond` wants it told and mints the delivery id. `about` tells the engine's subjects apart (an object's
        signature, at most 80 characters) and reaches no agent.
        """
        delivery_id = self._new_id() if respond else None
        if delivery_id is not None:
            self._tell(Wanted(delivery_id))
        try:
            self._take(snapshot, delivery_id, about)
        except WaysideError as refusal:
            self._refused(delivery_id, refusal.code)
            return Receipt(delivery_id, refusal.code)
        return Receipt(delivery_id)

    def _take(self, snapshot: Report, delivery_id: str | None, about: str) -> None:
        if not self._enabled:
            raise refuse("experience.not_enabled")
        if not self._present():
            raise refuse("experience.not_in_room")
        if len(about) > x.MAX_SUBJECT:
            raise refuse("experience.too_long")
        if not isinstance(snapshot, x.ExperienceSnapshot | Mapping):
            raise refuse("experience.malformed")
        read = snapshot if isinstance(snapshot, x.ExperienceSnapshot) else x.read_snapshot(snapshot)
        try:
            self._queue.put_nowait(_Waiting(read, delivery_id, about))
        except asyncio.QueueFull:
            raise refuse("experience.busy", retryable=True) from None

    # --- the room's side ----------------------------------------------------------------------------------------

    def audio_started(self, generation: int, delivery_id: str | None = None) -> None:
        """Something sounds in the room; `delivery_id` when it is this agent's narration."""
        self._fold(x.AudioStarted(self._clock.now(), generation))
        if delivery_id is not None:
            self._tell(Heard(delivery_id))

    def audio_ended(self, generation: int) -> None:
        """This generation has fallen silent."""
        self._fold(x.AudioEnded(self._clock.now(), generation))

    def response_started(self, response_id: str) -> None:
        """An answer is being made in the room, whoever asked for it."""
        self._fold(x.ResponseStarted(self._clock.now(), response_id))

    def response_ended(self, response_id: str, outcome: Outcome = "words") -> None:
        """A response is made or has failed; a narration's goes by its delivery id."""
        self._fold(x.ResponseEnded(self._clock.now(), response_id))
        if verdict(self._audit, response_id) is not None:
            self._tell(Answered(response_id, outcome))

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Be told every fact about a narration; the returned call ends it, twice is fine."""
        self._subscribers.append(subscriber)

        def leave() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return leave

    @property
    def audit(self) -> Audit:
        """What became of each wanted narration so far."""
        return self._audit

    def memory(self) -> tuple[MemoryItem, ...]:
        """What the agent knows now, oldest first: a corrected note is gone, unlike what `seed` once put in."""
        return tuple(self._item(each) for each in self._state.notes)

    async def run(self) -> None:
        """Take reports one after another until cancelled; the visit's task group owns it, once."""
        while True:
            await self._handle(await self._queue.get())

    async def _handle(self, waiting: _Waiting) -> None:
        if not self._present():
            self._refused(waiting.delivery_id, "experience.not_in_room")
            return
        now = self._clock.now()
        seeded = True
        for command in self._fold(x.Reported(now, waiting.snapshot, waiting.delivery_id, waiting.about)):
            match command:
                case x.SeedContext(note=known):
                    seeded = self._seeded(known)
                case x.RequestResponse(delivery_id=delivery_id):
                    # Asked without knowing it, the persona would make something up.
                    if not (seeded and await self._asked(delivery_id)):
                        self.response_ended(delivery_id, "failed")
                case x.Suppress(delivery_id=delivery_id, reason=reason):
                    self._log.info("experience.suppressed", reason=reason)
                    self._tell(Suppressed(delivery_id, reason))
                case _:
                    assert_never(command)

    def _seeded(self, known: x.Note) -> bool:
        try:
            self._seed(self._agent, self._item(known))
        except Exception:  # noqa: BLE001 - the host's code; its message may hold content and is not kept
            self._log.warning("experience.failed", kind="seed")
            return False
        return True

    async def _asked(self, delivery_id: str) -> bool:
        self._tell(Requested(delivery_id))
        try:
            async with asyncio.timeout(REQUEST_S):
                await self._request_response(self._agent, delivery_id)
        except Exception:  # noqa: BLE001 - the host's code; its message may hold content and is not kept
            self._log.warning("experience.failed", kind="request")
            return False
        return True

    def _item(self, known: x.Note) -> MemoryItem:
        asked = () if known.delivery_id is None else (x.evidence(known.delivery_id),)
        return MemoryItem("agent", self._agent, x.as_memory(known.snapshot), asked)

    def _fold(self, event: x.NarrationEvent) -> tuple[x.NarrationCommand, ...]:
        self._state, commands = x.step(self._state, event)
        return commands

    def _refused(self, delivery_id: str | None, code: str) -> None:
        self._log.info("experience.refused", code=code)
        if delivery_id is not None:
            self._tell(Refused(delivery_id, code))

    def _tell(self, fact: Fact) -> None:
        self._audit = note(self._audit, fact)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(fact)
            except Exception:  # noqa: BLE001 - one who listens badly takes nothing from the others
                self._log.warning("experience.failed", kind="subscriber")
