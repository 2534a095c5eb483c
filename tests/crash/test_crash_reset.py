"""A process dies while it forgets a visit: nobody's words are left for the next visitor (RFC-021 §6).

Each visit begins with a text that no other has, and everything of the folder is searched for it, byte by byte.
"""

from pathlib import Path

import pytest
from probes import DIED
from processes import Nursery, errors, told

CANARY = "canary-of-a"
NEXT = "visit-of-b"
REMOVALS = 5  # under its name: the file, its log, its index, its rollback journal; and the file under its last name


def holds(folder: Path, text: str) -> list[str]:
    """The names of files in which a text is, or whose name it is in."""
    found = folder.rglob("*")
    return [path.name for path in found if path.is_file() and text.encode() in path.read_bytes() + path.name.encode()]


def next_visit(nursery: Nursery, folder: Path, *, left_over: bool) -> None:
    """Start again, forget, and let the next visitor read whatever there is."""
    ended = nursery.run(folder, "next", text=NEXT, left_over=left_over)
    assert 0 == ended.code, errors(folder)
    seen = told(folder)

    assert seen["durable"]
    assert [0, None] == seen["before"]
    assert any(NEXT in text for text in seen["seen"])
    assert not any(CANARY in text for text in seen["seen"])
    assert [] == holds(folder / "visits", CANARY)
    assert 1 == len(list((folder / "visits").glob("*.visit")))


@pytest.mark.parametrize("left_over", [True, False], ids=["left-over", "forgotten"])
@pytest.mark.parametrize("held", [True, False], ids=["log-kept", "log-folded"])
@pytest.mark.parametrize("number", range(1, REMOVALS + 1))
def test_a_reset_that_dies_leaves_nothing_to_the_next_visit(
    nursery: Nursery, folder: Path, number: int, held: bool, left_over: bool
) -> None:
    """Crash matrix, during reset. It has lost its name and is closed; then one file after another is removed."""
    ended = nursery.run(folder, "visit", text=CANARY, point=f"remove:{number}", held=held)
    assert DIED == ended.code, errors(folder)
    there = holds(folder / "visits", CANARY)

    # Until the log is removed its words are there, but under no name that anybody would take up.
    assert bool(there) == (number <= 2)
    assert [] == list((folder / "visits").glob("*.visit"))
    next_visit(nursery, folder, left_over=left_over)


@pytest.mark.parametrize("left_over", [True, False], ids=["left-over", "forgotten"])
@pytest.mark.parametrize("number", range(1, 4))
def test_forgetting_what_a_dead_process_left_may_die_too(
    nursery: Nursery, folder: Path, number: int, left_over: bool
) -> None:
    """Crash matrix, during reset. A killed visit leaves three files; forgetting dies between any two of them."""
    ended = nursery.run(folder, "visit", text=CANARY, point="left")
    assert DIED == ended.code, errors(folder)
    assert 3 == len(list((folder / "visits").iterdir()))
    assert holds(folder / "visits", CANARY)
    ended = nursery.run(folder, "forget", point=f"remove:{number}")
    assert DIED == ended.code, errors(folder)

    assert 4 - number == len(list((folder / "visits").iterdir()))
    next_visit(nursery, folder, left_over=left_over)


def test_forgetting_again_leaves_nothing_at_all(nursery: Nursery, folder: Path) -> None:
    """Crash matrix, during reset. Once `forget` ran to its end the folder itself is gone."""
    ended = nursery.run(folder, "visit", text=CANARY, point="left")
    assert DIED == ended.code, errors(folder)
    assert DIED == nursery.run(folder, "forget", point="remove:2").code
    ended = nursery.run(folder, "forget")

    assert 0 == ended.code, errors(folder)
    assert not (folder / "visits").exists()
