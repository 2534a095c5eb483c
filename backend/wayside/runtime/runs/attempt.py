"""One attempt of a run: asks the driver for events, journals them, and ends on completion, question, fault or deadline.

A driver is outside code: it may never end, flood, raise, yield after completion or ignore that it was cancelled. None
of that reaches further than its own run; one that will not stop is abandoned and its late output dropped.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from wayside.core.errors import WaysideError
from wayside.core.room.agents import RoomUtterance
from wayside.core.room.refusals import refuse
from wayside.core.runs.driver_events import checked_event
from wayside.core.runs.events import (
    AssistantOutput,
    Completed,
    Decision,
    DriverEvent,
    InputRequested,
    OutputOrigin,
    Progress,
    RunCanceled,
    RunEvent,
    RunFailed,
)
from wayside.ports.clock import Clock
from wayside.ports.room_agent import AbortSignal
from wayside.runtime.logs import get_logger
from wayside.runtime.outside import looked_at
from wayside.runtime.runs.journal import RunJournal

MAX_EVENTS = 2000
MAX_TEXT_CHARS = 40_000
STOP_S = 0.5  # what a driver gets to end after it was told to
PRESENTER_S = 1.0
FAILED = "run_processing_failed"
LATE = "deadline_exceeded"

Present = Callable[[Progress], Awaitable[RoomUtterance | None]]

log = get_logger()


@dataclass(frozen=True, slots=True)
class _Over:
    """The driver's events are over; `error` when it raised."""

    error: Exception | None = None


class _Late(Exception):  # noqa: N818 - control flow of this module
    """The attempt's deadline has passed."""


