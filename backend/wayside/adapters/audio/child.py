"""The audio child: `python -m wayside.adapters.audio.child FD`, with a stream socket to its parent.

It owns the devices, the echo canceller and the device's rate, because PortAudio can hang, spin or crash when an audio
server goes away. It decides nothing about the conversation. End of file on the socket means silence and exit, at once.
"""

import collections
import contextlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Literal

import sounddevice as sd

from wayside.adapters.audio.echo import EchoCanceller, Framer
from wayside.adapters.audio.resample import resampler, rms
from wayside.adapters.audio.slots import Change, Slot
from wayside.adapters.audio.streams import (
    BLOCK_BYTES,
    DEVICE_RATE,
    Gains,
    Loudspeaker,
    Microphone,
    pulse_device,
    reinitialise,
)
from wayside.adapters.audio.watch import Snapshot, Watcher, choose_loudspeaker, choose_microphone
from wayside.core.errors import WaysideError
from wayside.core.playout import Playout, Track
from wayside.wire import audio as wire

TICK_S = 0.02
AHEAD = DEVICE_RATE // 5  # resampled ahead; hold and clear do not wait for it
PREROLL_FRAMES = 30
DEAD_AIR_S = 5.0
REOPEN_S = 30.0  # how often a microphone of zeros is opened anew
PING_S = 1.0
NICE = -11
SERVER_DEADLINE_S = 2.0
GRACE_S = 0.5  # how long sound waits for a loudspeaker that went away
OUTGOING_LIMIT = 1 << 20
RAW = "the default device"  # where no audio server answers


@dataclass(frozen=True, slots=True)
class Settings:
    """What the parent says first. Devices by identity or part of the name; None is the audio server's default."""

    epoch: int
    microphone: str | None = None
    loudspeaker: str | None = None


