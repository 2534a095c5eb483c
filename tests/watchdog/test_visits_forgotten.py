"""A visit's file: kept for the sidecar that takes it up, deleted when the old one could not end the visit."""

import json
import os
import signal

import pytest
from running import Running, until
from wayside_watchdog.visits import forget

pytestmark = pytest.mark.timeout(60)


def kept(dog, folder):
    """A visit as a sidecar keeps it, with its log, and one it had set aside."""
    visits = folder / "visits-1"
    visits.mkdir(mode=0o700)
    for name in ("a1.visit", "a1.visit-wal", "a1.visit-shm", "b2.visit.unreadable"):
        (visits / name).write_text("what a visitor said")
    (visits / "something-else").write_text("not a visit")
    (folder / "run" / "sidecar.json").write_text(json.dumps({"pid": dog.sidecar_pid(), "visits": str(visits)}))
    return visits


def visit_files(visits):
    return sorted(file.name for file in visits.iterdir() if ".visit" in file.name)


def test_a_killed_sidecar_finds_its_visit_again(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        visits = kept(dog, tmp_path)
        before = dog.sidecar_pid()
        os.kill(before, signal.SIGKILL)
        until(lambda: dog.sidecar_pid() not in {before, None}, 5)
        dog.wait_up(5)

        assert 4 == len(visit_files(visits))


def test_a_reset_the_sidecar_can_not_do_leaves_no_file_of_the_visit(tmp_path):
    with Running(tmp_path, mode="deaf") as dog:
        dog.wait_up()
        visits = kept(dog, tmp_path)
        before = dog.sidecar_pid()
        session = dog.unlock()

        assert dog.act(session, "reset")[1] == {"ok": True, "restarted": True}
        until(lambda: dog.sidecar_pid() not in {before, None}, 8)
        assert [] == visit_files(visits)
        assert (visits / "something-else").exists()


def test_in_safe_mode_nothing_of_a_visit_stays(tmp_path):
    with Running(tmp_path, mode="crash") as dog:
        visits = kept(dog, tmp_path)
        until(lambda: dog.word() == "safe_mode", 40)
        until(lambda: not visit_files(visits), 3)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"visits": null}', '{"visits": 3}', '{"visits": "/nowhere/at/all"}'])
def test_a_file_that_names_no_folder_is_nothing_to_forget(tmp_path, text):
    file = tmp_path / "sidecar.json"
    file.write_text(text)

    assert forget(file)
    assert forget(tmp_path / "missing.json")


def test_what_can_not_be_deleted_is_told(tmp_path):
    (tmp_path / "x.visit").mkdir()
    (tmp_path / "sidecar.json").write_text(json.dumps({"visits": str(tmp_path)}))

    assert not forget(tmp_path / "sidecar.json")
