"""What an agent may remember of its channel: final inputs, and of its own words those that reached people.

Built from the journal and the deliveries of that channel alone (RFC-021 §10.15), never from what was merely generated.
"""

from collections import OrderedDict

from wayside.core.runs.events import Decision, JournalEntry, ShowSources
from wayside.core.runs.outputs import outputs_of
from wayside.core.runs.record import RunRecord
from wayside.ports.room_agent import MemoryItem
from wayside.ports.run_store import DeliveryRow, RunStore

MAX_ROWS = 24
MAX_CACHED = 64


class ChannelMemory:
    """Reads one store. What finished runs left is kept, since it can't change any more."""

    def __init__(self, store: RunStore, room: str) -> None:
        self._store = store
        self._room = room
        self._settled: OrderedDict[tuple[str, str], tuple[MemoryItem, ...]] = OrderedDict()

    async def of(self, record: RunRecord) -> tuple[MemoryItem, ...]:
        """The memory for answering this run's present input, oldest first; that input itself is not in it."""
        rows = await self._store.load_transcript(self._room, record.channel, 2 * MAX_ROWS)
        inputs = [row for row in rows if row.role == "visitor"]
        runs: dict[str, RunRecord] = {record.id: record}
        for run_id in {row.run_id for row in inputs} - {record.id}:
            found = await self._store.load(run_id)
            if found is not None:
                runs[run_id] = found
        joined = {run.appended_to for run in runs.values()}
        items: list[MemoryItem] = []
        for row in inputs[-MAX_ROWS:]:
            input_id = row.key.removeprefix("in:")
            run = runs.get(row.run_id)
            if run is None or run.id in joined or (run.id == record.id and input_id == record.input.id):
                continue
            items.append(MemoryItem("visitor", run.agent, _words(run, input_id, row.text)))
            items.extend(await self._answers(run, input_id))
        return tuple(items)

    async def _answers(self, run: RunRecord, input_id: str) -> tuple[MemoryItem, ...]:
        key = (run.id, input_id)
        if key in self._settled:
            return self._settled[key]
        entries = [e for e in await self._store.load_events(run.id) if e.input_id == input_id]
        deliveries = await self._store.load_deliveries((run.id,))
        items = delivered_items(run, entries, deliveries)
        if run.status.terminal and all(d.state not in {"speaking", "held"} for d in deliveries):
            self._settled[key] = items
            while len(self._settled) > MAX_CACHED:
                self._settled.popitem(last=False)
        return items


def delivered_items(
    run: RunRecord, entries: list[JournalEntry], deliveries: tuple[DeliveryRow, ...]
) -> tuple[MemoryItem, ...]:
    """The words of these journal entries that reached people, one item an attempt, with what stood behind them."""
    outputs = outputs_of(entries)
    evidence = tuple(
        passage
        for entry in entries
        if isinstance(entry.event, Decision)
        for item in entry.event.screen
        if isinstance(item, ShowSources)
        for passage in item.passages
    )
    items: list[MemoryItem] = []
    for attempt in sorted({entry.attempt for entry in entries}):
        reached = max((d.delivered_chars for d in deliveries if d.attempt == attempt), default=0)
        text, position = "", 0
        for message in outputs.messages:
            narrowed = message.audience is not None and not message.audience.covers(run.disclosure)
            if message.attempt != attempt or narrowed:
                continue
            if message.history == "record":
                text += message.text[: max(0, reached - position)]
            position += len(message.text)
        if text.strip():
            items.append(MemoryItem("agent", run.agent, text.rstrip(), evidence))
    return tuple(items)


def _words(run: RunRecord, input_id: str, heard: str) -> str:
    """The input as it was answered: with the fragment it continued."""
    return run.input.text if run.input.id == input_id else heard
