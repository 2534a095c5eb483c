"""The real webview on a private screen."""

import os
import shutil
import signal
import subprocess

import psutil
import pytest
from screens import SIZE, PageServer, Shell, screen, until

pytestmark = [pytest.mark.shell, pytest.mark.timeout(120)]
if shutil.which("Xvfb") is None or shutil.which("openbox") is None:
    pytestmark.append(pytest.mark.skip(reason="needs Xvfb and openbox; `make test` installs them and runs this"))

HTML = """<!doctype html><body style="background:#204060;color:#fff;font:40px sans-serif;margin:0">
<p>Hello <a id=out href="http://127.0.0.1:1/away">out</a></p>
<script>
const seen = (word) => fetch("/seen?" + word).then((answer) => answer.text());
seen("token=" + (window.__WAYSIDE__ && window.__WAYSIDE__.token));
addEventListener("keydown", (event) => seen("key=" + event.key));
addEventListener("contextmenu", () => seen("menu"));
const doors = async () => {
  seen("open=" + window.open("/popup"));
  seen("confirm=" + confirm("?"));
  seen("prompt=" + prompt("?"));
  alert("!");
  seen("bridge=" + typeof window.pywebview);
  const link = document.createElement("a");
  link.href = "/archive.zip"; link.download = "archive.zip"; document.body.append(link); link.click();
  seen("location=" + await new Promise((resolve) =>
    navigator.geolocation.getCurrentPosition(() => resolve("yes"), () => resolve("no"), {timeout: 5000})));
  seen("camera=" + await navigator.mediaDevices.getUserMedia({video: true}).then(() => "yes", (e) => e.name));
  seen("foreign=" + await fetch("http://localhost:" + location.port + "/foreign").then(() => "yes", () => "no"));
  seen("sound=" + new AudioContext().state);
  location.href = "http://127.0.0.1:1/away";
  setTimeout(() => seen("still-here"), 1500);
};
setTimeout(doors, 300);
</script>"""


@pytest.fixture(scope="module")
def display():
    with screen() as name:
        yield name


def test_it_fills_the_screen_and_hands_the_token_to_its_page_alone(display, tmp_path):
    with PageServer(HTML) as server, Shell(display, server.url) as shell:
        server.wait_for("token=boot-token-5150")
        until(lambda: shell.geometry() == (0, 0, *SIZE), 10)
        server.wait_for("still-here")
        if target := os.environ.get("WAYSIDE_SCREENSHOTS"):
            subprocess.run(
                ["import", "-window", "root", f"{target}/shell.png"], env={**os.environ, "DISPLAY": display}, check=True
            )

        for word in (
            "open=null",
            "confirm=false",
            "prompt=null",
            "bridge=undefined",
            "location=no",
            "foreign=no",
            "sound=running",
        ):
            assert word in server.seen
        assert "camera=yes" not in server.seen
        assert server.requests.count("/") == 1
        assert "/foreign" not in server.requests
        assert "/popup" not in server.requests
        assert not list(tmp_path.glob("**/*.zip"))
        assert shell.geometry() == (0, 0, *SIZE)
        for process in shell.descendants():
            assert "boot-token-5150" not in " ".join(process.cmdline())
            assert "WAYSIDE_TOKEN" not in process.environ()
            assert not [c for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)


def test_no_key_or_button_leads_out(display):
    with PageServer(HTML) as server, Shell(display, server.url) as shell:
        server.wait_for("still-here")
        until(lambda: shell.geometry() == (0, 0, *SIZE), 10)
        shell.xdotool("mousemove", "600", "400", "click", "1")
        keys = ["alt+F4", "ctrl+w", "ctrl+q", "F11", "F12", "ctrl+shift+i", "ctrl+p", "F5", "ctrl+r", "alt+Left"]
        shell.xdotool("key", *keys, "ctrl+plus", "Menu", "shift+F10")
        for button in ("2", "3", "8", "9"):
            shell.xdotool("click", button)
        shell.xdotool("key", "z")
        server.wait_for("key=z", 10)

        assert shell.process.poll() is None
        assert shell.geometry() == (0, 0, *SIZE)
        assert [word for word in server.seen if word.startswith("key=F") or word == "menu"] == []
        assert server.requests.count("/") == 1


def test_a_dead_renderer_ends_the_shell_with_ten(display):
    with PageServer(HTML) as server, Shell(display, server.url) as shell:
        server.wait_for("token=boot-token-5150")
        for renderer in shell.renderers():
            os.kill(renderer.pid, signal.SIGKILL)

        assert shell.process.wait(15) == 10


def test_a_page_that_cannot_be_opened_ends_the_shell_with_eleven(display):
    with Shell(display, "http://127.0.0.1:9/") as shell:
        assert shell.process.wait(60) == 11


def test_it_leaves_with_zero_when_told(display):
    with PageServer(HTML) as server, Shell(display, server.url) as shell:
        server.wait_for("token=boot-token-5150")
        shell.process.terminate()

        assert shell.process.wait(10) == 0
