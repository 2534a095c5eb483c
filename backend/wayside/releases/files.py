"""Reads one file of a pack's folder, as text or as YAML, or tells why it cannot be read."""

from pathlib import Path

from wayside.releases.located import Located, read_yaml
from wayside.releases.problems import Place, Problems

MAX_FILE_BYTES = 512 * 1024


def text_of(folder: Path, file: str, problems: Problems) -> str | None:
    """The text of a file of the folder; None (and a problem) when there is none that can be read."""
    path = folder / file
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            problems.error(Place(file), "is too large", f"keep it below {MAX_FILE_BYTES // 1024} KiB")
            return None
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        problems.error(Place(file, line), "is not UTF-8", "save the file with the encoding UTF-8")
    except OSError:
        problems.error(Place(file), "is missing or cannot be read", f"add `{file}`; see the sample pack")
    return None


def yaml_of(folder: Path, file: str, problems: Problems, *, wrap: str = "") -> Located | None:
    """The YAML of a file; with `wrap` its root is put under that key, as its model has it."""
    text = text_of(folder, file, problems)
    located = read_yaml(text, file, problems) if text is not None else None
    if located is None or not wrap:
        return located
    lines = {(wrap, *path): line for path, line in located.lines.items()}
    return Located(file, {wrap: located.value}, {(): 1, **lines}, wrap)
