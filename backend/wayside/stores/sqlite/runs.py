"""The default run store: one SQLite file for one visit. The schema itself holds the invariants of RFC-022.

Unique (run, sequence), (run, event id), (room, channel, input id); at most one open run for a room, channel and agent.
An update that must change exactly one row is checked.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wayside.core.plain_json import Json, canonical
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.ports.run_store import Admission, DeliveryRow, InputIndex, TranscriptRow
from wayside.stores.sqlite.connection import SqliteDatabase
from wayside.wire.room import (
    delivery_from_json,
    entry_from_json,
    entry_to_json,
    record_from_json,
    record_to_json,
    row_to_json,
    transcript_from_json,
)

MIGRATIONS = (
    """
CREATE TABLE runs (
  id TEXT PRIMARY KEY, room TEXT NOT NULL, channel TEXT NOT NULL, agent TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active','waiting_for_input','completed','failed','canceled')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1), sequence INTEGER NOT NULL CHECK (sequence >= 0),
  input_id TEXT NOT NULL, record TEXT NOT NULL
);
CREATE UNIQUE INDEX one_open_run ON runs (room, channel, agent) WHERE status IN ('active','waiting_for_input');
CREATE TABLE events (
  run_id TEXT NOT NULL REFERENCES runs (id), sequence INTEGER NOT NULL CHECK (sequence >= 1),
  event_id TEXT NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (run_id, sequence), UNIQUE (run_id, event_id)
) WITHOUT ROWID;
CREATE TABLE inputs (
  room TEXT NOT NULL, channel TEXT NOT NULL, input_id TEXT NOT NULL, fingerprint TEXT NOT NULL,
  PRIMARY KEY (room, channel, input_id)
) WITHOUT ROWID;
CREATE TABLE input_runs (
  room TEXT NOT NULL, channel TEXT NOT NULL, input_id TEXT NOT NULL, agent TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES runs (id),
  PRIMARY KEY (room, channel, input_id, agent),
  FOREIGN KEY (room, channel, input_id) REFERENCES inputs (room, channel, input_id)
) WITHOUT ROWID;
CREATE TABLE transcript (
  position INTEGER PRIMARY KEY, room TEXT NOT NULL, channel TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL,
  UNIQUE (room, channel, key)
);
CREATE TABLE deliveries (
  delivery_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, delivered INTEGER NOT NULL CHECK (delivered >= 0),
  row TEXT NOT NULL
);
CREATE INDEX deliveries_of_run ON deliveries (run_id);
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID
""",
)

_OPEN = "('active','waiting_for_input')"


class SqliteRunStore:
    """Implements `RunStore` on one file; await `open` first."""

    durable = True

    def __init__(self, path: Path, trace: Callable[[str], None] | None = None) -> None:
        self.path = path
        self._database = SqliteDatabase(path, MIGRATIONS, trace)

    async def open(self) -> "SqliteRunStore":
        """Open or create the file; raises `store.*`."""
        await self._database.open()
        return self

    async def admit(self, admission: Admission) -> RunRecord:
        return await self._database.write(lambda connection: _admit(connection, admission))

    async def create(self, record: RunRecord, entries: tuple[JournalEntry, ...] = ()) -> None:
        def work(connection: sqlite3.Connection) -> None:
            _insert_run(connection, record)
            for entry in entries:
                _insert_event(connection, entry)

        await self._database.write(work)

    async def save(self, record: RunRecord) -> bool:
        return await self._database.write(lambda connection: _save(connection, record))

    async def load(self, run_id: str) -> RunRecord | None:
        return await self._database.read(lambda connection: _load(connection, run_id))

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
        return await self._database.read(lambda c: _index(c, room, channel, input_id, agent))

    async def load_open(self, room: str, channel: str | None = None, agent: str | None = None) -> tuple[RunRecord, ...]:
        query = f"SELECT record FROM runs WHERE status IN {_OPEN} AND room = ?"  # noqa: S608 - constants
        values = [room]
        for column, value in (("channel", channel), ("agent", agent)):
            if value is not None:
                query += f" AND {column} = ?"
                values.append(value)
        query += " ORDER BY rowid"

        def work(connection: sqlite3.Connection) -> tuple[RunRecord, ...]:
            return tuple(record_from_json(text) for (text,) in connection.execute(query, values))

        return await self._database.read(work)

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        def work(connection: sqlite3.Connection) -> tuple[RunRecord, ...]:
            found = connection.execute("SELECT record FROM runs ORDER BY rowid DESC LIMIT ?", (limit,))
            return tuple(record_from_json(text) for (text,) in found)

        return await self._database.read(work)

    async def commit_event(self, entry: JournalEntry, record: RunRecord) -> bool:
        return await self._database.write(lambda connection: _commit_event(connection, entry, record))

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]:
        def work(connection: sqlite3.Connection) -> tuple[JournalEntry, ...]:
            found = connection.execute(
                "SELECT entry FROM events WHERE run_id = ? AND sequence > ? ORDER BY sequence", (run_id, after)
            )
            return tuple(entry_from_json(text) for (text,) in found)

        return await self._database.read(work)

    async def append_transcript(self, row: TranscriptRow) -> bool:
        return await self._database.write(lambda connection: _insert_row(connection, row))

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        where, values = ("room = ?", [room]) if channel is None else ("room = ? AND channel = ?", [room, channel])
        query = f"SELECT row FROM transcript NOT INDEXED WHERE {where} ORDER BY position DESC LIMIT ?"  # noqa: S608 - constants

        def work(connection: sqlite3.Connection) -> tuple[TranscriptRow, ...]:
            found = connection.execute(query, (*values, limit)).fetchall()
            return tuple(transcript_from_json(text) for (text,) in reversed(found))

        return await self._database.read(work)

    async def save_delivery(self, row: DeliveryRow) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO deliveries VALUES (?, ?, ?, ?) ON CONFLICT (delivery_id) DO UPDATE SET"
                " delivered = max(delivered, excluded.delivered), row = excluded.row",
                (row.delivery_id, row.run_id, row.delivered_chars, row_to_json(row)),
            )

        await self._database.write(work)

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]:
        def work(connection: sqlite3.Connection) -> tuple[DeliveryRow, ...]:
            found = connection.execute(
                "SELECT delivered, row FROM deliveries WHERE run_id IN (SELECT value FROM json_each(?)) ORDER BY rowid",
                (json.dumps(run_ids),),
            )
            return tuple(replace(delivery_from_json(text), delivered_chars=delivered) for delivered, text in found)

        return await self._database.read(work)

    async def save_state(self, key: str, value: Json) -> None:
        text = canonical(value)
        await self._database.write(lambda c: c.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, text)))

    async def load_state(self, key: str) -> Json:
        def work(connection: sqlite3.Connection) -> Json:
            found = connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
            value: Json = None if found is None else json.loads(found[0])
            return value

        return await self._database.read(work)

    async def check(self) -> None:
        """Look at every page; raises `store.corrupt` when one is damaged."""
        await self._database.check()

    async def close(self) -> None:
        await self._database.close()

    async def delete(self) -> None:
        await self._database.delete()


def _admit(connection: sqlite3.Connection, admission: Admission) -> RunRecord:
    record = admission.record
    place = (record.room, record.channel, record.input.id)
    index = _index(connection, *place, record.agent)
    if index is not None and index.fingerprint != admission.fingerprint:
        raise refuse("run.input_mismatch")
    if index is not None and index.run_id is not None:
        known = _load(connection, index.run_id)
        if known is None:
            raise refuse("run.unknown")
        return known
    if admission.continued:
        changed = connection.execute(
            "UPDATE runs SET status = ?, attempt = ?, input_id = ?, record = ?"
            " WHERE id = ? AND status = 'waiting_for_input' AND sequence = ? AND attempt = ?",
            (
                record.status,
                record.attempt,
                record.input.id,
                record_to_json(record),
                record.id,
                record.sequence,
                record.attempt - 1,
            ),
        ).rowcount
        if changed != 1:
            raise refuse("run.stale_transition")
    else:
        _insert_run(connection, record)
    connection.execute("INSERT OR IGNORE INTO inputs VALUES (?, ?, ?, ?)", (*place, admission.fingerprint))
    connection.execute("INSERT INTO input_runs VALUES (?, ?, ?, ?, ?)", (*place, record.agent, record.id))
    _insert_row(connection, admission.row)
    return record


def _save(connection: sqlite3.Connection, record: RunRecord) -> bool:
    if record.status is not RunStatus.ACTIVE:
        return False
    changed = connection.execute(
        "UPDATE runs SET attempt = ?, record = ?"
        " WHERE id = ? AND status = 'active' AND sequence = ? AND input_id = ? AND attempt < ?",
        (record.attempt, record_to_json(record), record.id, record.sequence, record.input.id, record.attempt),
    ).rowcount
    return changed == 1


def _commit_event(connection: sqlite3.Connection, entry: JournalEntry, record: RunRecord) -> bool:
    same = connection.execute(
        "SELECT entry FROM events WHERE run_id = ? AND event_id = ?", (entry.run_id, entry.event_id)
    ).fetchone()
    if same is not None:
        # A retry is recognised before its sequence is judged stale.
        if entry_from_json(same[0]) == entry:
            return False
        raise refuse("run.event_mismatch")
    changed = connection.execute(
        f"UPDATE runs SET status = ?, sequence = ?, record = ?"  # noqa: S608 - constants
        f" WHERE id = ? AND status IN {_OPEN} AND sequence = ? AND attempt = ?",
        (record.status, entry.sequence, record_to_json(record), entry.run_id, entry.sequence - 1, entry.attempt),
    ).rowcount
    if changed != 1:
        raise refuse("run.stale_transition" if _load(connection, entry.run_id) else "run.unknown")
    _insert_event(connection, entry)
    return True


def _insert_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    try:
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                record.id,
                record.room,
                record.channel,
                record.agent,
                record.status,
                record.attempt,
                record.sequence,
                record.input.id,
                record_to_json(record),
            ),
        )
    except sqlite3.IntegrityError:
        raise refuse("run.open_exists") from None


def _insert_event(connection: sqlite3.Connection, entry: JournalEntry) -> None:
    connection.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?)", (entry.run_id, entry.sequence, entry.event_id, entry_to_json(entry))
    )


def _insert_row(connection: sqlite3.Connection, row: TranscriptRow) -> bool:
    return (
        connection.execute(
            "INSERT OR IGNORE INTO transcript (room, channel, key, row) VALUES (?, ?, ?, ?)",
            (row.room, row.channel, row.key, row_to_json(row)),
        ).rowcount
        == 1
    )


def _load(connection: sqlite3.Connection, run_id: str) -> RunRecord | None:
    found = connection.execute("SELECT record FROM runs WHERE id = ?", (run_id,)).fetchone()
    return None if found is None else record_from_json(found[0])


def _index(connection: sqlite3.Connection, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None:
    found = connection.execute(
        "SELECT i.fingerprint, r.run_id FROM inputs i LEFT JOIN input_runs r ON r.room = i.room"
        " AND r.channel = i.channel AND r.input_id = i.input_id AND r.agent = ?"
        " WHERE i.room = ? AND i.channel = ? AND i.input_id = ?",
        (agent, room, channel, input_id),
    ).fetchone()
    return None if found is None else InputIndex(found[0], found[1])
