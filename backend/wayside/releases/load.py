"""Opens a built pack for the sidecar. Whatever is missing or damaged is told with what to do; nothing is guessed."""

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.releases.built import to_pack
from wayside.wire.pack import SCHEMA, BuiltPack

PACK_JSON = "pack.json"
INDEX = "index.sqlite"
FALLBACK = "fallback"
MANIFEST = f"{FALLBACK}/manifest.json"
_REBUILD = "Build it again: `wayside pack build SOURCE --out {folder}`."


def load_pack(folder: Path) -> Pack:
    """Read a built folder and compare every file with its sha256.

    Raises `pack.missing`, `pack.corrupt` or `pack.version` (all `WaysideError`, with a remedy).
    """
    remedy = _REBUILD.format(folder=folder)
    try:
        text = (folder / PACK_JSON).read_bytes()
    except OSError:
        raise WaysideError("pack.missing", f"There is no built pack in {folder}.", remedy=remedy) from None
    try:
        value = json.loads(text)
        version = value["schema"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise WaysideError("pack.corrupt", f"{folder / PACK_JSON} cannot be read.", remedy=remedy) from None
    if version != SCHEMA:
        raise WaysideError(
            "pack.version",
            f"The pack in {folder} has schema {version}; this version of Wayside reads {SCHEMA}.",
            remedy=f"Install the Wayside that built it, or build it again with this one. {remedy}",
        )
    try:
        built = BuiltPack.model_validate(value)
        pack = to_pack(built)
    except (ValidationError, KeyError):
        raise WaysideError("pack.corrupt", f"{folder / PACK_JSON} is incomplete.", remedy=remedy) from None
    _verify(folder, built, remedy)
    return pack


def _verify(folder: Path, built: BuiltPack, remedy: str) -> None:
    if not {INDEX, MANIFEST} <= built.files.keys():
        raise WaysideError("pack.corrupt", f"{folder / PACK_JSON} names no index or no fallback.", remedy=remedy)
    for name, expected in built.files.items():
        path = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise WaysideError("pack.corrupt", f"{folder / PACK_JSON} names a file outside the pack.", remedy=remedy)
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            raise WaysideError("pack.missing", f"{path} is missing.", remedy=remedy) from None
        if found != expected:
            raise WaysideError("pack.corrupt", f"{path} has changed since it was built.", remedy=remedy)
