"""`wayside-watchdog`: put the parts together, print what a person needs to know, run until told to leave."""

import asyncio
import contextlib
import errno
import os
import secrets
import signal
import sys
from collections.abc import Mapping

from aiohttp import web

from wayside_watchdog import children, guard, shells
from wayside_watchdog import settings as settings_
from wayside_watchdog.notify import Notifier
from wayside_watchdog.page_files import PageFolder
from wayside_watchdog.pages import HEADER_DEADLINE_S, Pages, Site
from wayside_watchdog.probes import SidecarClient
from wayside_watchdog.settings import Settings
from wayside_watchdog.staff import Staff
from wayside_watchdog.staff_actions import Actions
from wayside_watchdog.supervisor import SHELL, SIDECAR, Plan, Supervisor

EXIT_CANNOT_START = 2


def main() -> None:
    """Run the watchdog; the exit code is 0 after leaving, 2 when it could not start."""
    chosen = settings_.read(sys.argv[1:], os.environ)
    notifier = Notifier.from_environment()
    children.no_core_dumps()
    children.adopt_orphans()
    try:
        for folder in (chosen.state_dir, chosen.runtime_dir):
            settings_.make_private(folder)
        code = asyncio.run(_run(chosen, dict(os.environ), notifier))
    except OSError as error:
        code = _cannot_start(chosen, error)
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


async def _run(chosen: Settings, env: Mapping[str, str], notifier: Notifier) -> int:
    token = secrets.token_urlsafe(32)
    site = Site(
        port=chosen.port,
        sidecar_port=chosen.sidecar_port,
        page=PageFolder(chosen.page),
        pack=chosen.pack,
        token=token,
        operator_token=env.get("WAYSIDE_OPERATOR_TOKEN", ""),
    )
    kind = shells.choose(chosen.shell, env)
    client = SidecarClient(port=chosen.sidecar_port, token=token)
    supervisor = Supervisor(
        _plans(chosen, kind, token, env),
        client,
        runtime_dir=chosen.runtime_dir,
        notifier=notifier,
        page_beats=site.page.exists,
        echo=chosen.verbose,
    )
    staff = Staff(chosen.state_dir)
    pages = Pages(site, supervisor, staff, Actions(supervisor, client, local_issues=site))
    runner = web.AppRunner(pages.application(), access_log=None, keepalive_timeout=HEADER_DEADLINE_S)
    await runner.setup()
    try:
        # The page comes first: if the port is taken, nothing else may have been started.
        await web.TCPSite(runner, "127.0.0.1", chosen.port).start()
        children.end_left_over(chosen.runtime_dir / "children")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, supervisor.leave)
        _greet(site, staff, kind)
        await supervisor.run()
        notifier.send("STOPPING=1")
        # Whoever asked to leave still gets the answer.
        await asyncio.sleep(0.1)
    finally:
        await client.close()
        await runner.cleanup()
        with contextlib.suppress(OSError):
            (chosen.runtime_dir / "start.html").unlink(missing_ok=True)
    return 0


def _plans(chosen: Settings, kind: str, token: str, env: Mapping[str, str]) -> tuple[Plan, ...]:
    plans: list[Plan] = []
    if chosen.sidecar:
        installed = (sys.executable, "-m", "wayside.cli", "run", "--port", str(chosen.sidecar_port), "--supervised")
        facts = {
            "WAYSIDE_TOKEN": token,
            "WAYSIDE_ORIGINS": ",".join(guard.own_origins(chosen.port)),
            "WAYSIDE_RUNTIME_DIR": str(chosen.runtime_dir),
            "WAYSIDE_PACK": str(chosen.pack),
            "WAYSIDE_STATE_DIR": str(chosen.state_dir),
        }
        plans.append(Plan(SIDECAR, chosen.sidecar_command or installed, {**env, **facts}))
    if kind != "none":
        # The shell shows a page; keys of providers and operators are none of its business.
        allowed = {name: value for name, value in env.items() if not name.startswith("WAYSIDE_")}
        command = shells.command(
            kind,
            url=f"http://127.0.0.1:{chosen.port}/",
            token=token,
            runtime_dir=chosen.runtime_dir,
            windowed=chosen.windowed,
        )
        plans.append(Plan(SHELL, command, {**allowed, "WAYSIDE_TOKEN": token}))
    return tuple(plans)


def _greet(site: Site, staff: Staff, kind: str) -> None:
    if staff.made_pin is not None:
        print(f"Staff PIN: {staff.made_pin}   (shown this once; it opens the staff controls)")
    for code in site.codes():
        print(f"Note: {code} - {_NOTES[code]}")
    address = f"http://127.0.0.1:{site.port}/"
    if kind == "none":
        print(f"No screen here. Open this address in a browser:\n  {address}#token={site.token}")
    else:
        print(f"Wayside is opening on the screen ({kind}). Page: {address}")
    print("Ctrl+C stops it.", flush=True)


_NOTES = {
    "pack.missing": "no built exhibit pack; build one with: wayside pack build SOURCE --out FOLDER",
    "page.missing": "the page is not built (make page); a plain page is served instead",
}


def _cannot_start(chosen: Settings, error: OSError) -> int:
    if error.errno == errno.EADDRINUSE:
        message = f"port {chosen.port} is in use: stop the other Wayside, or choose another with --port"
    else:
        where = error.filename or chosen.state_dir
        message = (
            f"cannot start: {error.strerror} ({where}); free some space or choose another --state-dir or --runtime-dir"
        )
    print(f"wayside-watchdog: {message}", file=sys.stderr)
    return EXIT_CANNOT_START


if __name__ == "__main__":
    main()
