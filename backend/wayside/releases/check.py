"""Checks a pack as a whole: files against each other, words against what can be spoken, questions against the index."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wayside.core.content import Pack
from wayside.core.sentences import cut
from wayside.ports.passages import PassageIndex, PassageIndexBuilder
from wayside.releases.drawings import check_picture
from wayside.releases.exhibit_file import DraftExhibit, DraftPassage
from wayside.releases.problems import PackProblem, Place, Problems, format_problems
from wayside.releases.read import MEDIA, QUESTIONS_FILE, WORDINGS_FILE, Draft, read_draft, to_pack
from wayside.wire.pack import QuestionCase

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
SUGGESTIONS = 3  # always on the screen
CHARS_PER_SECOND = 15.0  # unhurried speech, English and Spanish
LONG_ANSWER_S = 25.0  # a first answer takes 15–25 s
TOO_LONG_ANSWER_S = 40.0
FIRST_SENTENCE_CHARS = 90  # the voice starts as soon as the first sentence is made
NOTICE_CHARS = 200
FOUND = 24  # passages among which a suggested question's own must be

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
    """Read and check a pack's folder. With `open_index` the suggested questions are asked of a trial index as well."""
    problems = Problems()
    draft = read_draft(folder, problems)
    _pack_file(draft, problems)
    _wordings(draft, problems)
    _exhibits(draft, problems)
    _start_questions(draft, problems)
    _cases(draft, problems)
    pack = to_pack(draft) if not problems.errors else None
    if pack is not None:
        with tempfile.TemporaryDirectory(prefix="wayside-check-") as place:
            path = Path(place) / "index.sqlite"
            build_index(path, pack.exhibits, pack.passages)
            if open_index is not None:
                _golden(draft, pack, open_index(path), problems)
    if problems.errors:
        pack = None
    licence = draft.pack.licence if draft.pack else ""
    return Report(problems.errors, problems.warnings, pack, draft.cases, licence)


def _pack_file(draft: Draft, problems: Problems) -> None:
    at, pack = draft.pack_at, draft.pack
    if at is None or pack is None:
        return
    for number, language in enumerate(pack.languages):
        if language in pack.languages[:number]:
            problems.error(at.place("languages", number), f"names {language} twice", "name each language once")
    texts: Mapping[str, Iterable[str]] = {
        "title": pack.title,
        "notice": pack.notice,
        "privacy": pack.privacy,
        "staff_help": pack.staff_help,
        "start_questions": pack.start_questions,
    }
    for name, given in texts.items():
        _languages(given, draft.languages, at.place(name), lambda extra, name=name: at.place(name, extra), problems)  # type: ignore[misc]
    for language, notice in pack.notice.items():
        if "\n" in notice.strip():
            problems.error(
                at.place("notice", language), "has more than one line", "say it in one; details go into `privacy`"
            )
        elif len(notice) > NOTICE_CHARS:
            wrong = f"is too long for one line ({len(notice)} characters)"
            problems.error(
                at.place("notice", language), wrong, f"use at most {NOTICE_CHARS}; details go into `privacy`"
            )


def _languages(
    given: Iterable[str], wanted: Sequence[str], place: Place, extra: Callable[[str], Place], problems: Problems
) -> None:
    found = list(given)
    for language in wanted:
        if language not in found:
            problems.error(place, f"has no {language}", f"add `{language}: …`, or take {language} out of `languages`")
    for language in found:
        if wanted and language not in wanted:
            problems.warn(
                extra(language), f"{language} is not a language of this pack", "add it to `languages`, or remove it"
            )


def _wordings(draft: Draft, problems: Problems) -> None:
    at = draft.wordings_at
    if at is None or (not draft.wordings and problems.errors):
        return
    for key in REQUIRED_WORDINGS:
        if key not in draft.wordings:
            example = ", ".join(f"`{language}: […]`" for language in draft.languages)
            problems.error(Place(WORDINGS_FILE, 0, key), "is missing", f"add `{key}:` with {example}")
    for key, wording in draft.wordings.items():
        place = at.place("wordings", key)
        _languages(wording, draft.languages, place, lambda extra, key=key: at.place("wordings", key, extra), problems)  # type: ignore[misc]
        for language, variants in wording.items():
            if not variants:
                problems.error(at.place("wordings", key, language), "has no variant", "write at least one `- …`")
            elif key == "unknown" and len(variants) < 2:
                place = at.place("wordings", key, language)
                problems.warn(place, "has one variant, so it will be said twice in a row", "write two or three")


