"""The ledger of one reply: what was generated, synthesised, sent and rendered, and therefore what was heard.

It decides which text reached people; it never sees a clock, a socket or a sample value.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from wayside.core.sentences import cut

MAX_REPLY_CHARS = 4000
_LESS = 0.92  # estimates err on the side of less

Alignment = Literal["timed", "estimated", "unknown"]


class ReplyState(StrEnum):
    """Where a reply is."""

    SPEAKING = "speaking"
    HELD = "held"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of text in one synthesis context. Counts are samples at `rate`.

    `marks` are (end of word or clause as character offset, last sample of it), rising. `shown` counts characters the
    page acknowledged (delivery by screen).
    """

    id: int
    text: str
    rate: int = 0
    synthesised: int = 0
    complete: bool = False  # synthesis has ended
    sent: int = 0
    rendered: int = 0
    marks: tuple[tuple[int, int], ...] = ()
    shown: int = 0

    @property
    def fully_rendered(self) -> bool:
        """Every synthesised sample has been rendered."""
        return self.complete and self.synthesised > 0 and self.rendered >= self.synthesised

    def heard_chars(self) -> int:
        """Characters delivered so far, cut back to a word boundary; unheard text never counts."""
        return max(self.shown, self._rendered_chars())

    def _rendered_chars(self) -> int:
        if self.fully_rendered:
            return len(self.text)
        if self.rendered <= 0:
            return 0
        char, sample = 0, 0
        next_char, next_sample = len(self.text), self.synthesised if self.complete else 0
        for mark_char, mark_sample in self.marks:
            if mark_sample <= self.rendered:
                char, sample = mark_char, mark_sample
            else:
                next_char, next_sample = mark_char, mark_sample
                break
        if next_sample <= sample:
            # Synthesis is still going on past the last mark: its end is unknown, so nothing more is claimed.
            return char
        share = _LESS * (self.rendered - sample) / (next_sample - sample)
        return max(char, _word_boundary(self.text, char + int(share * (next_char - char))))


@dataclass(frozen=True, slots=True)
class Heard:
    """What reached people. `interrupted` marks text that breaks off."""

    text: str
    alignment: Alignment
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """One generation's reply. `rest` is text not yet cut into an utterance."""

    generation: int
    run_id: str
    utterances: tuple[Utterance, ...] = ()
    rest: str = ""
    text_ended: bool = False
    truncated: bool = False  # the text bound was reached
    state: ReplyState = ReplyState.SPEAKING

    @property
    def open(self) -> bool:
        """Whether sound may still come of it."""
        return self.state in {ReplyState.SPEAKING, ReplyState.HELD}

    @property
    def generated_chars(self) -> int:
        """All text generated so far."""
        return sum(len(u.text) for u in self.utterances) + len(self.rest)

    @property
    def all_delivered(self) -> bool:
        """Nothing is left to render or show."""
        return self.text_ended and all(u.fully_rendered or u.shown >= len(u.text) for u in self.utterances)


def add_text(reply: Reply, delta: str) -> tuple[Reply, tuple[Utterance, ...]]:
    """Take a delta; return the utterances that became speakable. Text past the bound is dropped and marked."""
    if not reply.open or reply.text_ended:
        return reply, ()
    room = MAX_REPLY_CHARS - reply.generated_chars
    truncated = reply.truncated or len(delta) > room
    pieces, rest = cut(reply.rest + delta[: max(0, room)], final=False)
    return _append(replace(reply, rest=rest, truncated=truncated), pieces)


def end_text(reply: Reply) -> tuple[Reply, tuple[Utterance, ...]]:
    """No more text comes; return the utterances left."""
    if not reply.open or reply.text_ended:
        return reply, ()
    pieces, _ = cut(reply.rest, final=True)
    return _append(replace(reply, rest="", text_ended=True), pieces)


def synthesised(reply: Reply, utterance: int, samples: int, rate: int, marks: Iterable[tuple[int, int]] = ()) -> Reply:
    """`samples` more of the utterance exist."""
    return _update(
        reply,
        utterance,
        lambda u: replace(u, synthesised=u.synthesised + samples, rate=rate, marks=u.marks + tuple(marks)),
    )


def synthesis_ended(reply: Reply, utterance: int) -> Reply:
    """The utterance has all its samples."""
    return _update(reply, utterance, lambda u: replace(u, complete=True))


def sent(reply: Reply, utterance: int, samples: int) -> Reply:
    """`samples` more of the utterance went to the link. Says nothing about being heard."""
    return _update(reply, utterance, lambda u: replace(u, sent=u.sent + samples))


def rendered(reply: Reply, utterance: int, samples: int) -> Reply:
    """The renderer counted `samples` of the utterance in total; counts never fall and never pass what was sent."""
    return _update(reply, utterance, lambda u: replace(u, rendered=min(u.sent, max(u.rendered, samples))))


def shown(reply: Reply, utterance: int, chars: int) -> Reply:
    """The page acknowledged `chars` of the utterance as shown."""
    return _update(reply, utterance, lambda u: replace(u, shown=min(len(u.text), max(u.shown, chars))))


def move(reply: Reply, state: ReplyState) -> Reply:
    """Change the state; a closed reply stays as it is."""
    return replace(reply, state=state) if reply.open else reply


def heard(reply: Reply, *, acked: bool = True) -> Heard:
    """What of the reply reached people. Without an ack the last known counts stand and alignment is unknown."""
    parts: list[str] = []
    alignment: Alignment = "timed"
    for utterance in reply.utterances:
        chars = utterance.heard_chars()
        parts.append(utterance.text[:chars])
        if chars < len(utterance.text):
            if not _word_timed(utterance):
                alignment = "estimated"
            break
    text = "".join(parts).rstrip()
    whole = reply.text_ended and not reply.rest and len(text) >= len("".join(u.text for u in reply.utterances).rstrip())
    return Heard(text, alignment if acked else "unknown", interrupted=not whole)


def _append(reply: Reply, pieces: Iterable[str]) -> tuple[Reply, tuple[Utterance, ...]]:
    first = len(reply.utterances) + 1
    new = tuple(Utterance(first + n, piece) for n, piece in enumerate(pieces))
    return replace(reply, utterances=reply.utterances + new), new


def _update(reply: Reply, utterance: int, change: Callable[[Utterance], Utterance]) -> Reply:
    if not 1 <= utterance <= len(reply.utterances):
        return reply
    at = utterance - 1
    return replace(
        reply,
        utterances=(*reply.utterances[:at], change(reply.utterances[at]), *reply.utterances[at + 1 :]),
    )


def _word_boundary(text: str, at: int) -> int:
    if at >= len(text) or text[at].isspace():
        return min(at, len(text))
    return text.rfind(" ", 0, at) + 1


def _word_timed(utterance: Utterance) -> bool:
    return len(utterance.marks) >= len(utterance.text.split()) > 0
