"""Faults injected for real: processes are killed and frozen, and the page stays."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time

import psutil
import pytest
from running import Running, until

pytestmark = pytest.mark.timeout(90)


def test_a_killed_sidecar_is_back_within_five_seconds_and_takes_its_children_along(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        before = dog.sidecar_pid()
        until(lambda: psutil.Process(before).children(), 5)
        helper = psutil.Process(before).children()[0]
        os.kill(before, signal.SIGKILL)
        until(lambda: dog.word() != "up", 1)
        back_s = dog.wait_up(5)

        assert dog.sidecar_pid() != before
        assert not helper.is_running()
        assert back_s < 5
        assert [p.status() for p in psutil.Process(dog.process.pid).children()].count(psutil.STATUS_ZOMBIE) == 0


def test_a_frozen_sidecar_is_noticed_within_twelve_seconds_and_replaced(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        before = dog.sidecar_pid()
        os.kill(before, signal.SIGSTOP)
        began = time.monotonic()
        until(lambda: dog.word() == "down", 6)
        until(lambda: dog.sidecar_pid() not in {before, None}, 14)

        assert time.monotonic() - began <= 13.5  # 12 s to notice, then a second's grace
        dog.wait_up(5)


def test_a_frozen_watchdog_blames_nobody_when_it_wakes(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        before = dog.sidecar_pid()
        os.kill(dog.process.pid, signal.SIGSTOP)
        time.sleep(14)
        os.kill(dog.process.pid, signal.SIGCONT)
        time.sleep(4)

        assert before == dog.sidecar_pid()
        assert dog.word() == "up"


def test_a_crash_loop_ends_in_safe_mode_with_the_page_still_there(tmp_path):
    with Running(tmp_path, mode="crash") as dog:
        until(lambda: dog.word() == "safe_mode", 45)
        status, page = dog.get("/")
        session = dog.unlock()
        _, report = dog.act(session, "status")

        assert status == 200
        assert "Please ask at the desk." in page
        assert dog.get("/fallback/manifest.json")[1]["release"] == "test-1"
        assert report["components"][0]["restarts"] == 5
        assert [issue["code"] for issue in report["issues"]] == ["page.missing", "sidecar.safe_mode"]
        assert dog.get("/ready") == (200, {"status": "ready", "degraded": ["page.missing", "sidecar.safe_mode"]})


def test_leaving_stops_everything_with_exit_code_zero(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        started = dog.children()
        session = dog.unlock()

        assert dog.act(session, "leave") == (200, {"ok": True})
        assert dog.process.wait(8) == 0
        assert not any(psutil.pid_exists(pid) for pid in started)


def test_a_killed_watchdog_takes_the_sidecar_with_it(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        sidecar = dog.sidecar_pid()
        dog.process.kill()
        until(lambda: not psutil.pid_exists(sidecar) or psutil.Process(sidecar).status() == psutil.STATUS_ZOMBIE, 3)


def test_staff_actions_reach_the_sidecar(tmp_path):
    with Running(tmp_path, mode="deaf") as dog:
        dog.wait_up()
        session = dog.unlock()
        before = dog.sidecar_pid()

        assert dog.act(session, "volume", 6) == (200, {"ok": True, "volume": 6})
        assert dog.act(session, "status")[1]["volume"] == 6
        assert dog.act(session, "restart", "shell")[1]["code"] == "staff.not_here"
        assert dog.act(session, "reset")[1] == {"ok": True, "restarted": True}
        until(lambda: dog.sidecar_pid() not in {before, None}, 5)
        audit = (tmp_path / "state" / "audit.jsonl").read_text()
        assert [audit.count(word) for word in ("unlock", "volume", "restart", "reset")] == [1, 1, 1, 1]
        assert dog.pin not in audit
        assert session not in audit


def test_wrong_pins_lock_the_entry(tmp_path):
    with Running(tmp_path) as dog:
        wrong = "000000" if dog.pin != "000000" else "111111"

        assert dog.post("/v1/staff/unlock", {"pin": wrong}) == (403, {"code": "staff.wrong_pin", "retry_in_s": 1})
        assert dog.post("/v1/staff/unlock", {"pin": dog.pin})[1] == {"code": "staff.locked", "retry_in_s": 1}
        assert dog.post("/v1/staff/unlock", {"pin": dog.pin}, {"X-Wayside-Token": "no"})[0] == 403
        assert dog.act("made-up", "leave") == (403, {"code": "staff.no_session"})


def test_a_child_gets_what_the_contract_says_and_its_words_go_nowhere(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        environ = psutil.Process(dog.sidecar_pid()).environ()

        assert environ["WAYSIDE_TOKEN"] == dog.token
        assert environ["WAYSIDE_ORIGINS"] == f"http://127.0.0.1:{dog.port},http://localhost:{dog.port}"
        assert environ["WAYSIDE_PACK"] == str(dog.pack)
        assert dog.token not in " ".join(psutil.Process(dog.sidecar_pid()).cmdline())
        assert psutil.Process(dog.sidecar_pid()).rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert "canary-7731" not in dog.output()
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_foreign_hosts_origins_and_oversize_bodies_are_refused(tmp_path):
    with Running(tmp_path, page=True) as dog:
        beat = {"build": "x", "frames": 1, "tick": 1, "socket": "open"}

        assert dog.get("/v1/status", {"Host": "museum.example"})[0] == 421
        assert dog.get("/v1/status", {"Origin": "http://museum.example"})[0] == 403
        assert dog.get("/v1/status", {"Origin": "null"})[0] == 403
        assert dog.get("/v1/status", {"Origin": f"http://127.0.0.1:{dog.port}"})[0] == 200
        assert dog.post("/v1/heartbeat", beat)[0] == 204
        assert dog.post("/v1/heartbeat", beat, {"X-Wayside-Token": "wrong"})[0] == 403
        assert dog.post("/v1/heartbeat", beat, {"Content-Type": "text/plain"})[0] == 400
        assert dog.post("/v1/heartbeat", {"frames": 1, "build": "x" * 5000})[0] == 413
        assert dog.ask("POST", "/v1/heartbeat", body="[" * 3000)[0] == 400
        assert dog.get("/health")[0] == 401
        assert dog.get("/health", {"Authorization": "Bearer op-token"})[1]["components"][0]["name"] == "sidecar"


def test_the_page_is_served_with_a_strict_policy_and_nothing_beside_it(tmp_path):
    with Running(tmp_path, page=True) as dog:
        (tmp_path / "outside.js").write_text("secret")
        (dog.page / "assets" / "link.js").symlink_to(tmp_path / "outside.js")
        status, page, headers = dog.ask("GET", "/")
        policy = headers["Content-Security-Policy"]

        assert (status, "built" in page) == (200, True)
        assert f"connect-src 'self' ws://127.0.0.1:{dog.sidecar_port};" in policy
        assert "unsafe" not in policy
        assert "Access-Control-Allow-Origin" not in headers
        assert dog.get("/assets/app.js")[0] == 200
        refused = ("/assets/link.js", "/.secret.js", "/assets/../../outside.js", "/assets/%2e%2e/%2e%2e/outside.js")
        assert [dog.get(path)[0] for path in refused] == [404] * 4


def test_without_a_built_page_the_plain_one_escapes_what_it_shows(tmp_path):
    with Running(tmp_path) as dog:
        page = dog.get("/")[1]

        assert "Pots &amp; &lt;people&gt;" in page
        assert "It holds &lt;wine&gt;." in page


def test_a_port_in_use_is_one_clear_line_and_exit_code_two(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "wayside_watchdog", "--port", str(port), "--shell", "none", "--no-sidecar"),
                *("--state-dir", str(tmp_path / "s"), "--runtime-dir", str(tmp_path / "r")),
            ],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    assert done.returncode == 2
    expected = f"wayside-watchdog: port {port} is in use: stop the other Wayside, or choose another with --port\n"
    assert done.stderr == expected


def test_it_stays_small_and_idle(tmp_path):
    with Running(tmp_path) as dog:
        dog.wait_up()
        process = psutil.Process(dog.process.pid)
        process.cpu_percent()
        time.sleep(6)
        share = process.cpu_percent()

        assert process.memory_info().rss < 60e6
        assert share <= 2.0  # one per cent on the kiosk; a shared test machine gets another


def test_systemd_is_told_when_the_page_is_there(tmp_path):
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(address)
        sock.settimeout(5)
        with Running(tmp_path, env={"NOTIFY_SOCKET": address}) as dog:
            assert sock.recv(100) == b"READY=1"
            dog.wait_up()
            assert "NOTIFY_SOCKET" not in psutil.Process(dog.sidecar_pid()).environ()