def _exhibits(draft: Draft, problems: Problems) -> None:
    versions: dict[str, dict[str, DraftExhibit]] = defaultdict(dict)
    numbers: dict[str, str] = {}
    aliases: dict[tuple[str, str], str] = {}
    for exhibit in draft.exhibits:
        versions[exhibit.name][exhibit.language] = exhibit
        head = exhibit.head
        if head is not None:
            _identity(exhibit, draft, problems)
            owner = numbers.setdefault(head.number, exhibit.name)
            if owner != exhibit.name:
                wrong = f"number {head.number} is already that of {owner}"
                problems.error(exhibit.place("number"), wrong, "give each exhibit its own label number")
            for position, alias in enumerate(head.aliases):
                owner = aliases.setdefault((exhibit.language, alias.casefold()), exhibit.name)
                if owner != exhibit.name:
                    wrong = f"{alias!r} is also an alias of {owner}"
                    problems.warn(exhibit.place("aliases", position), wrong, "keep it where visitors mean it")
            _picture(exhibit, draft, problems)
            _questions(exhibit, problems)
        _passages(exhibit, draft, problems)
    for name, by_language in versions.items():
        _agree(name, by_language, draft.languages, problems)


def _identity(exhibit: DraftExhibit, draft: Draft, problems: Problems) -> None:
    head = exhibit.head
    assert head is not None  # noqa: S101
    if head.id != exhibit.name:
        wrong = f"{head.id} does not match the file name"
        other = next(
            (e for e in draft.exhibits if e.file != exhibit.file and e.name == head.id and e.language == head.language),
            None,
        )
        if other is not None:
            wrong = f"{head.id} in {head.language} is there twice; the other is {other.file}"
        problems.error(exhibit.place("id"), wrong, f"write `id: {exhibit.name}`, or rename the file")
    if head.language != exhibit.language:
        wrong = f"{head.language} does not match the file name"
        problems.error(exhibit.place("language"), wrong, f"write `language: {exhibit.language}`, or rename the file")
    if draft.languages and exhibit.language not in draft.languages:
        wrong = f"{exhibit.language} is not a language of this pack"
        problems.error(exhibit.place("language"), wrong, "add it to `languages` in pack.yaml, or remove this file")


def _picture(exhibit: DraftExhibit, draft: Draft, problems: Problems) -> None:
    assert exhibit.head is not None  # noqa: S101
    path = draft.folder / MEDIA / exhibit.head.picture
    if path.is_file():
        check_picture(path, f"{MEDIA}/{exhibit.head.picture}", problems)
    else:
        wrong = f"there is no {MEDIA}/{exhibit.head.picture}"
        problems.error(exhibit.place("picture"), wrong, "add the picture, or correct the name (capitals count)")


def _questions(exhibit: DraftExhibit, problems: Problems) -> None:
    assert exhibit.head is not None  # noqa: S101
    topics = [p.topic for p in exhibit.passages]
    asked: set[str] = set()
    for position, question in enumerate(exhibit.head.questions):
        if question.passage not in topics:
            wrong = f"there is no passage {question.passage} in this file"
            problems.error(exhibit.place("questions", position, "passage"), wrong, f"use one of: {', '.join(topics)}")
        if question.text.casefold() in asked:
            problems.error(exhibit.place("questions", position, "text"), "is asked twice", "keep one of the two")
        asked.add(question.text.casefold())
    if len(exhibit.head.questions) < SUGGESTIONS:
        wrong = f"suggests {len(exhibit.head.questions)} questions, but the screen shows {SUGGESTIONS}"
        problems.error(exhibit.place("questions"), wrong, f"write at least {SUGGESTIONS}, each with its passage")


def _passages(exhibit: DraftExhibit, draft: Draft, problems: Problems) -> None:
    first: dict[str, DraftPassage] = {}
    for passage in exhibit.passages:
        before = first.setdefault(passage.topic, passage)
        if before is not passage:
            wrong = f"the topic {passage.topic} is there twice"
            problems.error(passage.at, wrong, f"join it with the one at line {before.at.line}, or name it differently")
        for source in passage.sources:
            if draft.sources is not None and source not in draft.sources:
                problems.error(passage.at, f"the source {source} is not declared", "add it to `sources` in pack.yaml")
        seconds = len(passage.text) / CHARS_PER_SECOND
        if seconds > TOO_LONG_ANSWER_S:
            wrong = f"takes about {seconds:.0f} s to say"
            problems.error(passage.text_at, wrong, f"cut it into passages of at most {LONG_ANSWER_S:.0f} s")
        elif seconds > LONG_ANSWER_S:
            wrong = f"takes about {seconds:.0f} s to say"
            problems.warn(
                passage.text_at,
                wrong,
                f"visitors listen for {LONG_ANSWER_S:.0f} s; move the rest to a topic of its own",
            )
        sentences, _ = cut(passage.text, final=True)
        if sentences and len(sentences[0].strip()) > FIRST_SENTENCE_CHARS:
            wrong = f"its first sentence is long ({len(sentences[0].strip())} characters), so the voice starts late"
            problems.warn(passage.text_at, wrong, f"answer in at most {FIRST_SENTENCE_CHARS} characters, then go on")


