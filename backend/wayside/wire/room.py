"""Runs as JSON: what is persisted and what a live stream carries. One tag for each event; nothing else is a run event.

Reading is as strict as writing: an unknown tag or field, or a value of another type, raises `ValueError`.
"""

import json
from typing import Any

from pydantic import TypeAdapter

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
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {
    cls: TypeAdapter(cls) for cls in (*_EVENTS.values(), RunRecord, TranscriptRow, DeliveryRow)
}


def event_tag(event: RunEvent) -> str:
    """The public name of an event's type."""
    return _TAGS[type(event)]


def event_to_dict(event: RunEvent) -> dict[str, Any]:
    """`{"type": tag, …fields}` as plain JSON."""
    fields: dict[str, Any] = _ADAPTERS[type(event)].dump_python(event, mode="json")
    return {"type": event_tag(event)} | fields


def event_from_dict(value: dict[str, Any]) -> RunEvent:
    """The inverse of `event_to_dict`."""
    fields = dict(value)
    cls = _EVENTS.get(str(fields.pop("type", "")))
    if cls is None:
        raise ValueError("unknown run event")
    event: RunEvent = _load(cls, fields)
    return event


def entry_to_json(entry: JournalEntry) -> str:
    """One journal entry, one line."""
    return _dump(
        {
            "run_id": entry.run_id,
            "sequence": entry.sequence,
            "attempt": entry.attempt,
            "event_id": entry.event_id,
            "input_id": entry.input_id,
            "event": event_to_dict(entry.event),
        }
    )


def entry_from_json(text: str) -> JournalEntry:
    """The inverse of `entry_to_json`."""
    value = json.loads(text)
    event = event_from_dict(value.pop("event"))
    return JournalEntry(event=event, **value)


def record_to_json(record: RunRecord) -> str:
    """One run record."""
    return _ADAPTERS[RunRecord].dump_json(record).decode()


def record_from_json(text: str) -> RunRecord:
    """The inverse of `record_to_json`."""
    record: RunRecord = _load(RunRecord, json.loads(text))
    return record


def row_to_json(row: TranscriptRow | DeliveryRow) -> str:
    """One transcript or delivery row."""
    return _ADAPTERS[type(row)].dump_json(row).decode()


def transcript_from_json(text: str) -> TranscriptRow:
    """The inverse of `row_to_json`."""
    row: TranscriptRow = _load(TranscriptRow, json.loads(text))
    return row


def delivery_from_json(text: str) -> DeliveryRow:
    """The inverse of `row_to_json`."""
    row: DeliveryRow = _load(DeliveryRow, json.loads(text))
    return row


def _load(cls: type[Any], fields: dict[str, Any]) -> Any:
    unknown = set(fields) - set(cls.__dataclass_fields__)
    if unknown:
        raise ValueError("unknown field")
    return _ADAPTERS[cls].validate_python(fields)


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
