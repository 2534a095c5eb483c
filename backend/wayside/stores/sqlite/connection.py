"""One SQLite database with one writer thread and one reader thread; whole functions run there, never awaits.

No `await` can fall inside a transaction. A cancelled caller learns the outcome first and propagates then. What SQLite
says is mapped to `store.*` here and nowhere else.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from wayside.core.errors import WaysideError
from wayside.core.room.refusals import refuse

T = TypeVar("T")
LOGS = ("-wal", "-shm", "-journal")
ENDED = ".ended"
BUSY_MS = 500
DEADLINE_S = 2.0  # a disk that answers later than this has failed
CLOSE_S = 0.5

_CODES = {
    sqlite3.SQLITE_BUSY: "store.locked",
    sqlite3.SQLITE_LOCKED: "store.locked",
    sqlite3.SQLITE_FULL: "store.full",
    sqlite3.SQLITE_NOMEM: "store.full",
    sqlite3.SQLITE_READONLY: "store.read_only",
    sqlite3.SQLITE_CANTOPEN: "store.read_only",
    sqlite3.SQLITE_PERM: "store.read_only",
    sqlite3.SQLITE_CORRUPT: "store.corrupt",
    sqlite3.SQLITE_NOTADB: "store.corrupt",
}


class SqliteDatabase:
    """A file brought to the newest schema. `migrations[n]` leads from version n to n + 1.

    `trace` is SQLite's own statement trace, for tests that must die inside a transaction.
    """

    def __init__(self, path: Path, migrations: tuple[str, ...], trace: Callable[[str], None] | None = None) -> None:
        self.path = path
        self._migrations = migrations
        self._trace = trace
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-write")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="store-read")
        self._write: sqlite3.Connection | None = None
        self._read: sqlite3.Connection | None = None
        self._closed = False
        self._log = path.with_name(path.name + LOGS[0])
        self._log_size = 0  # while it is open SQLite overwrites its log and never shortens it
        self._inode = 0

    async def open(self) -> None:
        """Open and migrate; raises `store.*`, `store.newer` when a newer version wrote it, and is closed then."""
        try:
            await self._call(self._writer, self._open_both)
        except BaseException:
            await self.close()
            raise

    async def check(self) -> None:
        """Look at every page; raises `store.corrupt` when one is damaged."""

        def work(connection: sqlite3.Connection) -> None:
            if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise refuse("store.corrupt")

        await self.read(work)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as one immediate transaction on the writer's thread; it is rolled back when it raises."""

        def run() -> T:
            connection = self._connection(self._write)
            self._still_there()
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                connection.execute("COMMIT")
                self._log_size = _size(self._log)
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    connection.execute("ROLLBACK")
                raise
            return result

        return await self._call(self._writer, run)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on the reader's thread, beside a write in progress."""
        return await self._call(self._reader, lambda: work(self._connection(self._read)))

    async def close(self) -> None:
        """Close both connections; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        reading = self._reader.submit(self._close_read)
        futures = [reading, self._writer.submit(self._close_write, reading)]
        self._reader.shutdown(wait=False)
        self._writer.shutdown(wait=False)
        await asyncio.wait([asyncio.wrap_future(future) for future in futures], timeout=CLOSE_S)

    async def delete(self) -> None:
        """Close, and remove the file with its log and index, even for a caller who is cancelled.

        It loses its name first: whoever dies from here on leaves nothing that could be taken up again.
        """
        ended = self.path.with_name(self.path.name + ENDED)
        with contextlib.suppress(OSError):
            self.path.replace(ended)
        try:
            await self.close()
        finally:
            unlink(self.path)
            ended.unlink(missing_ok=True)

    def _still_there(self) -> None:
        """SQLite goes on writing into a file that nobody can open any more; `store.gone` says so."""
        if _inode(self.path) != self._inode or _size(self._log) < self._log_size:
            raise refuse("store.gone")

    def _close_read(self) -> None:
        if self._read is not None:
            self._read.close()

    def _close_write(self, reading: Future[None]) -> None:
        # Two connections that close at once each leave the log to the other: words would stay in a file of their own.
        wait((reading,), timeout=CLOSE_S)
        if self._write is not None:
            self._write.close()

    def _open_both(self) -> None:
        self._migrate()
        read = self._connect()
        read.execute("PRAGMA query_only = ON")
        self._inode = _inode(self.path)
        if self._closed:
            # Whoever closed it while it was being opened came too early for the reader's connection.
            read.close()
            raise refuse("store.closed")
        self._read = read

    def _migrate(self) -> None:
        self._write = connection = self._connect()
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(self._migrations):
            raise refuse("store.newer")
        for number in range(version, len(self._migrations)):
            connection.executescript(
                f"BEGIN IMMEDIATE;{self._migrations[number]};PRAGMA user_version = {number + 1};COMMIT;"
            )

    def _connect(self) -> sqlite3.Connection:
        # The two connections live on threads of their own, which only their executor's work touches.
        connection = sqlite3.connect(
            self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA cache_size = -8000")  # KiB: a long visit whole
        except sqlite3.Error:
            connection.close()
            raise
        if self._trace is not None:
            connection.set_trace_callback(self._trace)
        return connection

    def _connection(self, connection: sqlite3.Connection | None) -> sqlite3.Connection:
        if connection is None or self._closed:
            raise refuse("store.closed")
        return connection

    async def _call(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise refuse("store.closed")
        future = asyncio.wrap_future(executor.submit(work))
        try:
            await asyncio.wait({future}, timeout=DEADLINE_S)
        except asyncio.CancelledError:
            await _settled(future)
            raise
        if not future.done():
            future.cancel()  # what has not begun never begins; of what has, nobody asks any more
            raise refuse("store.locked", retryable=True)
        try:
            return future.result()
        except UnicodeEncodeError:
            raise refuse("store.not_text") from None
        except sqlite3.Error as error:
            raise mapped(error) from None
        except ValueError:
            # What was read is not what we write. Its text is not told: it may be a visitor's.
            raise refuse("store.corrupt") from None


async def _settled(future: "asyncio.Future[T]") -> None:
    """Wait for the outcome however often the caller is cancelled, within the deadline."""
    loop = asyncio.get_running_loop()
    latest = loop.time() + DEADLINE_S
    while not future.done() and loop.time() < latest:
        with contextlib.suppress(asyncio.CancelledError):  # the caller raises the first one
            await asyncio.wait({future}, timeout=latest - loop.time())
    if not future.done():
        future.cancel()
    elif not future.cancelled():
        future.exception()  # seen, not told: the caller is gone


def mapped(error: sqlite3.Error) -> WaysideError:
    """SQLite's fault in our words."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return refuse(_CODES.get(code, "store.failed"), retryable=code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def _inode(path: Path) -> int:
    """0 for a file that is not there, or is empty: a database never is."""
    try:
        found = path.stat()
    except OSError:
        return 0
    return found.st_ino if found.st_size else 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def unlink(path: Path) -> None:
    """Remove a database with its log and index; what is not there is fine."""
    for suffix in ("", *LOGS):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
