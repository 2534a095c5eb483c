"""Reads `<id>.<language>.md`, of exhibits and of characters: YAML front matter, then one `## topic {…}` a passage.

The body is text to be spoken, so it is taken literally; Markdown that a voice would read aloud is a warning.
"""

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from wayside.releases.located import Located, read_yaml, validate
from wayside.releases.problems import Place, Problems
from wayside.wire.pack import AgentHead, AgentPassageHead, ExhibitHead, PassageHead

Head = TypeVar("Head", ExhibitHead, AgentHead)
_Braces = PassageHead | AgentPassageHead
_FENCE = "---"
_HEADING = re.compile(r"^(#+)\s*([^{]*?)\s*(\{.*)?$")
_TOPIC = re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
_MARKUP = re.compile(r"\*\*?\S|(?<!\w)__?\w|`|\]\(|^\s*[-*+] |^\s*>|<[a-zA-Z/]")


@dataclass(frozen=True, slots=True)
class _Heading:
    topic: str
    at: Place
    sources: tuple[str, ...] = ()
    imagined: bool = False
    asked_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftPassage:
    """A passage as written; `at` is its heading, `text_at` the first line of its text."""

    topic: str
    text: str
    sources: tuple[str, ...]
    at: Place
    text_at: Place
    imagined: bool = False
    asked_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftText(Generic[Head]):
    """One file; `head` is None when its front matter is wrong, and then `name` and `language` are those of the file."""

    file: str
    name: str
    language: str
    head: Head | None
    located: Located | None
    passages: tuple[DraftPassage, ...]

    def place(self, *path: str | int) -> Place:
        """Where a field of the front matter stands."""
        return Place(self.file, 1) if self.located is None else self.located.place(*path)


DraftExhibit = DraftText[ExhibitHead]
DraftCharacter = DraftText[AgentHead]


def read_exhibit(text: str, file: str, problems: Problems) -> DraftExhibit:
    """Read one file of an exhibit, telling every problem in it."""
    return _read(text, file, problems, ExhibitHead, PassageHead)


def read_character(text: str, file: str, problems: Problems) -> DraftCharacter:
    """Read what one character says in one language, telling every problem in it."""
    return _read(text, file, problems, AgentHead, AgentPassageHead)


def _read(text: str, file: str, problems: Problems, model: type[Head], passage: type[_Braces]) -> DraftText[Head]:
    stem = file.rsplit("/", 1)[-1].removesuffix(".md")
    name, _, language = stem.rpartition(".")
    if not name:
        problems.error(Place(file), "has no language in its name", "call it `<id>.<language>.md`")
    lines = text.removeprefix("\ufeff").splitlines()
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if not lines or lines[0].rstrip() != _FENCE or end is None:
        problems.error(Place(file, 1), "has no front matter", "begin with `---`, the fields, and `---` again")
        return DraftText(file, name, language, None, None, _passages(lines, 0, file, problems, passage))
    located = read_yaml("\n".join(lines[1:end]), file, problems, first_line=2)
    head = validate(model, located, problems) if located is not None else None
    passages = _passages(lines, end + 1, file, problems, passage)
    if not passages:
        problems.error(Place(file), "has no passages", "write `## what {sources: [id]}` and its text below")
    return DraftText(file, name, language, head, located, passages)


def _passages(
    lines: list[str], start: int, file: str, problems: Problems, braces: type[_Braces]
) -> tuple[DraftPassage, ...]:
    found: list[DraftPassage] = []
    heading: _Heading | None = None
    text: list[str] = []
    text_line = 0

    def finish() -> None:
        if heading is None:
            return
        topic, at = heading.topic, heading.at
        if not text:
            problems.error(at, "has no text", "write what is said below the heading")
        text_at = Place(file, text_line or at.line, topic)
        found.append(
            DraftPassage(topic, " ".join(text), heading.sources, at, text_at, heading.imagined, heading.asked_with)
        )

    for number, raw in enumerate(lines[start:], start + 1):
        line = raw.strip()
        if line.startswith("#"):
            finish()
            heading, text, text_line = _heading(line, number, file, problems, braces), [], 0
        elif line and heading is None:
            if not found:
                problems.error(
                    Place(file, number), "is text outside any passage", "put a `## topic {sources: [id]}` above it"
                )
        elif line:
            text_line = text_line or number
            text.extend(line.split())
            if _MARKUP.search(raw):
                problems.warn(
                    Place(file, number), "looks like Markdown, which a voice would read out", "use plain words"
                )
    finish()
    return tuple(found)


def _heading(line: str, number: int, file: str, problems: Problems, model: type[_Braces]) -> _Heading:
    match = _HEADING.match(line)
    marks, topic, braces = match.groups() if match else ("", "", None)
    at = Place(file, number, topic)
    if marks != "##" or not _TOPIC.match(topic):
        problems.error(
            at, f"is not a passage heading: {line[:60]}", "write `## topic {sources: [id]}` with a plain topic word"
        )
    if braces is None:
        problems.error(at, "names no source", f"write `## {topic or 'topic'} {{sources: [id]}}`")
        return _Heading(topic, at)
    located = read_yaml(braces, file, problems, first_line=number)
    head = validate(model, located, problems) if located is not None else None
    if not isinstance(head, AgentPassageHead):
        return _Heading(topic, at, tuple(head.sources) if head else ())
    imagined = head.imagined == "yes"
    if not imagined and not head.sources:
        problems.error(at, "names no source", "add `sources: [id]`, or `imagined: yes` when there is none")
    return _Heading(topic, at, tuple(head.sources), imagined, tuple(head.asked_with))
