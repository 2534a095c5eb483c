"""The command line and the environment, read once, as one frozen value. Folders are made here, private."""

import argparse
import importlib.util
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SHELLS = ("auto", "pywebview", "chromium", "none")


@dataclass(frozen=True, slots=True)
class Settings:
    """What one watchdog was asked to do. `sidecar_command` is empty for the installed sidecar."""

    port: int
    sidecar_port: int
    page: Path
    pack: Path
    state_dir: Path
    runtime_dir: Path
    shell: str
    windowed: bool
    sidecar: bool
    sidecar_command: tuple[str, ...]
    verbose: bool


def parser() -> argparse.ArgumentParser:
    """The options of `wayside-watchdog`."""
    made = argparse.ArgumentParser(
        prog="wayside-watchdog",
        description="Serves the kiosk's page, starts the guide and the screen, and keeps both going.",
        epilog="Ctrl+C, or `leave` in the staff controls, stops everything.",
    )
    made.add_argument("--port", type=int, default=8780, help="port of the page (%(default)s)")
    made.add_argument("--sidecar-port", type=int, default=8765, help="port of the guide (%(default)s)")
    made.add_argument("--page", type=Path, metavar="FOLDER", help="the built page (default: the installed one)")
    made.add_argument("--pack", type=Path, metavar="FOLDER", help="a built exhibit pack (default: STATE-DIR/pack)")
    made.add_argument("--state-dir", type=Path, metavar="FOLDER", help="PIN and audit ($XDG_STATE_HOME/wayside)")
    made.add_argument("--runtime-dir", type=Path, metavar="FOLDER", help="memory-backed ($XDG_RUNTIME_DIR/wayside)")
    made.add_argument("--shell", choices=SHELLS, default="auto", help="what opens the page on a screen (%(default)s)")
    made.add_argument("--windowed", action="store_true", help="a window that can be closed, instead of a kiosk")
    made.add_argument("--no-sidecar", action="store_true", help="serve the page and the cached exhibit only")
    made.add_argument("--sidecar-command", nargs=argparse.REMAINDER, default=[], help="last: another command to run")
    made.add_argument("--verbose", action="store_true", help="show what the children print")
    return made


def read(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Parse `argv`; exits with 2 on bad arguments, like every argparse command."""
    made = parser()
    given = made.parse_args(argv)
    for port in (given.port, given.sidecar_port):
        if not 1 <= port <= 65535:
            made.error(f"{port} is not a port")
    if given.port == given.sidecar_port:
        made.error("the page and the guide need two ports")
    state_dir = given.state_dir or _default_state(env)
    return Settings(
        port=given.port,
        sidecar_port=given.sidecar_port,
        page=(given.page or _installed_page()).absolute(),
        pack=(given.pack or state_dir / "pack").absolute(),
        state_dir=state_dir.absolute(),
        runtime_dir=(given.runtime_dir or _default_runtime(env)).absolute(),
        shell=given.shell,
        windowed=given.windowed,
        sidecar=not given.no_sidecar,
        sidecar_command=tuple(given.sidecar_command),
        verbose=given.verbose,
    )


def make_private(folder: Path) -> None:
    """Make `folder` for this user only. Raise PermissionError when it belongs to somebody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} does not belong to this user")
    folder.chmod(0o700)


def _installed_page() -> Path:
    # find_spec of a top-level package does not import it.
    spec = importlib.util.find_spec("wayside")
    where = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(where or ["."]))) / "server" / "static"


def _default_state(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "wayside"


def _default_runtime(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_RUNTIME_DIR")
    if base and Path(base).is_dir():
        return Path(base) / "wayside"
    memory = Path("/dev/shm")  # noqa: S108  # made private and checked for its owner by make_private
    root = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return root / f"wayside-{os.geteuid()}"
