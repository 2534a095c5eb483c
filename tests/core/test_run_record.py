"""A run's record is a fold over its journal, and nothing follows an end (RFC-022 §4)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_examples import BEN, a_record, an_input, disclosed, ends, going_on, journal, pauses, step
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
from wayside.core.runs.record import RunRecord, RunStatus, apply, continued, recovered, status_after

ASKED = InputRequested("which", "token")
ENDS: dict[RunStatus, RunEvent] = {
    RunStatus.COMPLETED: Completed(),
    RunStatus.FAILED: RunFailed("deadline_exceeded"),
    RunStatus.CANCELED: RunCanceled("visitor"),
}
EVERY: tuple[RunEvent, ...] = (
    Progress("search"),
    AssistantOutput("a", "hello"),
    Checkpoint(1),
    ASKED,
    Decision(),
    *ENDS.values(),
)


@pytest.mark.parametrize("event", EVERY)
def test_every_event_moves_the_sequence_by_one(event: RunEvent) -> None:
    """D1. Sequences are contiguous and begin at one (RFC-022 §4)."""
    assert apply(a_record(), event).sequence == 1
    assert apply(a_record(sequence=7), event).sequence == 8


@pytest.mark.parametrize("event", [Progress("search", 1, 3), AssistantOutput("a", "hello", final=True), Decision()])
def test_what_only_shows_changes_nothing_else(event: RunEvent) -> None:
    """RFC-022 §9.4: progress never moves state."""
    record = a_record(checkpoint={"at": 1})

    assert replace(record, sequence=1) == apply(record, event)


def test_a_checkpoint_replaces_the_one_before() -> None:
    """D7. The latest full checkpoint is on the record (RFC-022 §4)."""
    _, record = journal(a_record(checkpoint={"seed": 1}), [Checkpoint({"at": 1}), Progress("x"), Checkpoint(None)])

    assert record.checkpoint is None


def test_a_question_pauses_the_clock() -> None:
    """D2. A waiting run consumes no deadline (RFC-022 §7)."""
    record = apply(a_record(checkpoint=5), ASKED)

    assert (record.status, record.waiting, record.deadline_ms, record.checkpoint) == (RunStatus.WAITING, ASKED, None, 5)


@pytest.mark.parametrize(
    ("record", "status"),
    [
        *((a_record(), status) for status in ENDS),
        *((apply(a_record(), ASKED), status) for status in (RunStatus.FAILED, RunStatus.CANCELED)),
    ],
)
def test_an_end_clears_what_could_go_on(record: RunRecord, status: RunStatus) -> None:
    """D6. The last event and the status agree; the continuation is gone for good (RFC-022 §6)."""
    record = apply(record, ENDS[status])

    assert (record.status, record.waiting, record.deadline_ms, record.open) == (status, None, None, False)


def test_why_a_run_ended_is_on_its_record() -> None:
    """D5. A stable code for a failure, the reason of a cancellation, nothing for success."""
    codes = [apply(a_record(), event).code for event in ENDS.values()]

    assert codes == ["", "deadline_exceeded", "visitor"]


@pytest.mark.parametrize("event", EVERY)
@pytest.mark.parametrize("end", ENDS.values())
def test_nothing_follows_an_end(event: RunEvent, end: RunEvent) -> None:
    """D6, D26. A terminal run takes no event, not even the same end again (RFC-022 §6, late output)."""
    over = apply(a_record(), end)

    with pytest.raises(WaysideError) as refusal:
        apply(over, event)

    assert refusal.value.code == "run.stale_transition"


@pytest.mark.parametrize("event", EVERY)
def test_a_waiting_run_can_only_be_ended_from_outside(event: RunEvent) -> None:
    """D2. After its question a driver adds nothing; a cancellation or failure still may."""
    waiting = apply(a_record(), ASKED)
    if isinstance(event, RunFailed | RunCanceled):
        assert not apply(waiting, event).open
        return

    with pytest.raises(WaysideError) as refusal:
        apply(waiting, event)

    assert refusal.value.code == "run.stale_transition"


def test_a_continuation_is_the_same_run_in_its_next_attempt() -> None:
    """D2. Run, root input, journal and checkpoint stay; input, attempt and deadline are new (RFC-022 §6)."""
    _, waiting = journal(a_record(), [Checkpoint({"at": 1}), ASKED])
    answer = an_input("i2", "the red one")

    assert continued(waiting, answer, 50_000) == a_record(
        input=answer, attempt=2, sequence=2, checkpoint={"at": 1}, deadline_ms=60_000
    )


@pytest.mark.parametrize(
    ("before", "answer", "after"),
    [("ab", "room", "ab"), ("room", "a", "a"), ("ab", "bc", "b"), ("a", "b", ""), ("room", "room", "room")],
)
def test_a_continuation_only_narrows_who_may_see(before: str, answer: str, after: str) -> None:
    """D3. The run's disclosure is intersected with the answer's (RFC-022 §6)."""
    waiting = apply(a_record(disclosure=disclosed(before)), ASKED)

    assert disclosed(after) == continued(waiting, an_input("i2", disclosure=disclosed(answer)), 0).disclosure


@pytest.mark.parametrize("record", [a_record(), *(apply(a_record(), end) for end in ENDS.values())])
def test_only_a_waiting_run_is_continued(record: RunRecord) -> None:
    with pytest.raises(WaysideError) as refusal:
        continued(record, an_input("i2", source=BEN), 0)

    assert refusal.value.code == "run.continuation_mismatch"


def test_recovery_takes_the_next_attempt_and_keeps_the_deadline() -> None:
    """D7, D11. Recovery can't reset the deadline (RFC-022 §7)."""
    _, record = journal(a_record(), [Checkpoint(3), Progress("x")])

    assert replace(record, attempt=2) == recovered(record)


@pytest.mark.parametrize("event", [ASKED, *ENDS.values()])
def test_only_an_active_run_is_recovered(event: RunEvent) -> None:
    with pytest.raises(WaysideError) as refusal:
        recovered(apply(a_record(), event))

    assert refusal.value.code == "run.not_recoverable"


def test_an_empty_journal_is_that_of_an_active_run() -> None:
    assert status_after(()) is RunStatus.ACTIVE


attempts = st.lists(st.tuples(st.lists(going_on, max_size=3), st.sampled_from(["pause", "recover"])), max_size=4)


@given(attempts, st.none() | pauses | ends)
def test_the_journal_alone_tells_the_status(middle: list[tuple[list[RunEvent], str]], last: RunEvent | None) -> None:
    """D6. Whatever was written, the fold and the journal agree (RFC-022 §4)."""
    record, entries = a_record(), list[JournalEntry]()
    for number, (events, turn) in enumerate(middle):
        for event in events:
            entry, record = step(record, event)
            entries.append(entry)
        if turn == "pause":
            entry, record = step(record, ASKED)
            entries.append(entry)
            record = continued(record, an_input(f"i{number + 2}"), 0)
        else:
            record = recovered(record)
    # An attempt that has written nothing leaves no trace, so each ends with an event that tells it.
    for event in (Progress("x"), *([] if last is None else [last])):
        entry, record = step(record, event)
        entries.append(entry)

    assert record.status is status_after(entries)
    assert [entry.sequence for entry in entries] == list(range(1, record.sequence + 1))
    assert record.attempt == len(middle) + 1
