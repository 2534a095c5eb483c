"""A sidecar that does nothing but answer the watchdog. Arguments: PORT [crash|deaf]. Standard library only."""

import http.server
import json
import os
import subprocess
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    volume = 0.0

    def do_GET(self):
        match self.path:
            case "/live":
                self._answer(200, {"status": "live"})
            case "/ready":
                self._answer(200, {"status": "ready", "degraded": ["audio.microphone_lost"]})
            case "/health" if self._trusted():
                environ = sorted(name for name in os.environ if name.startswith("WAYSIDE_"))
                self._answer(200, {"volume": Handler.volume, "environment": environ})
            case _:
                self._answer(404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._trusted():
            self._answer(401, {})
        elif self.path == "/v1/operator/volume":
            Handler.volume = body["db"]
            self._answer(200, {"ok": True, "volume": body["db"]})
        elif self.path == "/v1/operator/reset" and "deaf" not in sys.argv:
            self._answer(200, {"ok": True})
        else:
            self._answer(500, {})

    def _trusted(self):
        return self.headers["Authorization"] == "Bearer " + os.environ["WAYSIDE_TOKEN"]

    def _answer(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


sys.stdout.write("a line that must stay in the ring: canary-7731\n")
sys.stdout.flush()
if "crash" in sys.argv:
    sys.exit(3)
helper = subprocess.Popen(["sleep", "600"])  # an audio child that outlives a killed parent, unless its group is ended
http.server.ThreadingHTTPServer.allow_reuse_address = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
