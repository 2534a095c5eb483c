"""Checks a pack as a whole: files against each other, words against what can be spoken, questions against the index."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.ports.passages import PassageIndex, PassageIndexBuilder
from wayside.releases.check_agents import ask_agents, check_agents
from wayside.releases.check_texts import (
    FOUND,
    SUGGESTIONS,
    check_agreement,
    check_answered,
    check_languages,
    check_passages,
    check_questions,
)
from wayside.releases.drawings import check_picture
from wayside.releases.exhibit_file import DraftExhibit
from wayside.releases.located import Located
from wayside.releases.problems import PackProblem, Place, Problems, format_problems
from wayside.releases.read import MEDIA, QUESTIONS_FILE, WORDINGS_FILE, Draft, read_draft, to_pack
from wayside.wire.pack import QuestionCase, is_file_name

REQUIRED_WORDINGS = (
    "greeting",
    "unknown",
    "who_are_you",
    "help",
    "thanks",
    "goodbye",
    "small_talk",
    "joke",
    "abuse",
    "repeat_nothing",
    "slower",
    "more",
    "no_more",
    "welcome_back",
    "too_long",
    "price",
    "danger",
    "still_there",
)
OPTIONAL_WORDINGS = ("not_understood", "go_on")
NOTICE_CHARS = 160

OpenIndex = Callable[[Path], PassageIndex]


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found. `pack` is None when there are errors; its `release` is empty. `cases` are questions.yaml."""

    errors: tuple[PackProblem, ...]
    warnings: tuple[PackProblem, ...]
    pack: Pack | None
    cases: tuple[QuestionCase, ...] = ()
    licence: str = ""

    def __str__(self) -> str:
        return format_problems(self.errors, self.warnings)


def check_pack(folder: Path, build_index: PassageIndexBuilder, open_index: OpenIndex | None = None) -> Report:
    """Read and check a pack's folder. With `open_index` the suggested questions are asked of a trial index as well.

    Raises `pack.unwritable` when the trial index finds no room.
    """
    problems = Problems()
    draft = read_draft(folder, problems)
    _pack_file(draft, problems)
    _wordings(draft, problems)
    _exhibits(draft, problems)
    check_agents(draft, (*REQUIRED_WORDINGS, *OPTIONAL_WORDINGS), problems)
    _start_questions(draft, problems)
    _cases(draft, problems)
    pack = to_pack(draft) if not problems.errors else None
    if pack is not None:
        _trial(draft, pack, build_index, open_index, problems)
    if problems.errors:
        pack = None
    licence = draft.pack.licence if draft.pack else ""
    return Report(problems.errors, problems.warnings, pack, draft.cases, licence)


def _pack_file(draft: Draft, problems: Problems) -> None:
    at = draft.pack_at
    if at is None:
        return
    named = [at.text("languages", n) for n in range(at.count("languages") or 0)]
    for number, language in enumerate(named):
        if language and language in named[:number]:
            problems.error(at.place("languages", number), f"names {language} twice", "name each language once")
    for name in ("title", "notice", "privacy", "staff_help", "start_questions"):
        check_languages(at, (name,), draft.languages, problems)
    for language in at.keys("notice") or ():
        place, notice = at.place("notice", language), at.text("notice", language)
        if "\n" in notice:
            problems.error(place, "has more than one line", "say it in one; details go into `privacy`")
        elif len(notice) > NOTICE_CHARS:
            wrong = f"is too long for one line ({len(notice)} characters)"
            problems.error(place, wrong, f"use at most {NOTICE_CHARS}; details go into `privacy`")


