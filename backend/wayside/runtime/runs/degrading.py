"""A store that goes on when its database fails: locked, full, read-only or damaged, the kiosk keeps answering.

Everything that is committed is also kept in memory, bounded; from the first fault on memory is all there is, the
visit can't be recovered any more, and operators are told why. Refusals are no faults and pass through.
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
    """Implements `RunStore` over `first`. `failed` learns the code when it is given up."""

    def __init__(self, first: RunStore, failed: Callable[[str], None]) -> None:
        self._first: RunStore | None = first
        self._memory = MemoryRunStore()
        self._failed = failed
        self._given_up = first  # still deleted at the end, as far as it can be

    @property
    def durable(self) -> bool:
        return self._first is not None and self._first.durable

    async def fill(self, room: str) -> None:
        """Take over what a recovered store holds, as far as memory goes."""
        if self._first is None:
            return
        try:
            await self._fill(self._first, room)
        except WaysideError as error:
            if not _fault(error):
                raise
            self._give_up(error.code)

    async def _fill(self, first: RunStore, room: str) -> None:
        for record in reversed(await first.load_runs()):
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
        return await self._either(lambda store: store.load(run_id))

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
        return await self._either(lambda store: store.load_by_input(room, channel, input_id, agent))

    async def load_open(self, room: str, channel: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
        return await self._either(lambda store: store.load_open(room, channel, agent))

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        return await self._either(lambda store: store.load_runs(limit))

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        return await self._either(lambda store: store.load_events(run_id, after))

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        return await self._either(lambda store: store.load_transcript(room, channel, limit))

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]:
        return await self._either(lambda store: store.load_deliveries(run_ids))

    async def load_state(self, key: str) -> Json:
        value = await self._either(lambda store: store.load_state(key))
        if value is not None:
            await self._memory.save_state(key, value)
        return value

    async def close(self) -> None:
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

    async def _either(self, work: Callable[[RunStore], Awaitable[T]]) -> T:
        if self._first is None:
            return await work(self._memory)
        try:
            return await work(self._first)
        except WaysideError as error:
            if not _fault(error):
                raise
            self._give_up(error.code)
            return await work(self._memory)

    def _give_up(self, code: str) -> None:
        if self._first is not None:
            self._first = None
            log.error("store.given_up", code=code)
            self._failed(code)


def _fault(error: WaysideError) -> bool:
    return error.code.startswith("store.") and error.code != "store.closed"