class Attempt:
    """Runs once. `error` is what the driver raised, for the caller alone; it is never logged or kept."""

    def __init__(
        self,
        journal: RunJournal,
        source: AsyncIterator[DriverEvent],
        abort: AbortSignal,
        clock: Clock,
        present: Present | None = None,
    ) -> None:
        self._journal = journal
        self._source = source
        self._abort = abort
        self._clock = clock
        self._present = present
        self._number = journal.record.attempt
        self._decided = journal.decided
        self._suppressed = 0
        self._aborted: asyncio.Future[None] | None = None
        self.error: Exception | None = None

    async def run(self) -> None:
        """Drive to an end or a question; the journal's record says which."""
        if self._abort.aborted or not self._mine:
            return
        pump = _Pump(self._source)
        self._aborted = aborted = asyncio.ensure_future(self._abort.wait())
        try:
            while await self._take_next(pump, aborted):
                pass
        except _Late:
            self._abort.abort(LATE)
            await self._end(RunFailed(LATE))
        except WaysideError as error:
            if error.code.startswith("store."):
                raise
            self.error = error
            self._abort.abort(FAILED)
            await self._end(RunFailed(FAILED))
        finally:
            aborted.cancel()
            await pump.stop()

    @property
    def _mine(self) -> bool:
        record = self._journal.record
        return record.attempt == self._number and record.open and record.waiting is None

    async def _take_next(self, pump: "_Pump", aborted: "asyncio.Future[None]") -> bool:
        """Take one event; False when the attempt is over."""
        event = await pump.next(aborted, self._left_s())
        if self._abort.aborted:
            await self._end(RunCanceled(self._abort.reason))
            return False
        if isinstance(event, _Over):
            self.error = event.error
            await self._end(self._ending() if event.error is None else RunFailed(FAILED))
            return False
        return await self._take(checked_event(event))

    async def _take(self, event: DriverEvent) -> bool:
        match event:
            case AssistantOutput():
                return await self._output(event, "driver", event.output_id)
            case Progress():
                return await self._commit(event) and await self._progress(event)
            case Decision(utterances=utterances):
                if not await self._commit(event):
                    return False
                for utterance in utterances:
                    self._decided += 1
                    if not await self._utterance(utterance, "decision", f"utterance-{self._decided}"):
                        return False
                return True
            case InputRequested():
                if self._journal.outputs.unfinished(self._number):
                    raise refuse("room.decision_malformed")
                await self._commit(event)
                return False
            case Completed():
                await self._end(self._ending())
                return False
            case _:
                return await self._commit(event)

    def _ending(self) -> RunEvent:
        """Completion, unless a message was left open: then what was said is not known to be whole."""
        return RunFailed(FAILED) if self._journal.outputs.unfinished(self._number) else Completed()

    async def _commit(self, event: DriverEvent) -> bool:
        if self._journal.events >= MAX_EVENTS or self._journal.text_chars >= MAX_TEXT_CHARS:
            raise refuse("room.decision_malformed")
        return await self._journal.commit(event, self._number) is not None

    async def _end(self, event: RunEvent) -> None:
        await self._journal.end(event, self._number)

    async def _output(
        self, event: AssistantOutput, kind: Literal["driver", "progress", "decision"], logical_id: str
    ) -> bool:
        outputs = self._journal.outputs
        origin = OutputOrigin(kind, self._number, self._journal.record.input.id, logical_id)
        if outputs.suppressed(origin):
            self._suppressed += 1
            if self._suppressed > MAX_EVENTS:
                raise refuse("room.decision_malformed")
            return True
        if outputs.closed_already(origin):
            raise refuse("room.decision_malformed")
        delivery_id = outputs.delivery_id(origin)
        # Whatever was asked for, nobody is told of more than the run's own (RFC-021 §10.12).
        audience = None if event.audience is None else self._journal.record.disclosure.intersect(event.audience)
        if not await self._commit(replace(event, output_id=delivery_id, origin=origin, audience=audience)):
            return False
        if event.final:
            await self._journal.record_output(delivery_id)
        return True

    async def _utterance(self, utterance: RoomUtterance, kind: Literal["progress", "decision"], name: str) -> bool:
        event = AssistantOutput(
            name,
            utterance.text,
            purpose="notice" if kind == "progress" else "answer",
            final=True,
            history=utterance.history,
            audience=utterance.audience,
            interruptible=utterance.interruptible,
        )
        return await self._output(event, kind, name)

    async def _progress(self, progress: Progress) -> bool:
        """A spoken progress line, when the product has one. Its presenter's faults cost the line and nothing else."""
        if self._present is None:
            return True
        line = await self._worded(self._present, progress)
        if line is None:
            return True
        return await self._utterance(line, "progress", f"progress-{self._journal.record.sequence}")

    async def _worded(self, present: Present, progress: Progress) -> RoomUtterance | None:
        limit_s = min(PRESENTER_S, self._left_s())
        with contextlib.suppress(Exception):
            wording = asyncio.ensure_future(present(progress))
            wording.add_done_callback(looked_at)
            waited: set[asyncio.Future[Any]] = {wording} if self._aborted is None else {wording, self._aborted}
            try:
                await asyncio.wait(waited, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                wording.cancel()
            line = wording.result() if wording.done() else None
            if isinstance(line, RoomUtterance) and line.text.strip():
                checked_event(Decision(utterances=(line,)))
                return line
        return None

    def _left_s(self) -> float:
        deadline = self._journal.record.deadline_ms
        if deadline is None:
            return 0.0
        left = (deadline - self._clock.boottime_ms()) / 1000
        if left <= 0:
            raise _Late
        return left


class _Pump:
    """The driver in a task of its own, one event ahead at most."""

    def __init__(self, source: AsyncIterator[DriverEvent]) -> None:
        self._source = source
        self._events: asyncio.Queue[object] = asyncio.Queue(1)
        self._news: asyncio.Future[None] | None = None
        self._stopped = False
        # In no task group: a driver that ignores its cancellation must not hold up whoever waits for the group.
        self._task: Final = asyncio.ensure_future(self._run())

    async def next(self, aborted: "asyncio.Future[None]", limit_s: float) -> object:
        """The next event, or anything when `aborted` is done. Raises `_Late` after `limit_s`."""
        if self._events.empty() and not aborted.done():
            await self._news_or(aborted, limit_s)
        if not self._events.empty():
            return self._events.get_nowait()
        if aborted.done():
            return None
        raise _Late

    async def _news_or(self, aborted: "asyncio.Future[None]", limit_s: float) -> None:
        """One future that whatever comes first completes: this is on the road of every word."""
        loop = asyncio.get_running_loop()
        self._news = news = loop.create_future()

        def wake(_done: object = None) -> None:
            if not news.done():
                news.set_result(None)

        timer = loop.call_later(limit_s, wake)
        aborted.add_done_callback(wake)
        try:
            await news
        finally:
            timer.cancel()
            aborted.remove_done_callback(wake)
            self._news = None

    async def _put(self, event: object) -> None:
        await self._events.put(event)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def stop(self) -> None:
        """End the driver, or leave it behind when it will not."""
        self._stopped = True
        self._task.cancel()
        done, _ = await asyncio.wait({self._task}, timeout=STOP_S)
        if not done:
            log.warning("run.driver_abandoned", code="run.driver_abandoned")

    async def _run(self) -> None:
        over = _Over()
        try:
            async for event in self._source:
                if self._stopped:
                    break
                await self._put(event)
        except Exception as error:  # noqa: BLE001 - a driver may raise anything; its text may be a visitor's
            over = _Over(error)
        finally:
            close = getattr(self._source, "aclose", None)
            if close is not None:
                with contextlib.suppress(Exception):
                    await close()
        if not self._stopped:
            await self._put(over)