def _wordings(draft: Draft, problems: Problems) -> None:
    at = draft.wordings_at
    found = at.keys("wordings") if at is not None else None
    if at is None or found is None:
        return
    for key in REQUIRED_WORDINGS:
        if key not in found:
            example = ", ".join(f"`{language}: […]`" for language in draft.languages)
            problems.error(Place(WORDINGS_FILE, 0, key), "is missing", f"add `{key}:` with {example}")
    for key in found:
        check_languages(at, ("wordings", key), draft.languages, problems)
        for language in at.keys("wordings", key) or ():
            place, variants = at.place("wordings", key, language), at.count("wordings", key, language)
            if variants == 0:
                problems.error(place, "has no variant", "write at least one `- …`")
            elif variants == 1 and key == "unknown":
                problems.warn(place, "has one variant, so it will be said twice in a row", "write two or three")


def _exhibits(draft: Draft, problems: Problems) -> None:
    versions: dict[str, dict[str, DraftExhibit]] = defaultdict(dict)
    numbers: dict[str, str] = {}
    aliases: dict[tuple[str, str], str] = {}
    for exhibit in draft.exhibits:
        versions[exhibit.name][exhibit.language] = exhibit
        at = exhibit.located
        if at is not None:
            _identity(exhibit, at, draft, problems)
            number = at.text("number")
            owner = numbers.setdefault(number, exhibit.name) if number else exhibit.name
            if owner != exhibit.name:
                wrong = f"number {number} is already that of {owner}"
                problems.error(at.place("number"), wrong, "give each exhibit its own label number")
            for position in range(at.count("aliases") or 0):
                alias = at.text("aliases", position)
                owner = aliases.setdefault((exhibit.language, alias.casefold()), exhibit.name)
                if alias and owner != exhibit.name:
                    wrong = f"{alias!r} is also an alias of {owner}"
                    problems.warn(at.place("aliases", position), wrong, "keep it where visitors mean it")
            _picture(at, draft, problems)
            check_questions(at, exhibit.passages, problems)
        check_passages(exhibit.passages, draft.sources, problems)
    for name, by_language in versions.items():
        _agree(name, by_language, draft.languages, problems)


def _identity(exhibit: DraftExhibit, at: Located, draft: Draft, problems: Problems) -> None:
    name, language = at.text("id"), at.text("language")
    if name and name != exhibit.name:
        wrong = f"{name} does not match the file name"
        other = next(
            (e for e in draft.exhibits if e.file != exhibit.file and (e.name, e.language) == (name, language)), None
        )
        if other is not None:
            wrong = f"{name} in {language} is there twice; the other is {other.file}"
        problems.error(at.place("id"), wrong, f"write `id: {exhibit.name}`, or rename the file")
    if language and language != exhibit.language:
        wrong = f"{language} does not match the file name"
        problems.error(at.place("language"), wrong, f"write `language: {exhibit.language}`, or rename the file")
    if draft.languages and exhibit.language not in draft.languages:
        wrong = f"{exhibit.language} is not a language of this pack"
        problems.error(at.place("language"), wrong, "add it to `languages` in pack.yaml, or remove this file")


def _picture(at: Located, draft: Draft, problems: Problems) -> None:
    name = at.text("picture")
    if not is_file_name(name):
        return  # reading has told
    path = draft.folder / MEDIA / name
    if path.is_file():
        check_picture(path, f"{MEDIA}/{name}", problems)
    else:
        wrong = f"there is no {MEDIA}/{name}"
        problems.error(at.place("picture"), wrong, "add the picture, or correct the name (capitals count)")


def _agree(name: str, versions: Mapping[str, DraftExhibit], languages: Sequence[str], problems: Problems) -> None:
    """The versions of one exhibit have every language, and the same label, picture and topics."""
    reference = versions.get(languages[0]) if languages else None
    reference = reference or next(iter(versions.values()))
    for language in languages:
        if language not in versions:
            wrong = f"has no version in {language}"
            problems.error(Place(reference.file), wrong, f"add `exhibits/{name}.{language}.md`")
    for version in versions.values():
        if version is reference:
            continue
        if version.located is not None and reference.located is not None:
            for field in ("number", "picture"):
                here, there = version.located.text(field), reference.located.text(field)
                if here and there and here != there:
                    problems.error(
                        version.place(field), f"{here} differs from {there} in {reference.file}", "make them the same"
                    )
        check_agreement(Place(version.file), version.passages, reference.file, reference.passages, problems)


