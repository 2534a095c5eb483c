"""A run on its way, for a host that doesn't wait: a live view over the durable journal, and the result (RFC-022 §8).

The journal is the source of truth; this reads it again whenever there is news, and holds nothing back.
"""

import asyncio
from collections.abc import AsyncIterator

from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import RunStore
from wayside.runtime.runs.outcome import RunResult


class RunExecution:
    """`events` are those of this input's attempt, none for a duplicate; `result` is how the run stands at the end."""

    def __init__(self, events: AsyncIterator[JournalEntry], result: "asyncio.Task[RunResult]") -> None:
        self.events = events
        self.result = result


async def follow(
    store: RunStore,
    admitted: "asyncio.Future[RunRecord | None]",
    news: asyncio.Event,
    over: "asyncio.Task[RunResult]",
) -> AsyncIterator[JournalEntry]:
    """The attempt's events as they are committed, until it is `over`; nothing when nothing was admitted."""
    record = await asyncio.shield(admitted)
    if record is None:
        return
    seen = record.sequence
    while True:
        ended = over.done()
        news.clear()
        for entry in await store.load_events(record.id, seen):
            if entry.attempt > record.attempt:
                return
            seen = entry.sequence
            yield entry
        if ended:
            return
        await news.wait()
