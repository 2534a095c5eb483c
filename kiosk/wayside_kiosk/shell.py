"""The window: pywebview on Qt WebEngine, fullscreen, with our page inside.

Ends with 0 when asked to, with 10 when the renderer is gone and with 11 when the page can't be opened, so that the
watchdog can tell. Its own window can't be closed unless it was asked for with a frame.
"""

import os
import resource
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from wayside_kiosk.policy import Origin

ASKED_TO_LEAVE = 0
RENDERER_GONE = 10
CANNOT_OPEN = 11
TEARDOWN_S = 2.0
FLAGS = (
    "--autoplay-policy=no-user-gesture-required",
    "--disable-breakpad",
    "--disable-pinch",
    "--overscroll-history-navigation=0",
    "--disable-features=TouchpadOverscrollHistoryNavigation",
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the shell was asked to show."""

    url: str
    origin: Origin
    token: str
    windowed: bool = False
    hide_cursor: bool = False


def engine_environment(env: Mapping[str, str], *, root: bool) -> dict[str, str]:
    """What the engine reads from the environment at its start. The sandbox is off only where it can't work: as root."""
    kept = {name: value for name, value in env.items() if name != "QTWEBENGINE_REMOTE_DEBUGGING"}
    flags = [flag for flag in kept.get("QTWEBENGINE_CHROMIUM_FLAGS", "").split() if not flag.startswith("--remote-")]
    kept["QTWEBENGINE_CHROMIUM_FLAGS"] = " ".join((*flags, *(flag for flag in FLAGS if flag not in flags)))
    kept["QT_API"] = "pyside6"
    if root:
        kept["QTWEBENGINE_DISABLE_SANDBOX"] = "1"
    else:
        kept.pop("QTWEBENGINE_DISABLE_SANDBOX", None)
    return kept


def run(options: Options) -> int:
    """Show the page until the end; return the exit code."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wanted = engine_environment(os.environ, root=os.geteuid() == 0)
    os.environ.clear()
    os.environ.update(wanted)
    # Qt reads its environment when it is imported.
    import webview  # noqa: PLC0415
    from webview.platforms import qt  # noqa: PLC0415

    from wayside_kiosk.window import Kiosk  # noqa: PLC0415

    # pywebview adds a flag that answers every request for microphone and camera with yes.
    qt.environ_append = lambda *_: None
    webview.settings["ALLOW_DOWNLOADS"] = False
    webview.settings["OPEN_EXTERNAL_LINKS_IN_BROWSER"] = False
    webview.settings["OPEN_DEVTOOLS_IN_DEBUG"] = False
    webview.settings["ALLOW_FILE_URLS"] = False
    window = webview.create_window(
        "Wayside",
        html="<!doctype html>",
        fullscreen=not options.windowed,
        frameless=not options.windowed,
        easy_drag=False,
        width=1280,
        height=800,
        background_color="#14110f",
        text_select=False,
    )
    kiosk = Kiosk(window, options)
    window.events.before_show += kiosk.take_over
    window.events.closing += kiosk.may_close
    signal.signal(signal.SIGTERM, lambda *_: kiosk.end(ASKED_TO_LEAVE))
    webview.start(gui="qt", private_mode=True, debug=False)
    return kiosk.code


def end_for_sure(code: int) -> None:
    """End the process with `code` even if the engine hangs while it is taken apart."""
    timer = threading.Timer(TEARDOWN_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
