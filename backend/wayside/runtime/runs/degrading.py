"""A store that goes on when its database fails: locked, full, read-only or damaged, the kiosk keeps answering.

Everything that is committed is also kept in memory, bounded, and read from there: the file is for the process after
this one, and only what memory has dropped is looked up in it. From the first fault on memory is all there is, the visit
can't be recovered any more, and operators are told why. Refusals are no faults and pass through.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import Admission, DeliveryRow, InputIndex, RunStore, TranscriptRow
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.logs import get_logger

T = TypeVar("T")

log = get_logger()


class DegradingRunStore:
    """Implements `RunStore` over `first`, which nobody else writes. `failed` learns the code when it is given up."""

    def __init__(self, first: RunStore, failed: Callable[[str], None]) -> None:
        self._first: RunStore | None = first
        self._memory = MemoryRunStore()
        self._failed = failed
        self._given_up = first  # still deleted at the end, as far as it can be
        self._filled = False  # from a file that may hold more than was taken over

    @property
    def durable(self) -> bool:
        return self._first is not None and self._first.durable

    async def fill(self, room: str) -> None:
        """Take over what a recovered store holds, as far as memory goes."""
        if self._first is None:
            return
        self._filled = True
        try:
            await self._fill(self._first, room)
        except WaysideError as error:
            if not _fault(error):
                raise
            self._give_up(error.code)

    async def _fill(self, first: RunStore, room: str) -> None:
        newest = await first.load_runs()
        older = [record for record in await first.load_open(room) if record not in newest]
        for record in (*older, *reversed(newest)):
            await self._memory.create(record, await first.load_events(record.id))
            for delivery in await first.load_deliveries((record.id,)):
                await self._memory.save_delivery(delivery)
        for row in await first.load_transcript(room):
            await self._memory.append_transcript(row)

    async def admit(self, admission: Admission) -> RunRecord:
        return await self._both(lambda store: store.admit(admission))

    async def create(self, record: RunRecord, entries: tuple[JournalEntry, ...] = ()) -> None:
        await self._both(lambda store: store.create(record, entries))

    async def save(self, record: RunRecord) -> bool:
        return await self._both(lambda store: store.save(record))

    async def commit_event(self, entry: JournalEntry, record: RunRecord) -> bool:
        return await self._both(lambda store: store.commit_event(entry, record))

    async def append_transcript(self, row: TranscriptRow) -> bool:
        return await self._both(lambda store: store.append_transcript(row))

    async def save_delivery(self, row: DeliveryRow) -> None:
        await self._both(lambda store: store.save_delivery(row))

    async def save_state(self, key: str, value: Json) -> None:
        await self._both(lambda store: store.save_state(key, value))

    async def load(self, run_id: str) -> RunRecord | None:
        found = await self._memory.load(run_id)
        return found if found is not None or self._whole else await self._looked_up(lambda s: s.load(run_id), None)

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
        found = await self._memory.load_by_input(room, channel, input_id, agent)
        if found is not None or self._whole:
            return found
        return await self._looked_up(lambda store: store.load_by_input(room, channel, input_id, agent), None)

    async def load_open(self, room: str, channel: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
        return await self._memory.load_open(room, channel, agent)

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        return await self._memory.load_runs(limit)

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        if self._whole or await self._memory.load(run_id) is not None:
            return await self._memory.load_events(run_id, after)
        return await self._looked_up(lambda store: store.load_events(run_id, after), ())

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        return await self._memory.load_transcript(room, channel, limit)

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]:
        return await self._memory.load_deliveries(run_ids)

    async def load_state(self, key: str) -> Json:
        value = await self._memory.load_state(key)
        return value if value is not None else await self._looked_up(lambda store: store.load_state(key), None)

    async def close(self) -> None:
        await self._memory.close()
        await self._given_up.close()

    async def delete(self) -> None:
        await self._memory.delete()
        await self._given_up.delete()

    async def _both(self, work: Callable[[RunStore], Awaitable[T]]) -> T:
        """Write where it lasts and in memory; a cancelled caller learns the outcome first, so that both stay equal."""
        writing = asyncio.ensure_future(self._write(work))
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()
            raise

    async def _write(self, work: Callable[[RunStore], Awaitable[T]]) -> T:
        """Write where it lasts, then in memory; in memory alone once the first has failed."""
        if self._first is None:
            return await work(self._memory)
        try:
            result = await work(self._first)
        except WaysideError as error:
            if not _fault(error):
                raise
            self._give_up(error.code)
            return await work(self._memory)
        with contextlib.suppress(WaysideError):  # memory may have dropped what is long over
            await work(self._memory)
        return result

    @property
    def _whole(self) -> bool:
        """Whether memory holds all there is."""
        return self._first is None or not (self._filled or self._memory.dropped)

    async def _looked_up(self, work: Callable[[RunStore], Awaitable[T]], nothing: T) -> T:
        """What memory does not hold any more, from the file."""
        if self._first is None:
            return nothing
        try:
            return await work(self._first)
        except WaysideError as error:
            if not _fault(error):
                raise
            self._give_up(error.code)
            return nothing

    def _give_up(self, code: str) -> None:
        if self._first is not None:
            self._first = None
            log.error("store.given_up", code=code)
            self._failed(code)


def _fault(error: WaysideError) -> bool:
    return error.code.startswith("store.") and error.code != "store.closed"
