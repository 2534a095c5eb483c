"""What a link has sent to a renderer on the far side and what came back: bounds, watermark, last known counts.

It decides whether samples may still be sent and which late facts are dropped. It refuses to guess: a count is what the
renderer reported, never what was sent.
"""

from dataclasses import dataclass

from wayside.core.errors import WaysideError

BYTES = 2
MAX_ENTRIES = 512


@dataclass(slots=True)
class _Entry:
    rate: int
    sent: int = 0
    rendered: int = 0
    abandoned: int = 0  # samples up to here wait for nothing any more

    @property
    def pending(self) -> int:
        return max(0, self.sent - max(self.rendered, self.abandoned))


class PlayoutLedger:
    """Utterances of the generations that are not cleared. Samples are counted at the synthesiser's rate."""

    def __init__(self, limit_s: float, limit_bytes: int) -> None:
        self.cleared_through = 0
        self._abandoned_through = 0
        self._newest = 0
        self._limit_s = limit_s
        self._limit_bytes = limit_bytes
        self._entries: dict[tuple[int, int], _Entry] = {}

    def accept(self, generation: int, utterance: int, pcm: bytes, rate: int) -> int | None:
        """Position of the first sample, or None when the generation is cleared or abandoned.

        Raises `WaysideError("audio.queue_full")` past either bound and `audio.malformed` for half a sample.
        """
        if len(pcm) % BYTES or rate <= 0 or rate % 50:
            raise WaysideError("audio.malformed", f"{len(pcm)} bytes at {rate} Hz are not s16le samples")
        if generation <= max(self.cleared_through, self._abandoned_through):
            return None
        if generation > self._newest:
            self._newest = generation
            heard = [
                key for key, entry in self._entries.items() if key[0] < generation and entry.rendered >= entry.sent
            ]
            surplus = list(self._entries)[: max(0, len(self._entries) - MAX_ENTRIES)]
            for key in {*heard, *surplus}:
                del self._entries[key]
        if (
            self.pending_s + len(pcm) / BYTES / rate > self._limit_s
            or self.pending_bytes + len(pcm) > self._limit_bytes
        ):
            raise WaysideError("audio.queue_full", "More sound waits than may wait", retryable=True)
        entry = self._entries.setdefault((generation, utterance), _Entry(rate))
        first, entry.sent = entry.sent, entry.sent + len(pcm) // BYTES
        return first

    def rendered(self, generation: int, utterance: int, samples: int) -> int | None:
        """Takes a reported count; returns it clamped to what was sent, or None when it is late or goes back."""
        entry = self._entries.get((generation, utterance))
        if entry is None or samples < entry.rendered:
            return None
        entry.rendered = min(samples, entry.sent)
        return entry.rendered

    def clear(self, generation: int) -> tuple[tuple[int, int, bool], ...]:
        """Raises the watermark; returns utterance, last known count and whether that was all of it."""
        self.cleared_through = max(self.cleared_through, generation)
        gone = [key for key in self._entries if key[0] <= generation]
        entries = [(utterance, self._entries.pop((g, utterance))) for g, utterance in gone]
        return tuple((utterance, entry.rendered, entry.rendered >= entry.sent) for utterance, entry in entries)

    def abandon(self, through: int | None = None) -> None:
        """The renderer lost its queue of this generation and older (all of them by default).

        What was rendered stays known; later samples of them are refused, since a reply with a hole is not resumed.
        """
        self._abandoned_through = max(self._abandoned_through, self._newest if through is None else through)
        for (generation, _), entry in self._entries.items():
            if generation <= self._abandoned_through:
                entry.abandoned = entry.sent

    @property
    def pending_s(self) -> float:
        return sum(entry.pending / entry.rate for entry in self._entries.values())

    @property
    def pending_bytes(self) -> int:
        return sum(entry.pending for entry in self._entries.values()) * BYTES
