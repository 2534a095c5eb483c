"""The coverage page says what the tests show, no more and no less."""

import re

import pytest
from room.conformance import IDS, PAGE, ROOT, behaviours, renewed

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", IDS)
def test_every_behaviour_has_a_test_that_names_it(name: str) -> None:
    assert behaviours().get(name)


def test_the_table_is_what_the_tests_say() -> None:
    """Run `python tests/room/conformance.py` when this fails."""
    assert TEXT == renewed(TEXT)


def test_a_clause_names_behaviours_and_tests_that_exist() -> None:
    clauses = TEXT.partition("## Clauses")[2].partition("## Behaviours")[0]
    rows = [line for line in clauses.splitlines() if line.startswith("| ") and not line.startswith("| clause")]

    assert len(rows) >= 60
    for row in rows:
        shown = row.rsplit("|", 2)[1]
        ids = re.findall(r"\b[RISWVTPDFN]\d{1,2}\b", shown)
        tests = re.findall(r"`([\w/]+\.py)::(\w+)`", shown)
        assert ids or tests, row
        assert set(ids) <= set(IDS), row
        for file, name in tests:
            assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), row


@pytest.mark.parametrize(("rfc", "section", "count"), [("RFC-021", 10, 17), ("RFC-022", 9, 13)])
def test_every_numbered_invariant_has_its_row(rfc: str, section: int, count: int) -> None:
    for number in range(1, count + 1):
        assert f"| {rfc} §{section}.{number} |" in TEXT
