"""Runs in real files: locked, full, read-only, damaged, newer, and killed in the middle (RFC-022 §4)."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from run_examples import a_record, admission, open_files, ram_directory, said, step
from wayside.core.errors import WaysideError
from wayside.core.runs.record import RunStatus, status_after
from wayside.stores.sqlite.connection import SqliteDatabase
from wayside.stores.sqlite.runs import MIGRATIONS, SqliteRunStore

NOBODY = 65534


@pytest.fixture
def path() -> Iterator[Path]:
    """In RAM, as visits are: closing waits for no disk there."""
    with ram_directory() as folder:
        yield folder / "runs.db"


async def a_visit(path: Path, events: int = 3) -> None:
    """A file with one run and a few long events, closed."""
    store = await SqliteRunStore(path).open()
    record = a_record()
    await store.admit(admission(record))
    for number in range(events):
        entry, record = step(record, said(f"{number} " + "word " * 400))
        await store.commit_event(entry, record)
    await store.close()


async def code_of(store: SqliteRunStore) -> str:
    """The code that opening and reading everything refuses with."""

    async def read_all() -> None:
        await store.open()
        await store.check()
        await store.load_runs()
        await store.load_events("r1")

    with pytest.raises(WaysideError) as refusal:
        await read_all()
    await store.close()
    return refusal.value.code


async def written_to(path: Path) -> str:
    """The code that opening and writing refuses with."""
    store = SqliteRunStore(path)

    async def write() -> None:
        await store.open()
        await store.admit(admission(a_record("r2", agent="potter")))

    with pytest.raises(WaysideError) as refusal:
        await write()
    await store.close()
    return refusal.value.code


@pytest.fixture
def not_root() -> Iterator[Path]:
    """A folder of a user whom permissions hold back, also where tests run as root."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


async def test_a_database_survives_power_cuts_and_checks_itself(path: Path) -> None:
    """RFC-022 §4: what is committed is durable; the schema's constraints are enforced."""
    database = SqliteDatabase(path, MIGRATIONS)
    await database.open()
    asked = ("journal_mode", "synchronous", "foreign_keys", "temp_store", "user_version")
    said = [await database.write(lambda c, p=pragma: c.execute(f"PRAGMA {p}").fetchone()[0]) for pragma in asked]
    query_only = await database.read(lambda c: c.execute("PRAGMA query_only").fetchone()[0])
    await database.close()

    assert said == ["wal", 2, 1, 2, len(MIGRATIONS)]
    assert query_only == 1


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO events VALUES ('nobody', 1, 'e', '{}')",
        "INSERT INTO events VALUES ('r1', 0, 'e', '{}')",
        "INSERT INTO events VALUES ('r1', 1, 'e', '{}')",
        "INSERT INTO events VALUES ('r1', 9, 'e1', '{}')",
        "UPDATE runs SET status = 'lost'",
        "UPDATE runs SET attempt = 0",
        "INSERT INTO input_runs VALUES ('kiosk', 'visitor', 'i1', 'potter', 'nobody')",
        "INSERT INTO input_runs VALUES ('kiosk', 'visitor', 'never', 'guide', 'r1')",
        "INSERT INTO runs SELECT 'r2', room, channel, agent, status, 1, 0, 'i2', record FROM runs",
        "INSERT INTO inputs VALUES ('kiosk', 'visitor', 'i1', 'other')",
    ],
)
async def test_the_schema_itself_holds_the_invariants(path: Path, statement: str) -> None:
    """F7. Also against code that decides nothing."""
    await a_visit(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)


async def test_a_locked_database_says_so_and_changes_nothing(path: Path) -> None:
    """D16. The call may be made again, and works then."""
    store = await SqliteRunStore(path).open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WaysideError) as refusal:
            await store.admit(admission(a_record()))
        before = await store.load_runs()
        other.execute("ROLLBACK")
    after = await store.admit(admission(a_record()))
    await store.delete()

    assert (refusal.value.code, refusal.value.retryable) == ("store.locked", True)
    assert (before, after) == ((), a_record())


async def test_a_full_database_says_so_and_changes_nothing(path: Path) -> None:
    """D8. An event that found no room left no half of itself."""
    store = await SqliteRunStore(path).open()
    record = a_record()
    await store.admit(admission(record))
    await store._database.write(lambda c: c.execute("PRAGMA max_page_count = 1"))
    entry, after = step(record, said("word " * 20_000))
    with pytest.raises(WaysideError) as refusal:
        await store.commit_event(entry, after)
    kept = await store.load("r1"), await store.load_events("r1")
    await store._database.write(lambda c: c.execute("PRAGMA max_page_count = 100000"))
    again = await store.commit_event(entry, after)
    await store.delete()

    assert (refusal.value.code, kept, again) == ("store.full", (record, ()), True)


async def test_a_read_only_file_is_said_to_be_one(not_root: Path) -> None:
    path = not_root / "runs.db"
    await a_visit(path, 1)
    path.chmod(0o400)

    assert "store.read_only" == await written_to(path)


@pytest.mark.parametrize("exists", [True, False])
async def test_a_read_only_folder_is_said_to_be_one(not_root: Path, exists: bool) -> None:
    path = not_root / "runs.db"
    if exists:
        await a_visit(path, 1)
    not_root.chmod(0o500)

    assert "store.read_only" == await written_to(path)


