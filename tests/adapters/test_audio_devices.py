"""Which device is meant, and when one is lost: decided without any device."""

import pytest
from wayside.adapters.audio.slots import LAST_RETRY_S, Change, Slot
from wayside.adapters.audio.streams import BLOCK_BYTES, Ring
from wayside.adapters.audio.watch import Node, Snapshot, choose_loudspeaker, choose_microphone

SNAPSHOT = Snapshot(
    sinks=(Node("alsa.hdmi"), Node("alsa.usb-bar", ("pci-0:usb-1.2", "08bb:2902:77"))),
    sources=(Node("alsa.hdmi.monitor", (), "alsa.hdmi"), Node("alsa.usb-array", ("pci-0:usb-1.3",))),
    default_sink="alsa.hdmi",
    default_source="alsa.hdmi.monitor",
)


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        (None, "alsa.hdmi"),
        ("pci-0:usb-1.2", "alsa.usb-bar"),
        ("08bb:2902:77", "alsa.usb-bar"),
        ("USB-bar", "alsa.usb-bar"),
        ("missing", None),
    ],
)
def test_a_loudspeaker_is_found_by_identity_then_name(pattern, chosen):
    assert choose_loudspeaker(SNAPSHOT, pattern) == chosen


def test_the_monitor_of_our_own_loudspeaker_is_no_microphone():
    assert choose_microphone(SNAPSHOT, None, "alsa.hdmi") is None


def test_the_sink_a_server_invents_is_no_loudspeaker():
    invented = Snapshot(sinks=(Node("auto_null"),), default_sink="auto_null")

    assert choose_loudspeaker(invented, None) is None


class FakeStream:
    def __init__(self, on):
        self.on, self.blocks, self.finished, self.closed = on, 0, False, False

    def close(self):
        self.closed = True


class Bench:
    def __init__(self):
        self.works = True
        self.opened = []
        self.slot = Slot(self._open)

    def _open(self, target):
        self.opened.append(target)
        return FakeStream(target) if self.works else None

    def run(self, now, target, moved_to=""):
        if self.slot.stream is not None:
            self.slot.stream.blocks += 1
        return self.slot.step(now, target, "no microphone", moved_to)


def test_a_device_is_told_once():
    bench = Bench()

    assert bench.run(0, "usb") == [Change(present=True)]
    assert bench.run(1, "usb") == []


def test_absence_is_told_once_with_its_reason():
    bench = Bench()

    assert bench.run(0, None) == [Change(present=False, reason="no microphone")]
    assert bench.run(1, None) == []


def test_a_stream_the_server_moved_is_opened_again_where_it_belongs():
    bench = Bench()
    bench.run(0, "usb")
    moved = bench.slot.stream

    early = bench.run(0.5, "usb", moved_to="hdmi")
    told = bench.run(6, "usb", moved_to="hdmi")

    assert early == []
    assert moved.closed
    assert told == [Change(present=False, reason="the audio server moved the stream"), Change(present=True)]


def test_a_callback_that_stops_running_is_a_lost_device():
    bench = Bench()
    bench.run(0, "usb")
    bench.run(1, "usb")
    bench.works = False

    told = bench.slot.step(2.5, "usb", "no microphone")

    assert told == [Change(present=False, reason="stalled")]


def test_a_device_that_fails_as_soon_as_it_is_open_is_not_hammered():
    bench = Bench()
    for tick in range(3000):
        bench.run(tick / 50, "usb")
        if bench.slot.stream is not None:
            bench.slot.stream.finished = True

    assert len(bench.opened) <= 15


def test_opening_is_tried_for_ever_ever_more_patiently():
    bench = Bench()
    bench.works = False
    for tick in range(60_000):
        bench.run(tick / 50, "usb")
    attempts = len(bench.opened)
    bench.works = True
    told = [change for tick in range(500) for change in bench.run(1200 + tick / 50, "usb")]

    assert 1200 / LAST_RETRY_S <= attempts <= 1200 / LAST_RETRY_S + 10
    assert told == [Change(present=True)]


def test_a_full_ring_counts_what_it_can_not_take():
    ring = Ring(BLOCK_BYTES * 2)
    block = memoryview(bytes(range(256)) * 4)[:BLOCK_BYTES]
    for _ in range(3):
        ring.write(block)

    assert ring.lost == BLOCK_BYTES
    assert [ring.read_block(), ring.read_block(), ring.read_block()] == [bytes(block), bytes(block), None]
