"""Builds a release from a curator's folder: all of it beside the target, then switched by rename, or nothing."""

import asyncio
import hashlib
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wayside.core.content import Pack, Passage
from wayside.core.errors import WaysideError
from wayside.ports.passages import PassageIndexBuilder
from wayside.releases.built import built_pack, manifest, release_id, to_json
from wayside.releases.check import OpenIndex, Report, check_pack
from wayside.releases.load import FALLBACK, INDEX, MANIFEST, PACK_JSON
from wayside.releases.problems import PackProblem, format_problems
from wayside.releases.read import MEDIA
from wayside.releases.speech import Narrator, record
from wayside.releases.switch import switch, sync_tree

FIRST_TOPICS = 2
Spoken = Literal["first", "all"]
Stage = Literal["check", "speech", "write", "done"]


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is; `current` of `total` passages while speech is made."""

    stage: Stage
    current: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build. `silent` are (passage, language, code) that could not be spoken."""

    release: str
    folder: Path
    warnings: tuple[PackProblem, ...]
    spoken: int
    silent: tuple[tuple[str, str, str], ...] = ()


class PackRejected(WaysideError):  # noqa: N818 - named for what happened
    """The pack has errors; `report` holds all of them."""

    def __init__(self, folder: Path, report: Report) -> None:
        count = len(report.errors)
        message = f"The pack in {folder} has {count} error{'s' if count != 1 else ''}; nothing was built."
        remedy = f"{format_problems(report.errors)}\nCorrect these, then run `wayside pack check {folder}`."
        super().__init__("pack.broken", message, remedy=remedy)
        self.report = report


async def build_pack(
    source: Path,
    target: Path,
    build_index: PassageIndexBuilder,
    *,
    open_index: OpenIndex | None = None,
    by: Narrator | None = None,
    spoken: Spoken = "first",
    cache: Path | None = None,
    progress: Callable[[BuildProgress], None] = lambda _: None,
) -> Built:
    """Check `source` and build it into `target`, replacing an earlier build.

    With a narrator the first two topics of every exhibit (or all of them) are recorded in each of its languages.
    Raises `pack.target` when something else lies there, `PackRejected` when there are errors and `pack.unwritable` when
    the target cannot be written; then an earlier build is untouched.
    """
    _may_replace(target)
    progress(BuildProgress("check"))
    report = await asyncio.to_thread(check_pack, source, build_index, open_index)
    if report.pack is None:
        raise PackRejected(source, report)
    recordings, silent = await _recordings(report.pack, by, spoken, cache, progress)
    progress(BuildProgress("write"))
    try:
        release = await asyncio.to_thread(_write, source, target, report, recordings, build_index)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WaysideError(
            "pack.unwritable",
            f"{target} cannot be written: {reason}.",
            remedy="Free some space, or choose another folder: --out when building, --state-dir for the sample pack.",
        ) from None
    progress(BuildProgress("done", len(recordings), len(recordings)))
    return Built(release, target, report.warnings, len(recordings), silent)


def _may_replace(target: Path) -> None:
    """Only an earlier build is thrown away, never what somebody keeps in a folder."""
    try:
        built = not target.exists() or (target / PACK_JSON).is_file() or not any(target.iterdir())
    except OSError:
        built = False
    if not built:
        raise WaysideError(
            "pack.target",
            f"{target} holds something else than a built pack, which would be lost.",
            remedy="Choose an empty or a new folder with --out.",
        )


async def _recordings(
    pack: Pack, by: Narrator | None, spoken: Spoken, cache: Path | None, progress: Callable[[BuildProgress], None]
) -> tuple[Mapping[tuple[str, str], bytes], tuple[tuple[str, str, str], ...]]:
    if by is None:
        return {}, ()
    chosen = [passage for passage in _chosen(pack, spoken) if passage.language in by.voices]
    made: dict[tuple[str, str], bytes] = {}
    silent: list[tuple[str, str, str]] = []
    for number, passage in enumerate(chosen):
        progress(BuildProgress("speech", number, len(chosen)))
        try:
            made[passage.id, passage.language] = await record(passage.text, passage.language, by, cache)
        except WaysideError as error:
            silent.append((passage.id, passage.language, error.code))
    return made, tuple(silent)


def _chosen(pack: Pack, spoken: Spoken) -> list[Passage]:
    """Passages to record, exhibit by exhibit in their written order."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    chosen = []
    for passage in pack.passages:
        seen[passage.exhibit, passage.language] += 1
        if spoken == "all" or seen[passage.exhibit, passage.language] <= FIRST_TOPICS:
            chosen.append(passage)
    return chosen


def _write(
    source: Path,
    target: Path,
    report: Report,
    recordings: Mapping[tuple[str, str], bytes],
    build_index: PassageIndexBuilder,
) -> str:
    pack = report.pack
    assert pack is not None  # noqa: S101 - the caller has looked
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        new.chmod(0o755)  # the page's server may run as another user
        media = new / FALLBACK / "media"
        media.mkdir(parents=True)
        pictures = {exhibit.picture for exhibit in pack.exhibits} | {agent.picture for agent in pack.agents}
        for picture in sorted(pictures - {""}):
            shutil.copyfile(source / MEDIA / picture, media / picture)
        speech: dict[tuple[str, str], str] = {}
        for (passage, language), data in recordings.items():
            name = f"{passage.replace('#', '.')}.{language}.ogg"
            (media / name).write_bytes(data)
            speech[passage, language] = f"media/{name}"
        content = _digests(new)
        release = release_id(pack, report.licence, content)
        (new / MANIFEST).write_bytes(to_json(manifest(pack, release, speech)))
        build_index(new / INDEX, pack.exhibits, pack.passages, pack.agents)
        files = _digests(new)
        (new / PACK_JSON).write_bytes(to_json(built_pack(pack, report.licence, release, files)))
        sync_tree(new)
        switch(new, target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return release


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
