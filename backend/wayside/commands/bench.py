"""`wayside bench voice`: the numbers the appliance answers to, measured on this machine; and how all benches report.

Each measure is `{p50, p95, n, unit}` with its target from the design beside it; what could not be measured is in
`skipped` with the reason, never left out silently.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wayside import main as wiring
from wayside.commands import bench_device, bench_process, bench_turns
from wayside.core.errors import WaysideError
from wayside.runtime.logs import configure


@dataclass(frozen=True, slots=True)
class Target:
    """At most `limit` at the given percentile."""

    percentile: str
    limit: float


Targets = Mapping[str, tuple[Target, ...]]
TARGETS: Targets = {
    "end_of_speech_to_first_audio_ms": (Target("p50", 1500),),
    "onset_to_silence_ms": (Target("p95", 200),),
    "flush_ms": (Target("p95", 30),),
    "overhead_ms": (Target("p50", 8),),
    "ready_ms": (Target("p95", 3000),),
    "idle_cpu_percent": (Target("p50", 10),),
    "memory_growth_mb": (Target("p50", 5),),
}
Samples = dict[str, list[float]]
Part = Callable[[wiring.Place, wiring.Tell], Awaitable[Samples]]
PARTS: tuple[tuple[tuple[str, ...], Part], ...] = (
    (("overhead_ms",), bench_turns.overhead),
    (("memory_growth_mb",), bench_turns.memory),
    (("ready_ms", "rss_mb", "pss_mb", "idle_cpu_percent"), bench_process.process),
    (("end_of_speech_to_first_audio_ms", "end_of_speech_to_first_audio_es_ms"), bench_turns.embedded),
    (("flush_ms",), bench_device.flush),
    (("onset_to_silence_ms",), bench_device.onset),
)


async def bench_voice(place: wiring.Place, *, only: Sequence[str] | None, tell: wiring.Tell) -> dict[str, Any]:
    """Measure; `only` names measures, all otherwise."""
    configure()
    wiring.no_core_dumps()
    measures: dict[str, Any] = {}
    stages: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for names, part in PARTS:
        if only and not set(names) & set(only):
            continue
        tell(f"Measuring {', '.join(names)} …")
        try:
            found = await part(place, tell)
        except WaysideError as error:
            skipped |= dict.fromkeys(names, f"{error.advice} [{error.code}]")
            continue
        for name, samples in found.items():
            (stages if "/" in name else measures)[name] = summary(name, samples)
    return {"measures": measures, "stages": stages, "skipped": skipped}


def summary(name: str, samples: Sequence[float], targets: Targets = TARGETS) -> dict[str, Any]:
    """Percentiles of one measure, with its targets where it has some; met when all of them are."""
    unit = "%" if name.endswith("percent") else name.rsplit("_", 1)[-1]
    wanted = targets.get(name, ())
    percentiles = ["p50", "p95", *sorted({target.percentile for target in wanted} - {"p50", "p95"})]
    if not samples:
        return dict.fromkeys(percentiles) | {"n": 0, "unit": unit}
    values = np.percentile(samples, [float(percentile[1:]) for percentile in percentiles])
    found: dict[str, Any] = {p: round(float(v), 2) for p, v in zip(percentiles, values, strict=True)}
    found |= {"n": len(samples), "unit": unit}
    if wanted:
        found["target"] = {target.percentile: target.limit for target in wanted}
        found["met"] = all(found[target.percentile] <= target.limit for target in wanted)
    return found


def bench_lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines = [f"{'measure':40} {'p50':>10} {'p95':>10} {'n':>5}  target"]
    for name, found in (report["measures"] | report["stages"]).items():
        target = ", ".join(_target_text(found, p, limit) for p, limit in found.get("target", {}).items())
        verdict = {True: "met", False: "NOT MET"}.get(found.get("met"), "")
        lines.append(
            f"{name:40} {found['p50']!s:>10} {found['p95']!s:>10} {found['n']:>5}  {target} {verdict}".rstrip()
        )
    lines += [f"{name:40} skipped: {reason}" for name, reason in report["skipped"].items()]
    return [*lines, *(f"{name}: {place}" for name, place in report.get("where", {}).items())]


def _target_text(found: Mapping[str, Any], percentile: str, limit: float) -> str:
    """The limit, and the value where the table has no column for it."""
    value = "" if percentile in {"p50", "p95"} else f" {found[percentile]:g}"
    return f"{percentile}{value} ≤ {limit:g}"
