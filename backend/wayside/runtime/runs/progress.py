"""Bridges a provider's silence with truthful progress, by a ladder the product names (RFC-022 §5)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from wayside.core.room.refusals import refuse
from wayside.core.runs.events import Progress
from wayside.ports.room_agent import AbortSignal
from wayside.runtime.outside import looked_at

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished(Generic[T]):
    """The work's own value; the last thing that comes."""

    value: T


async def wait_with_room_agent_progress(
    work: Awaitable[T], rungs: Sequence[tuple[int, Progress]], abort: AbortSignal
) -> AsyncIterator[Progress | Finished[T]]:
    """Yield each rung's progress after its delay (ms, consecutive), then `Finished` as soon as `work` has a value.

    There is no default cadence and no wording here. Ends silently on abort; re-raises what `work` raises. Negative or
    broken delays are refused (`run.delay_malformed`) before anything is waited for.
    """
    if any(isinstance(delay, bool) or not isinstance(delay, int) or delay < 0 for delay, _ in rungs):
        if asyncio.iscoroutine(work):
            work.close()
        raise refuse("run.delay_malformed")
    task = asyncio.ensure_future(work)
    task.add_done_callback(looked_at)
    aborted = asyncio.ensure_future(abort.wait())
    try:
        for delay, progress in rungs:
            await asyncio.wait({task, aborted}, timeout=delay / 1000, return_when=asyncio.FIRST_COMPLETED)
            if task.done() or abort.aborted:
                break
            yield progress
        await asyncio.wait({task, aborted}, return_when=asyncio.FIRST_COMPLETED)
        if not abort.aborted:
            yield Finished(task.result())
    finally:
        aborted.cancel()
        if not task.done():
            task.cancel()
