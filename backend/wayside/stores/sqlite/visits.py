"""Where visits are kept: a file of its own for each, in RAM, so that a visit is recoverable and forgettable at once.

A file survives the death of any process and forgets everything at power-off. What can't be read is set aside under
another name and deleted with the rest at the next reset; where no RAM-backed folder can be had, visits live in
memory and operators are told that recovery is off.
"""

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from wayside.core.errors import WaysideError
from wayside.ports.run_store import RunStore
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.stores.sqlite.connection import unlink
from wayside.stores.sqlite.runs import SqliteRunStore

RAM = frozenset({"tmpfs", "ramfs", "devtmpfs"})
MOUNTS = Path("/proc/mounts")
SUFFIX = ".visit"
ASIDE = ".unreadable"


class VisitFolder:
    """Implements `RunStores` in `folder`, which must be RAM-backed; None keeps visits in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.current: Path | None = None
        self._notices: set[str] = set() if folder else {"store.not_recoverable"}

    @property
    def notices(self) -> frozenset[str]:
        return frozenset(self._notices)

    async def open(self) -> RunStore:
        if self.folder is None:
            return MemoryRunStore()
        path = self.folder / f"{secrets.token_hex(8)}{SUFFIX}"
        try:
            _private(self.folder)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            store = await SqliteRunStore(path).open()
        except (OSError, WaysideError) as error:
            self._notices.add(error.code if isinstance(error, WaysideError) else "store.read_only")
            self._notices.add("store.not_recoverable")
            self.current = None
            return MemoryRunStore()
        self._notices.discard("store.not_recoverable")
        self.current = path
        return store

    async def left_over(self) -> RunStore | None:
        """The newest visit that can be read; one that can't is set aside."""
        for path in self._files():
            store = SqliteRunStore(path)
            try:
                await store.open()
                await store.load_runs(1)
            except WaysideError as error:
                await store.close()
                self._notices.add(error.code)
                self._set_aside(path)
                continue
            self.current = path
            return store
        return None

    async def forget(self) -> None:
        self.current = None
        if self.folder is None or not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if SUFFIX in path.name:
                path.unlink(missing_ok=True)
        self._notices -= {"store.corrupt", "store.newer"}

    def _files(self) -> list[Path]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)

    def _set_aside(self, path: Path) -> None:
        try:
            path.replace(path.with_name(path.name + ASIDE))
        except OSError:
            self._notices.add("store.read_only")
        unlink(path)


def ram_folder(candidates: Iterable[Path]) -> Path | None:
    """The first of these folders that lies in RAM and can be made private to this user, or None."""
    for folder in candidates:
        if not in_ram(folder):
            continue
        try:
            _private(folder)
        except OSError:
            continue
        return folder
    return None


def in_ram(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether `path` lies on a file system that forgets at power-off."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    place = path.absolute()
    best, kind = -1, ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = Path(fields[1].replace("\\040", " "))
        if place.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), fields[2]
    return kind in RAM


def _private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise PermissionError
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
