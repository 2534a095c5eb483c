"""`wayside runs`: what a kiosk's visits are made of, for developers and operators. Decides what of it may be shown.

Without `--content` there is no word of a visitor or an agent in anything it prints: ids, states, counts and sizes.
"""

import difflib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayside.commands.visit_file import KeptRun, load_run, load_runs, visit_files
from wayside.core.errors import WaysideError
from wayside.core.runs.events import AssistantOutput, Decision, JournalEntry, Progress, RunCanceled, RunFailed
from wayside.core.runs.outputs import outputs_of
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import DeliveryRow
from wayside.wire.room import event_tag, event_to_dict

FOLLOW_EVERY_S = 0.25
STDOUT = 1
WARNING = "A visitor's words follow. They are to be forgotten with the visit: keep no copy."
_CODE = re.compile(r"[a-z0-9_.-]{0,64}")
_ID = re.compile(r"[^\w.:@+/=-]", re.ASCII)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Where:
    """Where to look: one `file`, or a kiosk's runtime directory (None: this user's)."""

    file: Path | None
    runtime_dir: Path | None
    environment: Mapping[str, str]

    def files(self) -> tuple[Path, ...]:
        """The visits' files, newest first."""
        return visit_files(self.file, self.runtime_dir, self.environment)


# --- list -----------------------------------------------------------------------------------------------------------


def list_runs(where: Where, now_ms: int) -> dict[str, Any]:
    """Every run of every visit, newest first. A visit that can't be read is in `unreadable` with its code."""
    runs: list[dict[str, Any]] = []
    unreadable: list[dict[str, str]] = []
    files = where.files()
    for path in files:
        try:
            runs += [_row(path, record, now_ms) for record in load_runs(path)]
        except WaysideError as error:
            if len(files) == 1:
                raise
            unreadable.append({"visit": _id(path.name), "code": error.code, "what": error.message})
    return {"runs": runs, "unreadable": unreadable}


