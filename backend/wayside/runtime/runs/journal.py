"""Writes one run's journal. Every event is committed with the state it leads to, and only then shown (RFC-022 §4).

When the store says that the run has moved on, the truth is loaded: whoever wanted to end it is content with any end,
whoever wanted to add to it is told that it may not.
"""

import asyncio
from collections.abc import Callable

from wayside.core.errors import WaysideError
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Decision,
    JournalEntry,
    RunCanceled,
    RunEvent,
    RunFailed,
)
from wayside.core.runs.outputs import Outputs, outputs_of
from wayside.core.runs.record import RunRecord, RunStatus, apply
from wayside.ports.run_store import RunStore, TranscriptRow

TERMINAL_TRIES = 20

Publish = Callable[[JournalEntry], None]


class RunJournal:
    """The one writer of a run in this process."""

    def __init__(
        self,
        store: RunStore,
        record: RunRecord,
        entries: tuple[JournalEntry, ...],
        new_id: Callable[[], str],
        publish: Publish,
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._publish = publish
        self._lock = asyncio.Lock()
        self._unsure = False  # a caller was cancelled in a commit: what is stored must be looked up
        self.record = record
        self.outputs: Outputs = outputs_of(entries)
        self.decided = _decided(entries)
        self.text_chars = 0  # generated in this process, for bounds
        self.events = 0

    async def commit(self, event: RunEvent, attempt: int) -> JournalEntry | None:
        """Append an event of `attempt`; None when the run has moved on."""
        async with self._lock:
            await self._be_sure()
            if self.record.attempt != attempt or not self.record.open:
                return None
            return await self._append(event)

    async def end(self, event: RunEvent, attempt: int | None = None, *, seen: RunStatus | None = None) -> RunRecord:
        """Bring the run to an end, this one or whichever came first; the record that stands.

        With `attempt` only that attempt is ended: a later one is somebody else's work. With `seen` only a run that is
        still as it was seen: a question that was asked meanwhile stands (RFC-022 §6).
        """
        async with self._lock:
            await self._be_sure()
            for _ in range(TERMINAL_TRIES):
                if self.record.status.terminal or (attempt is not None and attempt != self.record.attempt):
                    return self.record
                if seen is not None and self.record.status is not seen:
                    return self.record
                if await self._append(event) is not None:
                    return self.record
            raise refuse("run.stale_transition", retryable=True)

    async def record_outputs(self) -> None:
        """Write every closed recorded message into the transcript, once (RFC-022 §4)."""
        for message in self.outputs.recorded():
            await self.record_output(message.id)

    async def record_output(self, output_id: str) -> None:
        """Write one closed recorded message into the transcript; writing it twice is fine."""
        message = self.outputs.get(output_id)
        if message is None or not message.closed or message.history != "record":
            return
        record = self.record
        audience = record.disclosure.intersect(message.audience) if message.audience else record.disclosure
        await self._store.append_transcript(
            TranscriptRow(
                record.room,
                record.channel,
                f"out:{record.id}:{message.id}",
                "agent",
                record.agent,
                message.text,
                record.id,
                audience,
            )
        )

    async def _append(self, event: RunEvent) -> JournalEntry | None:
        if self.record.waiting is not None and not isinstance(event, RunCanceled | RunFailed):
            return None
        after = apply(self.record, event)
        entry = JournalEntry(
            self.record.id, after.sequence, self.record.attempt, event, self._new_id(), self.record.input.id
        )
        try:
            await self._store.commit_event(entry, after)
        except WaysideError as error:
            if error.code != "run.stale_transition":
                raise
            await self._reload()
            return None
        except asyncio.CancelledError:
            self._unsure = True
            raise
        self.record = after
        self.events += 1
        if isinstance(event, AssistantOutput):
            self.outputs = self.outputs.add(entry)
            self.text_chars += len(event.delta)
        self._publish(entry)
        return entry

    async def _be_sure(self) -> None:
        if self._unsure:
            await self._reload()
            self._unsure = False

    async def _reload(self) -> None:
        stored = await self._store.load(self.record.id)
        if stored is None:
            raise refuse("run.unknown")
        self.record = stored
        self.outputs = outputs_of(await self._store.load_events(self.record.id))


def _decided(entries: tuple[JournalEntry, ...]) -> int:
    """How many utterances were decided on before the last checkpoint: a recovery driver goes on after them."""
    attempt, said, kept = 0, 0, 0
    for entry in entries:
        if entry.attempt != attempt:
            attempt, said = entry.attempt, kept
        match entry.event:
            case Decision(utterances=utterances):
                said += len(utterances)
            case Checkpoint():
                kept = said
            case _:
                pass
    return kept
