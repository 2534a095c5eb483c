"""Starts the processes that die and tells how they ended; what they left is read in the folder of the job."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("child.py")
LIMIT_S = 20.0  # one that is still there then hangs


@dataclass(frozen=True, slots=True)
class Ended:
    """One process that is over; `code` is negative for a signal."""

    pid: int
    code: int


class Nursery:
    """Forks one child at a time from a parent that has its imports behind it."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, folder: Path, do: str, *, limit_s: float = LIMIT_S, **job: Any) -> Ended:
        """Run a job to its end; after `limit_s` it is killed."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        (folder / "told.json").unlink(missing_ok=True)
        self._parent.stdin.write(json.dumps({"do": do, "folder": str(folder), **job}) + "\n")
        self._parent.stdin.flush()
        pid = int(self._parent.stdout.readline())
        kill = threading.Timer(limit_s, _kill, (pid,))
        kill.start()
        code = int(self._parent.stdout.readline())
        kill.cancel()
        kill.join()
        return Ended(pid, code)

    def close(self) -> None:
        """End the parent, which has no child now."""
        with self._parent:
            pass


def _kill(pid: int) -> None:
    # The parent has not waited for it yet, or it is over: then nobody has its number so soon.
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def told(folder: Path) -> Any:
    """What the last process that ended by itself had to tell."""
    return json.loads((folder / "told.json").read_text())


def lines(folder: Path, name: str) -> list[list[str]]:
    """The fields of a log of the folder's processes."""
    path = folder / name
    return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []


def errors(folder: Path) -> str:
    """What the processes had to complain about."""
    path = folder / "errors.log"
    return path.read_text()[-4000:] if path.exists() else ""
