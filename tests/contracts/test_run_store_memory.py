"""What only the run store in memory promises: a bound, and who pays for it."""

from run_examples import a_record, admission, an_input, step
from wayside.core.runs.events import Completed
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import InputIndex
from wayside.ports.run_store_memory import MemoryRunStore


async def over(store: MemoryRunStore, record: RunRecord, mark: str) -> None:
    """Admit the run and complete it."""
    await store.admit(admission(record, mark))
    await store.commit_event(*step(record, Completed()))


async def test_memory_is_bounded_and_drops_what_is_over_first() -> None:
    """F5. The dedup of a dropped run goes with it, and only that."""
    store = MemoryRunStore(max_runs=2, max_rows=3)
    await store.admit(admission(a_record("r0", agent="potter", input=an_input("i0")), "shared"))
    await over(store, a_record("r1", input=an_input("i0")), "shared")
    for number in (2, 3, 4):
        await over(store, a_record(f"r{number}", input=an_input(f"i{number}")), "own")
    again = a_record("r5", input=an_input("i0"))

    assert ["r4", "r0"] == [run.id for run in await store.load_runs()]
    assert () == await store.load_events("r1")
    assert InputIndex("shared", None) == await store.load_by_input("kiosk", "visitor", "i0", "guide")
    assert InputIndex("shared", "r0") == await store.load_by_input("kiosk", "visitor", "i0", "potter")
    assert ["in:i2", "in:i3", "in:i4"] == [row.key for row in await store.load_transcript("kiosk")]
    assert again == await store.admit(admission(again, "shared"))