class Child:
    """One loop, woken by the microphone every 20 ms; commands are carried out as they arrive."""

    def __init__(self, sock: socket.socket, settings: Settings) -> None:
        self._sock = sock
        self._settings = settings
        self._signal = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._decoder = wire.StreamDecoder()
        self._outgoing = bytearray()
        self._watcher = Watcher()
        self._had_server = False
        self._playout = Playout(DEVICE_RATE, resampler)
        self._gains = Gains()
        self._echo = EchoCanceller()
        self._framer = Framer()
        self._loudspeaker: Slot[Loudspeaker] = Slot(self._open_loudspeaker)
        self._microphone: Slot[Microphone] = Slot(self._open_microphone)
        self._listening = False
        self._preroll: collections.deque[bytes] = collections.deque(maxlen=PREROLL_FRAMES)
        self._captured = 0
        self._constant_since: float | None = None
        self._dead_air = False
        self._level = 0.0
        self._told: dict[Track, int] = {}
        self._facts: collections.deque[tuple[float, wire.AudioMessage]] = collections.deque()
        self._acks: list[tuple[float, int, tuple[Track, ...]]] = []
        self._held: list[tuple[int, int]] = []
        self._silent_since: float | None = None
        self._newest = 0

    def run(self) -> None:
        """Until the parent is gone."""
        self._watcher.start()
        self._watcher.tried.wait(SERVER_DEADLINE_S)
        self._send(wire.Ready())
        latest_tick = next_ping = time.monotonic()
        while True:
            timeout = max(0.0, latest_tick - time.monotonic())
            readable, _, _ = select.select([self._sock.fileno(), self._signal], [], [], timeout)
            if self._sock.fileno() in readable:
                self._receive()
            now = time.monotonic()
            if self._signal in readable:
                os.eventfd_read(self._signal)
            elif now < latest_tick:
                continue
            latest_tick = now + TICK_S * 1.5  # the microphone's signal comes first where there is one
            if now >= next_ping:
                next_ping = now + PING_S
                self._send(wire.Ready())
            self._follow_devices(now)
            self._render(now)
            self._capture(now)
            self._report(now)
            self._flush()

    # --- the parent's commands -----------------------------------------------------------------------------------

    def _receive(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            os._exit(0)
        for epoch, message in self._decoder.feed(data):
            if epoch == self._settings.epoch:
                self._obey(message)

    def _obey(self, message: wire.AudioMessage) -> None:
        match message:
            case wire.Playout(generation=g, utterance=u, pcm=pcm, rate=rate):
                self._newest = max(self._newest, g)
                if not self._playout.play(g, u, pcm, rate):
                    self._send(wire.Starved(g, u))
            case wire.Hold(generation=g):
                self._playout.hold(g)
                stream = self._loudspeaker.stream
                self._held.append((g, stream.blocks + 2 if stream else 0))
            case wire.Resume(generation=g):
                self._playout.resume(g)
            case wire.Clear(generation=g):
                stream = self._loudspeaker.stream
                # What the device's buffer holds is still heard, so it counts: the answer waits until it was.
                due = time.monotonic() + (stream.latency_s + TICK_S / 2 if stream else 0.0)
                self._acks.append((due, g, self._playout.clear(g)))
            case wire.Gain(generation=g, db=db):
                self._gains.set(g, db)
            case wire.Listen(open_=open_):
                self._listen(open_)
            case _:
                return  # what only a child says

    def _listen(self, open_: bool) -> None:
        self._listening = open_
        self._constant_since = None
        if open_:
            first = self._captured - len(self._preroll) * 160
            if self._preroll:
                self._send(wire.Capture(b"".join(self._preroll), first, 16_000))
            self._flush()
        self._preroll.clear()

    # --- devices -------------------------------------------------------------------------------------------------

    def _follow_devices(self, now: float) -> None:
        snapshot = self._watcher.snapshot
        if snapshot is None and self._had_server:
            # PortAudio does not survive its server: say so, and let the parent start afresh.
            for kind in ("microphone", "loudspeaker"):
                self._send(wire.Device(kind, present=False, reason="the audio server is gone"))
            self._flush()
            os._exit(0)
        self._had_server = snapshot is not None
        speaker, microphone = self._targets(snapshot)
        known = snapshot or Snapshot()
        for change in self._loudspeaker.step(now, speaker, "no loudspeaker", known.playing_on):
            self._tell_device("loudspeaker", change)
        changes = self._microphone.step(now, microphone, "no microphone", known.recording_on)
        for change in changes:
            if not (self._dead_air and change.present):  # one of zeros is found when it speaks, not when it is opened
                self._tell_device("microphone", change)

    def _targets(self, snapshot: Snapshot | None) -> tuple[str | None, str | None]:
        if snapshot is None:
            return RAW, RAW
        speaker = choose_loudspeaker(snapshot, self._settings.loudspeaker)
        return speaker, choose_microphone(snapshot, self._settings.microphone, speaker)

    def _open_loudspeaker(self, target: str) -> Loudspeaker | None:
        os.environ["PULSE_SINK"] = "" if target == RAW else target
        try:
            return Loudspeaker(self._playout, self._gains, self._device(target), target)
        except (sd.PortAudioError, ValueError):
            return None

    def _open_microphone(self, target: str) -> Microphone | None:
        os.environ["PULSE_SOURCE"] = "" if target == RAW else target
        try:
            return Microphone(self._device(target), target, self._signal)
        except (sd.PortAudioError, ValueError):
            return None

    def _device(self, target: str) -> str | None:
        if self._loudspeaker.stream is None and self._microphone.stream is None:
            reinitialise()
        return None if target == RAW else pulse_device()

    def _tell_device(self, kind: Literal["microphone", "loudspeaker"], change: Change) -> None:
        self._send(wire.Device(kind, change.present, change.reason))

    # --- sound -----------------------------------------------------------------------------------------------------

    def _render(self, now: float) -> None:
        stream = self._loudspeaker.stream
        if stream is None:
            self._wait_for_loudspeaker(now)
            return
        self._silent_since = None
        self._playout.prepare(AHEAD)
        newest = None
        while (block := stream.heard.read_block()) is not None:
            if self._echo.rendered(block):
                newest = block
        self._level = rms(newest) if newest is not None else 0.0
        current = self._playout.current
        if stream.underflows:
            stream.underflows = 0
            if current is not None and not current.finished:
                self._send(wire.Starved(current.generation, current.utterance))
        tracks = self._playout.tracks()
        if len(self._told) > len(tracks):
            self._told = {track: self._told[track] for track in tracks if track in self._told}
        for track in tracks:
            samples = track.rendered(DEVICE_RATE)
            if track.played and self._told.get(track) != samples:
                self._told[track] = samples
                fact = wire.RenderedCount(track.generation, track.utterance, samples, self._level)
                self._facts.append((now + stream.latency_s, fact))

    def _wait_for_loudspeaker(self, now: float) -> None:
        """Sound nobody can hear does not pile up, and does not come back out of nowhere later."""
        if self._playout.idle:
            return
        if self._silent_since is None:
            self._silent_since = now
        if now - self._silent_since < GRACE_S:
            return
        self._acks.append((now, self._newest, self._playout.clear(self._newest)))
        self._send(wire.Device("loudspeaker", present=False, reason="no loudspeaker"))

    def _capture(self, now: float) -> None:
        stream = self._microphone.stream
        if stream is None:
            return
        if stream.captured.lost:
            lost, stream.captured.lost = stream.captured.lost, 0
            self._send(wire.Lost(lost // BLOCK_BYTES * 160))
        if stream.overflows:
            self._send(wire.Lost(stream.overflows * 160))
            stream.overflows = 0
        stream.eager = not self._echo.resting  # somebody may talk over the guide: every block counts
        frames: list[bytes] = []
        while (block := stream.captured.read_block()) is not None:
            self._watch_dead_air(now, constant=block[2:] == block[:-2])
            frames += self._framer.push(self._echo.captured(block))
        if not frames:
            return
        if self._listening and not self._dead_air:
            self._send(wire.Capture(b"".join(frames), self._captured, 16_000))
        elif not self._listening:
            self._preroll.extend(frames)
        self._captured += 160 * len(frames)

    def _watch_dead_air(self, now: float, *, constant: bool) -> None:
        if not self._listening and not self._dead_air:
            return
        if not constant:
            self._constant_since = None
            if self._dead_air:
                self._dead_air = False
                self._tell_device("microphone", Change(present=True))
            return
        if self._constant_since is None:
            self._constant_since = now
        if self._dead_air and now - self._constant_since >= REOPEN_S:
            self._constant_since = now
            self._microphone.reopen()  # some come back from a power cycle only so
        elif not self._dead_air and now - self._constant_since >= DEAD_AIR_S:
            self._dead_air = True
            self._tell_device("microphone", Change(present=False, reason="delivers only silence"))

    def _report(self, now: float) -> None:
        while self._facts and self._facts[0][0] <= now:
            self._send(self._facts.popleft()[1])
        stream = self._loudspeaker.stream
        for generation, block in self._held[:]:
            if stream is None or stream.blocks >= block:
                self._held.remove((generation, block))
                self._send(wire.HeldAck(generation))
        for ack in self._acks[:]:
            due, generation, tracks = ack
            if now >= due:
                self._acks.remove(ack)
                for track in tracks:
                    self._told.pop(track, None)
                counts = tuple((track.utterance, track.rendered(DEVICE_RATE)) for track in tracks)
                self._send(wire.Cleared(generation, counts))

    # --- the socket ------------------------------------------------------------------------------------------------

    def _send(self, message: wire.AudioMessage) -> None:
        if isinstance(message, wire.Capture) and len(self._outgoing) > OUTGOING_LIMIT:
            message = wire.Lost(len(message.pcm) // 2)  # a parent that does not read: drop the newest and say so
        self._outgoing += wire.pack_stream(message, self._settings.epoch)

    def _flush(self) -> None:
        if not self._outgoing:
            return
        try:
            sent = self._sock.send(self._outgoing)
        except BlockingIOError:
            return
        except OSError:
            os._exit(0)
        del self._outgoing[:sent]


def main(arguments: list[str]) -> None:
    """Arguments: the number of the inherited socket. Settings arrive as one line of JSON on standard input."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at a desk is for the parent, whose end silences this process
    with contextlib.suppress(PermissionError):  # where the service may: a decode next door must not be heard
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
    sock = socket.socket(fileno=int(arguments[0]))
    sock.setblocking(False)
    settings = Settings(**json.loads(sys.stdin.readline()))
    try:
        Child(sock, settings).run()
    except WaysideError:  # the parent speaks another protocol: there is nothing to be said to it
        os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1:])
