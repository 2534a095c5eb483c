"""Watchdog, shell and page together on a private screen; only the sidecar is a stand-in."""

import contextlib
import shutil
import sys
from pathlib import Path

import psutil
import pytest
from screens import screen

sys.path.insert(0, str(Path(__file__).parents[1] / "watchdog"))
from running import Running, until

pytestmark = [pytest.mark.shell, pytest.mark.timeout(150)]
if shutil.which("Xvfb") is None or shutil.which("openbox") is None:
    pytestmark.append(pytest.mark.skip(reason="needs Xvfb and openbox; `make test` installs them and runs this"))

BEATING = """let frames = 0;
const paint = () => { frames += 1; requestAnimationFrame(paint); };
paint();
const beat = () => fetch("/v1/heartbeat", {
  method: "POST",
  headers: {"Content-Type": "application/json", "X-Wayside-Token": window.__WAYSIDE__.token},
  body: JSON.stringify({build: "t", frames, tick: 0, socket: false}),
});
beat();
setInterval(beat, 3000);
"""


@pytest.fixture
def kiosk(tmp_path):
    with screen() as display:
        environment = {"DISPLAY": display, "WAYLAND_DISPLAY": ""}
        dog = Running(tmp_path, page=True, extra=("--shell", "pywebview"), env=environment)
        (dog.page / "index.html").write_text(
            '<!doctype html><body style="background:#123"><script type=module src=/assets/app.js></script>'
        )
        (dog.page / "assets" / "app.js").write_text(BEATING)
        with dog:
            until(lambda: component(dog, "shell")["state"] == "up", 30)
            yield dog


def component(dog, name):
    health = dog.get("/health", {"Authorization": "Bearer op-token"})[1]
    return next(found for found in health["components"] if found["name"] == name)


def shell(dog):
    return next(p for p in psutil.Process(dog.process.pid).children() if "wayside_kiosk" in p.cmdline())


def renderers(dog):
    """What the engine's zygotes forked: renderers and their like."""
    process = shell(dog)
    return [p for p in process.children(recursive=True) if not p.children() and p.ppid() != process.pid]


def test_a_killed_renderer_brings_a_new_shell(kiosk):
    before = shell(kiosk).pid
    for renderer in renderers(kiosk):
        with contextlib.suppress(psutil.NoSuchProcess):
            renderer.kill()
    until(lambda: shell_is_new(kiosk, before), 20)
    until(lambda: component(kiosk, "shell")["state"] == "up", 20)

    assert component(kiosk, "shell")["restarts"] == 1


def test_a_frozen_page_is_noticed_within_twelve_seconds(kiosk):
    before = shell(kiosk).pid
    for renderer in renderers(kiosk):
        with contextlib.suppress(psutil.NoSuchProcess):
            renderer.suspend()
    noticed_s = until(lambda: component(kiosk, "shell")["state"] != "up", 14)
    until(lambda: component(kiosk, "shell")["restarts"] == 1, 10)
    until(lambda: shell_is_new(kiosk, before), 10)

    assert noticed_s <= 12.5


def test_leaving_by_the_staff_controls_closes_everything(kiosk):
    started = kiosk.children()
    session = kiosk.post("/v1/staff/unlock", {"pin": kiosk.pin}, {"X-Wayside-Token": token_of(kiosk)})[1]["session"]

    assert kiosk.act(session, "leave") == (200, {"ok": True})
    assert kiosk.process.wait(10) == 0
    assert not [pid for pid in started if psutil.pid_exists(pid)]


def test_a_terminal_is_told_no_token_when_there_is_a_screen(kiosk):
    assert token_of(kiosk) not in kiosk.output()
    assert "on the screen (pywebview)" in kiosk.output()


def shell_is_new(dog, before):
    return shell(dog).pid != before


def token_of(dog):
    return psutil.Process(dog.sidecar_pid()).environ()["WAYSIDE_TOKEN"]
