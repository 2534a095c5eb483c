"""`wayside-kiosk`: the command line of the shell."""

import argparse
import os
import sys

from wayside_kiosk import shell
from wayside_kiosk.policy import LOOPBACK, origin_of


def main() -> None:
    """Run the shell; exit codes are the contract's: 0, 10, 11, and 2 for bad arguments."""
    parser = argparse.ArgumentParser(
        prog="wayside-kiosk",
        description="Shows the kiosk's page on the whole screen, and nothing else. The watchdog starts it.",
        epilog="The boot token comes in the environment: WAYSIDE_TOKEN.",
    )
    parser.add_argument("--url", default="http://127.0.0.1:8780/", help="the page's address (%(default)s)")
    parser.add_argument("--windowed", action="store_true", help="a window with a frame that can be closed")
    parser.add_argument("--hide-cursor", action="store_true", help="for touch screens")
    given = parser.parse_args()
    origin = origin_of(given.url)
    if origin is None or origin.scheme not in {"http", "https"} or "#" in given.url:
        parser.error(f"not an address of a page: {given.url}")
    if origin.scheme == "http" and origin.host not in LOOPBACK:
        parser.error("a page without TLS must be on this machine")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM")):
        parser.error("there is no screen here: neither DISPLAY nor WAYLAND_DISPLAY is set")
    # The engine's processes inherit the environment; the token is ours alone.
    token = os.environ.pop("WAYSIDE_TOKEN", "")
    options = shell.Options(given.url, origin, token, windowed=given.windowed, hide_cursor=given.hide_cursor)
    code = shell.run(options)
    sys.stdout.flush()
    # Interpreter shutdown takes Qt objects apart in an order that may crash; the code is what counts.
    os._exit(code)


if __name__ == "__main__":
    main()
