"""What every run store promises, in memory and in a file (RFC-022 §4)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from run_examples import a_record, admission, an_input, disclosed, journal, jsons, said, step
from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json, canonical
from wayside.core.runs.events import Checkpoint, Completed, InputRequested, JournalEntry, Progress, RunCanceled
from wayside.core.runs.record import RunRecord, RunStatus, apply, continued, recovered
from wayside.ports.run_store import DeliveryRow, InputIndex, RunStore, TranscriptRow
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.stores.sqlite.runs import SqliteRunStore

ASKED = InputRequested("which", "token")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RunStore]:
    made = MemoryRunStore() if request.param == "memory" else await SqliteRunStore(tmp_path / "runs.db").open()
    yield made
    await made.delete()


async def refused(code: str, call: Any) -> None:
    with pytest.raises(WaysideError) as refusal:
        await call
    assert code == refusal.value.code


async def everything(store: RunStore) -> tuple[Any, ...]:
    """All that one can see of it."""
    runs = await store.load_runs()
    return (
        runs,
        await store.load_transcript("kiosk"),
        tuple([await store.load_events(run.id) for run in runs]),
        await store.load_open("kiosk"),
        await store.load_deliveries(tuple(run.id for run in runs)),
    )


async def written(store: RunStore, record: RunRecord, *events: Any) -> RunRecord:
    """Admit the run and commit these events."""
    await store.admit(admission(record, f"mark of {record.input.id}"))
    for event in events:
        entry, record = step(record, event)
        await store.commit_event(entry, record)
    return record


async def test_an_admission_writes_run_row_and_index_at_once(store: RunStore) -> None:
    """D16. In one transaction (RFC-022 §4)."""
    record = a_record(checkpoint={"seed": [1, 2.5, None]})

    assert record == await store.admit(admission(record))
    assert record == await store.load("r1")
    assert (admission(record).row,) == await store.load_transcript("kiosk", "visitor")
    assert InputIndex("mark", "r1") == await store.load_by_input("kiosk", "visitor", "i1", "guide")
    assert () == await store.load_events("r1")


async def test_an_exact_retry_gets_the_run_as_it_stands(store: RunStore) -> None:
    """D16, D18. Once in the transcript, one run; also when it is over (RFC-022 §4)."""
    over = await written(store, a_record(), Progress("x"), Completed())
    before = await everything(store)

    assert over == await store.admit(admission(a_record("r2"), "mark of i1"))
    assert before == await everything(store)


async def test_a_changed_retry_is_refused(store: RunStore) -> None:
    """D16. And leaves everything as it was (RFC-022 §4)."""
    await written(store, a_record())
    before = await everything(store)
    await refused("run.input_mismatch", store.admit(admission(a_record("r2"), "other")))
    await refused("run.input_mismatch", store.admit(admission(a_record("r2", agent="potter"), "other")))

    assert before == await everything(store)
    assert None is await store.load("r2")


async def test_two_agents_answer_one_input(store: RunStore) -> None:
    """Two runs, one transcript row, one index each."""
    for run, agent in (("r1", "guide"), ("r2", "potter")):
        await store.admit(admission(a_record(run, agent=agent)))

    assert 1 == len(await store.load_transcript("kiosk"))
    for run, agent in (("r1", "guide"), ("r2", "potter"), (None, "referee")):
        assert InputIndex("mark", run) == await store.load_by_input("kiosk", "visitor", "i1", agent)


@pytest.mark.parametrize("place", [("kiosk", "visitor", "i2"), ("kiosk", "other", "i1"), ("other", "visitor", "i1")])
async def test_an_input_is_known_only_in_its_place(store: RunStore, place: tuple[str, str, str]) -> None:
    await written(store, a_record())

    assert None is await store.load_by_input(*place, "guide")


@pytest.mark.parametrize("waiting", [False, True])
async def test_one_place_has_one_open_run(store: RunStore, waiting: bool) -> None:
    """F7. A constraint of the store itself, whoever decided (RFC-022 §6)."""
    await written(store, a_record(), *([ASKED] if waiting else []))
    before = await everything(store)
    second = a_record("r2", input=an_input("i2"))
    await refused("run.open_exists", store.admit(admission(second)))
    await refused("run.open_exists", store.create(second))
    await refused("run.open_exists", store.create(replace(second, status=RunStatus.WAITING)))

    assert before == await everything(store)
    assert None is await store.load_by_input("kiosk", "visitor", "i2", "guide")


@pytest.mark.parametrize("place", [{"room": "other"}, {"channel": "other"}, {"agent": "other"}])
async def test_other_places_are_independent(store: RunStore, place: dict[str, str]) -> None:
    """D10, F7."""
    await written(store, a_record())
    other = a_record("r2", **place)
    await store.create(other)

    assert other == await store.load("r2")


async def test_a_run_that_is_over_makes_place_for_the_next(store: RunStore) -> None:
    """F7."""
    await written(store, a_record(), RunCanceled("superseded_by_new_input"))
    second = a_record("r2", input=an_input("i2"))

    assert second == await store.admit(admission(second))
    assert (second,) == await store.load_open("kiosk")


async def test_a_run_id_is_used_once(store: RunStore) -> None:
    over = await written(store, a_record(), Progress("x"), Completed())
    await refused("run.open_exists", store.admit(admission(a_record(input=an_input("i2")))))
    await refused("run.open_exists", store.create(over))

    assert over == await store.load("r1")
    assert 2 == len(await store.load_events("r1"))


async def test_a_continuation_keeps_the_run_and_its_journal(store: RunStore) -> None:
    """D2. One run, two inputs, two rows (RFC-022 §6)."""
    waiting = await written(store, a_record(), Checkpoint({"at": 1}), ASKED)
    again = continued(waiting, an_input("i2", "the red one"), 0)

    assert again == await store.admit(admission(again, "mark 2", continued=True))
    assert again == await store.load("r1")
    assert (again,) == await store.load_open("kiosk")
    assert ["in:i1", "in:i2"] == [row.key for row in await store.load_transcript("kiosk")]
    assert "r1" == (await store.load_by_input("kiosk", "visitor", "i2", "guide")).run_id  # type: ignore[union-attr]
    assert again == await store.admit(admission(a_record("r9", input=again.input), "mark 2"))


async def test_only_the_first_answer_continues(store: RunStore) -> None:
    """D2, D20. Compare-and-set on the waiting transition (RFC-022 §4)."""
    waiting = await written(store, a_record(), ASKED)
    await store.admit(admission(continued(waiting, an_input("i2"), 0), continued=True))
    before = await everything(store)
    await refused(
        "run.stale_transition", store.admit(admission(continued(waiting, an_input("i3"), 0), "m", continued=True))
    )

    assert before == await everything(store)
    assert None is await store.load_by_input("kiosk", "visitor", "i3", "guide")


@pytest.mark.parametrize("events", [(), (ASKED, RunCanceled("visitor")), (Progress("x"), ASKED)])
async def test_a_run_that_does_not_wait_there_is_not_continued(store: RunStore, events: tuple[Any, ...]) -> None:
    """D2. Active, over, or waiting at another sequence."""
    await written(store, a_record(), *events)
    answer = continued(apply(a_record(), ASKED), an_input("i2"), 0)
    await refused("run.stale_transition", store.admit(admission(answer, continued=True)))

    assert 1 == len(await store.load_transcript("kiosk"))


async def test_an_unknown_run_is_not_continued(store: RunStore) -> None:
    answer = continued(apply(a_record(), ASKED), an_input("i2"), 0)
    await refused("run.stale_transition", store.admit(admission(answer, continued=True)))

    assert () == await store.load_runs()


async def test_recovery_advances_the_attempt(store: RunStore) -> None:
    """D7. Nothing else moves (RFC-022 §4)."""
    again = recovered(await written(store, a_record(), Progress("x")))

    assert await store.save(again)
    assert again == await store.load("r1")
    assert (again,) == await store.load_open("kiosk")


@pytest.mark.parametrize(
    ("events", "changes"),
    [
        ((), {"attempt": 1}),
        ((), {"sequence": 1}),
        ((Progress("x"),), {"sequence": 0}),
        ((), {"input": an_input("i9")}),
        ((ASKED,), {"sequence": 1}),
        ((Completed(),), {"sequence": 1}),
        ((RunCanceled("visitor"),), {"sequence": 1}),
        ((), {"id": "r9"}),
        ((), {"status": RunStatus.COMPLETED}),
        ((), {"status": RunStatus.WAITING, "waiting": ASKED}),
    ],
    ids=["attempt", "ahead", "behind", "input", "waiting", "completed", "canceled", "unknown", "ends", "pauses"],
)
async def test_recovery_overwrites_nothing_newer(
    store: RunStore, events: tuple[Any, ...], changes: dict[str, Any]
) -> None:
    """D21. False instead of overwriting a terminal or newer run (RFC-022 §4)."""
    await written(store, a_record(), *events)
    before = await everything(store)

    assert not await store.save(a_record(**({"attempt": 2} | changes)))
    assert before == await everything(store)


async def test_of_two_recoveries_one_wins(store: RunStore) -> None:
    """D21."""
    again = recovered(await written(store, a_record()))

    assert [True, False] == sorted(await asyncio.gather(store.save(again), store.save(again)), reverse=True)


async def test_a_journal_counts_from_one(store: RunStore) -> None:
    """D1. Contiguous, in order, with the state each event leads to (RFC-022 §4)."""
    record = a_record()
    await store.admit(admission(record))
    entries, last = journal(record, [Progress("x"), Checkpoint(5), said("hello", final=True), Completed()])
    for entry in entries:
        after = step(record, entry.event)[1]
        assert await store.commit_event(entry, after)
        assert after == await store.load("r1")
        record = after

    assert last == record
    assert entries == await store.load_events("r1")
    assert entries[2:] == await store.load_events("r1", after=2)
    assert () == await store.load_events("r1", after=4)
    assert () == await store.load_open("kiosk")


async def test_an_identical_retry_is_accepted_before_its_sequence_is_judged(store: RunStore) -> None:
    """D19. Also much later, also after the end (RFC-022 §4)."""
    record = a_record()
    await store.admit(admission(record))
    entries, _ = journal(record, [Progress("x"), Checkpoint([1]), Completed()])
    for entry in entries:
        record = step(record, entry.event)[1]
        await store.commit_event(entry, record)
    before = await everything(store)

    for entry in entries:
        assert not await store.commit_event(entry, a_record(sequence=entry.sequence))
    assert before == await everything(store)


@pytest.mark.parametrize(
    "changes",
    [{"event": Progress("y")}, {"event": Completed()}, {"sequence": 2}, {"attempt": 2}, {"input_id": "i2"}],
)
async def test_another_event_under_a_used_id_is_refused(store: RunStore, changes: dict[str, Any]) -> None:
    """D19. And leaves everything as it was."""
    await written(store, a_record(), Progress("x"))
    before = await everything(store)
    entry = replace(step(a_record(), Progress("x"))[0], **changes)
    await refused("run.event_mismatch", store.commit_event(entry, a_record(sequence=2)))

    assert before == await everything(store)


async def test_event_ids_belong_to_their_run(store: RunStore) -> None:
    """D9. The same id in two runs is two events."""
    await written(store, a_record(), Progress("x"))
    await written(store, a_record("r2", agent="potter", input=an_input("i2")), Progress("x"))

    assert 1 == len(await store.load_events("r2"))


@pytest.mark.parametrize(
    ("events", "sequence", "attempt"),
    [
        ((), 2, 1),
        ((), 0, 1),
        ((Progress("x"),), 1, 1),
        ((Progress("x"),), 3, 1),
        ((), 1, 2),
        ((Completed(),), 2, 1),
        ((RunCanceled("visitor"),), 2, 1),
    ],
)
async def test_an_event_that_does_not_follow_is_refused(
    store: RunStore, events: tuple[Any, ...], sequence: int, attempt: int
) -> None:
    """D21, D26. A gap, a stale sequence, another attempt or a run that is over: state and journal stay."""
    await written(store, a_record(), *events)
    before = await everything(store)
    late = JournalEntry("r1", sequence, attempt, said("late"), "late", "i1")
    await refused("run.stale_transition", store.commit_event(late, a_record(sequence=sequence, attempt=attempt)))

    assert before == await everything(store)


async def test_a_superseded_attempt_can_not_write(store: RunStore) -> None:
    """D21. What recovery took over, the old attempt adds nothing to."""
    record = await written(store, a_record())
    await store.save(recovered(record))
    await refused("run.stale_transition", store.commit_event(*step(record, Progress("late"))))

    assert () == await store.load_events("r1")


async def test_an_event_of_an_unknown_run_is_refused(store: RunStore) -> None:
    await refused("run.unknown", store.commit_event(*step(a_record("r9"), Progress("x"))))
    assert () == await store.load_events("r9")
    assert None is await store.load("r9")


async def test_an_import_brings_its_journal(store: RunStore) -> None:
    """RFC-022 §4: create is a recovery and import seam."""
    entries, record = journal(a_record(), [Progress("x"), Checkpoint(1)])
    await store.create(record, entries)

    assert (record, entries) == (await store.load("r1"), await store.load_events("r1"))
    assert await store.commit_event(*step(record, Completed()))


def a_row(key: str, **changes: str) -> TranscriptRow:
    given = {"room": "kiosk", "channel": "visitor", "role": "agent", "author": "guide", "text": "hi", "run_id": "r1"}
    return TranscriptRow(key=key, disclosure=disclosed("ab"), **(given | changes))  # type: ignore[arg-type]


async def test_a_transcript_row_is_written_once(store: RunStore) -> None:
    """D12. The first one stands; a key is one within room and channel (RFC-022 §4)."""
    first, elsewhere = a_row("out:1"), a_row("out:1", channel="phone")

    assert await store.append_transcript(first)
    assert not await store.append_transcript(first)
    assert not await store.append_transcript(a_row("out:1", text="something else"))
    assert await store.append_transcript(elsewhere)
    assert await store.append_transcript(a_row("out:1", room="other"))
    assert (first,) == await store.load_transcript("kiosk", "visitor")
    assert (first, elsewhere) == await store.load_transcript("kiosk")


@pytest.mark.parametrize(("limit", "keys"), [(2, ["3", "4"]), (5, ["0", "1", "2", "3", "4"]), (0, [])])
async def test_a_transcript_is_its_newest_rows_oldest_first(store: RunStore, limit: int, keys: list[str]) -> None:
    for number in range(5):
        await store.append_transcript(a_row(str(number)))

    assert keys == [row.key for row in await store.load_transcript("kiosk", limit=limit)]


def a_delivery(delivery_id: str = "d1", **changes: Any) -> DeliveryRow:
    given = {
        "run_id": "r1",
        "attempt": 1,
        "generation": 3,
        "medium": "voice",
        "delivered_chars": 10,
        "alignment": "timed",
        "state": "speaking",
    }
    return DeliveryRow(delivery_id, **(given | changes))


async def test_what_was_delivered_never_becomes_less(store: RunStore) -> None:
    """D12. The rest of the row is the newest (delivered prefix, RFC-022 §9.5)."""
    await store.save_delivery(a_delivery())
    await store.save_delivery(a_delivery(delivered_chars=4, state="interrupted", alignment="estimated"))
    await store.save_delivery(a_delivery("d2", delivered_chars=0))
    await store.save_delivery(a_delivery("d2", delivered_chars=7))

    assert (
        a_delivery(state="interrupted", alignment="estimated"),
        a_delivery("d2", delivered_chars=7),
    ) == await store.load_deliveries(("r1",))


async def test_deliveries_come_in_order_and_once(store: RunStore) -> None:
    rows = [a_delivery(str(number), run_id=f"r{number % 3}") for number in range(6)]
    for row in rows:
        await store.save_delivery(row)

    assert tuple(row for row in rows if row.run_id != "r1") == await store.load_deliveries(("r2", "r0", "r2"))
    assert () == await store.load_deliveries(())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=jsons)
async def test_state_comes_back_as_it_was(store: RunStore, value: Json) -> None:
    await store.save_state("room", value)

    assert canonical(value) == canonical(await store.load_state("room"))


async def test_state_is_replaced_and_missing_state_is_none(store: RunStore) -> None:
    await store.save_state("room", 1)
    await store.save_state("room", {"phase": "play"})

    assert {"phase": "play"} == await store.load_state("room")
    assert None is await store.load_state("other")
    await refused("json.not_plain", store.save_state("room", object()))  # type: ignore[arg-type]


async def test_open_runs_are_found_by_place(store: RunStore) -> None:
    """RFC-022 §4: recovery asks for a room, cancellation for a channel, admission for an agent."""
    runs = [
        a_record(f"r{n}", room=room, channel=channel, agent=agent, input=an_input(f"i{n}", channel=channel))
        for n, (room, channel, agent) in enumerate(
            [("kiosk", "b", "guide"), ("kiosk", "a", "guide"), ("kiosk", "a", "actor"), ("other", "a", "guide")]
        )
    ]
    for run in runs:
        await written(store, run)
    await written(store, a_record("r9", channel="z", input=an_input("i9")), Completed())

    assert tuple(runs[:3]) == await store.load_open("kiosk")
    assert tuple(runs[1:3]) == await store.load_open("kiosk", "a")
    assert tuple(runs[:2]) == await store.load_open("kiosk", agent="guide")
    assert (runs[2],) == await store.load_open("kiosk", "a", "actor")
    assert () == await store.load_open("kiosk", "z")


async def test_runs_come_newest_first(store: RunStore) -> None:
    for number in range(4):
        await written(store, a_record(f"r{number}", input=an_input(f"i{number}")), Completed())

    assert ["r3", "r2"] == [run.id for run in await store.load_runs(2)]
    assert 4 == len(await store.load_runs())


async def test_what_is_stored_changes_with_nobodys_object(store: RunStore) -> None:
    """D22. A driver or host that goes on with its checkpoint changes no record and no journal (RFC-022 §6)."""
    seed: dict[str, Json] = {"at": [1]}
    state: dict[str, Json] = {"at": [2]}
    record = a_record(checkpoint=seed)
    await store.admit(admission(record))
    await store.commit_event(*step(record, Checkpoint(state)))
    seed["at"] = state["at"] = "changed"

    assert {"at": [2]} == (await store.load("r1")).checkpoint  # type: ignore[union-attr]
    assert (Checkpoint({"at": [2]}),) == tuple(entry.event for entry in await store.load_events("r1"))


async def test_a_closed_store_refuses_everything(store: RunStore) -> None:
    await written(store, a_record())
    await store.close()
    await store.close()

    for call in (
        store.admit(admission(a_record("r2"))),
        store.create(a_record("r2")),
        store.save(a_record(attempt=2)),
        store.load("r1"),
        store.load_by_input("kiosk", "visitor", "i1", "guide"),
        store.load_open("kiosk"),
        store.load_runs(),
        store.commit_event(*step(a_record(), Progress("x"))),
        store.load_events("r1"),
        store.append_transcript(a_row("1")),
        store.load_transcript("kiosk"),
        store.save_delivery(a_delivery()),
        store.load_deliveries(("r1",)),
        store.save_state("room", 1),
        store.load_state("room"),
    ):
        await refused("store.closed", call)


async def test_delete_forgets(store: RunStore) -> None:
    """RFC-022 §4 beside a visit's end: nothing of it is there any more, and deleting twice is fine."""
    await written(store, a_record())
    await store.delete()
    await store.delete()
    await refused("store.closed", store.load("r1"))

    if isinstance(store, SqliteRunStore):
        assert [] == list(store.path.parent.iterdir())
