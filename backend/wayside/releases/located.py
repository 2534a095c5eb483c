"""Reads YAML that remembers on which line each value stands.

Every scalar is text or nothing: a label number keeps its zeros and Norwegian (`no`) is a language, not a refusal.
Anchors are refused, for curators do not need them and they make small files expand without bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from wayside.releases.problems import Place, Problems

Path = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_BOM = "\ufeff"

_MESSAGES: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", "add `{name}: …`"),
    "string_type": ("must be text", "write `{name}: some text`"),
    "string_too_short": ("is empty", "write something, or remove the line"),
    "dict_type": ("must have one entry a language or name", "write `{name}:` and below it `  en: …`"),
    "list_type": ("must be a list", "write `{name}: [a, b]`, or one `- …` a line"),
    "model_type": ("must have named fields", "write one `field: value` a line"),
    "too_short": ("must not be empty", "add at least one entry"),
    "string_too_long": ("is too long", "use at most {max_length} characters"),
    "float_parsing": ("is not a number", "write a plain number, such as `{name}: 1`"),
    "greater_than_equal": ("is too small", "use at least {ge:g}"),
    "less_than_equal": ("is too large", "use at most {le:g}"),
    "literal_error": ("is not one of the possible values", "use one of: {expected}"),
}
_SHAPES: Mapping[str, tuple[str, str]] = {
    r"^[a-z0-9]+(?:-[a-z0-9]+)*$": ("is not a valid name", "use lower-case letters, digits and single hyphens"),
    r"^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$": ("is not a language", "use a tag such as `en`, `es` or `pt-BR`"),
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": ("is not a plain file name", "name a file of the media folder, without a path"),
    r"^[a-z0-9-]+#[a-z0-9-]+$": ("does not name a passage", "write `<exhibit>#<topic>` in quotation marks"),
}


@dataclass(frozen=True, slots=True)
class Located:
    """A value with the line of everything in it; paths are keys and list positions from the root."""

    file: str
    value: Any
    lines: Mapping[Path, int]
    wrap: str = ""  # a first key that stands in no file, only in the model

    def place(self, *path: str | int) -> Place:
        """Where a value stands, or where its nearest ancestor does."""
        kept = path
        while kept and kept not in self.lines:
            kept = kept[:-1]
        shown = path[1:] if self.wrap and path[:1] == (self.wrap,) else path
        return Place(self.file, self.lines.get(kept, 1), _dotted(shown))

    # What stands somewhere as far as it has that shape, so that one wrong field hides no other problem of its file.

    def text(self, *path: str | int) -> str:
        """The text at a path; empty where there is none."""
        found = self._at(path)
        return found.strip() if isinstance(found, str) else ""

    def keys(self, *path: str | int) -> tuple[str, ...] | None:
        """The keys at a path; None where no mapping stands."""
        found = self._at(path)
        return tuple(found) if isinstance(found, dict) else None

    def count(self, *path: str | int) -> int | None:
        """The length of the list at a path; None where no list stands."""
        found = self._at(path)
        return len(found) if isinstance(found, list) else None

    def _at(self, path: Path) -> object:
        found = self.value
        for part in path:
            if isinstance(part, str):
                found = found.get(part) if isinstance(found, dict) else None
            else:
                found = found[part] if isinstance(found, list) and part < len(found) else None
        return found


def read_yaml(text: str, file: str, problems: Problems, *, first_line: int = 1) -> Located | None:
    """Parse one document; None (and a problem) when it is not YAML. `first_line` is the line of its first line."""
    offset = first_line - 1
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                line = (event.start_mark.line if event.start_mark else 0) + 1 + offset
                problems.error(Place(file, line), f"uses the anchor *{event.anchor}", "write the text out")
                return None
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = (mark.line if mark else 0) + 1 + offset
        problems.error(
            Place(file, line),
            f"is not valid YAML ({error.problem or 'unreadable'})",
            "look for a missing quotation mark, a colon inside a text or uneven spaces at this line or the one above",
        )
        return None
    except (yaml.YAMLError, RecursionError):
        problems.error(Place(file), "is not valid YAML", "remove control characters and needless brackets")
        return None
    lines: dict[Path, int] = {(): first_line}
    value = _value(node, (), lines, offset, file, problems)
    return Located(file, value, lines)


def validate(model: type[Model], located: Located, problems: Problems) -> Model | None:
    """Check a value against its model; unknown fields are warnings, everything else an error."""
    try:
        found = model.model_validate(located.value)
    except ValidationError as error:
        for item in error.errors():
            loc = tuple(part for part in item["loc"] if part != "[key]")
            place = located.place(*loc)
            wrong, remedy = _message(item["type"], item.get("ctx", {}))
            name = str(loc[-1]) if loc else ""
            problems.error(place, wrong, remedy.format(name=name, **item.get("ctx", {})))
        return None
    _unknown(found, (), located, problems)
    return found


def _message(kind: str, context: Mapping[str, Any]) -> tuple[str, str]:
    if kind == "string_pattern_mismatch":
        return _SHAPES[context["pattern"]]
    return _MESSAGES.get(kind, ("is not what is expected here", "compare with the sample pack"))


def _unknown(value: object, path: Path, located: Located, problems: Problems) -> None:
    if isinstance(value, BaseModel):
        known = ", ".join(type(value).model_fields)
        for name in value.model_extra or {}:
            problems.warn(
                located.place(*path, name), "is not a field Wayside knows", f"remove it, or use one of: {known}"
            )
        for name in type(value).model_fields:
            _unknown(getattr(value, name), (*path, name), located, problems)
    elif isinstance(value, dict):
        for key, item in value.items():
            _unknown(item, (*path, key), located, problems)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _unknown(item, (*path, number), located, problems)


def _value(
    node: yaml.Node | None, path: Path, lines: dict[Path, int], offset: int, file: str, problems: Problems
) -> object:
    if node is None:
        return None
    lines.setdefault(path, node.start_mark.line + 1 + offset)
    if isinstance(node, yaml.MappingNode):
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1 + offset
            if not isinstance(key_node, yaml.ScalarNode):
                problems.error(
                    Place(file, line, _dotted(path)), "has a key that is not text", "use a plain word as the key"
                )
                continue
            key = _sound(str(key_node.value), Place(file, line, _dotted(path)), problems)
            if key in found:
                place = Place(file, line, _dotted((*path, key)))
                problems.error(place, "is there twice", f"keep one; the other is at line {lines[(*path, key)]}")
                continue
            lines[*path, key] = line
            found[key] = _value(value_node, (*path, key), lines, offset, file, problems)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, n), lines, offset, file, problems) for n, item in enumerate(node.value)]
    plain = isinstance(node, yaml.ScalarNode) and node.style is None and node.value in _NOTHING
    if plain:
        return None
    return _sound(str(node.value).removeprefix(_BOM), Place(file, lines[path], _dotted(path)), problems)


def _sound(text: str, place: Place, problems: Problems) -> str:
    """The text without halves of characters, which YAML can escape but nothing can store or show."""
    sound = text.encode("utf-8", "ignore").decode()
    if sound != text:
        problems.error(place, "has half of a character", "write the character itself instead of `\\ud…`")
    return sound


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
