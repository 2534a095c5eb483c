"""Figures of a bench: percentiles, what was aimed at, and whether it was reached."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """What "Numbers the appliance answers to" asks of one measure; None where it asks nothing."""

    p50: float | None = None
    p95: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure. `notes` says how it was taken and what it leaves out; `stages` are parts of it by name."""

    name: str
    values: tuple[float, ...]
    unit: str = "ms"
    stages: dict[str, tuple[float, ...]] = field(default_factory=dict)
    notes: str = ""

    def report(self, target: Target | None) -> dict[str, Any]:
        """As JSON; `met` is None where nothing is aimed at."""
        p50, p95 = percentile(self.values, 50), percentile(self.values, 95)
        found: dict[str, Any] = {"p50": round(p50, 2), "p95": round(p95, 2), "n": len(self.values), "unit": self.unit}
        if target is not None:
            found["target"] = {
                key: value for key, value in (("p50", target.p50), ("p95", target.p95)) if value is not None
            }
        found["met"] = None if target is None else _within(p50, target.p50) and _within(p95, target.p95)
        if self.stages:
            found["stages"] = {
                name: {"p50": round(percentile(v, 50), 2), "p95": round(percentile(v, 95), 2), "n": len(v)}
                for name, v in self.stages.items()
                if v
            }
        if self.notes:
            found["notes"] = self.notes
        return found


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between neighbours, as numpy does it."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    place = share / 100 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _within(value: float, limit: float | None) -> bool:
    return limit is None or value <= limit
