"""Which devices there are, told by the audio server as it happens.

PortAudio's list is frozen and streams are moved silently, so the child asks the server (`pulsectl`, on PulseAudio and
PipeWire). It decides which device is meant; it never opens one.
"""

import contextlib
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pulsectl

RETRY_S = 1.0
REFRESH_S = 5.0  # bounds what a missed event can cost
NOWHERE = "auto_null"  # the sink a server invents when there is none


@dataclass(frozen=True, slots=True)
class Node:
    """A sink or source: the server's name and what identifies the thing behind it."""

    name: str
    identity: tuple[str, ...] = ()
    monitor_of: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the server knew at one moment. `playing_on` and `recording_on` name where this process's streams are."""

    sinks: tuple[Node, ...] = ()
    sources: tuple[Node, ...] = ()
    default_sink: str = ""
    default_source: str = ""
    playing_on: str = ""
    recording_on: str = ""


def choose_loudspeaker(snapshot: Snapshot, pattern: str | None) -> str | None:
    """Name of the sink that is meant, or None."""
    sinks = [node for node in snapshot.sinks if not node.name.startswith(NOWHERE)]
    return _choose(sinks, snapshot.default_sink, pattern)


def choose_microphone(snapshot: Snapshot, pattern: str | None, loudspeaker: str | None) -> str | None:
    """Name of the source that is meant, or None; never the monitor of our own loudspeaker."""
    sources = [
        node
        for node in snapshot.sources
        if not node.monitor_of.startswith(NOWHERE) and (not node.monitor_of or node.monitor_of != loudspeaker)
    ]
    return _choose(sources, snapshot.default_source, pattern)


def _choose(nodes: list[Node], default: str, pattern: str | None) -> str | None:
    if pattern is None:
        return next((node.name for node in nodes if node.name == default), None)
    for match in (_is_identity, _is_name):
        for node in nodes:
            if match(node, pattern):
                return node.name
    return None


def _is_identity(node: Node, pattern: str) -> bool:
    return pattern in node.identity


def _is_name(node: Node, pattern: str) -> bool:
    return pattern.casefold() in node.name.casefold()


class Watcher(threading.Thread):
    """Keeps `snapshot` current; None while no server answers. `tried` is set once that is known."""

    def __init__(self) -> None:
        super().__init__(name="audio-watch", daemon=True)
        self.snapshot: Snapshot | None = None
        self.tried = threading.Event()
        self._pause = threading.Event()

    def run(self) -> None:
        while True:
            with contextlib.suppress(pulsectl.PulseError, OSError):
                self._follow()
            self.snapshot = None
            self.tried.set()
            self._pause.wait(RETRY_S)

    def _follow(self) -> None:
        with pulsectl.Pulse("wayside-watch", connect=False) as pulse:
            pulse.connect(autospawn=False)
            pulse.event_mask_set("sink", "source", "server", "sink_input", "source_output")
            pulse.event_callback_set(_stop)
            while True:
                self.snapshot = _take(pulse)
                self.tried.set()
                pulse.event_listen(timeout=REFRESH_S)


def _stop(_event: Any) -> None:
    raise pulsectl.PulseLoopStop


def _take(pulse: Any) -> Snapshot:
    server = pulse.server_info()
    sinks = {sink.index: sink for sink in pulse.sink_list()}
    sources = {source.index: source for source in pulse.source_list()}
    ours = str(os.getpid())
    playing = [sinks[item.sink].name for item in _of(pulse.sink_input_list(), ours) if item.sink in sinks]
    recording = [sources[item.source].name for item in _of(pulse.source_output_list(), ours) if item.source in sources]
    return Snapshot(
        sinks=tuple(Node(sink.name, _identity(sink.proplist)) for sink in sinks.values()),
        sources=tuple(
            Node(source.name, _identity(source.proplist), source.monitor_of_sink_name or "")
            for source in sources.values()
        ),
        default_sink=server.default_sink_name or "",
        default_source=server.default_source_name or "",
        playing_on=playing[-1] if playing else "",
        recording_on=recording[-1] if recording else "",
    )


def _of(streams: Iterable[Any], process_id: str) -> list[Any]:
    return [stream for stream in streams if stream.proplist.get("application.process.id") == process_id]


def _identity(properties: dict[str, str]) -> tuple[str, ...]:
    """Stable names, strongest first: the port it is plugged into, then vendor:product:serial."""
    bus = properties.get("device.bus_path", "")
    vendor, product = properties.get("device.vendor.id", ""), properties.get("device.product.id", "")
    serial = properties.get("device.serial", "")
    named = f"{vendor}:{product}:{serial}" if vendor and product else ""
    return tuple(value for value in (bus, named) if value)
