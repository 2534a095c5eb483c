"""What must hold of a visit after a process died, and after the next one has taken it up (RFC-022 §4, §9).

Everything is read anew: the database from a copy, so that looking repairs nothing, and the logs of all processes.
"""

import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import lines
from wayside.core.runs.admission import SUPERSEDED
from wayside.core.runs.events import Checkpoint, Completed, InputRequested, JournalEntry, Progress, RunCanceled
from wayside.core.runs.outputs import Outputs, outputs_of
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.ports.run_store import DeliveryRow, TranscriptRow
from wayside.wire.room import delivery_from_json, entry_from_json, record_from_json, transcript_from_json

PIECE = re.compile(r"\[[^\]]*\] ")
ENDS = {Completed: RunStatus.COMPLETED, RunCanceled: RunStatus.CANCELED, InputRequested: RunStatus.WAITING}


@dataclass(frozen=True, slots=True)
class Left:
    """Everything that a database holds of runs, and what all processes so far said, showed and acknowledged."""

    runs: dict[str, RunRecord]
    columns: dict[str, tuple[Any, ...]]
    journal: dict[str, tuple[JournalEntry, ...]]
    outputs: dict[str, Outputs]
    inputs: set[str]
    index: dict[str, str]
    transcript: tuple[TranscriptRow, ...]
    deliveries: tuple[DeliveryRow, ...]
    spoken: list[list[str]]
    published: list[JournalEntry]
    acknowledged: list[list[str]]

    def entries(self) -> list[tuple[RunRecord, tuple[JournalEntry, ...]]]:
        """Each run with its journal."""
        return [(record, self.journal.get(run_id, ())) for run_id, record in self.runs.items()]


