"""What is wrong with a pack, said so that a curator can put it right: where, what, and what would be right."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A field in a file of the pack; `line` counts from one, 0 where the whole file is meant."""

    file: str  # relative to the pack's folder
    line: int = 0
    field: str = ""


@dataclass(frozen=True, slots=True)
class PackProblem:
    """One problem. `str()` is `file:line: field: wrong → remedy`."""

    file: str
    line: int
    field: str
    wrong: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        field = f" {self.field}:" if self.field else ""
        return f"{where}:{field} {self.wrong} → {self.remedy}"


class Problems:
    """Collects problems, so that all of them are told at once. Errors stop a build; warnings do not."""

    def __init__(self) -> None:
        self._errors: dict[PackProblem, None] = {}
        self._warnings: dict[PackProblem, None] = {}

    def error(self, place: Place, wrong: str, remedy: str) -> None:
        """Something that must be put right."""
        self._errors[PackProblem(place.file, place.line, place.field, wrong, remedy)] = None

    def warn(self, place: Place, wrong: str, remedy: str) -> None:
        """Something that is probably not meant."""
        self._warnings[PackProblem(place.file, place.line, place.field, wrong, remedy)] = None

    @property
    def errors(self) -> tuple[PackProblem, ...]:
        """Errors by file and line, each once."""
        return _sorted(self._errors)

    @property
    def warnings(self) -> tuple[PackProblem, ...]:
        """Warnings by file and line, each once."""
        return _sorted(self._warnings)


def format_problems(errors: Iterable[PackProblem], warnings: Iterable[PackProblem] = ()) -> str:
    """One line a problem, errors first; empty for none."""
    lines = [str(problem) for problem in errors]
    lines += [f"warning: {problem}" for problem in warnings]
    return "\n".join(lines)


def _sorted(problems: Iterable[PackProblem]) -> tuple[PackProblem, ...]:
    return tuple(sorted(problems, key=lambda p: (p.file, p.line, p.field, p.wrong)))