def _agree(name: str, versions: Mapping[str, DraftExhibit], languages: Sequence[str], problems: Problems) -> None:
    """The versions of one exhibit have every language, and the same label, picture and topics."""
    reference = versions.get(languages[0]) if languages else None
    reference = reference or next(iter(versions.values()))
    for language in languages:
        if language not in versions:
            wrong = f"has no version in {language}"
            problems.error(Place(reference.file), wrong, f"add `exhibits/{name}.{language}.md`")
    topics = [p.topic for p in reference.passages]
    for version in versions.values():
        if version is reference:
            continue
        if version.head is not None and reference.head is not None:
            for field in ("number", "picture"):
                here, there = getattr(version.head, field), getattr(reference.head, field)
                if here != there:
                    problems.error(
                        version.place(field), f"{here} differs from {there} in {reference.file}", "make them the same"
                    )
        own = [p.topic for p in version.passages]
        for topic in topics:
            if topic not in own:
                wrong = f"has no passage {topic}, which {reference.file} has"
                problems.error(Place(version.file, 0, topic), wrong, "translate it, or remove it there")
        for passage in version.passages:
            if passage.topic not in topics:
                wrong = f"the passage {passage.topic} is missing in {reference.file}"
                problems.error(passage.at, wrong, "translate it there, or remove it here")


def _known_passages(draft: Draft) -> frozenset[tuple[str, str]]:
    return frozenset((f"{e.name}#{p.topic}", e.language) for e in draft.exhibits for p in e.passages)


def _start_questions(draft: Draft, problems: Problems) -> None:
    if draft.pack is None or draft.pack_at is None:
        return
    known = _known_passages(draft)
    for language, asked in draft.pack.start_questions.items():
        for position, question in enumerate(asked):
            if (question.passage, language) not in known:
                place = draft.pack_at.place("start_questions", language, position, "passage")
                problems.error(
                    place, f"there is no passage {question.passage} in {language}", "name a passage that exists"
                )
        if len(asked) < SUGGESTIONS:
            wrong = f"suggests {len(asked)} questions, but the screen shows {SUGGESTIONS}"
            problems.error(draft.pack_at.place("start_questions", language), wrong, f"write at least {SUGGESTIONS}")


def _cases(draft: Draft, problems: Problems) -> None:
    at = draft.cases_at
    if at is None:
        problems.warn(
            Place(QUESTIONS_FILE), "is missing", "write questions as visitors ask them, with what should answer"
        )
        return
    known = _known_passages(draft)
    names = {e.name for e in draft.exhibits}
    for position, case in enumerate(draft.cases):
        if draft.languages and case.language not in draft.languages:
            place = at.place("cases", position, "language")
            problems.error(
                place, f"{case.language} is not a language of this pack", f"use one of: {', '.join(draft.languages)}"
            )
        if case.exhibit is not None and case.exhibit not in names:
            problems.error(
                at.place("cases", position, "exhibit"), f"there is no exhibit {case.exhibit}", "name one that exists"
            )
        if case.expect is not None and (case.expect, case.language) not in known:
            place = at.place("cases", position, "expect")
            problems.error(
                place, f"there is no passage {case.expect} in {case.language}", "name one that exists, or `null`"
            )


def _golden(draft: Draft, pack: Pack, index: PassageIndex, problems: Problems) -> None:
    """Ask the index each suggested question: its passage must be among those found."""
    files = {(e.name, e.language): e for e in draft.exhibits}
    try:
        for exhibit in pack.exhibits:
            for language, asked in exhibit.questions.items():
                for position, question in enumerate(asked):
                    found = [hit.passage.id for hit in index.search(question.text, language, exhibit.id, FOUND)]
                    place = files[exhibit.id, language].place("questions", position, "text")
                    _answered(question.passage, found, place, problems)
        for language, asked in pack.start_questions.items():
            for position, question in enumerate(asked):
                found = [hit.passage.id for hit in index.search(question.text, language, None, FOUND)]
                assert draft.pack_at is not None  # noqa: S101
                _answered(
                    question.passage,
                    found,
                    draft.pack_at.place("start_questions", language, position, "text"),
                    problems,
                )
    finally:
        index.close()


def _answered(passage: str, found: Sequence[str], place: Place, problems: Problems) -> None:
    # A question without content words ("How old is it?") is found by its topic, not by the index.
    if found and passage not in found:
        problems.error(place, f"is not answered by {passage}", f"use words of that passage, or point it to {found[0]}")
