"""Where a process dies: a store around the real one, SQLite's own statement trace, and the removal of files.

A point is a name, or `name:3` for the third time it is reached. Nothing is closed, flushed or told on the way out.
"""

import os
import sys
from collections import Counter
from pathlib import Path

from wayside.core.plain_json import Json
from wayside.core.runs.admission import SUPERSEDED
from wayside.core.runs.events import Checkpoint, JournalEntry, RunCanceled
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import Admission, DeliveryRow, InputIndex, TranscriptRow
from wayside.stores.sqlite.runs import SqliteRunStore

DIED = 86


class Log:
    """Lines that are on the disk when `add` returns; one write each, so that none is torn."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def add(self, *fields: object) -> None:
        os.write(self._file, ("\t".join(map(str, fields)) + "\n").encode())
        os.fsync(self._file)


class Probe:
    """Counts the points that are reached and ends the process at the one it is set to."""

    def __init__(self, point: str, folder: Path) -> None:
        self.point = point
        self.reached: Counter[str] = Counter()
        self._died = Log(folder / "died.log")
        self._writes: list[str] = []

    def reach(self, name: str) -> None:
        self.reached[name] += 1
        if self.point in {name, f"{name}:{self.reached[name]}"}:
            self._died.add(self.point, os.getpid())
            os._exit(DIED)

    def statement(self, sql: str) -> None:
        """SQLite begins a statement: `in_admit/2` is before the second write of that transaction, `/commit` its end."""
        if sql == "BEGIN IMMEDIATE":
            self._writes = []
        elif sql.startswith(("INSERT", "UPDATE")):
            self._writes.append(sql)
            self.reach(f"in_{_kind(self._writes)}/{len(self._writes)}")
        elif sql == "COMMIT" and self._writes:
            self.reach(f"in_{_kind(self._writes)}/commit")
            if '"type":"checkpoint"' in self._writes[-1]:
                self.reach("in_checkpoint/commit")

    def watch_removals(self, folder: Path) -> None:
        """Reach `remove` before each removal of a file in `folder`, whether or not the file is there."""

        def look(event: str, arguments: tuple[object, ...]) -> None:
            if event == "os.remove" and Path(os.fsdecode(arguments[0])).parent == folder:  # type: ignore[arg-type]
                self.reach("remove")

        sys.addaudithook(look)


def _kind(writes: list[str]) -> str:
    """What a transaction is about, by its first write."""
    first = writes[0]
    if first.startswith("INSERT INTO runs"):
        return "admit"
    if first.startswith("UPDATE runs SET attempt"):
        return "compare_and_set"
    if first.startswith("UPDATE runs"):
        return "admit" if ", attempt = " in first.partition(" input_id")[0] else "event"
    return "delivery" if first.startswith("INSERT INTO deliveries") else "transcript"


class DyingStore:
    """Implements `RunStore`: the real store, with a point before and after whatever it commits."""

    durable = True

    def __init__(self, inner: SqliteRunStore, probe: Probe) -> None:
        self._inner = inner
        self._probe = probe
        self._canceled = False

    async def admit(self, admission: Admission) -> RunRecord:
        self._probe.reach("before_admit")
        replacing = self._canceled and not admission.continued
        if replacing:
            self._probe.reach("canceled_before_replacement")
        record = await self._inner.admit(admission)
        if replacing:
            self._probe.reach("after_replacement")
        self._probe.reach("after_admit")
        return record

    async def commit_event(self, entry: JournalEntry, record: RunRecord) -> bool:
        saved = isinstance(entry.event, Checkpoint)
        self._probe.reach("before_event")
        if saved:
            self._probe.reach("before_checkpoint")
        new = await self._inner.commit_event(entry, record)
        self._canceled |= isinstance(entry.event, RunCanceled) and entry.event.reason == SUPERSEDED
        if saved:
            self._probe.reach("after_checkpoint")
        self._probe.reach("after_event")
        return new

    async def save(self, record: RunRecord) -> bool:
        self._probe.reach("before_compare_and_set")
        saved = await self._inner.save(record)
        self._probe.reach("after_compare_and_set")
        return saved

    async def append_transcript(self, row: TranscriptRow) -> bool:
        self._probe.reach("final_before_transcript")
        new = await self._inner.append_transcript(row)
        self._probe.reach("after_transcript")
        return new

    async def save_delivery(self, row: DeliveryRow) -> None:
        self._probe.reach("before_delivery")
        await self._inner.save_delivery(row)
        self._probe.reach("after_delivery")

    async def create(self, record: RunRecord, entries: tuple[JournalEntry, ...] = ()) -> None:
        await self._inner.create(record, entries)

    async def load(self, run_id: str) -> RunRecord | None:
        return await self._inner.load(run_id)

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
        return await self._inner.load_by_input(room, channel, input_id, agent)

    async def load_open(self, room: str, channel: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
        return await self._inner.load_open(room, channel, agent)

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        return await self._inner.load_runs(limit)

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        return await self._inner.load_events(run_id, after)

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        return await self._inner.load_transcript(room, channel, limit)

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]:
        return await self._inner.load_deliveries(run_ids)

    async def save_state(self, key: str, value: Json) -> None:
        await self._inner.save_state(key, value)

    async def load_state(self, key: str) -> Json:
        return await self._inner.load_state(key)

    async def close(self) -> None:
        await self._inner.close()

    async def delete(self) -> None:
        await self._inner.delete()
