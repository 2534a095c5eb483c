"""What an agent may remember of its channel: final inputs, and of its own words those that reached people.

Built from the journal and the deliveries of that channel alone (RFC-021 §10.15), never from what was merely generated.
"""

from collections import OrderedDict
from typing import TypeVar

from wayside.core.runs.events import AssistantOutput, Decision, JournalEntry, ShowSources
from wayside.core.runs.record import RunRecord
from wayside.ports.room_agent import MemoryItem
from wayside.ports.run_store import DeliveryRow, RunStore

K = TypeVar("K")
V = TypeVar("V")

MAX_ROWS = 24
MAX_CACHED = 64


class ChannelMemory:
    """Reads one store. What finished runs left is kept, since it can't change any more."""

    def __init__(self, store: RunStore, room: str) -> None:
        self._store = store
        self._room = room
        self._settled: OrderedDict[tuple[str, str], tuple[MemoryItem, ...]] = OrderedDict()
        self._over: OrderedDict[str, RunRecord] = OrderedDict()

    async def of(self, record: RunRecord) -> tuple[MemoryItem, ...]:
        """The memory for answering this run's present input, oldest first; that input itself is not in it.

        What fewer may see than this answer is for is left out: an answer could tell it (RFC-021 §10.15-16).
        """
        rows = await self._store.load_transcript(self._room, record.channel, 2 * MAX_ROWS)
        runs: dict[str, RunRecord] = {}
        for run_id in dict.fromkeys(row.run_id for row in rows):
            found = record if run_id == record.id else await self._run(run_id)
            if found is not None:
                runs[run_id] = found
        # Words that a later input begins with are in that one.
        joined = {run.appended_to for run in (*runs.values(), record)}
        visible = [run for run in runs.values() if run.disclosure.covers(record.disclosure)]
        items: list[MemoryItem] = []
        for row in [row for row in rows if row.role == "visitor"][-MAX_ROWS:]:
            input_id = row.key.removeprefix("in:")
            asked = runs.get(row.run_id)
            if input_id == record.input.id or asked is None:
                continue
            continued = asked.id in joined and input_id == asked.input.id
            if not continued and row.disclosure.covers(record.disclosure):
                items.append(MemoryItem("visitor", asked.agent, _words(asked, input_id, row.text)))
            for run in visible:
                if run is asked or input_id in (run.root_input_id, run.input.id):
                    items.extend(await self._answers(run, input_id))
        return tuple(items)

    async def _answers(self, run: RunRecord, input_id: str) -> tuple[MemoryItem, ...]:
        key = (run.id, input_id)
        if key in self._settled:
            return self._settled[key]
        entries = [e for e in await self._store.load_events(run.id) if e.input_id == input_id]
        deliveries = await self._store.load_deliveries((run.id,))
        items = delivered_items(run, entries, deliveries)
        closed = {d.attempt for d in deliveries if d.state not in {"speaking", "held"}}
        if run.status.terminal and closed >= {e.attempt for e in entries if isinstance(e.event, AssistantOutput)}:
            _keep(self._settled, key, items)
        return items

    async def _run(self, run_id: str) -> RunRecord | None:
        known = self._over.get(run_id) or await self._store.load(run_id)
        if known is not None and known.status.terminal:
            _keep(self._over, run_id, known)
        return known


def _keep(cache: OrderedDict[K, V], key: K, value: V) -> None:
    cache[key] = value
    while len(cache) > MAX_CACHED:
        cache.popitem(last=False)


def delivered_items(
    run: RunRecord, entries: list[JournalEntry], deliveries: tuple[DeliveryRow, ...]
) -> tuple[MemoryItem, ...]:
    """The words of these journal entries that reached people, one item an attempt, with what stood behind them."""
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
        # In the order in which they went to the voice, whichever message they belong to.
        for said in [e.event for e in entries if e.attempt == attempt and isinstance(e.event, AssistantOutput)]:
            if said.audience is not None and not said.audience.covers(run.disclosure):
                continue
            if said.history == "record":
                text += said.delta[: max(0, reached - position)]
            position += len(said.delta)
        if text.strip():
            items.append(MemoryItem("agent", run.agent, text.rstrip(), evidence))
    return tuple(items)


def _words(run: RunRecord, input_id: str, heard: str) -> str:
    """The input as it was answered: with the fragment it continued."""
    return run.input.text if run.input.id == input_id else heard
