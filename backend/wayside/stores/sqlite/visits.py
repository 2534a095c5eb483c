"""Where visits are kept: a file of its own for each, in RAM, so that a visit is recoverable and forgettable at once.

A file survives the death of any process and forgets everything at power-off. What can't be read is set aside under
another name and deleted with the rest at the next reset; where no RAM-backed folder can be had, visits live in
memory and operators are told that recovery is off.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from wayside.core.errors import WaysideError
from wayside.core.room.refusals import refuse
from wayside.ports.run_store import RunStore
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.stores.sqlite.connection import ENDED, LOGS, unlink
from wayside.stores.sqlite.runs import SqliteRunStore

RAM = frozenset({"tmpfs", "ramfs", "devtmpfs"})
MOUNTS = Path("/proc/mounts")
SWAPS = Path("/proc/swaps")
SUFFIX = ".visit"
ASIDE = ".unreadable"
FOLDERS = "visits-*"
# Longer than any grace time: a dead sidecar's visit that is older can't be taken up by its next one any more.
STALE_S = 600.0
NOT_RECOVERABLE = frozenset({"store.not_recoverable"})
_ESCAPED = re.compile(r"\\([0-7]{3})")  # proc_pid_mounts(5): space, tab, newline, backslash


class VisitFolder:
    """Implements `RunStores` in `folder`, which must be RAM-backed; None keeps visits in memory."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.current: Path | None = None
        self._opening: frozenset[str] = frozenset() if folder else NOT_RECOVERABLE
        self._aside: frozenset[str] = frozenset()
        self._held: int | None = None  # our folder, locked for as long as we live

    @property
    def notices(self) -> frozenset[str]:
        return self._opening | self._aside

    async def open(self) -> RunStore:
        if self.folder is None:
            return MemoryRunStore()
        path = self.folder / f"{secrets.token_hex(8)}{SUFFIX}"
        try:
            _private(self.folder)
            self._hold()
            self._sweep_others()
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            store = await SqliteRunStore(path).open()
        except (OSError, WaysideError) as error:
            code = error.code if isinstance(error, WaysideError) else _code(error)
            self._opening = NOT_RECOVERABLE | {code}
            self.current = None
            with contextlib.suppress(OSError):  # told already
                unlink(path)
            return MemoryRunStore()
        self._opening = self._aside = frozenset()
        self.current = path
        return store

    async def left_over(self) -> RunStore | None:
        """The newest visit that can be read; one that can't is set aside, what is no visit any more is deleted."""
        self._sweep()
        with contextlib.suppress(OSError):  # told when a visit is to be opened
            self._hold()
            self._sweep_others()
        for path in self._files():
            store = SqliteRunStore(path)
            try:
                await store.open()
                await store.check()
                await store.load_runs()
            except WaysideError as error:
                await store.close()
                self._aside |= {error.code}
                self._set_aside(path)
                continue
            self.current = path
            return store
        return None

    async def forget(self) -> None:
        """Delete what can be deleted; raises `store.read_only` when something of a visit stays.

        What was wrong with a file stays told until the next visit has one.
        """
        self.current = None
        stays = False
        if self.folder is not None and self.folder.is_dir():
            for path in self.folder.iterdir():
                if SUFFIX in path.name:
                    stays = not _gone(path) or stays
        if stays:
            self._aside |= {"store.read_only"}
            raise refuse("store.read_only")
        with contextlib.suppress(OSError):  # empty, or not ours to remove
            if self.folder is not None:
                self.folder.rmdir()
                self._let_go()

    def _sweep(self) -> None:
        """Delete what a process left that died while deleting: a visit that had ended, a log without its file."""
        if self.folder is None or not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            name, suffix, rest = path.name.partition(SUFFIX)
            orphan = rest in LOGS and not path.with_name(name + suffix).exists()
            if suffix and (rest.startswith(ENDED) or orphan) and not _gone(path):
                self._aside |= {"store.read_only"}

    def _hold(self) -> None:
        """Mark the folder as that of a living process."""
        if self.folder is None or not self.folder.is_dir():
            return
        if self._held is not None and not os.path.samestat(os.fstat(self._held), self.folder.stat()):
            self._let_go()  # somebody removed the one we held
        if self._held is None:
            self._held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._held, fcntl.LOCK_SH)

    def _let_go(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _sweep_others(self) -> None:
        """Delete what sidecars on other ports left that died and never came back."""
        if self.folder is None:
            return
        for folder in self.folder.parent.glob(FOLDERS):
            if folder != self.folder:
                with contextlib.suppress(OSError):  # it went away, or is another user's
                    _forget_if_dead(folder)

    def _files(self) -> list[Path]:
        if self.folder is None or not self.folder.is_dir():
            return []
        return sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)

    def _set_aside(self, path: Path) -> None:
        try:
            path.replace(path.with_name(path.name + ASIDE))
            unlink(path)
        except OSError:
            self._aside |= {"store.read_only"}


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
    place = path.resolve()  # a link in RAM may lead to a disk
    best, kind = -1, ""
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        mount = Path(_ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[1]))
        if place.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), fields[2]
    return kind in RAM


def _code(error: OSError) -> str:
    return "store.full" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "store.read_only"


def _gone(path: Path) -> bool:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def swaps_to_disk(swaps: Path = SWAPS) -> tuple[str, ...]:
    """The swap areas to which memory, and a visit with it, could be written: all but compressed RAM."""
    try:
        lines = swaps.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    except OSError:
        return ()
    areas = (line.split()[0] for line in lines if line.split())
    return tuple(area for area in areas if not Path(area).name.startswith("zram"))


def _forget_if_dead(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while its sidecar lives
        latest = time.time() - STALE_S
        for path in folder.iterdir():
            if SUFFIX in path.name and path.stat().st_mtime < latest:
                _gone(path)
        folder.rmdir()
    finally:
        os.close(lock)


def _private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid():
        raise PermissionError
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)
