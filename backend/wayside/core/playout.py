"""The renderer at the heart of every audio link: what is heard next, and how much of it has been.

It decides the order of utterances, hold, resume and the clear watermark, and counts unique samples per utterance at the
synthesiser's rate. It refuses to know devices, threads and clocks. Two sides use it: the *feeder* (`play`, `hold`,
`resume`, `clear`, `prepare`) and the *renderer* (`render`), which may be a callback thread: it only copies, and only it
takes from the ready queue, so the two need no lock.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

BYTES = 2  # s16le
FEED_MS = 20
PAD_MS = 20  # of silence that pushes the last samples out of a resampler
MAX_TRACKS = 256  # of one generation; the oldest finished one is forgotten past it


class Resampler(Protocol):
    """A streaming resampler without drift: after n samples in, n·out/in samples (less its latency) came out."""

    def push(self, pcm: bytes) -> bytes: ...


class Unchanged:
    """The resampler of a link that renders at the synthesiser's rate."""

    def push(self, pcm: bytes) -> bytes:
        return pcm


@dataclass(slots=True, eq=False)
class Track:
    """One utterance on its way. `queued` counts at the synthesiser's rate, `due` and `played` at the output's."""

    generation: int
    utterance: int
    rate: int
    queued: int = 0
    due: int = 0
    played: int = 0
    waiting: deque[bytes] = field(default_factory=deque)

    @property
    def finished(self) -> bool:
        """Everything that arrived so far was rendered."""
        return not self.waiting and self.played >= self.due

    def rendered(self, out_rate: int) -> int:
        """Samples rendered so far, at the synthesiser's rate; all of them once the last one is out."""
        if self.finished:
            return self.queued
        return min(self.queued, self.played * self.rate // out_rate)


@dataclass(slots=True, eq=False)
class _Chunk:
    """Samples at the output's rate, all of one utterance."""

    track: Track
    data: memoryview
    offset: int = 0


@dataclass(slots=True, eq=False)
class _Stream:
    """The resampler of one generation and rate, and which of its output belongs to whom."""

    resampler: Resampler
    taken: int = 0
    given: int = 0
    segments: deque[tuple[int, Track | None]] = field(default_factory=deque)  # end position at the output's rate


class Playout:
    """Queue, position and watermarks of one loudspeaker at `out_rate`, mono s16le."""

    def __init__(self, out_rate: int, resampler: Callable[[int, int], Resampler]) -> None:
        self.out_rate = out_rate
        self.cleared_through = 0
        self.current: Track | None = None  # the utterance of the newest rendered sample
        self._held_through = 0
        self._newest = 0
        self._resampler = resampler
        self._tracks: dict[tuple[int, int], Track] = {}
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._feeding: Track | None = None
        self._feeding_key = (0, 0)
        self._ready: deque[_Chunk] = deque()
        self._appended = 0
        self._consumed = 0

    # --- the feeder's side -------------------------------------------------------------------------------------

    def play(self, generation: int, utterance: int, pcm: bytes, rate: int) -> bool:
        """Queues samples; False when they came late: something of the utterance was missed by the loudspeaker.

        Samples of a cleared generation are dropped silently, which is not late.
        """
        if generation <= self.cleared_through or not pcm:
            return True
        track = self._tracks.get((generation, utterance))
        if track is None:
            self._forget_finished(generation)
            track = self._tracks[generation, utterance] = Track(generation, utterance, rate)
        late = track.queued > 0 and track.finished
        track.waiting.append(pcm)
        track.queued += len(pcm) // BYTES
        return not late

    def hold(self, generation: int) -> None:
        """Zeros from the next block on for this generation and older; a cleared one is silent already."""
        if generation > self.cleared_through:
            self._held_through = max(self._held_through, generation)

    def resume(self, generation: int) -> None:
        """The very next sample; a resume older than the newest hold is ignored."""
        if generation >= self._held_through:
            self._held_through = 0

    def clear(self, generation: int) -> tuple[Track, ...]:
        """Drops everything of `generation` and older for ever; returns its utterances, whose counts are then final."""
        self.cleared_through = max(self.cleared_through, generation)
        if self._held_through <= self.cleared_through:
            self._held_through = 0
        gone = tuple(track for track in self._tracks.values() if track.generation <= generation)
        for track in gone:
            del self._tracks[track.generation, track.utterance]
        self._streams = {key: stream for key, stream in self._streams.items() if key[0] > generation}
        if self._feeding in gone:
            self._feeding = None
        return gone

    @property
    def held(self) -> bool:
        return self._held_through > 0

    @property
    def ready(self) -> int:
        """Samples at the output's rate that can be rendered now."""
        return self._appended - self._consumed

    @property
    def idle(self) -> bool:
        """Nothing waits anywhere."""
        return not self.ready and all(track.finished for track in self._tracks.values())

    def tracks(self) -> tuple[Track, ...]:
        """Every utterance that is not cleared, oldest first."""
        return tuple(self._tracks.values())

    def prepare(self, ahead: int) -> None:
        """Resamples ahead until `ahead` output samples are ready or nothing is left."""
        while self.ready < ahead:
            track = self._next_track()
            if track is None:
                self._push_out_tails()
                return
            self._feed(track)

    # --- the renderer's side -----------------------------------------------------------------------------------

    def render(self, out: memoryview) -> int:
        """Fills `out` (bytes) with the next samples, then zeros; returns how many samples were of an utterance."""
        filled, size = 0, len(out)
        queue = self._ready
        while filled < size and queue:
            chunk = queue[0]
            track, left = chunk.track, len(chunk.data) - chunk.offset
            if track.generation <= self.cleared_through:
                queue.popleft()
                self._consumed += left // BYTES
                continue
            if track.generation <= self._held_through:
                break
            count = min(left, size - filled)
            out[filled : filled + count] = chunk.data[chunk.offset : chunk.offset + count]
            filled += count
            chunk.offset += count
            track.played += count // BYTES
            self._consumed += count // BYTES
            self.current = track
            if count == left:
                queue.popleft()
        if filled < size:
            out[filled:] = bytes(size - filled)
        return filled // BYTES

    # --- private -----------------------------------------------------------------------------------------------

    def _next_track(self) -> Track | None:
        if self._feeding is None or not self._feeding.waiting:
            self._feeding = next((track for track in self._tracks.values() if track.waiting), None)
        return self._feeding

    def _feed(self, track: Track) -> None:
        key = (track.generation, track.rate)
        if key != self._feeding_key:
            self._push_out_tails()  # what the other resampler still keeps comes first
            self._feeding_key = key
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream(self._resampler(track.rate, self.out_rate))
        pcm = track.waiting.popleft()
        step = track.rate * FEED_MS // 1000 * BYTES
        if len(pcm) > step:
            track.waiting.appendleft(pcm[step:])
            pcm = pcm[:step]
        self._push(stream, track, pcm, track.rate)

    def _push(self, stream: _Stream, track: Track | None, pcm: bytes, rate: int) -> None:
        before = stream.taken * self.out_rate // rate
        stream.taken += len(pcm) // BYTES
        end = stream.taken * self.out_rate // rate
        stream.segments.append((end, track))
        if track is not None:
            track.due += end - before
        out = memoryview(stream.resampler.push(pcm))
        while out and stream.segments:
            end, owner = stream.segments[0]
            count = min(len(out) // BYTES, end - stream.given)
            if owner is not None and count:
                self._ready.append(_Chunk(owner, out[: count * BYTES]))
                self._appended += count
            out = out[count * BYTES :]
            stream.given += count
            if stream.given >= end:
                stream.segments.popleft()

    def _push_out_tails(self) -> None:
        for (_, rate), stream in self._streams.items():
            for _ in range(10):
                if not any(owner for _, owner in stream.segments):
                    break
                self._push(stream, None, bytes(rate * PAD_MS // 1000 * BYTES), rate)

    def _forget_finished(self, generation: int) -> None:
        """What was wholly rendered before this generation began is no news to anyone; a kiosk runs for months."""
        old: list[Track] = []
        if generation > self._newest:
            self._newest = generation
            old = [track for track in self._tracks.values() if track.finished and track.generation < generation]
        if not old and len(self._tracks) >= MAX_TRACKS:
            old = [track for track in self._tracks.values() if track.finished][:1]
        for track in old:
            del self._tracks[track.generation, track.utterance]
        alive = {track.generation for track in self._tracks.values()} | {generation}
        self._streams = {key: stream for key, stream in self._streams.items() if key[0] in alive}
