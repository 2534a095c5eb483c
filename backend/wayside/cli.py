"""The `wayside` command. Every error a person sees is one line that says what to do."""

import argparse
import asyncio
import errno
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wayside.core.errors import WaysideError

_FAULT = WaysideError(
    "wayside.fault",
    "Something inside Wayside broke.",
    remedy="Try again; with --verbose it shows where, values included.",
)

_FULL = WaysideError("output.full", "There is no room left to write to.", remedy="Make some, then try again.")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code (0 done, 1 the command found a fault, 2 it could not run)."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except WaysideError as error:
        _complain(error)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except ExceptionGroup as group:
        known = next((e for e in _leaves(group) if isinstance(e, WaysideError)), None)
        if known is None and options.verbose:
            raise
        _complain(known or _FAULT)
        return 2
    except Exception as error:  # a traceback carries values, and a value may be what somebody said
        if options.verbose:
            raise
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        _complain(_FULL if full else _FAULT)
        return 2


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


def _complain(error: WaysideError) -> None:
    print(f"wayside: {error.advice} [{error.code}]", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="wayside", description="The museum voice guide.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="start the conversation (the sidecar) and print the page's address")
    run.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    run.add_argument("--port", type=_port, default=8765, help="port (default 8765)")
    _common(run)
    run.add_argument("--supervised", action="store_true", help="started by the watchdog: print no address")
    run.set_defaults(run=_run)

    doctor = commands.add_parser("doctor", help="what is here, what is missing, how to get it")
    _common(doctor)
    doctor.add_argument("--json", action="store_true", help="as JSON")
    doctor.add_argument("--quick", action="store_true", help="do not load and time the models")
    doctor.set_defaults(run=_doctor)

    say = commands.add_parser("say", help="one whole turn through the real pipeline, from text or a recording")
    say.add_argument("question", help="the question, or the path of a wav or flac file")
    _common(say)
    say.add_argument("--language", default="en", help="language of the visit (default en)")
    say.add_argument("--exhibit", help="the exhibit the visitor looks at")
    say.add_argument("--json", action="store_true", help="as JSON")
    say.add_argument("--out", type=Path, help="write what the loudspeaker played to this wav file")
    say.set_defaults(run=_say)

    pack = commands.add_parser("pack", help="check or build an exhibit pack")
    actions = pack.add_subparsers(required=True, metavar="ACTION")
    check = actions.add_parser("check", help="every error at once, with file, line and remedy")
    check.add_argument("source", type=Path, help="the folder a curator writes")
    check.add_argument("--verbose", action="store_true", help="more log lines")
    check.set_defaults(run=_pack_check)
    build = actions.add_parser("build", help="write the index and the watchdog's fallback")
    build.add_argument("source", type=Path, help="the folder a curator writes")
    build.add_argument("--out", type=Path, required=True, help="folder to build into; switched by rename")
    build.add_argument("--no-speech", action="store_true", help="no prerecorded speech (quick)")
    _common(build)
    build.set_defaults(run=_pack_build)

    scenario = commands.add_parser("scenario", help="run conversations written as YAML and check what happens")
    scenario.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a scenario file or a folder of them")
    _common(scenario)
    scenario.add_argument("--repeat", type=int, default=1, metavar="N", help="run each N times and report flakes")
    scenario.add_argument("--json", action="store_true", help="as JSON")
    scenario.set_defaults(run=_scenario)

    _runs_parser(commands)

    bench = commands.add_parser("bench", help="measure")
    benches = bench.add_subparsers(required=True, metavar="BENCH")
    voice = benches.add_parser(
        "voice", help="speed and memory of the voice road (needs `pulseaudio` for the device part)"
    )
    _common(voice)
    voice.add_argument("--json", action="store_true", help="as JSON")
    voice.add_argument("--only", nargs="*", metavar="NAME", help="only these measures")
    voice.set_defaults(run=_bench_voice)
    runs = benches.add_parser("runs", help="what the run engine costs: commits, latency, growth (about a minute)")
    runs.add_argument("--folder", type=Path, help="where to measure a disk (default: under the state directory)")
    runs.add_argument("--turns", type=_turns, default=10_000, metavar="N", help="turns in one visit (default 10000)")
    runs.add_argument("--state-dir", type=Path, default=_state_dir(), help="where settings, caches and builds are kept")
    runs.add_argument("--verbose", action="store_true", help="more log lines")
    runs.add_argument("--json", action="store_true", help="as JSON")
    runs.add_argument("--only", nargs="*", metavar="NAME", help="only these measures")
    runs.set_defaults(run=_bench_runs)
    return parser


def _runs_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    runs = commands.add_parser(
        "runs",
        help="look at the turns of the visit that is running",
        description="Reads what the sidecar keeps of visits, without disturbing it. No words are shown unless --content"
        " asks for them.",
    )
    actions = runs.add_subparsers(required=True, metavar="ACTION")
    table = actions.add_parser("list", help="every run: agent, channel, status, attempts, events")
    table.add_argument("--json", action="store_true", help="as JSON")
    table.set_defaults(run=_runs_list)
    show = actions.add_parser("show", help="one run: record, deliveries, journal; types, states and sizes")
    _run_id(show)
    show.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(run=_runs_show)
    replay = actions.add_parser("replay", help="one run's journal in order; repeats no speech and no action")
    _run_id(replay)
    replay.add_argument("--after", type=_whole, default=0, metavar="N", help="only what comes after sequence N")
    replay.add_argument("--follow", action="store_true", help="go on until the run or the visit is over")
    replay.add_argument(
        "--content", action="store_true", help="with a visitor's words; only for the kiosk's own user, on their output"
    )
    replay.add_argument("--json", action="store_true", help="one JSON line for each event")
    replay.set_defaults(run=_runs_replay)
    for action in (table, show, replay):
        where = action.add_mutually_exclusive_group()
        where.add_argument(
            "--runtime-dir",
            type=Path,
            help="the service's runtime directory (default $WAYSIDE_RUNTIME_DIR, this user's)",
        )
        where.add_argument("--file", type=Path, help="one visit's file")
        action.add_argument("--verbose", action="store_true", help="show where a fault was, values included")


def _run_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="its id or how that begins; after -- when it begins with a dash")


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pack", type=Path, default=_path("WAYSIDE_PACK"), help="built pack (default: the sample pack)"
    )
    parser.add_argument("--config", type=Path, default=_path("WAYSIDE_CONFIG"), help="wayside.toml")
    parser.add_argument(
        "--state-dir", type=Path, default=_state_dir(), help="where settings, caches and builds are kept"
    )
    parser.add_argument("--verbose", action="store_true", help="more log lines")


