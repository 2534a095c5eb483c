"""Runs as JSON: what is persisted and what a live stream carries. One tag for each event; nothing else is a run event.

Reading is as strict as writing: an unknown tag or field, or a value of another type, raises `ValueError`.
"""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from wayside.core.errors import WaysideError
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    InputRequested,
    JournalEntry,
    Progress,
    RunCanceled,
    RunEvent,
    RunFailed,
)
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import DeliveryRow, TranscriptRow

SCHEMA = 1

_EVENTS: dict[str, type[Any]] = {
    "progress": Progress,
    "assistant_output": AssistantOutput,
    "checkpoint": Checkpoint,
    "input_requested": InputRequested,
    "decision": Decision,
    "completed": Completed,
    "run_failed": RunFailed,
    "run_canceled": RunCanceled,
}
_TAGS: dict[type[Any], str] = {cls: tag for tag, cls in _EVENTS.items()}
_STRICT = ConfigDict(extra="forbid", strict=True)
# A dataclass takes no configuration from outside, the tuple around it does and hands it down to every field.
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {
    cls: TypeAdapter(tuple[cls], config=_STRICT)  # type: ignore[valid-type]
    for cls in (*_EVENTS.values(), RunRecord, TranscriptRow, DeliveryRow)
}
_PLACE: TypeAdapter[tuple[str, int, int, str, str]] = TypeAdapter(tuple[str, int, int, str, str], config=_STRICT)
_PLACE_FIELDS = ("run_id", "sequence", "attempt", "event_id", "input_id")


def event_tag(event: RunEvent) -> str:
    """The public name of an event's type."""
    return _TAGS[type(event)]


def event_to_dict(event: RunEvent) -> dict[str, Any]:
    """`{"type": tag, …fields}` as plain JSON."""
    return {"type": event_tag(event)} | _fields(event)


def event_from_dict(value: dict[str, Any]) -> RunEvent:
    """The inverse of `event_to_dict`."""
    if not isinstance(value, dict):
        raise ValueError("not a run event")  # noqa: TRY004 - one error for everything that can't be read
    fields = dict(value)
    cls = _EVENTS.get(str(fields.pop("type", "")))
    if cls is None:
        raise ValueError("unknown run event")
    event: RunEvent = _load(cls, _dump(fields))
    return event


def entry_to_json(entry: JournalEntry) -> str:
    """One journal entry, one line."""
    place = {name: getattr(entry, name) for name in _PLACE_FIELDS}
    return _dump(place | {"event": event_to_dict(entry.event)})


def entry_from_json(text: str) -> JournalEntry:
    """The inverse of `entry_to_json`."""
    value = json.loads(text)
    if not isinstance(value, dict) or set(value) != {*_PLACE_FIELDS, "event"}:
        raise ValueError("not a journal entry")
    run_id, sequence, attempt, event_id, input_id = _PLACE.validate_json(_dump([value[f] for f in _PLACE_FIELDS]))
    return JournalEntry(run_id, sequence, attempt, event_from_dict(value["event"]), event_id, input_id)


def record_to_json(record: RunRecord) -> str:
    """One run record."""
    return _dump(_fields(record))


def record_from_json(text: str) -> RunRecord:
    """The inverse of `record_to_json`."""
    record: RunRecord = _load(RunRecord, text)
    return record


def row_to_json(row: TranscriptRow | DeliveryRow) -> str:
    """One transcript or delivery row."""
    return _dump(_fields(row))


def transcript_from_json(text: str) -> TranscriptRow:
    """The inverse of `row_to_json`."""
    row: TranscriptRow = _load(TranscriptRow, text)
    return row


def delivery_from_json(text: str) -> DeliveryRow:
    """The inverse of `row_to_json`."""
    row: DeliveryRow = _load(DeliveryRow, text)
    return row


def _fields(value: Any) -> dict[str, Any]:
    fields: dict[str, Any] = _plain(_ADAPTERS[type(value)].dump_python((value,))[0])
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    # Sets have no order of their own: without one, the same record would be written differently by each process.
    return sorted(value) if isinstance(value, frozenset) else value


def _load(cls: type[Any], text: str) -> Any:
    try:
        return _ADAPTERS[cls].validate_json(f"[{text}]")[0]
    except WaysideError:
        raise ValueError("a value that refuses itself") from None


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
