"""Checks pictures: they are shown in the kiosk's own page, so a drawing may hold no script, style or outside reference.

Expat is used directly, for it knows lines; a document type is refused before any entity could expand.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.parsers import expat

from wayside.releases.problems import Place, Problems

PICTURES = frozenset({".svg", ".png", ".jpg", ".jpeg", ".webp"})
MAX_PHOTO_BYTES = 4 * 1024 * 1024
MAX_DRAWING_BYTES = 64 * 1024  # the page reads every drawing before the first visit
_FORBIDDEN = frozenset(
    [
        "script",
        "style",
        "foreignobject",
        "iframe",
        "object",
        "embed",
        "audio",
        "video",
        "handler",
        "listener",
        "set",
        "animate",
        "animatetransform",
        "animatemotion",
        "text",  # belongs to the page, which translates it and can enlarge it
    ]
)
_OUTSIDE = re.compile(r"url\(\s*['\"]?\s*(?!#)", re.IGNORECASE)


class _Found(Exception):  # noqa: N818 - ends the parse; it is no fault of its own
    pass


def check_picture(path: Path, file: str, problems: Problems) -> None:
    """Tell what is wrong with one picture of the media folder."""
    if path.suffix.lower() not in PICTURES:
        problems.error(Place(file), "is not a picture the page can show", "use SVG, PNG, JPEG or WebP")
        return
    size, drawing = path.stat().st_size, path.suffix.lower() == ".svg"
    limit = MAX_DRAWING_BYTES if drawing else MAX_PHOTO_BYTES
    if size > limit:
        problems.error(
            Place(file), f"is too large ({-(-size // 1024)} KiB)", f"make it no larger than {limit // 1024} KiB"
        )
    elif drawing:
        try:
            data = path.read_bytes()
        except OSError:
            problems.error(Place(file), "cannot be read", "let everybody read the file")
            return
        _check_svg(data, file, problems)


def _check_svg(data: bytes, file: str, problems: Problems) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(wrong: str, remedy: str, field: str = "") -> None:
        problems.error(Place(file, parser.CurrentLineNumber, field), wrong, remedy)

    def doctype(*_: object) -> None:
        refuse("has a document type", "remove the `<!DOCTYPE …>` line")
        raise _Found

    def instruction(target: str, _: str) -> None:
        refuse(f"has a processing instruction <?{target}>", "remove it; style sheets are not loaded")

    root: list[str] = []

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if not root:
            root.append(name)
            if name != "svg":
                refuse(f"begins with <{name}>", "save it as plain SVG")
        if name.lower() in _FORBIDDEN:
            refuse(f"has a <{name}> element", "draw it with plain shapes and presentation attributes", name)
        for full, value in attributes.items():
            _attribute(name, full.rsplit(" ", 1)[-1], value, refuse)

    parser.StartDoctypeDeclHandler = doctype
    parser.ProcessingInstructionHandler = instruction
    parser.StartElementHandler = start
    try:
        parser.Parse(data, True)
    except _Found:
        return
    except expat.ExpatError as error:
        place = Place(file, error.lineno)
        problems.error(place, f"is not valid SVG ({expat.ErrorString(error.code)})", "save it again as plain SVG")


def _attribute(element: str, name: str, value: str, refuse: Callable[[str, str, str], None]) -> None:
    lower = name.lower()
    field = f"{element}.{name}"
    if lower.startswith("on"):
        refuse("runs a script", "remove the attribute", field)
    elif lower == "style":
        refuse("has a style attribute, which the page does not allow", "write fill, stroke … as attributes", field)
    elif lower in {"href", "src"} and not value.strip().startswith("#"):
        refuse(
            "refers to something outside the drawing", "put it into the drawing; only `#id` may be referred to", field
        )
    elif "\\" in value:
        # `u\72l(…)` is CSS for `url(…)`.
        refuse("has a backslash, which can hide an outside reference", "write the value plainly", field)
    elif _OUTSIDE.search(value):
        refuse("refers to something outside the drawing", "only `url(#id)` may be used", field)
