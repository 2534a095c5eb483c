"""Runs as JSON: what is written comes back, and nothing else is read (RFC-022 §4)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_examples import a_record, an_input, disclosed, disclosures, events, ids, inputs, jsons, said, texts
from wayside.core.plain_json import plain
from wayside.core.room.disclosure import among
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
    ShowExhibit,
)
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.ports.run_store import DeliveryRow, TranscriptRow
from wayside.wire.room import (
    delivery_from_json,
    entry_from_json,
    entry_to_json,
    event_from_dict,
    event_tag,
    event_to_dict,
    record_from_json,
    record_to_json,
    row_to_json,
    transcript_from_json,
)

TAGS: dict[str, RunEvent] = {
    "progress": Progress("search", 1, 3),
    "assistant_output": said("hello", audience=disclosed("ab")),
    "checkpoint": Checkpoint({"at": [1]}),
    "input_requested": InputRequested("which", "token"),
    "decision": Decision((ShowExhibit("krater"),)),
    "completed": Completed(),
    "run_failed": RunFailed("deadline_exceeded"),
    "run_canceled": RunCanceled("superseded_by_new_input"),
}
counts = st.integers(0, 2**40)
records = st.builds(
    RunRecord,
    ids,
    ids,
    ids,
    ids,
    ids,
    inputs,
    disclosures,
    counts,
    st.none() | counts,
    st.sampled_from(RunStatus),
    st.integers(1, 99),
    counts,
    jsons,
    st.none() | st.builds(InputRequested, ids, ids),
    texts,
    ids,
)
transcript_rows = st.builds(
    TranscriptRow, ids, ids, ids, st.sampled_from(["visitor", "agent"]), ids, texts, ids, disclosures
)
delivery_rows = st.builds(
    DeliveryRow,
    ids,
    ids,
    counts,
    counts,
    st.sampled_from(["voice", "screen"]),
    counts,
    st.sampled_from(["timed", "estimated", "unknown"]),
    texts,
)


@given(events)
def test_every_event_comes_back_as_it_was(event: RunEvent) -> None:
    """D5. As plain JSON, whatever it holds (RFC-022 §4)."""
    value = event_to_dict(event)

    assert value == plain(value)
    assert value["type"] == event_tag(event)
    assert event == event_from_dict(json.loads(json.dumps(value)))


@given(events, ids, st.integers(1, 2**40), st.integers(1, 9))
def test_every_journal_entry_comes_back_as_it_was(event: RunEvent, name: str, sequence: int, attempt: int) -> None:
    entry = JournalEntry(name, sequence, attempt, event, name + "e", name + "i")

    assert entry == entry_from_json(entry_to_json(entry))


@given(records)
def test_every_record_comes_back_as_it_was(record: RunRecord) -> None:
    assert record == record_from_json(record_to_json(record))


@given(transcript_rows, delivery_rows)
def test_every_row_comes_back_as_it_was(said_row: TranscriptRow, delivered: DeliveryRow) -> None:
    assert said_row == transcript_from_json(row_to_json(said_row))
    assert delivered == delivery_from_json(row_to_json(delivered))


@pytest.mark.parametrize("value", [1, 1.0, True, False, 0, "1", None, 2**70, -0.5, [1, True, 1.0], {"": {"a": []}}])
def test_a_checkpoint_keeps_its_types(value: Any) -> None:
    """D7. One is not true, and not 1.0."""
    event = event_from_dict(event_to_dict(Checkpoint(value)))

    assert isinstance(event, Checkpoint)
    assert repr(value) == repr(event.state)


def test_a_disclosure_is_written_in_order() -> None:
    """A set has no order of its own; each process would write the same record differently."""
    names = [f"participant {n}" for n in range(30)]
    record = json.loads(record_to_json(a_record(disclosure=among(names), input=an_input(disclosure=among(names)))))
    event = event_to_dict(AssistantOutput("a", "b", audience=among(names)))

    for disclosure in (record["disclosure"], record["input"]["disclosure"], event["audience"]):
        assert disclosure == {"room": False, "participants": sorted(names)}


@pytest.mark.parametrize(("tag", "event"), TAGS.items())
def test_every_event_has_its_public_name(tag: str, event: RunEvent) -> None:
    """RFC-022 §3, §4, §7 name them."""
    assert tag == event_tag(event) == event_to_dict(event)["type"]


@pytest.mark.parametrize("tag", ["", "thought", "reasoning", "Progress", "RunCanceled", None, 3, ["progress"]])
def test_an_unknown_tag_is_refused(tag: Any) -> None:
    """RFC-022 §9.6: nothing but the public lifecycle is an event."""
    with pytest.raises(ValueError, match="unknown run event"):
        event_from_dict({"type": tag, "stage": "x"})


@pytest.mark.parametrize("value", [[], "progress", None, 3])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not a run event"):
        event_from_dict(value)


@pytest.mark.parametrize("event", TAGS.values())
def test_an_unknown_field_is_refused(event: RunEvent) -> None:
    """RFC-022 §9.6: no scratchpad travels along."""
    with pytest.raises(ValueError, match="unexpected_keyword"):
        event_from_dict(event_to_dict(event) | {"reasoning": "hidden"})


@pytest.mark.parametrize("path", [("origin",), ("audience",)])
def test_an_unknown_field_inside_is_refused_too(path: tuple[str, ...]) -> None:
    value = event_to_dict(TAGS["assistant_output"])
    for name in path:
        value[name]["reasoning"] = "hidden"

    with pytest.raises(ValueError, match="unexpected_keyword"):
        event_from_dict(value)


@pytest.mark.parametrize(
    ("tag", "changes"),
    [
        ("progress", {"stage": 3}),
        ("progress", {"current": "1"}),
        ("progress", {"current": 1.5}),
        ("progress", {"current": True}),
        ("assistant_output", {"final": 1}),
        ("assistant_output", {"final": "yes"}),
        ("assistant_output", {"purpose": "thought"}),
        ("assistant_output", {"history": "forever"}),
        ("assistant_output", {"audience": "room"}),
        ("assistant_output", {"audience": {"room": True, "participants": ["a"]}}),
        ("assistant_output", {"origin": {"origin": "driver"}}),
        ("decision", {"screen": [{"exhibit": 3}]}),
        ("decision", {"screen": [{"picture": "x"}]}),
        ("decision", {"action": {"action": "move"}}),
        ("run_failed", {"code": None}),
    ],
)
def test_a_value_of_another_type_is_refused(tag: str, changes: dict[str, Any]) -> None:
    """Nothing is turned into what it is not."""
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's message is its own
        event_from_dict(event_to_dict(TAGS[tag]) | changes)


@pytest.mark.parametrize("tag", ["progress", "assistant_output", "checkpoint", "input_requested", "run_failed"])
def test_a_missing_field_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="missing"):
        event_from_dict({"type": tag})


ENTRY = json.loads(entry_to_json(JournalEntry("r1", 1, 1, Completed(), "e1", "i1")))


@pytest.mark.parametrize(
    "changes",
    [{"sequence": "1"}, {"sequence": True}, {"attempt": None}, {"event": None}, {"event": {}}, {"run_id": 1}, {"x": 1}],
)
def test_an_entry_is_read_as_strictly(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's message is its own
        entry_from_json(json.dumps(ENTRY | changes))


@pytest.mark.parametrize("field", ENTRY)
def test_an_entry_is_read_whole(field: str) -> None:
    with pytest.raises(ValueError, match="not a journal entry"):
        entry_from_json(json.dumps({name: value for name, value in ENTRY.items() if name != field}))


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '"r1"', "NaN"])
def test_what_is_no_entry_or_record_is_refused(text: str) -> None:
    for read in (entry_from_json, record_from_json, transcript_from_json, delivery_from_json):
        with pytest.raises(ValueError):  # noqa: PT011 - json's and pydantic's messages are their own
            read(text)


def test_a_record_is_read_as_strictly() -> None:
    value = json.loads(record_to_json(a_record()))
    for changes in ({"status": "lost"}, {"attempt": "1"}, {"mood": "happy"}, {"input": value["input"] | {"x": 1}}):
        with pytest.raises(ValueError):  # noqa: PT011 - pydantic's message is its own
            record_from_json(json.dumps(value | changes))
