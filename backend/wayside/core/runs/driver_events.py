"""Looks at what a driver yields before anything of it is kept: outside code may yield anything."""

from collections.abc import Iterable

from wayside.core.plain_json import plain
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    DriverEvent,
    InputRequested,
    Progress,
)

MAX_ID_CHARS = 200
MAX_DELTA_CHARS = 16_000
MAX_CHECKPOINT_CHARS = 64 * 1024
_PURPOSES = {"answer", "question", "notice"}
_HISTORIES = {"record", "ephemeral"}


def checked_event(event: object) -> DriverEvent:
    """The event, when it is one that can be kept; raises `room.decision_malformed` or `run.checkpoint_malformed`."""
    match event:
        case Progress(stage=stage, current=current, total=total):
            _require(_name(stage) and all(n is None or (_whole(n) and n >= 0) for n in (current, total)))
        case AssistantOutput(output_id=output_id, delta=delta, final=final):
            _require(_name(output_id) and _text(delta, MAX_DELTA_CHARS) and isinstance(final, bool))
            _require(event.purpose in _PURPOSES and event.history in _HISTORIES)
            _require(event.origin is None)
        case Checkpoint(state=state):
            kept = plain(state, "run.checkpoint_malformed")
            if len(repr(kept)) > MAX_CHECKPOINT_CHARS:
                raise refuse("run.checkpoint_malformed")
            return Checkpoint(kept)
        case InputRequested(request_id=request_id, token=token):
            _require(_name(request_id) and _name(token))
        case Decision(utterances=utterances):
            _require(_texts(u.text for u in utterances))
        case Completed():
            pass
        case _:
            raise refuse("room.decision_malformed")
    return event


def _require(condition: bool) -> None:
    if not condition:
        raise refuse("room.decision_malformed")


def _name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS and _encodable(value)


def _text(value: object, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit and _encodable(value)


def _texts(values: Iterable[object]) -> bool:
    return all(_text(value, MAX_DELTA_CHARS) for value in values)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _encodable(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)