def _known_passages(draft: Draft) -> frozenset[tuple[str, str]]:
    return frozenset((f"{e.name}#{p.topic}", e.language) for e in draft.exhibits for p in e.passages)


def _start_questions(draft: Draft, problems: Problems) -> None:
    at = draft.pack_at
    if at is None:
        return
    known = _known_passages(draft)
    for language in at.keys("start_questions") or ():
        count = at.count("start_questions", language)
        for position in range(count or 0):
            passage = at.text("start_questions", language, position, "passage")
            if "#" in passage and (passage, language) not in known:
                place = at.place("start_questions", language, position, "passage")
                problems.error(place, f"there is no passage {passage} in {language}", "name a passage that exists")
        if count is not None and count < SUGGESTIONS:
            wrong = f"suggests {count} questions, but the screen shows {SUGGESTIONS}"
            problems.error(at.place("start_questions", language), wrong, f"write at least {SUGGESTIONS}")


def _cases(draft: Draft, problems: Problems) -> None:
    at = draft.cases_at
    if at is None:
        if not (draft.folder / QUESTIONS_FILE).exists():
            remedy = "write questions as visitors ask them, with what should answer"
            problems.warn(Place(QUESTIONS_FILE), "is missing", remedy)
        return
    known = _known_passages(draft)
    names = {e.name for e in draft.exhibits}
    for position in range(at.count("cases") or 0):
        language, exhibit, expect = (at.text("cases", position, key) for key in ("language", "exhibit", "expect"))
        if language and draft.languages and language not in draft.languages:
            wrong = f"{language} is not a language of this pack"
            remedy = f"use one of: {', '.join(draft.languages)}"
            problems.error(at.place("cases", position, "language"), wrong, remedy)
        if exhibit and exhibit not in names:
            wrong = f"there is no exhibit {exhibit}"
            problems.error(at.place("cases", position, "exhibit"), wrong, "name one that exists")
        if "#" in expect and language and (expect, language) not in known:
            wrong = f"there is no passage {expect} in {language}"
            problems.error(at.place("cases", position, "expect"), wrong, "name one that exists, or `null`")


def _trial(
    draft: Draft, pack: Pack, build_index: PassageIndexBuilder, open_index: OpenIndex | None, problems: Problems
) -> None:
    """Build the index beside nothing that matters, and ask it."""
    try:
        with tempfile.TemporaryDirectory(prefix="wayside-check-") as place:
            path = Path(place) / "index.sqlite"
            build_index(path, pack.exhibits, pack.passages, pack.agents)
            if open_index is not None:
                _golden(draft, pack, open_index(path), problems)
    except OSError as error:
        raise WaysideError(
            "pack.unwritable",
            f"No trial index can be written to {tempfile.gettempdir()}: {error.strerror or type(error).__name__}.",
            remedy="Free some space there, or name another place with TMPDIR.",
        ) from None


def _golden(draft: Draft, pack: Pack, index: PassageIndex, problems: Problems) -> None:
    """Ask the index each suggested question: its passage must be among those found."""
    files = {(e.name, e.language): e for e in draft.exhibits}
    try:
        for exhibit in pack.exhibits:
            for language, asked in exhibit.questions.items():
                for position, question in enumerate(asked):
                    found = index.search(question.text, language, exhibit.id, FOUND)
                    place = files[exhibit.id, language].place("questions", position, "text")
                    check_answered(question.passage, found, place, problems)
        for language, asked in pack.start_questions.items():
            for position, question in enumerate(asked):
                found = index.search(question.text, language, None, FOUND)
                assert draft.pack_at is not None  # noqa: S101
                place = draft.pack_at.place("start_questions", language, position, "text")
                check_answered(question.passage, found, place, problems)
        ask_agents(draft, pack, index, problems)
    finally:
        index.close()
