"""Child processes: each in its own process group, without core dumps, ended with everything it started.

Their output is content like any other: it goes into a bounded ring in memory and nowhere else, unless somebody at a
desk asks to see it.
"""

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

RING_BYTES = 64 * 1024
READ_BYTES = 4096
KILL_WAIT_S = 5.0
READ_OUT_S = 0.5
EXIT_POLL_S = 0.1
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


class Ring:
    """The last bytes a child wrote; older ones are dropped."""

    def __init__(self, limit: int = RING_BYTES) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size > self._limit and len(self._chunks) > 1:
            self._size -= len(self._chunks.popleft())

    def tail(self, limit: int = 2000) -> str:
        return b"".join(self._chunks)[-limit:].decode("utf-8", "replace")


class Child:
    """One running child. `ended` is called once, with the exit code, when its process and its group are gone."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, *, echo: bool) -> None:
        self.name = name
        self.pid = process.pid
        self.ring = Ring()
        self._process = process
        self._echo = echo

    async def wait(self) -> int:
        """Read the child's output until it ends, then end what it left behind. Return its exit code."""
        async with asyncio.TaskGroup() as group:
            reader = group.create_task(self._read())
            try:
                code = await self._exited()
            finally:
                # What the child started may hold its output open for ever: the group goes first.
                kill_group(self.pid)
            await asyncio.wait((reader,), timeout=READ_OUT_S)
            reader.cancel()
        return code

    async def stop(self, grace_s: float) -> None:
        """Ask the group to end, and make it end after `grace_s`. Stopping a gone child is fine."""
        _signal_group(self.pid, signal.SIGTERM)
        try:
            await asyncio.wait_for(self._exited(), grace_s)
        except TimeoutError:
            kill_group(self.pid)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._exited(), KILL_WAIT_S)

    async def _exited(self) -> int:
        # Process.wait() also waits until the pipe is closed, which a grandchild may never do.
        while (code := self._process.returncode) is None:  # noqa: ASYNC110
            await asyncio.sleep(EXIT_POLL_S)
        return code

    async def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        while chunk := await stream.read(READ_BYTES):
            self.ring.add(chunk)
            if self._echo:
                sys.stderr.buffer.write(chunk)
                sys.stderr.buffer.flush()


async def start(name: str, command: Sequence[str], env: Mapping[str, str], *, echo: bool) -> Child:
    """Start `command` in its own session and process group. Raise OSError when it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(env),
        start_new_session=True,
        preexec_fn=_before_exec(os.getpid()),
    )
    return Child(name, process, echo=echo)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent died, so that they can be reaped instead of lingering."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def no_core_dumps() -> None:
    """Core dumps would carry visitors' words to disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def kill_group(pid: int) -> None:
    """End the group at once."""
    _signal_group(pid, signal.SIGKILL)


def reap_group(pgid: int) -> bool:
    """Collect adopted members of a group that was killed; true when none is left."""
    try:
        while os.waitpid(-pgid, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return True
    return False


def remember(file: Path, children: Sequence[Child]) -> None:
    """Write down who runs, so that a watchdog that was killed can clean up at its next start."""
    lines = [f"{child.pid} {psutil.Process(child.pid).create_time():.2f}\n" for child in children if _alive(child.pid)]
    with contextlib.suppress(OSError, psutil.Error):
        file.write_text("".join(lines), encoding="ascii")


def end_left_over(file: Path) -> int:
    """End the groups a killed watchdog left running; return how many. A reused process id is recognised by its age."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0
    count = 0
    for line in lines:
        with contextlib.suppress(ValueError, psutil.Error):
            pid, created = line.split()
            if abs(psutil.Process(int(pid)).create_time() - float(created)) < 1.0:
                kill_group(int(pid))
                count += 1
    file.unlink(missing_ok=True)
    return count


def _alive(pid: int) -> bool:
    return psutil.pid_exists(pid)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _before_exec(parent: int) -> Callable[[], None]:
    """Run between fork and exec. The watchdog has one thread when it forks, so this is safe."""

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # TERM, not KILL: a sidecar that can still act deletes what it holds of a visit. One that can't is ended at
        # the watchdog's next start.
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
