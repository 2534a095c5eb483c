"""Runs to test with: inputs, records, journals, and every kind of event."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from wayside.core.content import Source
from wayside.core.plain_json import Json
from wayside.core.room.agents import ActionProposal, AgentInput, Endpoint, InteractionDraft, Participant, RoomUtterance
from wayside.core.room.disclosure import NOBODY, ROOM, Disclosure, among
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Choice,
    Completed,
    Decision,
    InputRequested,
    JournalEntry,
    OfferChoices,
    OutputOrigin,
    Progress,
    RunCanceled,
    RunEvent,
    RunFailed,
    ShowExhibit,
    ShowSources,
)
from wayside.core.runs.record import RunRecord, apply
from wayside.ports.run_store import Admission, TranscriptRow

ANN = Endpoint("participant", "ann")
BEN = Endpoint("participant", "ben")


def an_input(id: str = "i1", text: str = "who made it", **changes: Any) -> AgentInput:  # noqa: A002
    """Ann's question on the visitor's channel."""
    given: dict[str, Any] = {"source": ANN, "channel": "visitor", "disclosure": ROOM}
    return AgentInput(id, text, **(given | changes))


def a_record(id: str = "r1", **changes: Any) -> RunRecord:  # noqa: A002
    """A run of the guide that has just been admitted."""
    given: dict[str, Any] = {
        "room": "kiosk",
        "channel": "visitor",
        "agent": "guide",
        "root_input_id": "i1",
        "input": an_input(),
        "disclosure": ROOM,
        "budget_ms": 10_000,
        "deadline_ms": 11_000,
    }
    return RunRecord(id, **(given | changes))


def admission(record: RunRecord, mark: str = "mark", *, continued: bool = False) -> Admission:
    """Its admission, with the visitor's row."""
    given = record.input
    row = TranscriptRow(
        record.room,
        record.channel,
        f"in:{given.id}",
        "visitor",
        given.source.id,
        given.text,
        record.id,
        given.disclosure,
    )
    return Admission(record, mark, row, continued)


def step(record: RunRecord, event: RunEvent, event_id: str = "") -> tuple[JournalEntry, RunRecord]:
    """The next entry of this run's journal and the record it leads to."""
    after = apply(record, event)
    entry = JournalEntry(
        record.id, after.sequence, record.attempt, event, event_id or f"e{after.sequence}", record.input.id
    )
    return entry, after


def journal(record: RunRecord, events: Iterable[RunEvent]) -> tuple[tuple[JournalEntry, ...], RunRecord]:
    """The journal that these events make, and the record at its end."""
    entries: list[JournalEntry] = []
    for event in events:
        entry, record = step(record, event)
        entries.append(entry)
    return tuple(entries), record


def said(
    text: str, logical: str = "answer", *, attempt: int = 1, final: bool = False, input_id: str = "i1", **changes: Any
) -> AssistantOutput:
    """A delta as the runtime journals it, without a delivery id of its own yet."""
    return AssistantOutput("", text, final=final, origin=OutputOrigin("driver", attempt, input_id, logical), **changes)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text("abc.+:é", min_size=1, max_size=6)
disclosures = st.one_of(st.just(ROOM), st.just(NOBODY), st.frozensets(ids, max_size=3).map(among))
jsons: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
endpoints = st.builds(Endpoint, st.sampled_from(["participant", "agent", "service", "watcher"]), ids)
origins = st.builds(OutputOrigin, st.sampled_from(["driver", "progress", "decision"]), st.integers(1, 9), ids, ids)
outputs = st.builds(
    AssistantOutput,
    ids,
    texts,
    st.sampled_from(["answer", "question", "notice"]),
    st.booleans(),
    st.sampled_from(["record", "ephemeral"]),
    st.none() | disclosures,
    st.booleans(),
    st.none() | origins,
)
objects = st.dictionaries(texts, jsons, max_size=3)
screens = st.one_of(
    st.builds(ShowSources, st.lists(st.builds(Source, ids, texts, texts), max_size=2).map(tuple), st.tuples(ids)),
    st.builds(ShowExhibit, ids),
    st.builds(OfferChoices, st.lists(st.builds(Choice, ids, texts), max_size=3).map(tuple)),
)
decisions = st.builds(
    Decision,
    st.lists(screens, max_size=3).map(tuple),
    st.booleans(),
    st.lists(st.builds(RoomUtterance, texts, disclosures, st.booleans()), max_size=2).map(tuple),
    st.lists(st.builds(InteractionDraft, st.tuples(endpoints), objects, disclosures), max_size=2).map(tuple),
    st.none() | st.builds(ActionProposal, objects, st.none() | ids),
)
counts = st.none() | st.integers(0, 99)
going_on = st.one_of(st.builds(Progress, texts, counts, counts), outputs, st.builds(Checkpoint, jsons), decisions)
pauses = st.builds(InputRequested, ids, ids)
ends = st.one_of(st.just(Completed()), st.builds(RunFailed, ids), st.builds(RunCanceled, ids))
events: st.SearchStrategy[RunEvent] = st.one_of(going_on, pauses, ends)
inputs = st.builds(
    AgentInput,
    ids,
    texts,
    endpoints,
    ids,
    disclosures,
    st.none() | st.builds(Participant, ids, st.sampled_from(["player", "audience", "moderator", "service"]), ids),
    st.sampled_from(["", "en", "es"]),
    objects,
)


def disclosed(to: str) -> Disclosure:
    """`room`, or the letters of `to` as participants."""
    return ROOM if to == "room" else among(to)


def open_files(path: Path) -> list[str]:
    """What this process holds open of a database: the file, its log, its index, deleted ones too."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that listed them
            found.append(str(descriptor.readlink()))
    return [name for name in found if name.startswith(str(path))]


@contextlib.contextmanager
def ram_directory() -> Iterator[Path]:
    """A directory on tmpfs where there is one, gone afterwards."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as made:
        yield Path(made)
