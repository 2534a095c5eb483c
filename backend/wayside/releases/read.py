"""Reads a pack's folder as curators wrote it. Tells everything that is wrong, not the first thing.

What can be read in spite of errors is kept as a draft, so that `check` can compare the files with each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from wayside.core.content import Exhibit, Pack, Passage, Source, SuggestedQuestion
from wayside.releases.agent_file import DraftAgent, agents_of, read_agents
from wayside.releases.exhibit_file import DraftExhibit, read_exhibit
from wayside.releases.files import text_of, yaml_of
from wayside.releases.located import Located, validate
from wayside.releases.problems import PackProblem, Place, Problems
from wayside.wire.pack import PackFile, QuestionCase, QuestionsFile, WordingsFile

PACK_FILE = "pack.yaml"
WORDINGS_FILE = "wordings.yaml"
QUESTIONS_FILE = "questions.yaml"
EXHIBITS = "exhibits"
MEDIA = "media"
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Draft:
    """The files as far as they could be read. Models are None where their file is wrong; `*_at` know the lines."""

    folder: Path
    pack: PackFile | None
    pack_at: Located | None
    wordings: Mapping[str, Mapping[str, tuple[str, ...]]]
    wordings_at: Located | None
    exhibits: tuple[DraftExhibit, ...]
    cases: tuple[QuestionCase, ...]
    cases_at: Located | None
    agents: tuple[DraftAgent, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The pack's languages, also when something else in `pack.yaml` is wrong."""
        if self.pack is not None:
            return tuple(dict.fromkeys(self.pack.languages))
        at = self.pack_at
        count = at.count("languages") if at is not None else None
        if at is None or count is None:
            return ()
        return tuple(dict.fromkeys(name for n in range(count) if (name := at.text("languages", n))))

    @property
    def sources(self) -> frozenset[str] | None:
        """Ids of the declared sources; None when they cannot be told."""
        found = self.pack_at.keys("sources") if self.pack_at is not None else None
        return frozenset(found) if found is not None else None


@dataclass(frozen=True, slots=True)
class Reading:
    """A folder read alone, without comparing files: `pack` is None when there are errors."""

    pack: Pack | None
    errors: tuple[PackProblem, ...]
    warnings: tuple[PackProblem, ...]


def read_pack(folder: Path) -> Reading:
    """Read a folder into a `Pack` (its `release` is empty: only a build has one)."""
    problems = Problems()
    draft = read_draft(folder, problems)
    pack = None if problems.errors else to_pack(draft)
    return Reading(pack, problems.errors, problems.warnings)


def read_draft(folder: Path, problems: Problems) -> Draft:
    """Read every file of a folder."""
    pack_at = yaml_of(folder, PACK_FILE, problems)
    wordings_at = yaml_of(folder, WORDINGS_FILE, problems, wrap="wordings")
    cases_at = yaml_of(folder, QUESTIONS_FILE, problems, wrap="cases") if (folder / QUESTIONS_FILE).exists() else None
    wordings = _valid(WordingsFile, wordings_at, problems)
    cases = _valid(QuestionsFile, cases_at, problems)
    exhibits = []
    paths = sorted((folder / EXHIBITS).glob("*.md")) if folder.is_dir() else []
    for path in paths:
        file = f"{EXHIBITS}/{path.name}"
        text = text_of(folder, file, problems)
        if text is not None:
            exhibits.append(read_exhibit(text, file, problems))
    if not paths:
        problems.error(Place(f"{EXHIBITS}/"), "has no exhibits", "add `exhibits/<id>.<language>.md`")
    return Draft(
        folder=folder,
        pack=_valid(PackFile, pack_at, problems),
        pack_at=pack_at,
        wordings={k: {lang: tuple(v) for lang, v in w.items()} for k, w in wordings.wordings.items()}
        if wordings
        else {},
        wordings_at=wordings_at,
        exhibits=tuple(exhibits),
        cases=tuple(cases.cases) if cases else (),
        cases_at=cases_at,
        agents=read_agents(folder, problems),
    )


def to_pack(draft: Draft) -> Pack:
    """Put the files of a draft without errors together."""
    assert draft.pack is not None  # noqa: S101 - callers have looked at the errors
    file = draft.pack
    sources = {name: Source(name, entry.title, entry.where) for name, entry in file.sources.items()}
    by_id: dict[str, dict[str, DraftExhibit]] = {}
    for exhibit in sorted(draft.exhibits, key=lambda e: (_number(e), e.name)):
        by_id.setdefault(exhibit.name, {})[exhibit.language] = exhibit
    return Pack(
        id=file.id,
        release="",
        title=dict(file.title),
        institution=file.institution,
        languages=tuple(file.languages),
        notice=dict(file.notice),
        privacy=dict(file.privacy),
        staff_help=dict(file.staff_help),
        wordings=draft.wordings,
        exhibits=tuple(_exhibit(name, versions) for name, versions in by_id.items()),
        passages=tuple(
            Passage(
                f"{name}#{p.topic}",
                name,
                language,
                p.topic,
                p.text,
                tuple(sources[s] for s in p.sources if s in sources),
            )
            for name, versions in by_id.items()
            for language, version in versions.items()
            for p in version.passages
        ),
        start_questions={
            language: tuple(SuggestedQuestion(q.text, q.passage) for q in asked)
            for language, asked in file.start_questions.items()
        },
        agents=agents_of(draft.agents, sources),
    )


def _exhibit(name: str, versions: Mapping[str, DraftExhibit]) -> Exhibit:
    heads = {language: version.head for language, version in versions.items() if version.head is not None}
    first = next(iter(heads.values()))
    return Exhibit(
        id=name,
        number=first.number,
        title={language: head.title for language, head in heads.items()},
        subtitle={language: head.subtitle for language, head in heads.items()},
        picture=first.picture,
        alt={language: head.alt for language, head in heads.items()},
        questions={
            language: tuple(SuggestedQuestion(q.text, f"{name}#{q.passage}") for q in head.questions)
            for language, head in heads.items()
        },
        aliases={language: tuple(head.aliases) for language, head in heads.items()},
    )


def _number(exhibit: DraftExhibit) -> tuple[int, str]:
    number = exhibit.head.number if exhibit.head else ""
    return (int(number), "") if number.isascii() and number.isdigit() else (10_000, number)


def _valid(model: type[Model], located: Located | None, problems: Problems) -> Model | None:
    return validate(model, located, problems) if located is not None else None
