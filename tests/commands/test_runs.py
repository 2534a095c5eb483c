"""`wayside runs`: what it shows of a visit, what it never shows, and that a running sidecar does not notice."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_examples import a_record, admission, an_input, step
from wayside.cli import main
from wayside.commands import runs, visit_file
from wayside.commands.runs import Replay, Where, replay_run
from wayside.core.room.agents import ActionProposal, Endpoint, InteractionDraft, RoomUtterance
from wayside.core.room.disclosure import among
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    InputRequested,
    OutputOrigin,
    Progress,
    RunCanceled,
    RunEvent,
    ShowExhibit,
)
from wayside.core.runs.record import RunRecord, continued
from wayside.ports.run_store import DeliveryRow
from wayside.stores.sqlite.runs import SqliteRunStore

CANARY = "Zanzibar"


def said(text: str, *, final: bool = False, attempt: int = 1, **changes) -> AssistantOutput:
    origin = OutputOrigin("driver", attempt, f"i{attempt}", f"{CANARY}-logical")
    return AssistantOutput(f"{attempt}.driver.{CANARY}", text, final=final, origin=origin, **changes)


FIRST: tuple[RunEvent, ...] = (
    Progress(f"looking for {CANARY}", 1, 3),
    Checkpoint({"asked": f"{CANARY} kept"}),
    Decision(
        (ShowExhibit(CANARY),),
        utterances=(RoomUtterance(f"{CANARY} said"),),
        interactions=(
            InteractionDraft((Endpoint("agent", "guide"),), {"type": "message", "text": f"{CANARY} handed on"}),
        ),
        action=ActionProposal({"type": CANARY}),
    ),
    said(f"{CANARY} is "),
    said("far away.", final=True),
    InputRequested(f"{CANARY}?", f"token-{CANARY}"),
)


async def _commit(store: SqliteRunStore, record: RunRecord, *events: RunEvent) -> RunRecord:
    for event in events:
        entry, record = step(record, event)
        await store.commit_event(entry, record)
    return record


async def _fill(store: SqliteRunStore) -> None:
    """One run that asked back and was answered, one that is at work, one that was cancelled with a wordy reason."""
    asked = a_record("run-asked", input=an_input("i1", f"where is {CANARY}", data={"note": CANARY}))
    await store.admit(admission(asked))
    asked = await _commit(store, asked, *FIRST)
    answer = an_input("i2", f"the island {CANARY}", disclosure=among(["ann"]))
    asked = continued(asked, answer, 5_000)
    await store.admit(admission(asked, "mark-2", continued=True))
    await _commit(store, asked, said(f"{CANARY} again.", final=True, attempt=2, history="ephemeral"), Completed())
    await store.save_delivery(DeliveryRow("run-asked/1", "run-asked", 1, 7, "voice", 5, "estimated", "interrupted"))
    void = a_record("run-void", input=an_input("i3", CANARY, channel="ben"), channel="ben")
    await store.admit(admission(void, "mark-3"))
    await _commit(store, void, RunCanceled(f"because of {CANARY}"))
    work = a_record("run-work", input=an_input("i4", f"and {CANARY}"), root_input_id="i4", appended_to="run-void")
    await store.admit(admission(work, "mark-4"))
    await _commit(store, work, Progress(CANARY), said(f"{CANARY} so far"))


@pytest.fixture
def visit(tmp_path: Path) -> Path:
    """A visit's file that nobody has open."""
    path = tmp_path / "kiosk" / "visits-8765" / "0123456789abcdef.visit"
    path.parent.mkdir(parents=True)

    async def make() -> None:
        store = await SqliteRunStore(path).open()
        await _fill(store)
        await store.close()

    asyncio.run(make())
    return path


@pytest.fixture
def running(visit: Path) -> Iterator[SqliteRunStore]:
    """The same, held open as by a sidecar, with its log."""
    store = SqliteRunStore(visit)
    asyncio.run(store.open())
    asyncio.run(store.save_state("room", {"phase": None}))
    yield store
    asyncio.run(store.close())


