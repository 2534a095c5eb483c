from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from wayside.core.playout import Playout, Unchanged

RATE = 16_000


def pcm(first: int, count: int) -> bytes:
    return b"".join(
        (value % 60_000 - 30_000).to_bytes(2, "little", signed=True) for value in range(first, first + count)
    )


def rendered(playout: Playout, samples: int = 160) -> tuple[list[int], int]:
    out = bytearray(samples * 2)
    count = playout.render(memoryview(out))
    return list(memoryview(out).cast("h")), count


def test_resume_goes_on_with_the_very_next_sample():
    playout = Playout(RATE, lambda *_: Unchanged())
    playout.play(1, 1, pcm(30_001, 480), RATE)
    playout.prepare(480)

    first, _ = rendered(playout)
    playout.hold(1)
    silence, _ = rendered(playout)
    playout.resume(1)
    second, _ = rendered(playout)

    assert list(range(1, 161)) == first
    assert silence == [0] * 160
    assert list(range(161, 321)) == second


def test_clear_drops_the_generation_between_newer_ones():
    playout = Playout(RATE, lambda *_: Unchanged())
    playout.play(1, 1, pcm(30_001, 160), RATE)
    playout.play(2, 2, pcm(31_001, 160), RATE)
    playout.play(1, 3, pcm(32_001, 160), RATE)
    playout.prepare(480)

    gone = playout.clear(1)
    playout.play(1, 4, pcm(33_001, 160), RATE)
    playout.prepare(480)
    block, count = rendered(playout, 320)

    assert [track.utterance for track in gone] == [1, 3]
    assert (list(range(1001, 1161)), 160) == (block[:160], count)


def test_late_samples_of_a_finished_utterance_are_told():
    playout = Playout(RATE, lambda *_: Unchanged())
    playout.play(1, 1, pcm(0, 160), RATE)
    playout.prepare(480)
    rendered(playout)

    assert not playout.play(1, 1, pcm(160, 160), RATE)


def test_months_of_replies_leave_nothing_behind():
    playout = Playout(RATE, lambda *_: Unchanged())
    for generation in range(1, 500):
        playout.play(generation, generation, pcm(1, 160), RATE)
        playout.prepare(160)
        rendered(playout)

    assert len(playout.tracks()) == 1
    assert len(playout._streams) == 1


class _Delayed:
    """A resampler from 8 to 16 kHz that keeps its newest 50 samples, as a filter does."""

    def __init__(self) -> None:
        self._kept = b""

    def push(self, pcm: bytes) -> bytes:
        doubled = b"".join(pcm[at : at + 2] * 2 for at in range(0, len(pcm), 2))
        self._kept += doubled
        out, self._kept = self._kept[:-100], self._kept[-100:]
        return out


def test_a_new_generation_waits_for_the_last_samples_of_the_old_one():
    playout = Playout(RATE, lambda *_: _Delayed())
    playout.play(1, 1, pcm(30_001, 200), 8_000)
    playout.play(2, 2, pcm(31_001, 200), 8_000)
    playout.prepare(800)
    samples, _ = rendered(playout, 800)

    assert samples == [value for first in (1, 1001) for value in range(first, first + 200) for _ in range(2)]


class PlayoutMachine(RuleBasedStateMachine):
    """Values are unique, so every rendered sample says where it came from."""

    def __init__(self) -> None:
        super().__init__()
        self.playout = Playout(16_000, lambda *_: _Delayed())
        self.sent: dict[tuple[int, int], list[int]] = {}
        self.heard: dict[tuple[int, int], list[int]] = {}
        self.owner: dict[int, tuple[int, int]] = {}
        self.next_value = 1
        self.cleared = 0
        self.held = 0
        self.newest = 0

    @rule(generation=st.integers(1, 4), utterance=st.integers(0, 2), count=st.integers(1, 400))
    def play(self, generation, utterance, count):
        # One reply has the floor at a time: an older generation never gets more samples once a newer one plays.
        if self.next_value + count > 30_000 or generation < self.newest:
            return
        self.newest = generation
        key = (generation, generation * 10 + utterance)
        values = list(range(self.next_value, self.next_value + count))
        self.next_value += count
        self.playout.play(*key, b"".join(value.to_bytes(2, "little", signed=True) for value in values), 8_000)
        if generation > self.cleared:
            self.sent.setdefault(key, []).extend(values)
            self.owner.update(dict.fromkeys(values, key))

    @rule(generation=st.integers(1, 4))
    def hold(self, generation):
        self.playout.hold(generation)
        if generation > self.cleared:
            self.held = max(self.held, generation)

    @rule(generation=st.integers(1, 4))
    def resume(self, generation):
        self.playout.resume(generation)
        if generation >= self.held:
            self.held = 0

    @rule(generation=st.integers(1, 4))
    def clear(self, generation):
        gone = self.playout.clear(generation)
        self.cleared = max(self.cleared, generation)
        self.held = 0 if self.held <= self.cleared else self.held
        for track in gone:
            key = (track.generation, track.utterance)
            assert track.rendered(16_000) <= len(self.sent.pop(key))

    @rule(blocks=st.integers(1, 6), ahead=st.integers(0, 900))
    def render(self, blocks, ahead):
        for _ in range(blocks):
            self.playout.prepare(ahead)
            samples, count = rendered(self.playout)
            assert not any(samples[count:])
            for value in samples[:count]:
                key = self.owner[value]
                assert key[0] > self.cleared
                assert key[0] > self.held
                self.heard.setdefault(key, []).append(value)

    @invariant()
    def every_sample_once_and_in_order(self):
        for key, sent in self.sent.items():
            heard = self.heard.get(key, [])
            assert [value for value in sent for _ in range(2)][: len(heard)] == heard

    @invariant()
    def counts_are_unique_samples(self):
        for track in self.playout.tracks():
            heard = len(self.heard.get((track.generation, track.utterance), []))
            assert track.rendered(16_000) == heard // 2

    def teardown(self):
        self.playout.resume(4)
        self.held = 0
        for _ in range(2_000):
            if self.playout.idle:
                break
            self.render(blocks=1, ahead=320)
        assert self.playout.idle
        for key, sent in self.sent.items():
            assert len(sent) * 2 == len(self.heard[key])


TestPlayout = PlayoutMachine.TestCase
TestPlayout.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
