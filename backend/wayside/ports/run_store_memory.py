"""A run store in memory: the fake of tests, and the honest worse way when no file can be had. Forgets with its process.

Bounded: the oldest runs that are over are dropped first, with their journals.
"""

from collections import OrderedDict
from dataclasses import replace
from itertools import islice

from wayside.core.plain_json import Json, plain
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import Checkpoint, JournalEntry
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.ports.run_store import Admission, DeliveryRow, InputIndex, RunStore, TranscriptRow

MAX_RUNS = 500
MAX_ROWS = 2000

Place = tuple[str, str]


class MemoryRunStore:
    """Implements `RunStore` without awaiting anything."""

    durable = False

    def __init__(self, *, max_runs: int = MAX_RUNS, max_rows: int = MAX_ROWS) -> None:
        self._max_runs = max_runs
        self._max_rows = max_rows
        self._runs: OrderedDict[str, RunRecord] = OrderedDict()
        self._open: dict[str, RunRecord] = {}
        self._journals: dict[str, list[JournalEntry]] = {}
        self._inputs: dict[tuple[str, str, str], tuple[str, dict[str, str]]] = {}
        self._places: dict[str, list[tuple[str, str, str]]] = {}  # the inputs of each run
        self._rows: OrderedDict[tuple[str, str, str], TranscriptRow] = OrderedDict()
        self._deliveries: OrderedDict[str, DeliveryRow] = OrderedDict()
        self._state: dict[str, Json] = {}
        self._closed = False
        self.dropped = False  # something that is long over is not known any more

    async def admit(self, admission: Admission) -> RunRecord:
        self._check_open()
        record, row = admission.record, admission.row
        place = (record.room, record.channel, record.input.id)
        mark, by_agent = self._inputs.get(place, (admission.fingerprint, {}))
        if mark != admission.fingerprint:
            raise refuse("run.input_mismatch")
        if record.agent in by_agent:
            return self._runs[by_agent[record.agent]]
        if admission.continued:
            waiting = self._runs.get(record.id)
            if waiting is None or (waiting.status, waiting.sequence, waiting.attempt) != (
                RunStatus.WAITING,
                record.sequence,
                record.attempt - 1,
            ):
                raise refuse("run.stale_transition")
        else:
            self._check_place(record)
        self._put(record)
        self._journals.setdefault(record.id, [])
        self._inputs[place] = (mark, by_agent | {record.agent: record.id})
        self._places.setdefault(record.id, []).append(place)
        self._keep_row(row)
        self._trim()
        return record

    async def create(self, record: RunRecord, entries: tuple[JournalEntry, ...] = ()) -> None:
        self._check_open()
        self._check_place(record)
        self._put(record)
        self._journals[record.id] = [_kept_entry(entry) for entry in entries]

    async def save(self, record: RunRecord) -> bool:
        self._check_open()
        stored = self._runs.get(record.id)
        if (
            stored is None
            or record.status is not RunStatus.ACTIVE
            or stored.status is not RunStatus.ACTIVE
            or stored.sequence != record.sequence
            or stored.input.id != record.input.id
            or stored.attempt >= record.attempt
        ):
            return False
        self._put(record)
        return True

    async def load(self, run_id: str) -> RunRecord | None:
        self._check_open()
        return self._runs.get(run_id)

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
        self._check_open()
        found = self._inputs.get((room, channel, input_id))
        return None if found is None else InputIndex(found[0], found[1].get(agent))

    async def load_open(self, room: str, channel: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
        self._check_open()
        return tuple(
            record
            for record in self._open.values()
            if record.room == room and channel in {None, record.channel} and agent in {None, record.agent}
        )

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        self._check_open()
        return tuple(reversed(self._runs.values()))[:limit]

    async def commit_event(self, entry: JournalEntry, record: RunRecord) -> bool:
        self._check_open()
        journal = self._journals.get(entry.run_id)
        stored = self._runs.get(entry.run_id)
        if journal is None or stored is None:
            raise refuse("run.unknown")
        # The newest are looked at first: a retry is of the last event.
        same = next((known for known in reversed(journal) if known.event_id == entry.event_id), None)
        if same is not None:
            if same == entry:
                return False
            raise refuse("run.event_mismatch")
        if not stored.open or entry.sequence != stored.sequence + 1 or entry.attempt != stored.attempt:
            raise refuse("run.stale_transition")
        journal.append(_kept_entry(entry))
        self._put(record)
        return True

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        self._check_open()
        return tuple(entry for entry in self._journals.get(run_id, ()) if entry.sequence > after)

    async def append_transcript(self, row: TranscriptRow) -> bool:
        self._check_open()
        return self._keep_row(row)

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        self._check_open()
        found = [row for row in self._rows.values() if row.room == room and channel in {None, row.channel}]
        return tuple(found[max(0, len(found) - limit) :])

    async def save_delivery(self, row: DeliveryRow) -> None:
        self._check_open()
        known = self._deliveries.get(row.delivery_id)
        most = max(row.delivered_chars, known.delivered_chars if known else 0)
        self._deliveries[row.delivery_id] = replace(row, delivered_chars=most)
        while len(self._deliveries) > self._max_rows:
            self._deliveries.popitem(last=False)

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]:
        self._check_open()
        wanted = set(run_ids)
        return tuple(row for row in self._deliveries.values() if row.run_id in wanted)

    async def save_state(self, key: str, value: Json) -> None:
        self._check_open()
        self._state[key] = plain(value)

    async def load_state(self, key: str) -> Json:
        self._check_open()
        return plain(self._state.get(key))

    async def close(self) -> None:
        self._closed = True

    async def delete(self) -> None:
        self._closed = True
        for kept in (
            self._runs,
            self._open,
            self._journals,
            self._inputs,
            self._places,
            self._rows,
            self._deliveries,
            self._state,
        ):
            kept.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise refuse("store.closed")

    def _check_place(self, record: RunRecord) -> None:
        place = (record.room, record.channel, record.agent)
        taken = any((other.room, other.channel, other.agent) == place for other in self._open.values())
        if record.id in self._runs or (record.open and taken):
            raise refuse("run.open_exists")

    def _put(self, record: RunRecord) -> None:
        self._runs[record.id] = kept = _kept(record)
        if record.open:
            self._open[record.id] = kept
        else:
            self._open.pop(record.id, None)

    def _keep_row(self, row: TranscriptRow) -> bool:
        key = (row.room, row.channel, row.key)
        if key in self._rows:
            return False
        self._rows[key] = row
        while len(self._rows) > self._max_rows:
            self._rows.popitem(last=False)
        return True

    def _trim(self) -> None:
        if len(self._runs) <= self._max_runs:
            return
        self.dropped = True
        oldest = (run_id for run_id in self._runs if run_id not in self._open)
        for run_id in tuple(islice(oldest, len(self._runs) - self._max_runs)):
            del self._runs[run_id]
            del self._journals[run_id]
            for place in self._places.pop(run_id, ()):
                mark, by_agent = self._inputs[place]
                left = {agent: other for agent, other in by_agent.items() if other != run_id}
                if left:
                    self._inputs[place] = (mark, left)
                else:
                    del self._inputs[place]


def _kept(record: RunRecord) -> RunRecord:
    """What changes with nobody's object, as if it had been written down."""
    return replace(record, checkpoint=plain(record.checkpoint))


def _kept_entry(entry: JournalEntry) -> JournalEntry:
    if isinstance(entry.event, Checkpoint):
        return replace(entry, event=Checkpoint(plain(entry.event.state)))
    return entry


class MemoryRunStores:
    """Implements `RunStores`; nothing of it survives, and it says so."""

    def __init__(self, notices: frozenset[str] = frozenset({"store.not_recoverable"})) -> None:
        self._notices = notices

    @property
    def notices(self) -> frozenset[str]:
        return self._notices

    async def open(self) -> RunStore:
        return MemoryRunStore()

    async def left_over(self) -> RunStore | None:
        return None

    async def forget(self) -> None:
        pass
