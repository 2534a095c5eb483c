"""The audio child as seen from its parent: start, talk, notice its end, start again with backoff.

Callbacks on the event loop only, no tasks: nothing here can outlive `stop`.
"""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable

from wayside.core.errors import WaysideError
from wayside.wire import audio as wire

FIRST_BACKOFF_S = 0.1
LAST_BACKOFF_S = 5.0
STEADY_S = 30.0  # a child that lived this long starts the backoff anew
CHECK_S = 1.0
SILENT_S = 5.0  # the child says something every second
REAP_S = 2.0


class ChildProcess:
    """`said` gets every message of this epoch; `ended` is called once for each child that is gone."""

    def __init__(
        self,
        settings: dict[str, object],
        epoch: int,
        said: Callable[[wire.AudioMessage], None],
        ended: Callable[[], None],
    ) -> None:
        self._settings = json.dumps(settings | {"epoch": epoch}).encode() + b"\n"
        self._epoch = epoch
        self._said = said
        self._ended = ended
        self._process: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None
        self._outgoing = bytearray()
        self._decoder = wire.StreamDecoder()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._backoff_s = FIRST_BACKOFF_S
        self._born = self._last_word = self._last_check = 0.0

    @property
    def pid(self) -> int | None:
        """Process id of the living child."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def connected(self) -> bool:
        return self._sock is not None

    def start(self) -> None:
        """Spawns a child; its first message is `Ready`."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "wayside.adapters.audio.child", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # PortAudio and ALSA chatter, some of it endlessly
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError), self._process.stdin as stdin:
                stdin.write(self._settings)
        ours.setblocking(False)
        self._sock = ours
        self._outgoing.clear()
        self._decoder = wire.StreamDecoder()
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, self._read)
        self._born = self._last_word = self._last_check = loop.time()
        self._timers["check"] = loop.call_later(CHECK_S, self._check)

    async def stop(self) -> None:
        """Silence at once; returns when the child is gone. Twice is fine."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._disconnect()
        process, self._process = self._process, None
        if process is None:
            return
        deadline = asyncio.get_running_loop().time() + REAP_S
        while process.poll() is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 (a process)
            await asyncio.sleep(0.01)
        process.kill()
        process.wait()

    def send(self, message: wire.AudioMessage) -> None:
        """Sent in order; dropped while there is no child."""
        if self._sock is None:
            return
        waiting = bool(self._outgoing)
        self._outgoing += wire.pack_stream(message, self._epoch)
        if not waiting:
            self._write()

    def _write(self) -> None:
        if self._sock is None:
            return
        loop = asyncio.get_running_loop()
        try:
            sent = self._sock.send(self._outgoing)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._outgoing.clear()
            loop.remove_writer(self._sock)
            return  # its end is noticed by reading
        del self._outgoing[:sent]
        if self._outgoing:
            loop.add_writer(self._sock, self._write)
        else:
            loop.remove_writer(self._sock)

    def _read(self) -> None:
        if self._sock is None:
            return
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._gone()
            return
        self._last_word = asyncio.get_running_loop().time()
        try:
            for epoch, message in self._decoder.feed(data):
                if epoch == self._epoch:
                    self._said(message)
        except WaysideError:
            self._gone()

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        punctual = loop.time() - self._last_check < 2 * CHECK_S
        self._last_check = loop.time()
        if punctual and loop.time() - self._last_word > SILENT_S:
            self._gone()
            return
        self._timers["check"] = loop.call_later(CHECK_S, self._check)

    def _gone(self) -> None:
        self._disconnect()
        for timer in self._timers.values():
            timer.cancel()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        loop = asyncio.get_running_loop()
        if loop.time() - self._born > STEADY_S:
            self._backoff_s = FIRST_BACKOFF_S
        self._timers["respawn"] = loop.call_later(self._backoff_s, self.start)
        self._backoff_s = min(LAST_BACKOFF_S, self._backoff_s * 2)
        self._ended()

    def _disconnect(self) -> None:
        if self._sock is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._sock)
        loop.remove_writer(self._sock)
        self._sock.close()
        self._sock = None
