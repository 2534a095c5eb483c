"""A private PulseAudio with two null sinks, for benches and tests on machines without sound.

`spk` is the loudspeaker, `mic` is a sink whose monitor is the microphone. PulseAudio runs as a separate process.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wayside.core.errors import WaysideError

RATE = 48_000


class AudioServer:
    """Start it, point the environment at it (`environment`), stop it. Everything it starts is killed afterwards."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wayside-audio-"))
        self.folder.chmod(0o700)
        self.environment = {
            "XDG_RUNTIME_DIR": str(self.folder),
            "PULSE_SERVER": f"unix:{self.folder}/pulse/native",
            "PULSE_RUNTIME_PATH": str(self.folder / "pulse"),
            "PULSE_COOKIE": str(self.folder / "cookie"),
            "HOME": str(self.folder),
        }
        self._helpers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the server and its sinks; raises `audio.no_server` when PulseAudio is not installed."""
        if shutil.which("pulseaudio") is None or shutil.which("pactl") is None:
            raise WaysideError(
                "audio.no_server", "PulseAudio is not installed.", remedy="apt install pulseaudio pulseaudio-utils"
            )
        subprocess.run(
            [
                *["pulseaudio", "-n", "--daemonize=yes", "--exit-idle-time=-1", "--log-target=null"],
                *["-L", "module-native-protocol-unix auth-anonymous=1"],
            ],
            env=self._env(),
            check=True,
            timeout=20,
            capture_output=True,
        )
        for name in ("spk", "mic"):
            self.add_sink(name)
        self.pactl("set-default-sink", "spk")
        self.pactl("set-default-source", "mic.monitor")

    def stop(self) -> None:
        """Stop the server and whatever plays into it; `start` works again."""
        self.stop_helpers()
        pid_file = self.folder / "pulse" / "pid"
        if pid_file.exists():
            pid = int(pid_file.read_text())
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sign)
                deadline = time.monotonic() + 2
                while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
                    time.sleep(0.02)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def remove(self) -> None:
        """Stop and leave nothing on disk."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pactl(self, *arguments: str) -> str:
        """Run `pactl`; returns what it prints."""
        done = subprocess.run(
            ["pactl", *arguments], env=self._env(), check=True, timeout=10, capture_output=True, text=True
        )
        return done.stdout.strip()

    def add_sink(self, name: str) -> str:
        """Module index, for `remove_module`."""
        return self.pactl("load-module", "module-null-sink", f"sink_name={name}", f"rate={RATE}", "norewinds=1")

    def remove_sink(self, name: str) -> None:
        """Unload a sink, as when a device is unplugged."""
        for line in self.pactl("list", "short", "modules").splitlines():
            index, module, *rest = line.split("\t")
            if module == "module-null-sink" and f"sink_name={name}" in " ".join(rest):
                self.pactl("unload-module", index)

    def play_into_microphone(self, wav: Path, *, wait: bool = True) -> None:
        """Speak a wav file into the microphone."""
        self._helper(["paplay", "--latency-msec=200", "-d", "mic", str(wav)], wait=wait)

    def murmur(self) -> None:
        """A room is never digitally silent: very quiet noise into the microphone until `stop_helpers`."""
        noise = (np.random.default_rng(1).normal(0, 3, RATE * 60)).astype(np.int16)
        raw = self.folder / "murmur.raw"
        raw.write_bytes(noise.tobytes())
        self._helper(["pacat", "-d", "mic", "--raw", f"--rate={RATE}", "--channels=1", str(raw)], wait=False)

    def echo(self, db: float, latency_ms: int = 40) -> str:
        """The room: the loudspeaker heard by the microphone, `db` weaker. Module index, for `remove_module`."""
        module = self.pactl(
            "load-module",
            "module-loopback",
            "source=spk.monitor",
            "sink=mic",
            f"latency_msec={latency_ms}",
            "adjust_time=3600",
        )
        for line in self.pactl("list", "short", "sink-inputs").splitlines():
            if "module-loopback" in line:
                self.pactl("set-sink-input-volume", line.split("\t")[0], f"{db:g}dB")
        return module

    def remove_module(self, module: str) -> None:
        """Unload what `echo` or `add_sink` loaded."""
        self.pactl("unload-module", module)

    def record_loudspeaker(self) -> "Recording":
        """Record what the loudspeaker plays, from now on."""
        return self.record("spk.monitor")

    def record(self, source: str) -> "Recording":
        """Record a source, from now on."""
        return Recording(self._env(), source)

    def stop_helpers(self) -> None:
        """End everything that plays into the microphone."""
        for helper in self._helpers:
            helper.kill()
            helper.wait()
        self._helpers.clear()

    def _helper(self, command: list[str], *, wait: bool) -> None:
        process = subprocess.Popen(command, env=self._env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if wait:
            if process.wait(60) != 0:
                raise WaysideError("audio.play_failed", "The test sound could not be played.")
        else:
            self._helpers.append(process)

    def _env(self) -> dict[str, str]:
        return os.environ | self.environment


class Recording:
    """What the loudspeaker plays, with the time at which each piece was read: mono int16 at 48 kHz."""

    def __init__(self, env: dict[str, str], source: str) -> None:
        self._process = subprocess.Popen(
            [
                *["parec", "-d", source, "--raw", "--format=s16le", "--channels=1"],
                *[f"--rate={RATE}", "--latency-msec=5", "--process-time-msec=5"],
            ],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._process.stdout is None:
            raise AssertionError("stdout is a pipe")
        self._out: IO[bytes] = self._process.stdout
        self._pieces: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._out.fileno(), 65_536):
            self._pieces.append((time.monotonic(), data))

    async def ready(self) -> None:
        """Wait until samples arrive."""
        async with asyncio.timeout(10):
            while not self._pieces:  # noqa: ASYNC110 - a thread fills it
                await asyncio.sleep(0.01)

    def samples(self) -> NDArray[np.int16]:
        """Everything so far."""
        data = b"".join(piece for _, piece in self._pieces)
        return np.frombuffer(data[: len(data) // 2 * 2], dtype=np.int16)

    def arrivals(self) -> list[tuple[float, int]]:
        """Monotonic time at which the recording had grown to so many samples."""
        total, out = 0, []
        for at, piece in self._pieces:
            total += len(piece)
            out.append((at, total // 2))
        return out

    def time_of(self, sample: int) -> float:
        """The monotonic time of a sample: the arrival of the piece that holds it, less what of it came after."""
        for at, total in self.arrivals():
            if total > sample:
                return at - (total - 1 - sample) / RATE
        return self._pieces[-1][0]

    def find(self, sound: NDArray[np.int16]) -> int:
        """The sample at which `sound` (at `RATE`) begins, whatever else is heard: where they correlate most."""
        heard = self.samples().astype(np.float32)
        size = 1 << (len(heard) + len(sound)).bit_length()
        spectrum = np.fft.rfft(heard, size) * np.conj(np.fft.rfft(sound.astype(np.float32), size))
        return int(np.argmax(np.fft.irfft(spectrum, size)[: len(heard)]))

    def stop(self) -> NDArray[np.int16]:
        """End the recording; returns everything."""
        self._process.terminate()
        self._process.wait(5)
        self._thread.join(5)
        self._out.close()
        return self.samples()
