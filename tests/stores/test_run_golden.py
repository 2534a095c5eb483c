"""A database of each schema version, kept as it was written, is read by every newer one (RFC-022 §4)."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from run_examples import ram_directory
from wayside.core.room.disclosure import among
from wayside.core.runs.events import InputRequested, JournalEntry
from wayside.core.runs.outputs import outputs_of
from wayside.core.runs.record import RunRecord, RunStatus, apply, status_after
from wayside.ports.run_store import DeliveryRow, InputIndex
from wayside.stores.sqlite.runs import MIGRATIONS, SqliteRunStore
from wayside.wire.room import entry_from_json, entry_to_json, event_tag, record_from_json, record_to_json, row_to_json

GOLDEN = Path(__file__).parents[1] / "data" / "runs"
VERSIONS = sorted(GOLDEN.glob("v*.sql"))
EVERY_TAG = {
    "progress",
    "assistant_output",
    "checkpoint",
    "input_requested",
    "decision",
    "completed",
    "run_failed",
    "run_canceled",
}


@pytest.fixture(params=VERSIONS, ids=lambda path: path.stem)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[SqliteRunStore]:
    with ram_directory() as folder:
        path = folder / "golden.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(request.param.read_text(encoding="utf-8"))
        made = await SqliteRunStore(path).open()
        yield made
        await made.delete()


def test_every_schema_version_has_its_database() -> None:
    assert [f"v{number + 1}" for number in range(len(MIGRATIONS))] == [path.stem for path in VERSIONS]


async def test_it_holds_an_example_of_every_event(store: SqliteRunStore) -> None:
    entries = [entry for run in await store.load_runs() for entry in await store.load_events(run.id)]

    assert {event_tag(entry.event) for entry in entries} == EVERY_TAG


async def test_every_journal_leads_to_the_state_that_was_recorded(store: SqliteRunStore) -> None:
    """D6, D7. A run's state is a fold over its journal."""
    runs = await store.load_runs()
    for run in runs:
        entries = await store.load_events(run.id)
        folded = replayed(run, entries)

        assert (folded.status, folded.sequence, folded.waiting, folded.code, folded.checkpoint) == (
            run.status,
            run.sequence,
            run.waiting,
            run.code,
            run.checkpoint,
        )
        assert run.status is status_after(entries)

    assert {run.id: run.status for run in runs} == {
        "r1": RunStatus.COMPLETED,
        "r2": RunStatus.FAILED,
        "r3": RunStatus.CANCELED,
        "r4": RunStatus.WAITING,
        "r5": RunStatus.ACTIVE,
    }


def replayed(run: RunRecord, entries: tuple[JournalEntry, ...]) -> RunRecord:
    """Fold from the state of an admission; a later attempt takes a waiting run up again."""
    record = replace(run, status=RunStatus.ACTIVE, sequence=0, attempt=1, waiting=None, code="", checkpoint=None)
    if not any(event_tag(entry.event) == "checkpoint" for entry in entries):
        record = replace(record, checkpoint=run.checkpoint)  # a seed
    for entry in entries:
        if entry.attempt > record.attempt:
            record = replace(record, status=RunStatus.ACTIVE, waiting=None, attempt=entry.attempt)
        record = apply(record, entry.event)
        assert record.sequence == entry.sequence
    return record


async def test_it_is_written_again_as_it_was(store: SqliteRunStore) -> None:
    """The same JSON, letter for letter."""
    with closing(sqlite3.connect(store.path)) as connection:
        records = [text for (text,) in connection.execute("SELECT record FROM runs")]
        entries = [text for (text,) in connection.execute("SELECT entry FROM events")]
        rows = [text for (text,) in connection.execute("SELECT row FROM transcript ORDER BY position")]

    assert records == [record_to_json(record_from_json(text)) for text in records]
    assert entries == [entry_to_json(entry_from_json(text)) for text in entries]
    assert rows == [row_to_json(row) for row in await store.load_transcript("kiosk")]


async def test_what_it_says_is_understood(store: SqliteRunStore) -> None:
    """D2, D3, D12–D15. Disclosure, messages, index, deliveries and state of a visit that was left."""
    run = await store.load("r1")
    outputs = outputs_of(await store.load_events("r1"))

    assert run is not None
    assert (run.attempt, run.disclosure, run.input.text) == (3, among(["ann", "ben"]), "the red one")
    assert [m.text for m in outputs.recorded()] == ["Which one?", "It is red."]
    assert [m.text for m in outputs.messages if not m.closed] == ["It is"]
    assert await store.load_by_input("kiosk", "visitor", "i2", "guide") == InputIndex("mark-i2", "r1")
    assert await store.load_by_input("kiosk", "visitor", "i2", "potter") == InputIndex("mark-i2", "r2")
    assert ["r4", "r5"] == [found.id for found in await store.load_open("kiosk")]
    assert (await store.load_open("kiosk"))[0].waiting == InputRequested("which", "token-2")
    assert await store.load_deliveries(("r1",)) == (
        DeliveryRow("d1", "r1", 3, 7, "voice", 6, "estimated", "interrupted"),
        DeliveryRow("d2", "r1", 3, 7, "screen", 10, "unknown", "complete"),
    )
    assert await store.load_state("room") == {"phase": "play", "focus": None}
