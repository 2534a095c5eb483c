"""Callers who are cancelled, closed or kept waiting inside a store call: the outcome is always one or the other."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from run_examples import a_record, admission, an_input, open_files, step
from wayside.core.errors import WaysideError
from wayside.core.runs.events import Progress
from wayside.stores.sqlite import connection as timing
from wayside.stores.sqlite.runs import SqliteRunStore


class Gate:
    """SQLite's statement trace: holds the writer's thread before the statement that is named, once."""

    def __init__(self) -> None:
        self.statement = ""
        self.reached = threading.Event()
        self.open = threading.Event()

    def hold(self, statement: str) -> None:
        self.statement = statement
        self.reached.clear()
        self.open.clear()

    def __call__(self, statement: str) -> None:
        if self.statement and statement.startswith(self.statement):
            self.statement = ""
            self.reached.set()
            self.open.wait(10)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def store(tmp_path: Path, gate: Gate) -> AsyncIterator[SqliteRunStore]:
    made = await SqliteRunStore(tmp_path / "runs.db", trace=gate).open()
    yield made
    gate.open.set()
    await made.delete()


def free(path: Path) -> bool:
    """Whether nobody holds a transaction."""
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        other.close()
    return True


async def reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 10)


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT OR IGNORE INTO inputs", "COMMIT"])
async def test_a_cancelled_caller_first_learns_the_outcome(
    store: SqliteRunStore, gate: Gate, statement: str, times: int
) -> None:
    """D16. However often it is cancelled: when the caller goes on, the admission has happened (RFC-022 §4)."""
    gate.hold(statement)
    task = asyncio.ensure_future(store.admit(admission(a_record())))
    await reached(gate)
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not task.done()
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert free(store.path)
    assert a_record() == await store.load("r1")


async def test_two_hundred_cancellations_leave_no_transaction_open(store: SqliteRunStore) -> None:
    """D20. Each run is there whole or not at all, and the store goes on (RFC-022 §4)."""
    for number in range(200):
        run = a_record(f"r{number}", agent=f"a{number}", input=an_input(f"i{number}"))
        task = asyncio.ensure_future(store.admit(admission(run)))
        for _ in range(number % 7):
            await asyncio.sleep(0)
        task.cancel()
        outcome = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(outcome[0], asyncio.CancelledError) or outcome == [run]

    runs = {run.id for run in await store.load_runs(1000)}
    rows = {row.run_id for row in await store.load_transcript("kiosk", limit=1000)}
    indexed = {
        found.run_id
        for number in range(200)
        if (found := await store.load_by_input("kiosk", "visitor", f"i{number}", f"a{number}"))
    }
    assert runs == rows == indexed
    assert runs
    assert free(store.path)


async def test_reading_goes_on_beside_a_write(store: SqliteRunStore, gate: Gate) -> None:
    """F4. A slow write delays no reader, who sees the state before it."""
    gate.hold("COMMIT")
    task = asyncio.ensure_future(store.admit(admission(a_record())))
    await reached(gate)
    before = await store.load("r1")
    gate.open.set()

    assert before is None
    assert a_record() == await task


async def test_a_store_that_does_not_answer_in_time_is_locked(
    store: SqliteRunStore, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F4. The deadline holds, and what had not begun by then never begins (RFC-022 §4)."""
    monkeypatch.setattr(timing, "DEADLINE_S", 0.05)
    gate.hold("COMMIT")
    begun = store.admit(admission(a_record()))
    second = a_record("r2", agent="potter", input=an_input("i2"))
    refusals = await asyncio.gather(begun, store.admit(admission(second)), return_exceptions=True)
    gate.open.set()
    monkeypatch.setattr(timing, "DEADLINE_S", 10)
    await store.save_state("after", 1)

    assert ["store.locked"] * 2 == [r.code for r in refusals if isinstance(r, WaysideError) and r.retryable]
    assert a_record() == await store.admit(admission(a_record("r9")))
    assert None is await store.load("r2")


async def test_what_is_queued_when_the_store_closes_is_refused(store: SqliteRunStore, gate: Gate) -> None:
    gate.hold("COMMIT")
    first = asyncio.ensure_future(store.admit(admission(a_record())))
    await reached(gate)
    queued = asyncio.ensure_future(store.commit_event(*step(a_record(), Progress("x"))))
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    gate.open.set()
    await closing

    assert a_record() == await first
    with pytest.raises(WaysideError) as refusal:
        await queued
    assert refusal.value.code == "store.closed"


async def test_deleting_is_done_even_for_a_caller_who_is_cancelled(store: SqliteRunStore, gate: Gate) -> None:
    """A visit is forgotten although whoever asked for it is gone."""
    gate.hold("COMMIT")
    writing = asyncio.ensure_future(store.admit(admission(a_record())))
    await reached(gate)
    deleting = asyncio.ensure_future(store.delete())
    await asyncio.sleep(0)
    deleting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deleting
    gate.open.set()
    await asyncio.gather(writing, return_exceptions=True)

    assert [] == list(store.path.parent.iterdir())


async def test_text_that_is_not_unicode_does_not_make_a_database_corrupt(store: SqliteRunStore) -> None:
    """What can't be written is the writer's fault, and nothing of it is there."""
    for record in (a_record(input=an_input(text="\ud800")), a_record("\ud800"), a_record(checkpoint=["\udfff"])):
        with pytest.raises(WaysideError) as refusal:
            await store.admit(admission(record))
        assert refusal.value.code == "store.not_text"

    assert () == await store.load_runs()


async def test_closing_while_it_opens_leaves_nothing_open(tmp_path: Path) -> None:
    """No connection of a store that was closed too early stays behind."""
    store = SqliteRunStore(tmp_path / "early.db")
    opened, _ = await asyncio.gather(store.open(), store.close(), return_exceptions=True)

    assert isinstance(opened, WaysideError) and opened.code == "store.closed"
    assert [] == open_files(store.path)
