"""Puts a finished folder in the place of another one: readers see the old one or the new one, never half of either."""

import ctypes
import os
import shutil
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def sync_tree(folder: Path) -> None:
    """Bring every file and folder below `folder` to the disk."""
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            _sync(Path(place) / name)
        _sync(Path(place))


def switch(new: Path, target: Path) -> None:
    """Rename `new` to `target`; a folder that was there is removed afterwards. Both lie in the same folder."""
    if target.exists():
        if not _exchange(new, target):
            # A file system without exchange: for the blink between two renames there is no target.
            aside = new.with_name(f"{new.name}.old")
            target.rename(aside)
            new.rename(target)
            new = aside
        _sync(target.parent)
        shutil.rmtree(new, ignore_errors=True)
    else:
        new.rename(target)
        _sync(target.parent)


def _exchange(one: Path, other: Path) -> bool:
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    done: int = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
