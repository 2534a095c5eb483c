"""A real watchdog process with a fake sidecar, and plain HTTP to talk to it."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

FAKE = Path(__file__).with_name("fake_sidecar.py")
MANIFEST = {
    "schema": 1,
    "release": "test-1",
    "languages": ["en"],
    "title": {"en": "Pots & <people>"},
    "staff_help": {"en": "Please ask at the desk."},
    "exhibits": [
        {"id": "vase", "title": {"en": "The vase"}, "passages": {"en": [{"id": "vase#1", "text": "It holds <wine>."}]}}
    ],
}


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def until(condition, within_s):
    """Poll until `condition()` is true; return how long that took."""
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        with contextlib.suppress(OSError, http.client.HTTPException, psutil.Error, StopIteration):
            if condition():
                return time.monotonic() - began
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s} s")


class Running:
    """One watchdog. `mode` is the fake sidecar's."""

    def __init__(self, folder, *, mode="", page=False, extra=(), env=None):
        self.port, self.sidecar_port = free_port(), free_port()
        self.folder = folder
        self.pack = folder / "pack"
        (self.pack / "fallback").mkdir(parents=True, exist_ok=True)
        (self.pack / "fallback" / "manifest.json").write_text(json.dumps(MANIFEST))
        self.page = folder / "page"
        (self.page / "assets").mkdir(parents=True, exist_ok=True)
        if page:
            (self.page / "index.html").write_text("<!doctype html><title>built</title>")
            (self.page / "assets" / "app.js").write_text("//")
            (self.page / ".secret.js").write_text("no")
        command = [
            *(sys.executable, "-m", "wayside_watchdog", "--port", str(self.port)),
            *("--sidecar-port", str(self.sidecar_port), "--page", str(self.page), "--pack", str(self.pack)),
            *("--state-dir", str(folder / "state"), "--runtime-dir", str(folder / "run")),
            *(extra or ("--shell", "none")),
            *("--sidecar-command", sys.executable, str(FAKE), str(self.sidecar_port), *([mode] if mode else [])),
        ]
        self.log = folder / "output.txt"
        environment = {**os.environ, "WAYSIDE_OPERATOR_TOKEN": "op-token", **(env or {})}
        with self.log.open("ab") as stream:
            self.process = subprocess.Popen(
                command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment
            )

    def __enter__(self):
        until(lambda: self.get("/live")[0] == 200 and "Ctrl+C" in self.output(), 15)
        return self

    def __exit__(self, *_):
        for pid in [self.process.pid, *self.children()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def output(self):
        return self.log.read_text()

    @property
    def pin(self):
        return re.search(r"Staff PIN: (\d{6})", self.output())[1]

    @property
    def token(self):
        return re.search(r"#token=(\S+)", self.output())[1]

    def children(self):
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]
        return []

    def sidecar_pid(self):
        for child in psutil.Process(self.process.pid).children():
            if str(FAKE) in child.cmdline():
                return child.pid
        return None

    def word(self):
        return self.get("/v1/status")[1]["sidecar"]

    def wait_up(self, within_s=15):
        return until(lambda: self.word() == "up", within_s)

    def get(self, path, headers=None):
        status, body, _ = self.ask("GET", path, headers=headers)
        return status, body

    def post(self, path, body, headers=None):
        status, answer, _ = self.ask("POST", path, body=json.dumps(body), headers=headers)
        return status, answer

    def ask(self, method, path, *, body=None, headers=None):
        """Return status, body (parsed where it is JSON) and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        given = {"X-Wayside-Token": self.token} if "#token=" in self.output() else {}
        if body is not None:
            given["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body=body, headers={**given, **(headers or {})})
            response = connection.getresponse()
            raw = response.read()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(raw) if is_json and raw else raw.decode(), response.headers
        finally:
            connection.close()

    def unlock(self):
        status, answer = self.post("/v1/staff/unlock", {"pin": self.pin})
        assert status == 200
        return answer["session"]

    def act(self, session, action, value=None):
        return self.post("/v1/staff/action", {"session": session, "action": action, "value": value})