def list_lines(report: dict[str, Any]) -> list[str]:
    """The table for people."""
    columns: tuple[str, ...] = ("id", "agent", "channel", "status", "attempts", "events", "age_s", "code")
    if len({run["visit"] for run in report["runs"]}) > 1:
        columns = ("visit", *columns)
    shown = [[_cell(run[name]) for name in columns] for run in report["runs"]]
    widths = [max(len(row[at]) for row in [list(columns), *shown]) for at in range(len(columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in shown]
    header = "  ".join(name.ljust(width) for name, width in zip(columns, widths, strict=True)).rstrip()
    lines = [header, *lines] if lines else ["No turn has been taken yet."]
    return [*lines, *(f"{each['visit']}: {each['what']} [{each['code']}]" for each in report["unreadable"])]


def _row(path: Path, record: RunRecord, now_ms: int) -> dict[str, Any]:
    return {
        "visit": _id(path.name),
        "id": _id(record.id),
        "agent": _id(record.agent),
        "channel": _id(record.channel),
        "status": str(record.status),
        "attempts": record.attempt,
        "events": record.sequence,
        "age_s": _age_s(record, now_ms),
        "code": _code(record.code),
    }


def _age_s(record: RunRecord, now_ms: int) -> float | None:
    """How long an active attempt has had its deadline; no run keeps a time once it is over or waits."""
    if record.deadline_ms is None:
        return None
    return round(max(0, now_ms - (record.deadline_ms - record.budget_ms)) / 1000, 1)


# --- show -----------------------------------------------------------------------------------------------------------


def show_run(where: Where, run_id: str, now_ms: int) -> dict[str, Any]:
    """One run's record, deliveries and journal: types, places, states and sizes."""
    path, kept = _find(where, run_id)
    record = kept.record
    outputs = outputs_of(kept.entries)
    left = None if record.deadline_ms is None else round((record.deadline_ms - now_ms) / 1000, 1)
    return _row(path, record, now_ms) | {
        "room": _id(record.room),
        "input": {
            "id": _id(record.input.id),
            "root": _id(record.root_input_id),
            "source": record.input.source.kind,
            "chars": len(record.input.text),
            "language": _id(record.input.language),
            "audience": _audience(record.input.disclosure.room, len(record.input.disclosure.participants)),
        },
        "audience": _audience(record.disclosure.room, len(record.disclosure.participants)),
        "budget_s": record.budget_ms / 1000,
        "left_s": left,
        "checkpoint_bytes": 0 if record.checkpoint is None else _size(record.checkpoint),
        "waiting": record.waiting is not None,
        "appended_to": _id(record.appended_to),
        "deliveries": [_delivery(row, len(outputs.spoken_in(row.attempt))) for row in kept.deliveries],
        "journal": list(_places(kept.entries)),
    }


def show_lines(report: dict[str, Any]) -> list[str]:
    """The run for people."""
    given = report["input"]
    deadline = "none" if report["left_s"] is None else f"in {report['left_s']} s"
    lines = [
        f"run         {report['id']}  (visit {report['visit']})",
        f"where       room {report['room']}, channel {report['channel']}, agent {report['agent']}",
        f"status      {report['status']} {report['code']}".rstrip(),
        f"attempt     {report['attempts']}, {report['events']} events",
        f"input       {given['id']}: {given['chars']} characters from a {given['source']}, for {given['audience']}",
        f"audience    {report['audience']}",
        f"deadline    {deadline} (budget {report['budget_s']:g} s)",
        f"checkpoint  {report['checkpoint_bytes']} bytes",
    ]
    if report["waiting"]:
        lines.append("waiting     for the speaker's next input")
    if report["appended_to"]:
        lines.append(f"appended to {report['appended_to']}")
    lines += [
        f"delivery    attempt {row['attempt']} by {row['medium']}, generation {row['generation']}: {row['state']},"
        f" {row['delivered_chars']} of {row['generated_chars']} characters"
        for row in report["deliveries"]
    ]
    return [*lines, "journal", *(_place_line(place) for place in report["journal"])]


def _delivery(row: DeliveryRow, generated: int) -> dict[str, Any]:
    return {
        "attempt": row.attempt,
        "medium": row.medium,
        "generation": row.generation,
        "state": _code(row.state),
        "delivered_chars": row.delivered_chars,
        "generated_chars": generated,
    }


# --- replay ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replay:
    """How to show a journal: after which sequence, with or without words, as JSON lines or for people."""

    after: int = 0
    follow: bool = False
    content: bool = False
    as_json: bool = False


def replay_run(where: Where, run_id: str, how: Replay, tell: Tell, aside: Tell, pause: Callable[[], None]) -> None:
    """Print a run's journal in order; with `follow` until the run or the visit is over. Repeats nothing else.

    Raises `runs.not_yours` when words are asked for by somebody who does not own both the file and the output.
    """
    path, kept = _find(where, run_id, how.after)
    if how.content:
        _must_own(path)
        aside(WARNING)
    seen, told = how.after, ""
    numbers: dict[str, int] = {}
    while True:
        for entry in kept.entries:
            seen = entry.sequence
            if how.content and entry.input_id != told:
                told = entry.input_id
                _tell_input(kept, entry.input_id, tell, as_json=how.as_json)
            tell(_entry_line(entry, numbers, how))
        if not how.follow or kept.record.status.terminal:
            return
        pause()
        try:
            found = load_run(path, kept.record.id, seen)
        except WaysideError as error:
            if error.code != "runs.visit_over":
                raise
            found = None
        if found is None:
            aside("The visit is over.")
            return
        kept = found


def _entry_line(entry: JournalEntry, numbers: dict[str, int], how: Replay) -> str:
    place = _place(entry, numbers)
    if not how.content:
        return json.dumps(place, ensure_ascii=False) if how.as_json else _place_line(place)
    event = event_to_dict(entry.event)
    if how.as_json:
        return json.dumps(place | {"event": event}, ensure_ascii=True)
    event.pop("type")
    return f"{_place_line(place)}\n{'':13}{_words(event)}"


def _tell_input(kept: KeptRun, input_id: str, tell: Tell, *, as_json: bool) -> None:
    row = kept.inputs.get(input_id)
    text = row.text if row is not None else kept.record.input.text if kept.record.input.id == input_id else ""
    if as_json:
        tell(json.dumps({"type": "input", "input_id": _id(input_id), "text": text}))
    else:
        tell(f"input {_id(input_id)}: {_words(text)}")


def _must_own(path: Path) -> None:
    me = os.geteuid()
    if path.stat().st_uid != me or os.fstat(STDOUT).st_uid != me:
        raise WaysideError(
            "runs.not_yours",
            "Words are shown only to the user whose kiosk it is, on an output of that user's own",
            remedy="Leave out --content, or log in as the kiosk's user.",
        )


# --- places of a journal --------------------------------------------------------------------------------------------


def _places(entries: tuple[JournalEntry, ...]) -> Iterator[dict[str, Any]]:
    numbers: dict[str, int] = {}
    for entry in entries:
        yield _place(entry, numbers)


def _place(entry: JournalEntry, numbers: dict[str, int]) -> dict[str, Any]:
    """Where an event is and how big, with what of it is neither wording nor an id that a driver made up."""
    event = entry.event
    place: dict[str, Any] = {
        "sequence": entry.sequence,
        "attempt": entry.attempt,
        "type": event_tag(event),
        "bytes": _size(event_to_dict(event)),
    }
    match event:
        case AssistantOutput():
            place |= {
                "message": numbers.setdefault(event.output_id, len(numbers) + 1),
                "chars": len(event.delta),
                "purpose": event.purpose,
                "history": event.history,
                "final": event.final,
                "origin": event.origin.origin if event.origin else "legacy",
            }
        case Progress(current=current, total=total):
            place |= {"current": current, "total": total}
        case Decision():
            place |= {
                "screen": len(event.screen),
                "refused": event.refused,
                "utterances": len(event.utterances),
                "interactions": len(event.interactions),
                "action": event.action is not None,
            }
        case RunFailed(code=code) | RunCanceled(reason=code):
            place["code"] = _code(code)
        case _:
            pass
    return place


def _place_line(place: dict[str, Any]) -> str:
    fixed = ("sequence", "attempt", "type", "bytes")
    rest = "  ".join(f"{name} {_cell(value)}" for name, value in place.items() if name not in fixed)
    line = f"{place['sequence']:>5}  {place['attempt']:>2}  {place['type']:<17}{place['bytes']:>7} B  {rest}"
    return line.rstrip()


# --- what may be told -----------------------------------------------------------------------------------------------


def _find(where: Where, run_id: str, after: int = 0) -> tuple[Path, KeptRun]:
    """The run of this id, or of the only one that begins with it; raises `runs.unknown_run` with the nearest."""
    files = where.files()
    known: dict[str, Path] = {}
    faults: list[WaysideError] = []
    for path in files:
        try:
            for record in load_runs(path):
                known.setdefault(record.id, path)
        except WaysideError as error:
            faults.append(error)
    if not known and faults:
        raise faults[0]
    begun = [run_id] if run_id in known else [known_id for known_id in known if run_id and known_id.startswith(run_id)]
    if len(begun) == 1:
        kept = load_run(known[begun[0]], begun[0], after)
        if kept is not None:
            return known[begun[0]], kept
    near = begun[:3] or difflib.get_close_matches(run_id, known, n=3, cutoff=0.3) or list(known)[:3]
    nearest = ", ".join(_id(each) for each in near)
    remedy = f"Nearest: {nearest}" if nearest else "No turn has been taken yet"
    raise WaysideError("runs.unknown_run", f"There is no run {_id(run_id)}", remedy=f"{remedy}.")


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _words(value: object) -> str:
    """Somebody's words as JSON, without what could steer a terminal."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def _audience(room: bool, participants: int) -> str:
    if room:
        return "the room"
    return f"{participants} participant{'' if participants == 1 else 's'}" if participants else "agents only"


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None or value == "" else str(value)


def _code(text: str) -> str:
    """A code as it is; anything that could be wording is only said to be there."""
    return text if _CODE.fullmatch(text) else "(text)"


def _id(text: str) -> str:
    """An id without what could steer a terminal."""
    return _ID.sub("?", text)[:80]
