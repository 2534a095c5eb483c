"""Forgets what a sidecar that can't do it any more has kept of a visit. Called when that process is dead."""

import json
from pathlib import Path

SUFFIX = ".visit"  # as the sidecar names its files; their logs and what it set aside begin with the same name


def forget(published: Path) -> bool:
    """Delete the visits in the folder that `sidecar.json` names; False when something of them is still there."""
    try:
        folder = json.loads(published.read_text(encoding="utf-8"))["visits"]
        files = [file for file in Path(folder).iterdir() if SUFFIX in file.name] if isinstance(folder, str) else []
    except (OSError, ValueError, KeyError, TypeError):
        return True
    left = False
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError:
            left = True
    return not left
