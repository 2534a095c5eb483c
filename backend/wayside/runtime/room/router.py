"""Delivers interactions: one queue per room and channel, each target once. Decides no workflow and starts no exchange.

A handler returns drafts; the router alone gives them ids and causation and puts them into the lane's queue, so nothing
is delivered from inside a delivery (RFC-021 §6).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json
from wayside.core.room import envelope as interactions
from wayside.core.room.agents import Endpoint, InteractionDraft
from wayside.core.room.envelope import EMISSION_BUDGET, HOP_LIMIT, Emissions, RoomInteractionEnvelope, Seen
from wayside.core.room.refusals import refuse

LANE_BOUND = 256

Handler = Callable[[RoomInteractionEnvelope], Awaitable[Sequence[InteractionDraft]]]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one target. `refused` are the codes of its drafts that could not be derived."""

    target: Endpoint
    state: Literal["delivered", "already", "failed"]
    code: str = ""
    derived: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dispatched:
    """One receipt per target, in order."""

    envelope_id: str
    receipts: tuple[Receipt, ...]

    @property
    def duplicate(self) -> bool:
        """Whether every target had it before."""
        return all(receipt.state == "already" for receipt in self.receipts)

    @property
    def complete(self) -> bool:
        """Whether every target has it now; else the same envelope may be dispatched again."""
        return all(receipt.state != "failed" for receipt in self.receipts)


