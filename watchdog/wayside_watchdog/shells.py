"""Which program shows the page, and how it is started. Secrets reach it by environment or by a private file."""

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

CHROMIUM_FLAGS = (
    "--kiosk",
    "--incognito",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-translate",
    "--disable-pinch",
    "--overscroll-history-navigation=0",
    "--autoplay-policy=no-user-gesture-required",
    "--password-store=basic",
)


def has_screen(env: Mapping[str, str]) -> bool:
    """Whether a window could be opened at all."""
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def choose(wanted: str, env: Mapping[str, str]) -> str:
    """Resolve `auto`: the webview where it is installed, else Chromium, else no shell."""
    if wanted == "none" or not has_screen(env):
        return "none"
    if wanted != "auto":
        return wanted
    if all(importlib.util.find_spec(name) is not None for name in ("wayside_kiosk", "webview", "PySide6")):
        return "pywebview"
    return "chromium" if _chromium() else "none"


def command(kind: str, *, url: str, token: str, runtime_dir: Path, windowed: bool) -> tuple[str, ...]:
    """The command line of shell `kind`. It never carries the token."""
    if kind == "pywebview":
        window = ("--windowed",) if windowed else ()
        return (sys.executable, "-m", "wayside_kiosk", "--url", url, *window)
    flags = [flag for flag in CHROMIUM_FLAGS if not (windowed and flag == "--kiosk")]
    if os.geteuid() == 0:
        # Chromium refuses to start as root with its sandbox; a kiosk runs as an ordinary user.
        flags.append("--no-sandbox")
    profile = runtime_dir / "chromium"
    shutil.rmtree(profile, ignore_errors=True)
    start = _start_page(runtime_dir, url, token)
    return (_chromium() or "chromium", *flags, f"--user-data-dir={profile}", f"--app={start.as_uri()}")


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _start_page(runtime_dir: Path, url: str, token: str) -> Path:
    """A file only this user can read that leads to the page with the token in the fragment."""
    file = runtime_dir / "start.html"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        target = json.dumps(f"{url}#token={token}")
        stream.write(f"<!doctype html><title>Wayside</title><script>location.replace({target})</script>\n")
    return file