def _run(options: argparse.Namespace) -> int:
    from wayside.commands.serve import Serving, serve  # noqa: PLC0415 - models and audio load only where needed

    return serve(
        Serving(
            place=_place(options),
            host=options.host,
            port=options.port,
            boot_token=os.environ.pop("WAYSIDE_TOKEN", None),
            operator_token=os.environ.pop("WAYSIDE_OPERATOR_TOKEN", None),
            origins=tuple(o for o in os.environ.get("WAYSIDE_ORIGINS", "").split(",") if o),
            runtime_dir=_path("WAYSIDE_RUNTIME_DIR"),
            supervised=options.supervised,
        ),
        tell=_tell,
    )


def _doctor(options: argparse.Namespace) -> int:
    from wayside.commands.doctor import doctor, doctor_lines  # noqa: PLC0415

    report = asyncio.run(doctor(_place(options), measure=not options.quick))
    _print(report, doctor_lines, as_json=options.json)
    return 0 if report["ok"] else 1


def _say(options: argparse.Namespace) -> int:
    from wayside.commands.say import say, say_lines  # noqa: PLC0415

    result = asyncio.run(
        say(
            options.question,
            place=_place(options),
            language=options.language,
            exhibit=options.exhibit,
            out=options.out,
            tell=_tell_aside,
        )
    )
    _print(result, say_lines, as_json=options.json)
    return 0 if result["transcript"] else 1


