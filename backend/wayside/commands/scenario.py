"""`wayside scenario`: conversations written as YAML, run through the real pipeline in real time, and checked.

Speech is spoken by the embedded voice or read from recordings; what the guide did is read from its loudspeaker signal
and from what came of each turn. A run that fails leaves both signals as a stereo wav in the state directory.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wayside import main as wiring
from wayside.adapters.audio.files import read_audio
from wayside.commands.room import Room, spoken, visit_in
from wayside.commands.say import stage_ms
from wayside.commands.scenario_checks import Outcome, failures
from wayside.core.errors import WaysideError
from wayside.runtime.logs import configure
from wayside.runtime.parts import Generations
from wayside.runtime.visit import Visit
from wayside.wire.scenario import Scenario, Spoken, Step, anchor, read_scenario, seconds

OPENING_S = 0.4
REPLY_S = 30.0  # a reply that is waited for and has not begun by then will not come
SETTLE_S = 90.0
QUIET_S = 1.5  # longer than the longest pause that may still belong to a turn
LEAD_S = 20.0


@dataclass(slots=True)
class _Run:
    room: Room
    visit: Visit
    clips: dict[str, bytes]
    began: float
    outcome: Outcome = field(default_factory=Outcome)


async def run_files(files: Sequence[Path], place: wiring.Place, *, repeat: int, tell: wiring.Tell) -> dict[str, Any]:
    """Run each scenario `repeat` times. Raises `scenario.invalid` before anything is run when a file is bad."""
    configure(verbose=place.verbose)
    wiring.no_core_dumps()
    paths = [path for given in files for path in (sorted(given.glob("*.yaml")) if given.is_dir() else [given])]
    if not paths:
        raise WaysideError("scenario.none", "There are no scenarios there.", remedy="Give a .yaml file or its folder.")
    scenarios = [(path, read_scenario(path)) for path in paths]
    loaded = await asyncio.to_thread(wiring.content, place)
    speech = wiring.Speech(place.shelf())
    generations = Generations()
    results: list[dict[str, Any]] = []
    try:
        for path, scenario in scenarios:
            if scenario.language not in loaded.pack.languages:
                known = ", ".join(loaded.pack.languages)
                raise WaysideError(
                    "scenario.language", f"{path.name}: language: the pack has no {scenario.language!r}.",
                    remedy=f"Choose one of: {known}.",
                )  # fmt: skip
            await speech.warm(scenario.language)
            clips = await _clips(path, scenario, speech, generations.mint())
            runs = []
            for number in range(1, max(1, repeat) + 1):
                found = await _run(path, scenario, clips, place, loaded, speech, generations, number)
                tell(f"{path.stem} {number}/{repeat}: {'passed' if not found['failures'] else 'FAILED'}")
                runs.append(found)
            results.append(_summary(path, runs))
    finally:
        await speech.close()
        loaded.index.close()
    return {"ok": all(result["failed"] == 0 for result in results), "scenarios": results}


def scenario_lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines: list[str] = []
    for result in report["scenarios"]:
        runs, failed = len(result["runs"]), result["failed"]
        word = "passed" if not failed else "FAILED"
        flaky = f", flake rate {result['flake_rate']:.0%}" if 0 < failed < runs else ""
        lines.append(f"{word}  {result['name']} ({runs - failed} of {runs}{flaky})")
        for number, run in enumerate(result["runs"], start=1):
            lines += [f"        run {number}: {failure}" for failure in run["failures"]]
            if run["failures"] and run["out"]:
                lines.append(f"        run {number}: both signals are in {run['out']}")
        for stage, found in result["stages_ms"].items():
            lines.append(f"        {stage} p50 {found['p50']:.0f} ms, p95 {found['p95']:.0f} ms")
    lines.append("All scenarios passed." if report["ok"] else "Some scenarios failed; see above.")
    return lines


async def _run(
    path: Path,
    scenario: Scenario,
    clips: dict[str, bytes],
    place: wiring.Place,
    loaded: wiring.Content,
    speech: wiring.Speech,
    generations: Generations,
    number: int,
) -> dict[str, Any]:
    room = Room()
    # The voice never speaks a generation again that was cancelled, so these rise through all runs of one voice.
    parts = replace(wiring.parts(room.link, loaded, speech, clock=room.link.clock), generations=generations)
    async with visit_in(room, parts, wiring.kiosk_settings(place), scenario.language) as (_, visit):
        if scenario.exhibit is not None and not visit.look_at(scenario.exhibit):
            raise WaysideError(
                "scenario.exhibit", f"{path.name}: exhibit: the pack has no {scenario.exhibit!r}.",
                remedy="See exhibits/ in the pack.",
            )  # fmt: skip
        visit.listen(scenario.mode)
        await asyncio.sleep(OPENING_S)
        run = _Run(room, visit, clips, room.now)
        for step in scenario.steps:
            await _step(run, step)
        await _settled(run)
        outcome = run.outcome
        outcome.answered = list(room.answered)
        outcome.replies = len(room.replies)
        outcome.notices = list(room.notices)
    found = failures(scenario.expect, outcome, room)
    out = path.parent / scenario.out if scenario.out else None
    if out is None and found:
        out = place.state / "scenarios" / f"{path.stem}-{number}.wav"
    if out is not None:
        await asyncio.to_thread(room.save, out)
    turns = [
        {"transcript": turn.transcript, "answer": turn.answer.strip(), "refused": turn.refused,
         "heard": turn.delivery.heard.text if turn.delivery else "", "stages_ms": stage_ms(turn.times)}
        for turn in outcome.answered
    ]  # fmt: skip
    return {"failures": found, "turns": turns, "notices": outcome.notices, "out": str(out) if out else None}


async def _step(run: _Run, step: Step) -> None:
    overlapping = step.at is not None and anchor(step.at)[0] == "reply"
    if step.at is not None:
        await _reach(run, step.at)
    room, visit, outcome = run.room, run.visit, run.outcome
    match step:
        case Step(say=str(text)):
            outcome.input_ended = room.now
            visit.say(text)
        case Step(hear=str() | Spoken() as source):
            first, last = room.speak(run.clips[_clip_key(source)])
            if overlapping:
                outcome.broke_in = first
            outcome.input_ended = last
            await room.until(lambda: room.now >= room.speaking_until, LEAD_S + room.speaking_until - room.now)
        case Step(press="down" | "up" as press):
            if press == "up":
                outcome.input_ended = room.now
            visit.talk(down=press == "down")
        case Step(stop=True):
            outcome.broke_in = outcome.stopped = room.now
            visit.stop()
        case Step(exhibit=str(exhibit)):
            visit.look_at(exhibit)
        case Step(wait=str(duration)):
            await asyncio.sleep(seconds(duration))
        case _:
            raise AssertionError("a step is one of the above")


async def _reach(run: _Run, at: str) -> None:
    """Wait for a moment; one that never comes ends the wait, and what was expected then fails by itself."""
    what, after = anchor(at)
    room = run.room
    origin: float | None
    match what:
        case "start":
            origin = run.began
        case "reply":
            since = max(0.0, room.now - 0.1)  # one that is being spoken, or the next
            await room.until(lambda: room.sound_from(since), REPLY_S)
            origin = room.sound_from(since)
        case _:
            await room.until(lambda: room.replies and not run.visit.busy, SETTLE_S)
            origin = room.last_sound()
    target = (origin or room.now) + after
    await room.until(lambda: room.now >= target, after + 1.0)


async def _settled(run: _Run) -> None:
    """Until nothing has happened for a while: nothing said, thought or heard."""
    room, quiet_since = run.room, run.room.now

    def settled() -> bool:
        nonlocal quiet_since
        if run.visit.busy or room.now - room.last_sound() < 0.3:
            quiet_since = room.now
        return room.now - quiet_since >= QUIET_S

    await room.until(settled, SETTLE_S)


async def _clips(path: Path, scenario: Scenario, speech: wiring.Speech, generation: int) -> dict[str, bytes]:
    """The sound of every `hear`, made before the conversation begins."""
    clips: dict[str, bytes] = {}
    for number, step in enumerate(scenario.steps, start=1):
        if step.hear is None:
            continue
        if isinstance(step.hear, Spoken):
            clips[_clip_key(step.hear)] = await spoken(speech.voice, step.hear.speak, scenario.language, generation)
            continue
        try:
            clips[_clip_key(step.hear)] = await asyncio.to_thread(read_audio, path.parent / step.hear)
        except WaysideError as error:
            message = f"{path.name}: steps.{number}.hear: {error.message}."
            raise WaysideError("scenario.invalid", message, remedy=error.remedy) from None
    return clips


def _clip_key(source: str | Spoken) -> str:
    return f"speak:{source.speak}" if isinstance(source, Spoken) else f"file:{source}"


def _summary(path: Path, runs: list[dict[str, Any]]) -> dict[str, Any]:
    failed = sum(bool(run["failures"]) for run in runs)
    stages: dict[str, list[float]] = {}
    for run in runs:
        for turn in run["turns"]:
            for name, value in turn["stages_ms"].items():
                stages.setdefault(name, []).append(value)
    return {
        "name": path.stem,
        "failed": failed,
        "flake_rate": failed / len(runs),
        "stages_ms": {
            name: {"p50": float(np.percentile(v, 50)), "p95": float(np.percentile(v, 95))} for name, v in stages.items()
        },
        "runs": runs,
    }