def read(folder: Path) -> Left:
    """Read what is there; the database must be whole."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for path in folder.glob("runs.db*"):
        if not path.name.endswith("-shm"):
            shutil.copy(path, copy)
    with closing(sqlite3.connect(copy / "runs.db")) as connection:
        assert [("ok",)] == connection.execute("PRAGMA integrity_check").fetchall()
        assert [] == connection.execute("PRAGMA foreign_key_check").fetchall()
        runs, columns, journal = {}, {}, {}
        for row in connection.execute(
            "SELECT record, id, room, channel, agent, status, attempt, sequence, input_id FROM runs ORDER BY rowid"
        ):
            record = record_from_json(row[0])
            runs[record.id], columns[record.id] = record, row[1:]
        for run_id in runs:
            found = connection.execute(
                "SELECT entry, sequence FROM events WHERE run_id = ? ORDER BY sequence", (run_id,)
            )
            journal[run_id] = tuple(entry_from_json(text) for text, _ in found)
        return Left(
            runs,
            columns,
            journal,
            {run_id: outputs_of(entries) for run_id, entries in journal.items()},
            {name for (name,) in connection.execute("SELECT input_id FROM inputs")},
            dict(connection.execute("SELECT input_id, run_id FROM input_runs").fetchall()),
            tuple(
                transcript_from_json(t) for (t,) in connection.execute("SELECT row FROM transcript ORDER BY position")
            ),
            tuple(delivery_from_json(text) for (text,) in connection.execute("SELECT row FROM deliveries")),
            lines(folder, "spoken.log"),
            [entry_from_json(fields[0]) for fields in lines(folder, "published.log")],
            lines(folder, "acknowledged.log"),
        )


def check_always(left: Left) -> None:
    """What holds at every moment, whoever died when."""
    _check_runs(left)
    _check_admissions(left)
    _check_transcript(left)
    _check_speech(left)
    _check_told(left)


def check_grown(before: Left, after: Left) -> None:
    """What one process left is what the next begins with: journals and transcript only grow, ends stay."""
    for run_id, entries in before.journal.items():
        assert entries == after.journal[run_id][: len(entries)], f"journal of {run_id} was changed"
        if before.runs[run_id].status.terminal:
            assert before.runs[run_id] == after.runs[run_id], f"{run_id} was over"
    assert before.transcript == after.transcript[: len(before.transcript)]
    assert before.index.items() <= after.index.items()


def check_settled(left: Left, retried: list[list[Any]], *, canceled: frozenset[str] = frozenset({SUPERSEDED})) -> None:
    """What holds once everything was resumed and tried again. `canceled` are the reasons that may end a run."""
    assert [] == [record.id for record in left.runs.values() if record.open], "runs are open"
    for record, entries in left.entries():
        assert record.status is not RunStatus.FAILED, f"{record.id} failed: {record.code}"
        assert record.status is RunStatus.COMPLETED or record.code in canceled
        closed = {f"out:{record.id}:{message.id}" for message in left.outputs[record.id].recorded()}
        rows = {row.key for row in left.transcript if row.role == "agent" and row.run_id == record.id}
        assert closed == rows, f"transcript of {record.id}"
        _check_checkpoints(record, entries)
        once = Counter((m.origin, m.input_id) and _logical(m) for m in left.outputs[record.id].messages if m.closed)
        assert [] == [name for name, count in once.items() if count != 1], "closed twice"
        assert record.status is not RunStatus.COMPLETED or _expected(record, left) <= set(once)
    assert retried, "nothing was tried again"
    for input_id, duplicate, run_id, code in retried:
        assert duplicate, f"{input_id} was admitted twice"
        assert left.index[input_id] == run_id
        assert code == "run.input_mismatch", f"{input_id}, changed: {code or 'admitted'}"


def _check_runs(left: Left) -> None:
    """Also F7: at most one open run for a room, channel and agent."""
    places = Counter((run.room, run.channel, run.agent) for run in left.runs.values() if run.open)
    assert [] == [place for place, count in places.items() if count > 1], "two open runs"
    for run, entries in left.entries():
        stored = (run.id, run.room, run.channel, run.agent, run.status, run.attempt, run.sequence, run.input.id)
        assert stored == left.columns[run.id]
        assert list(range(1, run.sequence + 1)) == [entry.sequence for entry in entries], f"sequence of {run.id}"
        attempts = [entry.attempt for entry in entries]
        assert sorted(attempts) == attempts
        assert max(attempts, default=1) <= run.attempt
        assert len({entry.event_id for entry in entries}) == len(entries)
        last = entries[-1] if entries else None
        status = ENDS.get(type(last.event), RunStatus.ACTIVE) if last is not None else RunStatus.ACTIVE
        if status is RunStatus.WAITING and last is not None and last.attempt < run.attempt:
            status = RunStatus.ACTIVE
        assert status is run.status, f"status of {run.id}"
        assert (run.waiting is not None) == (run.status is RunStatus.WAITING)
        saved = [entry.event.state for entry in entries if isinstance(entry.event, Checkpoint)]
        assert run.checkpoint == (saved[-1] if saved else _seed(run))


def _check_admissions(left: Left) -> None:
    """An input, its index, its transcript row and its run come together or not at all."""
    rows = Counter(row.key for row in left.transcript if row.role == "visitor")
    assert Counter(f"in:{input_id}" for input_id in left.inputs) == rows
    assert left.inputs == set(left.index)
    assert {run.root_input_id for run in left.runs.values()} <= left.inputs
    for run in left.runs.values():
        assert left.index[run.input.id] == run.id
        if run.appended_to:
            before = left.runs[run.appended_to]
            assert run.input.text.startswith(before.input.text + " ")
            assert before.code == SUPERSEDED
    for row in left.transcript:
        if row.role == "visitor":
            assert left.index[row.key.removeprefix("in:")] == row.run_id


def _check_transcript(left: Left) -> None:
    rows = Counter(row.key for row in left.transcript)
    assert [] == [key for key, count in rows.items() if count > 1]
    said = {
        f"out:{run_id}:{message.id}": message.text
        for run_id, outputs in left.outputs.items()
        for message in outputs.recorded()
    }
    for row in left.transcript:
        if row.role == "agent":
            assert said[row.key] == row.text


def _check_speech(left: Left) -> None:
    """Nothing twice: no delivery by two processes, no piece twice in one, nothing again that was closed before it."""
    assert [] == [key for key, count in Counter((d, piece) for d, piece, _ in left.spoken).items() if count > 1]
    pids: dict[str, set[str]] = {}
    spoken: dict[str, int] = Counter()
    attempts: dict[tuple[str, str], set[int]] = {}
    for delivery_id, piece, pid in left.spoken:
        run_id, attempt = delivery_id.split("/")
        pids.setdefault(delivery_id, set()).add(pid)
        spoken[delivery_id] += len(piece)
        attempts.setdefault((run_id, piece), set()).add(int(attempt))
        assert piece in left.outputs[run_id].spoken_in(int(attempt)), f"{piece}was spoken before it was journaled"
    assert [] == [delivery_id for delivery_id, who in pids.items() if len(who) > 1]
    for run_id, outputs in left.outputs.items():
        for message in outputs.messages:
            again = {
                attempt
                for piece in PIECE.findall(message.text)
                for attempt in attempts.get((run_id, piece), ())
                if message.closed and attempt > message.attempt
            }
            assert not again, f"{message.text}was spoken again"
    for delivery in left.deliveries:
        assert delivery.delivered_chars <= spoken[delivery.delivery_id], "more is said to have been heard than was"


def _check_told(left: Left) -> None:
    """D8. Whatever was shown or acknowledged is in the journal, as it was shown."""
    for entry in left.published:
        assert left.journal[entry.run_id][entry.sequence - 1] == entry, "shown, and not in the journal"
    for input_id, run_id, status in left.acknowledged:
        assert left.index[input_id] == run_id
        assert left.runs[run_id].status == status or status in {"active", "waiting_for_input"}


def _check_checkpoints(run: RunRecord, entries: tuple[JournalEntry, ...]) -> None:
    """D7. Each attempt began with the last checkpoint before it."""
    at = _seed(run)
    for entry in entries:
        if isinstance(entry.event, Checkpoint):
            at = entry.event.state
        elif isinstance(entry.event, Progress):
            assert entry.event.stage == (at["stage"] if isinstance(at, dict) else "new")
            assert entry.event.current == entry.attempt


def _seed(run: RunRecord) -> Any:
    return {"stage": "threshold"} if run.appended_to else None


def _logical(message: Any) -> tuple[str, str]:
    return message.input_id, message.origin.logical_id


def _expected(run: RunRecord, left: Left) -> set[tuple[str, str]]:
    """What a run that came to its end has said."""
    said = {"turn": ("answer", "cue", "more", "utterance-1"), "ask": ("words",), "reply": ("words",)}
    given = {row.key.removeprefix("in:"): row.text.split()[0] for row in left.transcript if row.role == "visitor"}
    mine = [input_id for input_id, run_id in left.index.items() if run_id == run.id]
    return {(input_id, name) for input_id in mine for name in said[given[input_id]]}