@dataclass(slots=True)
class _Lane:
    waiting: deque[tuple[RoomInteractionEnvelope, "asyncio.Future[Dispatched] | None"]] = field(default_factory=deque)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class RoomInteractionRouter:
    """Routes within one room. Lanes run in `tasks`, whose owner is the room; `new_id` gives envelope ids."""

    def __init__(
        self,
        room: str,
        tasks: asyncio.TaskGroup,
        new_id: Callable[[], str],
        *,
        hop_limit: int = HOP_LIMIT,
        budget: int = EMISSION_BUDGET,
        seen: Seen | None = None,
    ) -> None:
        self._room = room
        self._tasks = tasks
        self._new_id = new_id
        self._hop_limit = hop_limit
        self._emissions = Emissions(budget=budget)
        self._seen = seen or Seen()
        self._handlers: dict[Endpoint, Handler] = {}
        self._lanes: dict[str, _Lane] = {}

    def connect(self, endpoint: Endpoint, handler: Handler) -> None:
        """Deliver what is for `endpoint` to `handler`, in place of any handler before."""
        self._handlers[endpoint] = handler

    def disconnect(self, endpoint: Endpoint) -> None:
        """Deliver nothing more to `endpoint`; twice is fine."""
        self._handlers.pop(endpoint, None)

    def create(
        self, channel: str, source: Endpoint, draft: InteractionDraft, *, envelope_id: str | None = None
    ) -> RoomInteractionEnvelope:
        """A root from a source that the host has authenticated; its own `envelope_id` lets the host send it again."""
        return interactions.create(envelope_id or self._new_id(), self._room, channel, source, draft)

    def derive(
        self, parent: RoomInteractionEnvelope, source: Endpoint, draft: InteractionDraft
    ) -> RoomInteractionEnvelope:
        """What `source`, to which `parent` was delivered, sends on; counts against the root's emission budget."""
        known = self._seen.get(parent.id)
        if known is None or known.fingerprint != interactions.envelope_fingerprint(parent):
            raise refuse("room.source_spoofed")
        derived = interactions.derive(
            parent, self._new_id(), source, draft, delivered=known.delivered, hop_limit=self._hop_limit
        )
        self._require(derived.targets)
        self._emissions = self._emissions.spend(derived.root_id)
        self._seen = self._seen.admit(derived.id, interactions.envelope_fingerprint(derived), self._pending())
        return derived

    async def dispatch(self, envelope: RoomInteractionEnvelope) -> Dispatched:
        """Deliver in the order of the lane and return when that is done; what was derived is delivered after it.

        Refuses before anybody receives it: `room.unknown_target`, `room.envelope_mismatch`, `room.source_spoofed` for
        a derived envelope that this router did not derive, `room.lane_full`, and `room.recursive_dispatch` from inside
        a delivery. Targets that had it are passed over.
        """
        # A lane that waits for itself, or for one that waits for it, would wait for ever.
        if asyncio.current_task() in {lane.task for lane in self._lanes.values()}:
            raise refuse("room.recursive_dispatch")
        print_ = interactions.envelope_fingerprint(interactions.checked(envelope))
        if envelope.room != self._room:
            raise refuse("room.unknown_target")
        known = self._seen.get(envelope.id)
        if known is None and (envelope.parent_id, envelope.root_id, envelope.hop) != (None, envelope.id, 0):
            raise refuse("room.source_spoofed")
        if known is not None and known.fingerprint != print_:
            raise refuse("room.envelope_mismatch")
        had = known.delivered if known is not None else frozenset[Endpoint]()
        self._require(target for target in envelope.targets if target not in had)
        lane = self._lanes.get(envelope.channel)
        if lane is not None and len(lane.waiting) >= LANE_BOUND:
            raise refuse("room.lane_full", retryable=True)
        self._seen = self._seen.admit(envelope.id, print_, self._pending())
        done: asyncio.Future[Dispatched] = asyncio.get_running_loop().create_future()
        self._enqueue(interactions.copied(envelope), done)
        # A caller that gives up takes nothing from the others in the lane.
        return await done

    async def settled(self, channel: str) -> None:
        """Return when nothing waits in the channel's lane."""
        lane = self._lanes.get(channel)
        if lane is not None:
            await lane.idle.wait()

    def export(self) -> Json:
        """What must outlive a restart for duplicates to be known: plain JSON for `restore`."""
        return {"seen": self._seen.as_json(), "spent": dict(self._emissions.spent)}

    def restore(self, state: Json) -> None:
        """Take up what `export` gave; raises `room.state_malformed` and then changes nothing."""
        spent = state.get("spent") if isinstance(state, dict) else None
        if not isinstance(state, dict) or not isinstance(spent, dict):
            raise refuse("room.state_malformed")
        counts = {root: count for root, count in spent.items() if type(count) is int and count >= 0}
        if len(counts) != len(spent):
            raise refuse("room.state_malformed")
        self._seen = self._seen.restored(state.get("seen"))
        self._emissions = replace(self._emissions, spent=counts)

    def _require(self, targets: Iterable[Endpoint]) -> None:
        if not all(target in self._handlers for target in targets):
            raise refuse("room.unknown_target")

    def _pending(self) -> frozenset[str]:
        return frozenset(waiting.id for lane in self._lanes.values() for waiting, _ in lane.waiting)

    def _enqueue(self, envelope: RoomInteractionEnvelope, done: "asyncio.Future[Dispatched] | None") -> None:
        lane = self._lanes.get(envelope.channel)
        if lane is not None:
            lane.waiting.append((envelope, done))
            return
        lane = self._lanes[envelope.channel] = _Lane()
        lane.waiting.append((envelope, done))
        lane.task = self._tasks.create_task(self._drain(envelope.channel, lane))

    async def _drain(self, channel: str, lane: _Lane) -> None:
        try:
            while lane.waiting:
                envelope, done = lane.waiting[0]
                try:
                    dispatched = await self._deliver(envelope)
                except WaysideError as refusal:
                    if done is not None and not done.done():
                        done.set_exception(refusal)
                else:
                    if done is not None and not done.done():
                        done.set_result(dispatched)
                lane.waiting.popleft()
        finally:
            del self._lanes[channel]
            lane.idle.set()
            for _envelope, done in lane.waiting:
                if done is not None:
                    done.cancel()

    async def _deliver(self, envelope: RoomInteractionEnvelope) -> Dispatched:
        known = self._seen.get(envelope.id)
        had = known.delivered if known is not None else frozenset[Endpoint]()
        self._require(target for target in envelope.targets if target not in had)
        receipts = []
        for target in envelope.targets:
            if target in had:
                receipts.append(Receipt(target, "already"))
            else:
                receipts.append(await self._hand_over(envelope, target))
        return Dispatched(envelope.id, tuple(receipts))

    async def _hand_over(self, envelope: RoomInteractionEnvelope, target: Endpoint) -> Receipt:
        handler = self._handlers.get(target)
        if handler is None:
            return Receipt(target, "failed", "room.unknown_target")
        try:
            drafts = await handler(interactions.copied(envelope))
        except WaysideError as fault:
            return Receipt(target, "failed", fault.code)
        except Exception:  # noqa: BLE001 - a handler may raise anything, and its text may be a visitor's
            return Receipt(target, "failed", "room.delivery_failed")
        self._seen = self._seen.deliver(envelope.id, target)
        derived: list[str] = []
        refused: list[str] = []
        if not isinstance(drafts, list | tuple):
            return Receipt(target, "delivered", refused=("room.payload_malformed",))
        for draft in drafts:
            try:
                if not isinstance(draft, InteractionDraft):
                    raise refuse("room.payload_malformed")
                sent = self.derive(envelope, target, draft)
            except WaysideError as refusal:
                refused.append(refusal.code)
            else:
                derived.append(sent.id)
                self._enqueue(sent, None)
        return Receipt(target, "delivered", derived=tuple(derived), refused=tuple(refused))