def ask(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main(["runs", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def beside(path: Path) -> dict[str, tuple[int, bytes]]:
    return {each.name: (each.stat().st_ino, each.read_bytes()) for each in sorted(path.parent.iterdir())}


def test_the_table_has_every_run_newest_first(visit, capsys):
    code, out, _ = ask(capsys, "list", "--file", visit, "--json")

    rows = json.loads(out)["runs"]
    assert 0 == code
    assert ["run-work", "run-void", "run-asked"] == [row["id"] for row in rows]
    assert ("active", 1, 2, "guide", "visitor") == tuple(
        rows[0][name] for name in ("status", "attempts", "events", "agent", "channel")
    )
    assert ("completed", 2, 8) == tuple(rows[2][name] for name in ("status", "attempts", "events"))
    assert rows[0]["age_s"] is not None
    assert rows[2]["age_s"] is None


def test_people_get_columns(visit, capsys):
    _, out, _ = ask(capsys, "list", "--file", visit)

    header, first, *_ = out.splitlines()
    assert ["id", "agent", "channel", "status", "attempts", "events", "age_s", "code"] == header.split()
    assert ["run-work", "guide", "visitor", "active"] == first.split()[:4]
    assert header.index("status") == first.index("active")


def test_a_run_is_shown_by_types_states_and_sizes(visit, capsys):
    code, out, _ = ask(capsys, "show", "run-asked", "--file", visit, "--json")

    report = json.loads(out)
    types = ["progress", "checkpoint", "decision", "assistant_output", "assistant_output", "input_requested"]
    assert 0 == code
    assert [*types, "assistant_output", "completed"] == [place["type"] for place in report["journal"]]
    assert list(range(1, 9)) == [place["sequence"] for place in report["journal"]]
    assert [1, 1, 1, 1, 1, 1, 2, 2] == [place["attempt"] for place in report["journal"]]
    spoken = len(f"{CANARY} is far away.")
    assert [("interrupted", 5, spoken)] == [
        (row["state"], row["delivered_chars"], row["generated_chars"]) for row in report["deliveries"]
    ]
    assert (len(f"the island {CANARY}"), "1 participant") == (report["input"]["chars"], report["input"]["audience"])
    assert report["checkpoint_bytes"] == len('{"asked":"Zanzibar kept"}')


def test_messages_are_told_apart_by_number_not_by_the_id_a_driver_chose(visit, capsys):
    _, out, _ = ask(capsys, "show", "run-asked", "--file", visit, "--json")

    outputs = [place for place in json.loads(out)["journal"] if place["type"] == "assistant_output"]
    assert [(1, False), (1, True), (2, True)] == [(place["message"], place["final"]) for place in outputs]


def test_a_journal_is_replayed_in_order_as_json_lines(visit, capsys):
    code, out, err = ask(capsys, "replay", "run-asked", "--file", visit, "--json")

    assert 0 == code
    assert list(range(1, 9)) == [json.loads(line)["sequence"] for line in out.splitlines()]
    assert "" == err


def test_a_replay_goes_on_after_a_sequence(visit, capsys):
    _, out, _ = ask(capsys, "replay", "run-asked", "--after", 6, "--file", visit)

    assert ["7", "8"] == [line.split()[0] for line in out.splitlines()]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_word_is_shown_unless_it_is_asked_for(visit, capsys, as_json):
    """Privacy: a canary in every text that a visit can hold appears in no output."""
    told = ""
    for command in (
        ("list",),
        *(("show", run) for run in ("run-asked", "run-void", "run-work")),
        *(("replay", run) for run in ("run-asked", "run-void", "run-work")),
        ("replay", "run-asked", "--after", "3"),
        ("show", "nobody"),
    ):
        _, out, err = ask(capsys, *command, "--file", visit, *as_json)
        told += out + err

    assert "run-asked" in told
    assert CANARY.lower() not in told.lower()


def test_words_are_shown_to_their_kiosks_user_after_a_warning(visit, capsys):
    code, out, err = ask(capsys, "replay", "run-asked", "--content", "--json", "--file", visit)

    lines = [json.loads(line) for line in out.splitlines()]
    assert 0 == code
    assert [runs.WARNING] == err.splitlines()
    assert ["where is Zanzibar", "the island Zanzibar"] == [line["text"] for line in lines if line["type"] == "input"]
    assert {"asked": "Zanzibar kept"} == next(line["event"]["state"] for line in lines if line["type"] == "checkpoint")


def test_words_for_people_cannot_steer_their_terminal(tmp_path, capsys):
    path = tmp_path / "a.visit"

    async def make() -> None:
        store = await SqliteRunStore(path).open()
        record = a_record("r", input=an_input("i1", "\x1b[2Jclear \x9b and \u202eturn"))
        await store.admit(admission(record))
        await _commit(store, record, said("¿Qué es?\x07", final=True))
        await store.close()

    asyncio.run(make())
    _, out, _ = ask(capsys, "replay", "r", "--content", "--file", path)

    assert "¿Qué es?" in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_words_are_refused_to_another_user(visit, capsys, monkeypatch):
    monkeypatch.setattr(runs.os, "geteuid", lambda: os.getuid() + 1)
    code, out, err = ask(capsys, "replay", "run-asked", "--content", "--file", visit)

    assert (2, "") == (code, out)
    assert "[runs.not_yours]" in err
    assert CANARY not in err


def test_words_are_refused_on_an_output_of_somebody_else(visit, capsys, monkeypatch):
    mine = os.fstat(1)
    theirs = os.stat_result((*mine[:4], mine.st_uid + 1, *mine[5:10]))
    monkeypatch.setattr(runs.os, "fstat", lambda _number: theirs)
    code, out, _ = ask(capsys, "replay", "run-asked", "--content", "--file", visit)

    assert (2, "") == (code, out)


def test_following_shows_what_is_committed_until_the_run_ends(visit):
    """Each event once, in order, from a file that a sidecar writes at the same time."""
    store = SqliteRunStore(visit)
    asyncio.run(store.open())
    coming: list[RunEvent] = [said(" and on"), said(".", final=True), Completed()]
    told: list[str] = []

    def pause() -> None:
        record = asyncio.run(store.load("run-work"))
        assert record is not None
        asyncio.run(_commit(store, record, coming.pop(0)))

    replay_run(Where(visit, None, {}), "run-work", Replay(follow=True, as_json=True), told.append, told.append, pause)
    asyncio.run(store.close())

    assert [1, 2, 3, 4, 5] == [json.loads(line)["sequence"] for line in told]
    assert "completed" == json.loads(told[-1])["type"]
    assert [1, 1, 1] == [json.loads(line)["message"] for line in told[1:4]]


def test_following_ends_with_the_visit(visit):
    told: list[str] = []
    aside: list[str] = []
    replay_run(Where(visit, None, {}), "run-work", Replay(follow=True), told.append, aside.append, visit.unlink)

    assert 2 == len(told)
    assert ["The visit is over."] == aside


def test_a_running_sidecar_is_not_disturbed(running, visit, capsys):
    """From another process, with the log and index that the sidecar has made: no file changes by a byte."""
    before = beside(visit)
    seen = subprocess.run(
        [sys.executable, "-m", "wayside.cli", "runs", "list", "--file", str(visit)],
        capture_output=True,
        text=True,
        check=True,
    )
    shown = subprocess.run(
        [sys.executable, "-m", "wayside.cli", "runs", "show", "run-work", "--file", str(visit)],
        capture_output=True,
        check=True,
    )

    assert {"0123456789abcdef.visit", "0123456789abcdef.visit-shm", "0123456789abcdef.visit-wal"} == set(before)
    assert before == beside(visit)
    assert "run-work" in seen.stdout
    assert b"" == shown.stderr
    asyncio.run(running.save_state("room", {"phase": "later"}))


def test_what_only_the_log_holds_is_seen(running, visit, capsys):
    record = asyncio.run(running.load("run-work"))
    assert record is not None
    asyncio.run(_commit(running, record, Progress("more")))
    _, out, _ = ask(capsys, "replay", "run-work", "--after", 2, "--file", visit)

    assert "3" == out.split()[0]


def test_nothing_is_left_beside_a_file_that_nobody_has_open(visit, capsys):
    before = beside(visit)
    ask(capsys, "show", "run-work", "--file", visit)

    assert [visit.name] == list(before)
    assert before == beside(visit)


@pytest.mark.parametrize("ends", [("", "-wal"), ("", "-wal", "-shm")])
def test_a_copy_of_a_killed_sidecars_visit_is_read_with_its_log(running, visit, tmp_path, capsys, ends):
    record = asyncio.run(running.load("run-work"))
    assert record is not None
    asyncio.run(_commit(running, record, Progress("more")))
    copy = tmp_path / "copy" / "a.visit"
    copy.parent.mkdir()
    for end in ends:
        shutil.copyfile(f"{visit}{end}", f"{copy}{end}")
    before = beside(copy)
    _, out, _ = ask(capsys, "replay", "run-work", "--after", 2, "--file", copy)

    assert "3" == out.split()[0]
    assert before == beside(copy)


def test_a_sidecar_that_closes_while_we_look_gets_no_log_back(visit, monkeypatch, capsys):
    """The log is there when we look for it and gone when SQLite does."""
    log, index = Path(f"{visit}-wal"), Path(f"{visit}-shm")
    log.write_bytes(b"")
    index.write_bytes(b"")
    opened = visit_file._with

    def closing(path, mode, work):
        if mode == visit_file._UNTOUCHED:
            log.unlink()
            index.unlink()
            # A file of another inode, as SQLite makes one.
            (tmp := log.with_suffix(".keep")).write_bytes(b"")
            try:
                return opened(path, mode, work)
            finally:
                tmp.unlink()
        return opened(path, mode, work)

    monkeypatch.setattr(visit_file, "_with", closing)
    code, out, _ = ask(capsys, "list", "--file", visit)

    assert 0 == code
    assert "run-work" in out
    assert not index.exists()
    assert not log.exists()


def test_the_folder_is_the_one_that_the_sidecar_publishes(visit, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "sidecar.json").write_text(json.dumps({"state": "visit", "visits": str(visit.parent)}))
    code, out, _ = ask(capsys, "list", "--runtime-dir", tmp_path / "run")

    assert 0 == code
    assert "run-asked" in out


def test_the_service_s_runtime_directory_is_asked_first_and_a_desk_s_own_places_then(
    visit, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("WAYSIDE_RUNTIME_DIR", str(tmp_path / "kiosk"))
    assert "run-asked" in ask(capsys, "list")[1]

    monkeypatch.delenv("WAYSIDE_RUNTIME_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "kiosk").rename(tmp_path / "wayside")
    assert "run-asked" in ask(capsys, "list")[1]


@pytest.mark.parametrize(
    ("published", "code"),
    [
        (None, "runs.no_visit"),
        ('{"state": "ready", "visits": "/nowhere/at/all"}', "runs.no_visit"),
        ('{"state": "stopped", "visits": null}', "runs.no_visit"),
        ('{"state": "visit", "visits": null}', "runs.in_memory"),
        ("{", "runs.unreadable"),
    ],
)
def test_without_a_visit_it_says_so(tmp_path, capsys, published, code):
    if published is not None:
        (tmp_path / "sidecar.json").write_text(published)
    exit_code, out, err = ask(capsys, "list", "--runtime-dir", tmp_path)

    assert (2, "") == (exit_code, out)
    assert f"[{code}]" in err


def test_an_unknown_run_is_told_with_the_nearest(visit, capsys):
    code, _, err = ask(capsys, "show", "run-wrk", "--file", visit)

    assert 2 == code
    assert "Nearest: run-work" in err
    assert "[runs.unknown_run]" in err


def test_a_run_may_be_named_by_how_it_begins(visit, capsys):
    code, out, _ = ask(capsys, "show", "run-w", "--file", visit)
    ambiguous, _, err = ask(capsys, "show", "run-", "--file", visit)

    assert 0 == code
    assert out.startswith("run         run-work")
    assert 2 == ambiguous
    assert "run-asked" in err


def _newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def _damaged(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be one" * 100)


def _another(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()


def _forged(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE runs SET record = ?", (f'{{"{CANARY}": 1}}',))
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (_newer, "store.newer"),
        (_damaged, "store.corrupt"),
        (_forged, "store.corrupt"),
        (_another, "runs.not_a_visit"),
        (Path.unlink, "runs.no_file"),
    ],
)
def test_a_file_that_is_not_a_visit_we_can_read_is_named(visit, capsys, spoil, code):
    spoil(visit)
    for command in (("list",), ("show", "run-work"), ("replay", "run-work", "--content")):
        exit_code, out, err = ask(capsys, *command, "--file", visit)

        assert (2, "") == (exit_code, out)
        assert f"[{code}]" in err
        assert CANARY not in err


def test_one_damaged_visit_hides_no_other(visit, capsys):
    _damaged(visit.with_name("fedcba9876543210.visit"))
    code, out, _ = ask(capsys, "list", "--runtime-dir", visit.parents[1])

    assert 1 == code
    assert "run-asked" in out
    assert "fedcba9876543210.visit: The database is damaged. [store.corrupt]" in out


def test_another_user_s_file_is_refused(visit, capsys, monkeypatch):
    monkeypatch.setattr(visit_file.os, "access", lambda _path, _mode: False)
    code, _, err = ask(capsys, "list", "--file", visit)

    assert 2 == code
    assert "[runs.forbidden]" in err


def test_an_empty_visit_has_no_turn(tmp_path, capsys):
    path = tmp_path / "a.visit"
    store = SqliteRunStore(path)
    asyncio.run(store.open())
    asyncio.run(store.close())

    assert (0, "No turn has been taken yet.\n", "") == ask(capsys, "list", "--file", path)


@pytest.mark.parametrize("arguments", [["replay", "r", "--after", "-1"], ["replay", "r", "--after", "x"], ["show"]])
def test_what_can_not_be_asked_is_told_with_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as refused:
        main(["runs", *arguments])

    assert 2 == refused.value.code
    assert "usage: wayside runs" in capsys.readouterr().err
