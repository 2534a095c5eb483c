"""The crash matrix (RFC-022 §4, §6): a process dies at every point that has a name, and the next one takes up.

Each case is a scenario and the points at which one process after the other dies. What it left is looked at as it is,
then a last process resumes, tries every input again, exactly and changed, and all of it is looked at once more.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from checks import Left, check_always, check_grown, check_settled, read
from probes import DIED
from processes import Nursery, errors, lines, told
from wayside.core.runs.admission import SUPERSEDED
from wayside.core.runs.record import RunStatus

# How often each point is reached by one process that nobody kills; the first test holds it against the truth.
REACHED = {
    "turn": {"event": 11, "checkpoint": 2, "admit": 1, "transcript": 3, "speech": 6},
    "continue": {"event": 8, "checkpoint": 1, "admit": 2, "transcript": 2, "speech": 3},
    "supersede": {"event": 14, "checkpoint": 3, "admit": 2, "transcript": 3, "speech": 7},
}
ADMIT = ("before_admit", "in_admit/1", "in_admit/2", "in_admit/3", "in_admit/4", "in_admit/commit", "after_admit")
CHECKPOINT = ("before_checkpoint", "in_checkpoint/commit", "after_checkpoint")
TRANSCRIPT = ("final_before_transcript", "in_transcript/1", "in_transcript/commit", "after_transcript")
DELIVERY = ("before_delivery", "in_delivery/commit", "after_delivery")
COMPARE_AND_SET = (
    "before_compare_and_set",
    "in_compare_and_set/1",
    "in_compare_and_set/commit",
    "after_compare_and_set",
)


@dataclass(frozen=True, slots=True)
class Case:
    """Where each process of a scenario dies; `order` is what the last one does first."""

    scenario: str
    points: tuple[str, ...]
    order: str = "resume"

    def __str__(self) -> str:
        return "-".join((self.scenario, *self.points, self.order)).replace("/", ".")


def _each(names: tuple[str, ...], times: int) -> list[str]:
    return [f"{name}:{number}" for name in names for number in range(1, times + 1)]


def _first_deaths() -> Iterator[Case]:
    for scenario, reached in REACHED.items():
        # The same transaction and the same call whatever the scenario; one tries each of its events.
        more = ("in_event/2", "in_event/commit", "after_publish") if scenario == "turn" else ()
        points = [
            *_each(("before_event", "after_event", *more), reached["event"]),
            *_each(ADMIT, reached["admit"]),
            *_each(CHECKPOINT, reached["checkpoint"]),
            *_each(TRANSCRIPT, reached["transcript"]),
            *_each(("mid_speech",), reached["speech"]),
            *DELIVERY,
        ]
        if scenario != "supersede":  # nothing of a run that is replaced is in the transcript
            points.append("transcript_before_speech")
        else:
            points += ["canceled_before_replacement", "after_replacement"]
        yield from (Case(scenario, (point,)) for point in points)


def _deaths_in_recovery() -> Iterator[Case]:
    """The process that takes up dies, too."""
    # Died where: nothing said, a message open, closed but not recorded, two closed, everything said.
    recovering = {"after_admit": 11, "after_event:3": 11, "after_event:4": 9, "after_event:8": 6, "after_event:10": 5}
    for first, events in recovering.items():
        yield from (Case("turn", (first, point)) for point in (*COMPARE_AND_SET, f"before_event:{events}"))
    for first in ("after_event:3", "after_event:4"):
        yield from (Case("turn", (first, point)) for point in _each(("after_event",), recovering[first]))
    for point in TRANSCRIPT:
        yield Case("turn", ("final_before_transcript", point))
    yield Case("turn", ("mid_speech:2", "mid_speech:1"))
    yield Case("turn", ("after_event:3", "after_event:3", "after_event:3", "in_compare_and_set/commit"))
    for first in ("after_event:4", "before_admit:2"):
        yield from (Case("continue", (first, point)) for point in (*ADMIT, "after_event:2"))
    yield from (Case("continue", ("after_admit:2", point)) for point in (*COMPARE_AND_SET, "after_event:2"))
    for point in (*ADMIT, "after_event:5"):
        yield Case("supersede", ("canceled_before_replacement", point))
    yield from (Case("supersede", ("after_replacement", point)) for point in (*COMPARE_AND_SET, "after_event:3"))


def _other_orders() -> Iterator[Case]:
    """D16 to D18: the retry comes before anybody resumed. D21: the run is cancelled instead."""
    for point in (*ADMIT, "after_event:3", "mid_speech:2"):
        yield Case("turn", (point,), "retry")
    for point in (*_each(ADMIT, 2), "canceled_before_replacement", "after_replacement", "after_event:6"):
        yield Case("supersede", (point,), "retry")
    for point in COMPARE_AND_SET:
        yield Case("turn", ("after_event:3", point), "cancel")


def _nothing_admitted(left: Left) -> bool:
    return not left.runs and not left.inputs and not left.transcript


def _last(left: Left) -> RunStatus:
    return list(left.runs.values())[-1].status


# What a process must have left to have died there, for the points whose name says it; each at its first time.
LEFT: dict[str, Callable[[Left], object]] = {
    "before_admit": _nothing_admitted,
    "in_admit/1": _nothing_admitted,
    "in_admit/2": _nothing_admitted,
    "in_admit/3": _nothing_admitted,
    "in_admit/4": _nothing_admitted,
    "in_admit/commit": _nothing_admitted,
    "after_admit": lambda left: len(left.runs) == len(left.transcript) == 1 and _last(left) is RunStatus.ACTIVE,
    "before_checkpoint": lambda left: not _checkpoints(left),
    "in_checkpoint/commit": lambda left: not _checkpoints(left),
    "after_checkpoint": lambda left: len(_checkpoints(left)) == 1,
    "final_before_transcript": lambda left: _closed(left) and not _recorded(left),
    "in_transcript/1": lambda left: _closed(left) and not _recorded(left),
    "in_transcript/commit": lambda left: _closed(left) and not _recorded(left),
    "after_transcript": lambda left: _recorded(left) == 1,
    "transcript_before_speech": lambda left: _recorded(left) and not left.spoken,
    "mid_speech": lambda left: len(left.spoken) == 1 and not left.deliveries,
    "before_delivery": lambda left: not left.deliveries,
    "after_delivery": lambda left: len(left.deliveries) == 1,
    "canceled_before_replacement": lambda left: [SUPERSEDED] == [run.code for run in left.runs.values()],
    "after_replacement": lambda left: len(left.runs) == 2 and _last(left) is RunStatus.ACTIVE,
}


def _checkpoints(left: Left) -> list[object]:
    return [run.checkpoint for run in left.runs.values() if run.checkpoint is not None]


def _closed(left: Left) -> bool:
    return any(outputs.recorded() for outputs in left.outputs.values())


def _recorded(left: Left) -> int:
    return sum(row.role == "agent" for row in left.transcript)


def _check_place(point: str, left: Left) -> None:
    """The first process died where it was to die, by what there is."""
    name, _, number = point.partition(":")
    committed, published = sum(map(len, left.journal.values())), len(left.published)
    if name == "before_event" or name.startswith("in_event"):
        assert int(number) - 1 == committed
    elif name == "after_event":
        assert (int(number), int(number) - 1) == (committed, published)
    elif name == "after_publish":
        assert (int(number), int(number)) == (committed, published)
    elif name in LEFT and number in {"", "1"}:
        assert LEFT[name](left)


@pytest.mark.parametrize("scenario", REACHED)
def test_the_matrix_names_every_point(nursery: Nursery, folder: Path, scenario: str) -> None:
    """Crash matrix. A process that nobody kills reaches every point as often as the cases say, and no event more."""
    ended = nursery.run(folder, "play", scenario=scenario)
    assert 0 == ended.code, errors(folder)
    reached = told(folder)
    expected = REACHED[scenario]

    for name in (*ADMIT, "after_admit"):
        assert expected["admit"] == reached[name]
    for name in ("before_event", "after_event", "after_publish", "in_event/2", "in_event/commit"):
        assert expected["event"] == reached[name]
    for name in CHECKPOINT:
        assert expected["checkpoint"] == reached[name]
    for name in TRANSCRIPT:  # writing a row again is harmless, and an engine may
        assert expected["transcript"] <= reached[name]
    assert expected["speech"] == reached["mid_speech"]
    check_always(read(folder))


@pytest.mark.parametrize("case", [*_first_deaths(), *_deaths_in_recovery(), *_other_orders()], ids=str)
def test_a_process_dies_and_the_next_takes_up(nursery: Nursery, folder: Path, case: Case) -> None:
    """Crash matrix, D12, D13, D16, D17, D18, D21. Nothing is lost, doubled, spoken again or left open."""
    before: Left | None = None
    for number, point in enumerate(case.points):
        ended = nursery.run(folder, "recover" if number else "play", scenario=case.scenario, point=point)
        assert DIED == ended.code, f"{point}: {ended.code}\n{errors(folder)}"
        assert [point, str(ended.pid)] == lines(folder, "died.log")[-1]
        left = read(folder)
        check_always(left)
        if before is None:
            _check_place(point, left)
        else:
            check_grown(before, left)
        if point.startswith(("before_compare_and_set", "in_compare_and_set")) and before is not None:
            assert before.runs == left.runs
        before = left
    ended = nursery.run(folder, "recover", scenario=case.scenario, order=case.order)
    assert 0 == ended.code, errors(folder)
    after = read(folder)

    check_always(after)
    assert before is not None
    check_grown(before, after)
    reasons = {SUPERSEDED, "canceled"} if case.order == "cancel" else {SUPERSEDED}
    check_settled(after, told(folder)["retried"], canceled=frozenset(reasons))
    inputs = 1 if case.scenario == "turn" else 2
    assert {f"a.{number}" for number in range(1, inputs + 1)} == after.inputs
    assert (2 if case.scenario == "supersede" else 1) == len(after.runs)