def _pack_check(options: argparse.Namespace) -> int:
    from wayside.commands.packs import check  # noqa: PLC0415

    lines, good = check(options.source)
    for line in lines:
        print(line)
    return 0 if good else 1


def _pack_build(options: argparse.Namespace) -> int:
    from wayside.commands.packs import build  # noqa: PLC0415

    asyncio.run(build(options.source, options.out, _place(options), speech=not options.no_speech, tell=_tell))
    return 0


def _scenario(options: argparse.Namespace) -> int:
    from wayside.commands.scenario import run_files, scenario_lines  # noqa: PLC0415

    report = asyncio.run(run_files(options.files, _place(options), repeat=options.repeat, tell=_tell_aside))
    _print(report, scenario_lines, as_json=options.json)
    return 0 if report["ok"] else 1


def _bench_voice(options: argparse.Namespace) -> int:
    from wayside.commands.bench import bench_lines, bench_voice  # noqa: PLC0415

    report = asyncio.run(bench_voice(_place(options), only=options.only, tell=_tell_aside))
    _print(report, bench_lines, as_json=options.json)
    return 0


def _bench_runs(options: argparse.Namespace) -> int:
    from wayside.commands.bench import bench_lines  # noqa: PLC0415
    from wayside.commands.bench_runs import bench_runs  # noqa: PLC0415

    folder = options.folder or options.state_dir / "bench"
    report = asyncio.run(bench_runs(folder, turns=options.turns, only=options.only, tell=_tell_aside))
    _print(report, bench_lines, as_json=options.json)
    return 0


def _runs_list(options: argparse.Namespace) -> int:
    from wayside.commands.runs import list_lines, list_runs  # noqa: PLC0415

    report = list_runs(_where(options), _boottime_ms())
    _print(report, list_lines, as_json=options.json)
    return 1 if report["unreadable"] else 0


def _runs_show(options: argparse.Namespace) -> int:
    from wayside.commands.runs import show_lines, show_run  # noqa: PLC0415

    _print(show_run(_where(options), options.id, _boottime_ms()), show_lines, as_json=options.json)
    return 0


def _runs_replay(options: argparse.Namespace) -> int:
    from wayside.commands.runs import FOLLOW_EVERY_S, Replay, replay_run  # noqa: PLC0415

    how = Replay(options.after, options.follow, options.content, options.json)
    replay_run(_where(options), options.id, how, _tell, _tell_aside, lambda: time.sleep(FOLLOW_EVERY_S))
    return 0


def _where(options: argparse.Namespace) -> Any:
    from wayside.commands.runs import Where  # noqa: PLC0415

    return Where(options.file, options.runtime_dir, os.environ)


def _boottime_ms() -> int:
    from wayside.ports.clock import SystemClock  # noqa: PLC0415

    return SystemClock().boottime_ms()


def _print(report: dict[str, Any], lines: Callable[[dict[str, Any]], list[str]], *, as_json: bool) -> None:
    print(json.dumps(report, ensure_ascii=False, indent=1) if as_json else "\n".join(lines(report)))


def _tell(line: str) -> None:
    print(line, flush=True)


def _tell_aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _place(options: argparse.Namespace) -> Any:
    from wayside.main import Place  # noqa: PLC0415

    return Place(pack=options.pack, config=options.config, state=options.state_dir, verbose=options.verbose)


def _port(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("a sequence is a whole number")
    return int(text)


def _turns(text: str) -> int:
    if not text.isdecimal() or int(text) < 4:
        raise argparse.ArgumentTypeError("at least four turns can be compared")
    return int(text)


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _state_dir() -> Path:
    base = os.environ.get("WAYSIDE_STATE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "wayside"


if __name__ == "__main__":
    sys.exit(main())
