"""`wayside pack check` and `wayside pack build`."""

from pathlib import Path

from wayside import main as wiring
from wayside.core.errors import WaysideError
from wayside.releases.build import BuildProgress, build_pack
from wayside.releases.check import check_pack
from wayside.releases.speech import narrator
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index

PROGRESS_EVERY = 10
LANGUAGES = ("en", "es")  # those that the embedded voices were chosen for; others stay silent in the fallback


def check(source: Path) -> tuple[list[str], bool]:
    """Every problem as a line, and whether the pack can be built."""
    report = check_pack(source, build_index, SqlitePassageIndex)
    lines = [str(report)] if report.errors or report.warnings else []
    if report.errors:
        return [*lines, f"{len(report.errors)} errors: the pack can't be built yet."], False
    count = len(report.pack.exhibits) if report.pack else 0
    return [*lines, f"The pack is good: {count} exhibits."], True


async def build(source: Path, out: Path, place: wiring.Place, *, speech: bool, tell: wiring.Tell) -> None:
    """Build into `out`; raises `pack.broken` with every error."""
    _apart(source, out)
    speaking = wiring.Speech(place.shelf()) if speech else None

    def progress(step: BuildProgress) -> None:
        if step.total == 0:
            tell(f"{step.stage} …")
        elif step.current % PROGRESS_EVERY == 0 or step.current == step.total:
            tell(f"{step.stage} {step.current} of {step.total}")

    try:
        built = await build_pack(
            source,
            out,
            build_index,
            open_index=SqlitePassageIndex,
            by=narrator(speaking.voice, LANGUAGES) if speaking is not None and speaking.can_speak else None,
            cache=place.state / "recordings",
            progress=progress,
        )
    finally:
        if speaking is not None:
            await speaking.close()
    for warning in built.warnings:
        tell(str(warning))
    if built.silent:
        tell(f"{len(built.silent)} passages could not be spoken; they are shown only.")
    tell(f"Built {built.release} in {built.folder} ({built.spoken} recordings).")


def _apart(source: Path, out: Path) -> None:
    if out.resolve() == source.resolve() or source.resolve() in out.resolve().parents:
        raise WaysideError("pack.target", "The built pack can't lie inside its source.", remedy="Choose another --out.")
