"""Writes the coverage table of docs/conformance.md from the docstrings of the tests. Run it as a script to renew it.

The clauses are listed by hand, each with the behaviours that show it; the tests of a behaviour are those whose
docstring names it.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- generated: behaviours -->", "<!-- end -->"
FOLDERS = ("core", "contracts", "crash", "e2e", "room", "runtime", "stores", "wire")
COUNTS = {"R": 11, "I": 9, "S": 2, "W": 1, "V": 3, "T": 10, "P": 2, "D": 26, "F": 8, "N": 10}
IDS = tuple(f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1))
_ID = re.compile(r"\b([RISWVTPDFN]\d{1,2})\b")


def behaviours() -> dict[str, list[str]]:
    """The tests that name each behaviour, as `file::test`."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    for name in dict.fromkeys(_ID.findall(ast.get_docstring(node) or "")):
                        found.setdefault(name, []).append(f"{file.relative_to(ROOT / 'tests')}::{node.name}")
    return found


def table() -> str:
    """One row a behaviour; of many tests the first four, and how many more there are."""
    found = behaviours()
    rows = ["| behaviour | tests |", "|---|---|"]
    for name in IDS:
        tests = found.get(name, [])
        more = f", and {len(tests) - 4} more" if len(tests) > 4 else ""
        rows.append(f"| {name} | {', '.join(f'`{test}`' for test in tests[:4])}{more} |")
    return "\n".join(rows)


def renewed(page: str) -> str:
    """The page with the table as the tests have it now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
