"""A private screen with a window manager, a page served by the test, and the real shell on it."""

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
import time

import psutil

SIZE = (1280, 720)


@contextlib.contextmanager
def screen():
    """Xvfb with openbox; yields the display's name."""
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-nolisten", "tcp"],
        pass_fds=(write_end,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    try:
        with os.fdopen(read_end) as stream:
            display = ":" + stream.readline().strip()
        manager = subprocess.Popen(
            ["openbox", "--sm-disable"],
            env={**os.environ, "DISPLAY": display},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield display
        finally:
            manager.terminate()
            manager.wait(10)
    finally:
        server.terminate()
        server.wait(10)


class PageServer:
    """Serves one page; the page reports what it sees by asking for `/seen?…`."""

    def __init__(self, html):
        self.seen = []
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                if self.path.startswith("/seen?"):
                    outer.seen.append(self.path.removeprefix("/seen?"))
                kind = "application/zip" if self.path.endswith(".zip") else "text/html"
                body = html.encode() if self.path == "/" else b"x"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            log_message = functools.partial(lambda *_: None)

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait_for(self, word, within_s=30):
        until(lambda: word in self.seen, within_s)


class Shell:
    """The real shell process."""

    def __init__(self, display, url, *options):
        environment = {**os.environ, "DISPLAY": display, "WAYSIDE_TOKEN": "boot-token-5150"}
        environment.pop("WAYLAND_DISPLAY", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wayside_kiosk", "--url", url, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._display = display

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait(10)
        self.process.stdout.close()

    def descendants(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def renderers(self):
        """The engine's processes that its zygotes forked; they keep their parent's command line."""
        return [p for p in self.descendants() if not p.children() and p.ppid() != self.process.pid]

    def xdotool(self, *arguments):
        done = subprocess.run(
            ["xdotool", *arguments],
            env={**os.environ, "DISPLAY": self._display},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    def geometry(self):
        """x, y, width, height of the one visible window."""
        windows = self.xdotool("search", "--onlyvisible", "--name", "^Wayside$").split()
        assert len(windows) == 1
        lines = dict(line.split("=") for line in self.xdotool("getwindowgeometry", "--shell", windows[0]).splitlines())
        return tuple(int(lines[name]) for name in ("X", "Y", "WIDTH", "HEIGHT"))


def until(condition, within_s):
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        with contextlib.suppress(psutil.Error):
            if condition():
                return
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s} s")