async def test_a_missing_folder_is_said_to_be_read_only(tmp_path: Path) -> None:
    assert "store.read_only" == await code_of(SqliteRunStore(tmp_path / "none" / "runs.db"))


@pytest.mark.parametrize(
    "content", [b"not a database, but text " * 50, b"\0" * 8192, b"SQLite format 3\0" + b"\xff" * 4080]
)
async def test_what_is_no_database_is_corrupt(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    assert "store.corrupt" == await code_of(SqliteRunStore(path))
    assert [] == open_files(path)


async def test_an_empty_file_becomes_a_database(path: Path) -> None:
    """A process that died before its first write left nothing that could be lost."""
    path.touch()
    store = await SqliteRunStore(path).open()
    runs = await store.load_runs()
    await store.delete()

    assert runs == ()


async def test_a_damaged_header_is_corrupt(path: Path) -> None:
    await a_visit(path)
    damage(path, 0, 100)

    assert "store.corrupt" == await code_of(SqliteRunStore(path))


async def test_any_damaged_page_is_corrupt(path: Path) -> None:
    """Wherever it is: found by the check when it is opened, not in the middle of a conversation."""
    await a_visit(path)
    whole, page = path.read_bytes(), 4096
    for number in range(1, len(whole) // page):
        path.write_bytes(whole)
        damage(path, number * page, page)

        assert "store.corrupt" == await code_of(SqliteRunStore(path))


async def test_half_a_file_is_corrupt(path: Path) -> None:
    await a_visit(path)
    os.truncate(path, path.stat().st_size // 2)

    assert "store.corrupt" == await code_of(SqliteRunStore(path))


@pytest.mark.parametrize(
    "entry", ["", "{", "[]", "3", "{}", '{"event": {"type": "completed"}}', '{"sequence": "1"}', "\0"]
)
async def test_an_entry_that_we_never_wrote_is_corrupt(path: Path, entry: str) -> None:
    """Never an error of another kind, and never its text."""
    await a_visit(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE events SET entry = ? WHERE sequence = 2", (entry,))
        connection.commit()

    assert "store.corrupt" == await code_of(SqliteRunStore(path))


async def test_a_newer_database_is_left_alone(path: Path) -> None:
    await a_visit(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()

    assert "store.newer" == await code_of(SqliteRunStore(path))
    assert before == path.read_bytes()
    assert [] == open_files(path)


async def test_nothing_is_open_after_delete(path: Path) -> None:
    """A deleted file that is still open would keep the visit in memory."""
    store = await SqliteRunStore(path).open()
    await store.admit(admission(a_record()))
    await store.load("r1")
    before = open_files(path)
    await store.delete()

    assert before
    assert [] == open_files(path)
    assert [] == list(path.parent.iterdir())


WRITER = """
import asyncio, sys
from pathlib import Path
from run_examples import a_record, admission, said, step
from wayside.core.runs.record import RunStatus
from wayside.stores.sqlite.runs import SqliteRunStore

async def main():
    store = await SqliteRunStore(Path(sys.argv[1])).open()
    record = await store.load("r1") or await store.admit(admission(a_record()))
    while True:
        entry, after = step(record, said("word " * 50), f"e{record.sequence + 1}")
        await store.commit_event(entry, after)
        record = after
        print(record.sequence, flush=True)

asyncio.run(main())
"""


async def test_a_killed_process_tears_nothing_and_loses_nothing_it_acknowledged(path: Path) -> None:
    """D8. Ten kills in the middle of commits, each at another moment."""
    sequence = 0
    for attempt in range(10):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert child.stdout is not None
        for _ in range(3 + 2 * attempt):
            acknowledged = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, child.stdout.read().split(b"\n")[:-1])])
        child.wait()
        child.stdout.close()

        store = await SqliteRunStore(path).open()
        await store.check()
        record, entries = await store.load("r1"), await store.load_events("r1")
        await store.close()
        assert record is not None
        assert record.sequence in {acknowledged, acknowledged + 1}
        assert record.sequence > sequence
        assert [entry.sequence for entry in entries] == list(range(1, record.sequence + 1))
        assert record.status is status_after(entries) is RunStatus.ACTIVE
        sequence = record.sequence


def damage(path: Path, at: int, length: int) -> None:
    """Overwrite a stretch of the file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * length)


def removed(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def another(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def log_cut(path: Path) -> None:
    os.truncate(path.with_name(path.name + "-wal"), 100)


@pytest.mark.parametrize("harm", [removed, emptied, another, log_cut])
async def test_a_file_that_is_taken_away_under_an_open_database_is_told(path: Path, harm) -> None:
    """SQLite itself would go on writing into what nobody can open any more."""
    store = await SqliteRunStore(path).open()
    record = a_record()
    await store.admit(admission(record))
    harm(path)
    entry, after = step(record, said("word"))
    with pytest.raises(WaysideError) as refusal:
        await store.commit_event(entry, after)
    await store.close()

    assert "store.gone" == refusal.value.code


async def test_a_log_that_begins_again_is_no_fault(path: Path) -> None:
    """More than one checkpoint long: SQLite writes its log anew from the front and never shortens it."""
    store = await SqliteRunStore(path).open()
    record = a_record()
    await store.admit(admission(record))
    for number in range(1500):
        entry, record = step(record, said(f"{number} " + "word " * 400))
        await store.commit_event(entry, record)
    await store.close()

    assert 1500 == record.sequence
