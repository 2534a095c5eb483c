"""A process that holds many turns on two channels is killed at random moments, and another one takes up each time.

`WAYSIDE_CRASH_KILLS` says how often, `WAYSIDE_CRASH_SEED` at which moments; a failure names its seed. After every kill
the visit goes on over the same database; after `A_VISIT` kills the next visit begins.
"""

import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from checks import Left, check_always, check_grown, check_settled, read
from processes import Nursery, errors, lines, told

KILLS = int(os.environ.get("WAYSIDE_CRASH_KILLS", "12"))
SEED = int(os.environ.get("WAYSIDE_CRASH_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
A_VISIT = 20
LIFE_S = (0.01, 0.4)


def unfinished(folder: Path) -> list[list[str]]:
    """What killed processes had begun and nobody finished: scenario, prefix, channel."""
    counted = Counter(tuple(fields[1:]) for fields in lines(folder, "plans.log"))
    return [list(plan) for plan, count in counted.items() if count == 1]


def finish(folder: Path, plans: list[list[str]]) -> None:
    """They are over now."""
    with (folder / "plans.log").open("a") as log:
        log.writelines("\t".join(("over", *plan)) + "\n" for plan in plans)


def kill(nursery: Nursery, folder: Path, seed: str, before: Left | None) -> Left | None:
    """Kill once, look, recover, look again; what is there now."""
    life_s = random.Random(seed).uniform(*LIFE_S)
    ended = nursery.run(folder, "stream", seed=seed, limit_s=life_s)
    assert -signal.SIGKILL == ended.code, errors(folder)
    plans = unfinished(folder)
    if not plans:  # killed before it began
        return before
    left = read(folder)
    check_always(left)
    if before is not None:
        check_grown(before, left)
    ended = nursery.run(folder, "recover", plans=plans)
    assert 0 == ended.code, errors(folder)
    after = read(folder)
    check_always(after)
    check_grown(left, after)
    check_settled(after, told(folder)["retried"])
    finish(folder, plans)
    return after


@pytest.mark.parametrize("visit", range(-(-KILLS // A_VISIT)))
def test_a_visit_survives_kills_at_random_moments(nursery: Nursery, folder: Path, visit: int) -> None:
    """Crash matrix. Whatever the moment, nothing is lost, doubled, spoken again or left open."""
    left: Left | None = None
    for number in range(min(A_VISIT, KILLS - visit * A_VISIT)):
        seed = f"{SEED}.{visit}.{number}"
        try:
            left = kill(nursery, folder, seed, left)
        except AssertionError as error:
            raise AssertionError(f"kill {seed}: again with WAYSIDE_CRASH_SEED={SEED}\n{error}") from error

    assert left is not None
    assert len(left.runs) > len({run.channel for run in left.runs.values()}), f"WAYSIDE_CRASH_SEED={SEED}"
