import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside_watchdog import lockout
from wayside_watchdog.lockout import Lockout
from wayside_watchdog.staff import Locked, Staff, Unlocked, WrongPin
from wayside_watchdog.staff_actions import Actions


def _wrong(pin):
    return "000000" if pin != "000000" else "111111"


def test_the_pin_is_shown_once_and_kept_only_as_a_hash(tmp_path):
    first, again = Staff(tmp_path), Staff(tmp_path)

    assert first.made_pin is not None
    assert len(first.made_pin) == 6
    assert again.made_pin is None
    assert first.made_pin not in (tmp_path / "staff.json").read_text()
    assert stat.S_IMODE((tmp_path / "staff.json").stat().st_mode) == 0o600


async def test_the_right_pin_opens_a_session_that_admits(tmp_path):
    staff = Staff(tmp_path)
    answer = await staff.unlock(staff.made_pin)

    assert isinstance(answer, Unlocked)
    assert staff.admits(answer.session)
    assert not staff.admits("x" + answer.session[1:])
    assert not staff.admits("é")


async def test_a_wrong_pin_makes_everybody_wait_even_with_the_right_one(tmp_path):
    staff = Staff(tmp_path)

    assert await staff.unlock(_wrong(staff.made_pin)) == WrongPin(retry_in_s=1)
    assert await staff.unlock(staff.made_pin) == Locked(retry_in_s=1)


async def test_a_new_watchdog_remembers_the_lock(tmp_path):
    staff = Staff(tmp_path)
    (tmp_path / "staff-lockout.json").write_text(json.dumps({"failures": 7, "until": 1e9, "boot": staff._boot}))
    answer = await Staff(tmp_path).unlock(staff.made_pin)

    assert isinstance(answer, Locked)


async def test_a_damaged_lock_file_locks(tmp_path):
    staff = Staff(tmp_path)
    (tmp_path / "staff-lockout.json").write_text("{")

    assert await Staff(tmp_path).unlock(staff.made_pin) == Locked(retry_in_s=300)


async def test_an_unused_session_ends(tmp_path, monkeypatch):
    staff = Staff(tmp_path)
    answer = await staff.unlock(staff.made_pin)
    monkeypatch.setattr("wayside_watchdog.staff.IDLE_S", 0)
    assert staff.admits(answer.session)

    assert not staff.admits(answer.session)


def test_five_wrong_pins_lock_for_five_minutes_and_longer_each_time():
    assert [lockout.penalty_s(n) for n in range(1, 7)] == [1.0, 2.0, 4.0, 8.0, 300.0, 600.0]
    assert lockout.penalty_s(50) == 3600.0


@given(st.integers(1, 30), st.floats(0, 1e7), st.floats(0, 5000))
def test_a_reboot_never_shortens_the_wait(failures, until, at):
    locked = Lockout(failures=failures, until=until, boot="a")

    assert lockout.wait_s(locked, at=at, boot="b") == max(0.0, lockout.penalty_s(failures) - at)


class FakeChildren:
    def __init__(self):
        self.done = []

    def components(self):
        return []

    def sidecar_word(self):
        return "safe_mode"

    def readiness(self):
        return None

    def restart(self, name, *, hung=False):
        self.done.append((name, hung))
        return True

    def leave(self):
        self.done.append("leave")


class DeadSidecar:
    async def reset(self, reason):
        return False

    async def volume(self, db):
        return None

    async def health(self):
        return None


class NoIssues:
    def codes(self):
        return ("pack.missing",)


@pytest.mark.parametrize(
    ("action", "value", "code"),
    [
        ("volume", 13, "staff.bad_value"),
        ("volume", True, "staff.bad_value"),
        ("volume", float("nan"), "staff.bad_value"),
        ("volume", "3", "staff.bad_value"),
        ("volume", 3, "sidecar.no_answer"),
        ("restart", "watchdog", "staff.unknown_action"),
        ("format", None, "staff.unknown_action"),
    ],
)
async def test_a_refused_action_says_why(action, value, code):
    answer = await Actions(FakeChildren(), DeadSidecar(), local_issues=NoIssues()).do(action, value)

    assert answer["code"] == code
    assert answer["message"]


async def test_a_reset_the_sidecar_cannot_do_ends_its_process():
    supervised = FakeChildren()
    answer = await Actions(supervised, DeadSidecar(), local_issues=NoIssues()).do("reset", None)

    assert answer == {"ok": True, "restarted": True}
    assert supervised.done == [("sidecar", True)]


async def test_every_issue_has_a_suggestion():
    answer = await Actions(FakeChildren(), DeadSidecar(), local_issues=NoIssues()).do("status", None)

    assert [issue["code"] for issue in answer["issues"]] == ["pack.missing", "sidecar.safe_mode"]
    assert all(issue["suggestion"] for issue in answer["issues"])


class SidecarWithoutRoom(DeadSidecar):
    async def volume(self, db):
        return {"ok": True, "volume": db, "kept": False}


async def test_a_volume_that_is_not_kept_is_told_with_the_reason():
    answer = await Actions(FakeChildren(), SidecarWithoutRoom(), local_issues=NoIssues()).do("volume", 3)

    assert answer["code"] == "settings.not_kept"
    assert "disk" in answer["message"]
