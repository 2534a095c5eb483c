"""What a scenario expected against what happened; every difference is one line for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wayside.commands.room import Room
from wayside.core.reply import ReplyState
from wayside.runtime.answer import Answered
from wayside.wire.scenario import Expect

STOP_GRACE_S = 0.1  # what may still sound after the stop control


@dataclass(slots=True)
class Outcome:
    """What came of one run. Times are the room's."""

    answered: list[Answered] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    replies: int = 0
    input_ended: float | None = None
    broke_in: float | None = None
    stopped: float | None = None


def failures(expected: Sequence[Expect], outcome: Outcome, room: Room) -> list[str]:
    """Empty when everything held."""
    return [
        f"expect.{number}: {line}"
        for number, expect in enumerate(expected, start=1)
        for line in (*_counts(expect, outcome), *_turn(expect, outcome), *_sound(expect, outcome, room))
    ]


def _counts(expect: Expect, outcome: Outcome) -> Iterator[str]:
    if expect.turns is not None and expect.turns != len(outcome.answered):
        said = ", ".join(repr(turn.transcript) for turn in outcome.answered)
        yield f"turns: {expect.turns} expected, there were {len(outcome.answered)} ({said or 'none'})"
    if "second_reply" in expect.absent and outcome.replies > 1:
        yield f"absent second_reply: there were {outcome.replies} replies"


def _turn(expect: Expect, outcome: Outcome) -> Iterator[str]:
    wanted = {
        "answer_contains": expect.answer_contains,
        "heard_contains": expect.heard_contains,
        "transcript_contains": expect.transcript_contains,
    }
    if not any((*wanted.values(), expect.source)) and expect.refused is None and expect.finished is None:
        return
    number = expect.turn or len(outcome.answered)
    if not 1 <= number <= len(outcome.answered):
        yield f"there was no turn {expect.turn or ''}({', '.join(outcome.notices) or 'nothing was understood'})"
        return
    turn = outcome.answered[number - 1]
    found = {
        "answer_contains": turn.answer,
        "heard_contains": turn.delivery.heard.text if turn.delivery else "",
        "transcript_contains": turn.transcript,
    }
    for name, text in wanted.items():
        if text is not None and text.casefold() not in found[name].casefold():
            yield f"{name}: {text!r} is not in {found[name].strip()!r}"
    if expect.refused is not None and expect.refused != turn.refused:
        yield f"refused: {expect.refused} expected; {turn.transcript!r} was answered {turn.answer.strip()!r}"
    sources = [source.id for source in turn.sources]
    if expect.source is not None and expect.source not in sources:
        yield f"source: {expect.source!r} is not among {', '.join(sources) or 'none'}"
    finished = turn.delivery is not None and turn.delivery.state is ReplyState.FINISHED
    if expect.finished is not None and expect.finished != finished:
        yield f"finished: {expect.finished} expected, the reply was {'' if finished else 'not '}delivered to its end"


def _sound(expect: Expect, outcome: Outcome, room: Room) -> Iterator[str]:
    if expect.silent_within_ms is not None:
        silent = None if outcome.broke_in is None else room.silence_from(outcome.broke_in)
        if outcome.broke_in is None or silent is None:
            yield "silent_within_ms: nothing broke in, or it never fell silent"
        elif 1000 * (silent - outcome.broke_in) > expect.silent_within_ms:
            yield f"silent_within_ms: {expect.silent_within_ms} expected, took {1000 * (silent - outcome.broke_in):.0f}"
    if expect.first_audio_within_ms is not None:
        first = None if outcome.input_ended is None else room.sound_from(outcome.input_ended)
        if outcome.input_ended is None or first is None:
            yield "first_audio_within_ms: nothing was heard"
        elif 1000 * (first - outcome.input_ended) > expect.first_audio_within_ms:
            took = 1000 * (first - outcome.input_ended)
            yield f"first_audio_within_ms: {expect.first_audio_within_ms} expected, took {took:.0f}"
    if "audio_after_stop" in expect.absent and outcome.stopped is not None:
        late = room.sound_from(outcome.stopped + STOP_GRACE_S)
        if late is not None:
            yield f"absent audio_after_stop: sound {1000 * (late - outcome.stopped):.0f} ms after the stop"
