"""Finds the visits that a sidecar keeps and reads them without leaving a trace. Writes, migrates and takes up nothing.

A running sidecar never waits for this: each look is one short read, and nothing that SQLite makes for it stays.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wayside.core.errors import WaysideError
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import DeliveryRow, TranscriptRow
from wayside.stores.sqlite.connection import mapped
from wayside.stores.sqlite.runs import MIGRATIONS
from wayside.stores.sqlite.visits import SUFFIX
from wayside.wire.room import delivery_from_json, entry_from_json, record_from_json, transcript_from_json

T = TypeVar("T")
BUSY_S = 0.5
PUBLISHED = "sidecar.json"
# The index is opened for reading only, so that nothing of a running or dead sidecar is written, marks included.
_UNTOUCHED = "mode=ro&readonly_shm=1"
_AS_READER = "mode=ro"
_WITHOUT_LOG = "mode=ro&immutable=1"


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One run with its journal after a sequence, its deliveries, and the inputs it answered (by input id)."""

    record: RunRecord
    entries: tuple[JournalEntry, ...]
    deliveries: tuple[DeliveryRow, ...]
    inputs: Mapping[str, TranscriptRow]


def visit_files(file: Path | None, runtime_dir: Path | None, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The visits' files, newest first: `file` itself, else what lies in the folder that the sidecar publishes.

    Raises `runs.no_visit`, `runs.no_file` or `runs.in_memory`.
    """
    if file is not None:
        if not file.is_file():
            raise WaysideError("runs.no_file", f"There is no file {file}", remedy="A visit's file ends in .visit.")
        return (file,)
    folders = _folders(runtime_dir, environment)
    found: list[tuple[int, Path]] = []
    for folder in folders:
        try:
            found += [(path.stat().st_mtime_ns, path) for path in folder.glob(f"*{SUFFIX}")]
        except PermissionError:
            raise _forbidden(folder) from None
        except FileNotFoundError:
            continue  # the visit ended while we looked
    if not found:
        raise WaysideError(
            "runs.no_visit",
            "No visit is running here",
            remedy="Begin one at the screen, or name the kiosk's --runtime-dir or a visit's --file.",
        )
    return tuple(path for _, path in sorted(found, reverse=True))


def load_runs(path: Path) -> tuple[RunRecord, ...]:
    """All runs of a visit, newest first. Raises `store.*` and `runs.not_a_visit`."""

    def work(connection: sqlite3.Connection) -> tuple[RunRecord, ...]:
        found = connection.execute("SELECT record FROM runs ORDER BY rowid DESC")
        return tuple(record_from_json(text) for (text,) in found)

    return _read(path, work)


def load_run(path: Path, run_id: str, after: int = 0) -> KeptRun | None:
    """One run as it stands, its journal from after sequence `after`; None when this visit does not have it."""

    def work(connection: sqlite3.Connection) -> KeptRun | None:
        found = connection.execute("SELECT record FROM runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            return None
        record = record_from_json(found[0])
        entries = connection.execute(
            "SELECT entry FROM events WHERE run_id = ? AND sequence > ? ORDER BY sequence", (run_id, after)
        ).fetchall()
        deliveries = connection.execute("SELECT row FROM deliveries WHERE run_id = ? ORDER BY rowid", (run_id,))
        rows = connection.execute(
            "SELECT t.row FROM input_runs i JOIN transcript t ON t.room = i.room AND t.channel = i.channel"
            " AND t.key = 'in:' || i.input_id WHERE i.run_id = ?",
            (run_id,),
        )
        inputs = [transcript_from_json(text) for (text,) in rows]
        return KeptRun(
            record,
            tuple(entry_from_json(text) for (text,) in entries),
            tuple(delivery_from_json(text) for (text,) in deliveries),
            {row.key.removeprefix("in:"): row for row in inputs},
        )

    return _read(path, work)


def _folders(runtime_dir: Path | None, environment: Mapping[str, str]) -> list[Path]:
    """What `sidecar.json` names; without one, where a sidecar that has no runtime directory keeps its visits."""
    named = environment.get("WAYSIDE_RUNTIME_DIR")
    session = environment.get("XDG_RUNTIME_DIR")
    own = Path("/dev/shm") / f"wayside-{os.getuid()}"  # noqa: S108 - only looked into
    # A sidecar to which a place is no use goes on to the next; so does who looks for it, unless they named the place.
    found = [Path(place) for place in (named, Path(session) / "wayside" if session else None, own) if place]
    places = [runtime_dir] if runtime_dir is not None else found
    for place in places:
        try:
            published = json.loads((place / PUBLISHED).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            raise _forbidden(place) from None
        except (OSError, ValueError):
            raise WaysideError("runs.unreadable", f"{place / PUBLISHED} can not be read", remedy="Try again.") from None
        if not isinstance(published, dict) or published.get("state") == "stopped":
            continue
        kept = published.get("visits")
        if isinstance(kept, str):
            return [Path(kept)]
        raise WaysideError(
            "runs.in_memory",
            "This kiosk keeps its visits in memory only, where nobody can look",
            remedy="Give the service a runtime directory in RAM (RuntimeDirectory).",
        )
    return [folder for place in places for folder in sorted(place.glob("visits-*")) if folder.is_dir()]


def _read(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run `work` in one read transaction on the file as it is now."""
    if not path.is_file():
        raise WaysideError("runs.visit_over", "The visit is over; its file is gone", remedy="Begin another one.")
    if not os.access(path, os.R_OK):
        raise _forbidden(path)
    try:
        return _look(path, work)
    except sqlite3.Error as error:
        raise mapped(error) from None
    except ValueError:
        # What is stored is not what we write; its text is not told, it may be a visitor's.
        raise refuse("store.corrupt") from None


def _look(path: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    there = _inode(log)
    if there is None:
        return _with(path, _WITHOUT_LOG, work)
    if not index.exists():
        # Whoever has the file open has an index: this is a copy, and what is made for it here is ours.
        try:
            return _with(path, _AS_READER, work)
        finally:
            index.unlink(missing_ok=True)
    try:
        return _with(path, _UNTOUCHED, work)
    except sqlite3.OperationalError:
        if index.exists():
            return _with(path, _AS_READER, work)
        # Closed while we looked: all is in the file, and SQLite has made a log for us again.
        if _inode(log) not in {None, there} and log.stat().st_size == 0:
            log.unlink()
        return _with(path, _WITHOUT_LOG, work)


def _with(path: Path, mode: str, work: Callable[[sqlite3.Connection], T]) -> T:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=BUSY_S, isolation_level=None)
    try:
        connection.execute("BEGIN")
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise refuse("store.newer")
        if version < len(MIGRATIONS):
            raise WaysideError("runs.not_a_visit", f"{path} is not a visit's file", remedy="Its name ends in .visit.")
        return work(connection)
    finally:
        connection.close()


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _forbidden(path: Path) -> WaysideError:
    return WaysideError(
        "runs.forbidden", f"{path} is another user's", remedy="Run this command as the kiosk's user (sudo -u)."
    )
