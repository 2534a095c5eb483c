"""What every audio link promises, asked of each of them."""

import asyncio
import contextlib
import time

import numpy as np
import pytest
from wayside.adapters.audio.device import DeviceLink
from wayside.adapters.audio.file import FileLink
from wayside.core.errors import WaysideError
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.audio_link import (
    CaptureFrame,
    DeviceFound,
    Held,
    LinkEvent,
    Rendered,
    Underflow,
    UtteranceRendered,
)

RATE = 22_050


def tone(seconds: float, rate: int = RATE, hertz: float = 440.0, level: float = 8000) -> bytes:
    return (level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(np.int16).tobytes()


class Harness:
    """A started link, its collected frames and events, and a way to let time pass."""

    def __init__(self, link, advance) -> None:
        self.link = link
        self.advance = advance
        self.frames: list[CaptureFrame] = []
        self.events: list[LinkEvent] = []

    async def collect_frames(self):
        async for frame in self.link.frames:
            self.frames.append(frame)

    async def collect_events(self):
        async for event in self.link.events:
            self.events.append(event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def rendered(self, utterance: int) -> list[Rendered]:
        return [event for event in self.of(Rendered) if event.utterance == utterance]

    async def until(self, condition, limit_s: float = 5.0):
        waited = 0.0
        while not condition():
            assert waited < limit_s, self.events[-5:]
            await self.advance(0.05)
            waited += 0.05


@contextlib.asynccontextmanager
async def running(link, advance):
    harness = Harness(link, advance)
    await link.start()
    async with asyncio.TaskGroup() as group:
        group.create_task(harness.collect_frames())
        group.create_task(harness.collect_events())
        try:
            await harness.until(lambda: len(harness.of(DeviceFound)) == 2)
            yield harness
        finally:
            await link.close()


@pytest.fixture(params=["fake", "file", "real file", pytest.param("device", marks=pytest.mark.device)])
async def harness(request, tmp_path):
    if request.param == "device":
        server = request.getfixturevalue("audio_server")
        server.murmur()
        link, advance = DeviceLink(epoch=7), asyncio.sleep
    elif request.param == "fake":
        link = FakeAudioLink()
        link.speak(tone(30, 16_000))

        async def advance(seconds):
            for _ in range(round(seconds * 100)):
                link.tick()
                await asyncio.sleep(0)

    else:
        mode = "virtual" if request.param == "file" else "real"
        link = FileLink(tone(30, 16_000), tmp_path / "out.wav", mode=mode)
        advance = link.advance if mode == "virtual" else asyncio.sleep
    async with running(link, advance) as started:
        yield started


async def test_start_tells_both_devices(harness):
    assert {"microphone", "loudspeaker"} == {event.kind for event in harness.of(DeviceFound)}


async def test_frames_are_ten_ms_and_gapless(harness):
    harness.link.listen(True)
    await harness.until(lambda: len(harness.frames) >= 40)
    positions = [frame.first_sample for frame in harness.frames]

    assert {(320, 16_000)} == {(len(frame.pcm), frame.rate) for frame in harness.frames}
    assert list(range(positions[0], positions[0] + 160 * len(positions), 160)) == positions
    assert sorted(frame.at for frame in harness.frames) == [frame.at for frame in harness.frames]


async def test_nothing_leaves_a_closed_microphone(harness):
    await harness.advance(0.2)
    harness.link.listen(True)
    await harness.until(lambda: bool(harness.frames))
    harness.link.listen(False)
    await harness.advance(0)
    before = len(harness.frames)
    await harness.advance(0.3)

    assert before == len(harness.frames)


async def test_opening_the_microphone_gives_at_most_300_ms_of_preroll(harness):
    await harness.advance(1.0)
    harness.link.listen(True)
    await harness.advance(0.1)

    assert 20 <= len(harness.frames) <= 45


async def test_rendered_counts_grow_to_exactly_what_was_played(harness):
    harness.link.play(1, 1, tone(0.3), RATE)
    harness.link.play(1, 2, tone(0.2)[:-2], RATE)
    await harness.until(lambda: bool(harness.rendered(2)) and harness.rendered(2)[-1].samples == 4409)
    counts = [event.samples for event in harness.rendered(1)]

    assert counts[-1] == 6615
    assert sorted(set(counts)) == counts
    assert any(0.1 < event.level < 0.3 for event in harness.rendered(1))
    assert harness.rendered(1)[-1].at <= harness.rendered(2)[-1].at


async def test_progress_is_told_at_least_every_60_ms(harness):
    harness.link.play(1, 1, tone(1.0), RATE)
    await harness.until(lambda: bool(harness.rendered(1)) and harness.rendered(1)[-1].samples == RATE)
    gaps = np.diff([event.samples for event in harness.rendered(1)]) / RATE

    assert np.percentile(gaps, 95) <= 0.06


async def test_hold_stops_the_count_and_resume_goes_on(harness):
    harness.link.play(3, 1, tone(0.6), RATE)
    await harness.until(lambda: bool(harness.rendered(1)))
    harness.link.hold(3)
    await harness.until(lambda: bool(harness.of(Held)))
    await harness.advance(0.2)
    held_at = harness.rendered(1)[-1].samples
    await harness.advance(0.3)

    assert held_at == harness.rendered(1)[-1].samples < 0.6 * RATE
    assert harness.of(Held)[0].generation == 3
    harness.link.resume(3)
    await harness.until(lambda: harness.rendered(1)[-1].samples == round(0.6 * RATE))


async def test_clear_counts_and_drops_everything_older(harness):
    harness.link.play(4, 1, tone(0.1), RATE)
    harness.link.play(5, 2, tone(2.0), RATE)
    harness.link.play(5, 3, tone(2.0), RATE)
    await harness.until(lambda: len(harness.rendered(2)) > 2)
    began = time.monotonic()
    ack = await harness.link.clear(5)
    took = time.monotonic() - began
    counts = {entry.utterance: entry for entry in ack.utterances}
    await harness.advance(0.05)
    before = len(harness.of(Rendered))
    await harness.advance(0.3)

    assert took < 0.25
    assert ack.generation == 5
    assert UtteranceRendered(1, 2205, "counted") == counts[1]
    assert harness.rendered(2)[-1].samples <= counts[2].samples < 2 * RATE
    assert UtteranceRendered(3, 0, "counted") == counts[3]
    assert before == len(harness.of(Rendered))


async def test_late_samples_of_a_cleared_generation_are_dropped_silently(harness):
    await harness.link.clear(5)
    harness.link.play(5, 1, tone(0.1), RATE)
    harness.link.play(6, 2, tone(0.1), RATE)
    await harness.until(lambda: bool(harness.rendered(2)) and harness.rendered(2)[-1].samples == 2205)

    assert not harness.rendered(1)


async def test_clear_releases_the_hold_of_what_it_drops(harness):
    harness.link.play(1, 1, tone(0.5), RATE)
    harness.link.hold(1)
    await harness.link.clear(1)
    harness.link.play(2, 2, tone(0.1), RATE)

    await harness.until(lambda: bool(harness.rendered(2)) and harness.rendered(2)[-1].samples == 2205)


async def test_a_newer_generation_survives_the_clear_of_an_older_one(harness):
    harness.link.play(1, 1, tone(1.0), RATE)
    harness.link.play(2, 2, tone(0.1), RATE)
    await harness.link.clear(1)

    await harness.until(lambda: bool(harness.rendered(2)) and harness.rendered(2)[-1].samples == 2205)


async def test_utterances_follow_each_other_at_different_rates(harness):
    harness.link.play(1, 1, tone(0.1, 16_000), 16_000)
    harness.link.play(1, 2, tone(0.1, 48_000), 48_000)
    await harness.until(lambda: bool(harness.rendered(2)) and harness.rendered(2)[-1].samples == 4800)

    assert harness.rendered(1)[-1].samples == 1600


async def test_more_than_the_queue_holds_is_refused(harness):
    harness.link.hold(1)
    second = bytes(2 * RATE * 10)
    for _ in range(12):
        harness.link.play(1, 1, second, RATE)
    with pytest.raises(WaysideError) as caught:
        harness.link.play(1, 1, second, RATE)

    assert (caught.value.code, caught.value.retryable) == ("audio.queue_full", True)
    await harness.link.clear(1)


async def test_a_gap_inside_an_utterance_is_told(harness):
    harness.link.play(1, 1, tone(0.1), RATE)
    await harness.until(lambda: bool(harness.rendered(1)) and harness.rendered(1)[-1].samples == 2205)
    await harness.advance(0.1)
    harness.link.play(1, 1, tone(0.1), RATE)
    await harness.until(lambda: harness.rendered(1)[-1].samples == 4410)

    assert Underflow(1, 1) in harness.events


async def test_a_missing_loudspeaker_is_said_and_nothing_waits_for_it():
    async def advance(seconds):
        link.tick(round(seconds * 100))
        await asyncio.sleep(0)

    link = FakeAudioLink()
    async with running(link, advance) as harness:
        link.play(1, 1, tone(1.0), RATE)
        await advance(0.2)
        link.lose("loudspeaker")
        link.play(1, 2, tone(1.0), RATE)
        link.find("loudspeaker")
        link.play(1, 3, tone(1.0), RATE)
        link.play(2, 4, tone(0.1), RATE)
        await advance(0.5)
        ack = await link.clear(1)

        assert {4} == {event.utterance for event in harness.of(Rendered) if event.generation == 2}
        assert not harness.rendered(3)
        assert [(1, "estimated")] == [(entry.utterance, entry.certainty) for entry in ack.utterances if entry.samples]


async def test_an_answer_that_never_comes_is_an_estimate():
    async def advance(seconds):
        link.tick(round(seconds * 100))
        await asyncio.sleep(0)

    link = FakeAudioLink()
    link.answers = False
    async with running(link, advance) as harness:
        link.play(1, 1, tone(1.0), RATE)
        await advance(0.2)
        ack = await link.clear(1)
        await advance(0)

        assert (UtteranceRendered(1, harness.rendered(1)[-1].samples, "estimated"),) == ack.utterances


async def test_closing_twice_is_fine(harness):
    await harness.link.close()
    await harness.link.close()
