"""Tells watchers of committed revisions and routes what they find. Decides that each revision is raised once.

Watchers see the host's projection and nothing else, and grant no authority (RFC-021 §6, §10.13-14). A batch that fails
is raised again whole, so watchers must be pure producers of drafts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json, plain
from wayside.core.room.agents import Endpoint, InteractionDraft
from wayside.core.room.disclosure import ROOM, Disclosure
from wayside.core.room.envelope import RoomEvent, explicit, payload_as_json, payload_from_json
from wayside.core.room.refusals import refuse

REVISIONS_KEPT = 256
DEADLINE_S = 5.0

Watcher = Callable[[Json], Awaitable[Sequence[InteractionDraft]]]
Route = Callable[[Endpoint, InteractionDraft], Awaitable[object]]
Receipt = Callable[[int, tuple[str, ...]], Awaitable[bool | None]]


@dataclass(frozen=True, slots=True)
class Raised:
    """What became of a revision. `routed` are the drafts that went out, `refused` the codes of those that did not.

    `fresh` is False when it had been raised before, also before a restart.
    """

    revision: int
    fresh: bool
    routed: tuple[InteractionDraft, ...] = ()
    refused: tuple[str, ...] = ()


class RoomInteractionWatcherRegistry:
    """The watchers of one room.

    `route` sends a draft as a new root from its watcher. `receipt(revision, watchers)` records durably that the
    revision is about to be routed and says False when that was recorded before; nothing is routed until it returns.
    """

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        route: Route,
        receipt: Receipt | None = None,
        *,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._tasks = tasks
        self._route = route
        self._receipt = receipt
        self._deadline_s = deadline_s
        self._watchers: dict[str, Watcher] = {}
        self._raising: dict[int, asyncio.Task[Raised | WaysideError]] = {}
        self._turn = asyncio.Lock()
        self._consumed: set[int] = set()
        self._floor = -1

    def register(self, watcher_id: str, watcher: Watcher) -> None:
        """Tell `watcher` of later revisions, in place of any before under this id."""
        self._watchers[watcher_id] = watcher

    def unregister(self, watcher_id: str) -> None:
        """Tell it no more; twice is fine."""
        self._watchers.pop(watcher_id, None)

    async def raise_committed(self, revision: int, projection: Json, *, disclosure: Disclosure = ROOM) -> Raised:
        """Raise one committed revision; whoever else raises it meanwhile shares the outcome.

        `projection` is what watchers may see of the committed state and `disclosure` who may see that; events never
        widen it. Raises `room.watcher_failed` (retryable), and then the revision is not consumed.
        """
        raising = self._raising.get(revision)
        if raising is None:
            if self._was_raised(revision):
                return Raised(revision, fresh=False)
            batch = self._raise(revision, plain(projection), disclosure)
            raising = self._raising[revision] = self._tasks.create_task(batch)
        outcome = await asyncio.shield(raising)
        if isinstance(outcome, WaysideError):
            raise refuse(outcome.code, retryable=outcome.retryable)
        return outcome

    async def _raise(self, revision: int, projection: Json, disclosure: Disclosure) -> Raised | WaysideError:
        try:
            # Batches go out in the order in which they were raised.
            async with self._turn:
                return await self._batch(revision, projection, disclosure)
        except Exception:  # noqa: BLE001 - a watcher may raise anything, and its text may be a visitor's
            return refuse("room.watcher_failed", retryable=True)
        finally:
            del self._raising[revision]

    async def _batch(self, revision: int, projection: Json, disclosure: Disclosure) -> Raised:
        watchers = dict(self._watchers)
        found: list[tuple[Endpoint, InteractionDraft]] = []
        async with asyncio.timeout(self._deadline_s):
            for watcher_id, watcher in watchers.items():
                drafts = await watcher(plain(projection))
                found += [(Endpoint("watcher", watcher_id), _event(draft, disclosure)) for draft in drafts]
        if self._receipt is not None and await self._receipt(revision, tuple(watchers)) is False:
            self._consume(revision)
            return Raised(revision, fresh=False)
        # From here on the revision counts as raised: what was routed once must not be routed again.
        self._consume(revision)
        routed: list[InteractionDraft] = []
        refused: list[str] = []
        for source, draft in found:
            try:
                await self._route(source, draft)
            except WaysideError as refusal:
                refused.append(refusal.code)
            except Exception:  # noqa: BLE001 - the other drafts still go out
                refused.append("room.delivery_failed")
            else:
                routed.append(draft)
        return Raised(revision, fresh=True, routed=tuple(routed), refused=tuple(refused))

    def _was_raised(self, revision: int) -> bool:
        return revision <= self._floor or revision in self._consumed

    def _consume(self, revision: int) -> None:
        self._consumed.add(revision)
        if len(self._consumed) > REVISIONS_KEPT:
            # Whatever is older than all that are kept counts as raised: late news of it would be no news.
            self._floor = min(self._consumed)
            self._consumed.remove(self._floor)


def _event(draft: InteractionDraft, disclosure: Disclosure) -> InteractionDraft:
    """The draft as a typed event that narrows the projection's disclosure; anything else fails its batch."""
    payload = payload_from_json(draft.payload)
    if not isinstance(payload, RoomEvent):
        raise refuse("room.payload_malformed")
    targets = explicit(draft.targets)
    return replace(
        draft, targets=targets, payload=payload_as_json(payload), disclosure=draft.disclosure.intersect(disclosure)
    )
