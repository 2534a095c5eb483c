"""The site's configuration: `wayside.toml`, written by a technician, and `settings.json`, written by staff controls.

Every key has a default. A bad file is never fatal: the last good settings, or the defaults, are used and said so.
"""

import json
import os
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Audio(_Section):
    """Devices are named by a pattern of their stable identity, never by number."""

    microphone: str | None = Field(
        default=None, description="part of the microphone's name or identity; default device otherwise"
    )
    loudspeaker: str | None = Field(default=None, description="part of the loudspeaker's name or identity")
    volume_db: float = Field(default=0.0, ge=-20, le=12, description="volume at which every visit starts")
    automatic: bool = Field(default=False, description="listen without the button from the start of a visit")


class Inactivity(_Section):
    """When an abandoned visit is reset (WCAG 2.2.1: at least 20 s to extend)."""

    idle_s: float = Field(default=45.0, ge=10, le=600)
    countdown_s: float = Field(default=20.0, ge=20, le=120)


class Models(_Section):
    """Where recogniser and voice models lie, when not in an installed wheel."""

    folder: Path | None = None


class Site(_Section):
    """`wayside.toml`."""

    audio: Audio = Audio()
    inactivity: Inactivity = Inactivity()
    models: Models = Models()


class StaffSettings(_Section):
    """`settings.json`, written by staff controls."""

    volume_db: float | None = Field(default=None, ge=-20, le=12)


def read_site(path: Path | None) -> tuple[Site, list[str]]:
    """Read `wayside.toml`; problems come back as lines for people, and then defaults are used."""
    if path is None:
        return Site(), []
    try:
        site = Site.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Site(), [f"{path}: there is no such file; the defaults are used."]
    except tomllib.TOMLDecodeError as error:
        return Site(), [f"{path}: not valid TOML ({error}); the defaults are used until it is corrected."]
    except (OSError, UnicodeDecodeError):
        return Site(), [f"{path}: cannot be read; the defaults are used."]
    except ValidationError as error:
        lines = [f"{path}: {'.'.join(str(p) for p in item['loc'])}: {item['msg']}" for item in error.errors()]
        return Site(), [*lines, "The defaults are used until it is corrected."]
    if site.models.folder is not None and not site.models.folder.is_dir():
        return site, [f"{path}: models.folder: there is no folder {site.models.folder}; the installed models are used."]
    return site, []


def read_settings(path: Path) -> StaffSettings:
    """Read `settings.json`; a bad one is the same as none."""
    try:
        return StaffSettings.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return StaffSettings()


def write_settings(path: Path, settings: StaffSettings) -> None:
    """Write `settings.json` beside itself and switch by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(settings.model_dump_json(), encoding="utf-8")
    os.replace(beside, path)  # noqa: PTH105 - the rename is the point
