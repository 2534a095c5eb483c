"""Looks at what a driver yields before anything of it is kept: outside code may yield anything.

What passes can be written down by every store and read back as it was.
"""

from wayside.core.content import Source
from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json, canonical, plain
from wayside.core.room.agents import ActionProposal, Endpoint, InteractionDraft, RoomUtterance
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Choice,
    Completed,
    Decision,
    DriverEvent,
    InputRequested,
    OfferChoices,
    Progress,
    ShowExhibit,
    ShowSources,
)

MAX_ID_CHARS = 200
MAX_DELTA_CHARS = 16_000
MAX_CHECKPOINT_CHARS = 64 * 1024
MAX_DECISION_CHARS = 64 * 1024
MAX_COUNT = 2**53  # what every reader of JSON takes as a whole number
_PURPOSES = ("answer", "question", "notice")
_HISTORIES = ("record", "ephemeral")


def checked_event(event: object) -> DriverEvent:
    """The event, when it is one that can be kept; raises `room.decision_malformed` or `run.checkpoint_malformed`."""
    try:
        return _checked(event)
    except WaysideError:
        raise
    except Exception:  # noqa: BLE001 - values of any type are compared and measured here, and their errors hold content
        raise refuse(_MALFORMED) from None


_MALFORMED = "room.decision_malformed"


def _checked(event: object) -> DriverEvent:
    match event:
        case Progress(stage=stage, current=current, total=total):
            _require(_name(stage) and all(n is None or _count(n) for n in (current, total)))
        case AssistantOutput(output_id=output_id, delta=delta, final=final):
            _require(_name(output_id) and _text(delta, MAX_DELTA_CHARS) and isinstance(final, bool))
            _require(event.purpose in _PURPOSES and event.history in _HISTORIES)
            _require(isinstance(event.audience, Disclosure | None) and isinstance(event.interruptible, bool))
            _require(event.origin is None)
        case Checkpoint(state=state):
            return Checkpoint(_checkpoint(state))
        case InputRequested(request_id=request_id, token=token):
            _require(_name(request_id) and _name(token))
        case Decision():
            _decision(event)
        case Completed():
            pass
        case _:
            raise refuse(_MALFORMED)
    return event


def _checkpoint(state: object) -> Json:
    try:
        kept = plain(state, "run.checkpoint_malformed")
        if _text(canonical(kept), MAX_CHECKPOINT_CHARS):
            return kept
    except (ValueError, OverflowError):  # a number of more digits than are ever written
        pass
    raise refuse("run.checkpoint_malformed") from None


def _decision(event: Decision) -> None:
    parts = (event.screen, event.utterances, event.interactions)
    _require(all(isinstance(part, tuple) for part in parts) and isinstance(event.refused, bool))
    kept: list[Json] = [_screen(item) for item in event.screen]
    kept += [_utterance(said) for said in event.utterances]
    kept += [_draft(draft) for draft in event.interactions]
    if event.action is not None:
        _require(isinstance(event.action, ActionProposal) and isinstance(event.action.seat, str | None))
        kept += [plain(event.action.action, _MALFORMED), event.action.seat]
    _require(_text(canonical(kept), MAX_DECISION_CHARS))


def _screen(item: object) -> Json:
    match item:
        case ShowSources(sources=sources, passages=passages):
            _require(isinstance(sources, tuple) and isinstance(passages, tuple))
            _require(all(isinstance(source, Source) for source in sources))
            return _texts(*passages, *(text for source in sources for text in (source.id, source.title, source.where)))
        case ShowExhibit(exhibit=exhibit):
            return _texts(exhibit)
        case OfferChoices(choices=choices):
            _require(isinstance(choices, tuple) and all(isinstance(choice, Choice) for choice in choices))
            return _texts(*(text for choice in choices for text in (choice.id, choice.text)))
        case _:
            raise refuse(_MALFORMED)


def _utterance(said: object) -> Json:
    match said:
        case RoomUtterance(text=text, audience=audience, interruptible=interruptible, history=history):
            _require(_text(text, MAX_DELTA_CHARS) and isinstance(audience, Disclosure))
            _require(isinstance(interruptible, bool) and history in _HISTORIES)
            return text
        case _:
            raise refuse(_MALFORMED)


def _draft(draft: object) -> Json:
    match draft:
        case InteractionDraft(targets=targets, payload=payload, disclosure=disclosure):
            _require(isinstance(targets, tuple) and isinstance(disclosure, Disclosure))
            _require(all(isinstance(target, Endpoint) for target in targets))
            return [_texts(*(target.id for target in targets)), plain(payload, _MALFORMED)]
        case _:
            raise refuse(_MALFORMED)


def _texts(*texts: object) -> Json:
    kept = [text for text in texts if isinstance(text, str)]
    _require(len(kept) == len(texts))
    return list[Json](kept)


def _require(condition: bool) -> None:
    if not condition:
        raise refuse(_MALFORMED)


def _name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARS and _encodable(value)


def _text(value: object, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit and _encodable(value)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT


def _encodable(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)
