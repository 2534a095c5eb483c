"""Checks `agents/`: that everybody in it can be named, seen and heard, and that a character has enough to say."""

from collections.abc import Mapping, Sequence

from wayside.core.content import Pack
from wayside.core.questions import fold
from wayside.ports.passages import PassageIndex
from wayside.releases.agent_file import AGENTS, DraftAgent
from wayside.releases.check_texts import (
    FOUND,
    check_agreement,
    check_answered,
    check_languages,
    check_passages,
    check_questions,
)
from wayside.releases.drawings import check_picture
from wayside.releases.exhibit_file import DraftCharacter
from wayside.releases.located import Located
from wayside.releases.problems import Place, Problems
from wayside.releases.read import MEDIA, Draft
from wayside.wire.pack import is_file_name

OWN_WORDINGS = ("greeting", "who_are_you", "unknown", "help", "thanks", "goodbye")  # a character says these itself


def check_agents(draft: Draft, wordings: Sequence[str], problems: Problems) -> None:
    """Tell what is wrong with each agent. `wordings` are the keys that Wayside says."""
    exhibits = frozenset(exhibit.name for exhibit in draft.exhibits)
    names: dict[tuple[str, str], str] = {}
    for agent in draft.agents:
        at = agent.located
        if at is not None:
            _identity(agent, at, exhibits, problems)
            _seen(agent, at, draft, problems)
            _wordings(agent, at, wordings, draft.languages, problems)
            _names(agent, at, names, problems)
            for position in range(at.count("home") or 0):
                home = at.text("home", position)
                if home and home not in exhibits:
                    problems.error(at.place("home", position), f"there is no exhibit {home}", "name one that exists")
        if agent.is_guide:
            for text in agent.texts:
                problems.error(Place(text.file), "is not spoken", "the guide speaks the passages of `exhibits/`")
        else:
            _texts(agent, draft, problems)


def ask_agents(draft: Draft, pack: Pack, index: PassageIndex, problems: Problems) -> None:
    """Ask the index each question of each character: its passage must be among those found."""
    files = {(text.name, text.language): text for agent in draft.agents for text in agent.texts}
    for agent in pack.agents:
        for language, asked in agent.questions.items():
            for position, question in enumerate(asked):
                hits = index.search(question.text, language, None, FOUND, agent=agent.id)
                place = files[agent.id, language].place("questions", position, "text")
                check_answered(question.passage, hits, place, problems)


def _identity(agent: DraftAgent, at: Located, exhibits: frozenset[str], problems: Problems) -> None:
    name = at.text("id")
    if name and name != agent.name:
        wrong = f"{name} does not match the file name"
        problems.error(at.place("id"), wrong, f"write `id: {agent.name}`, or rename the file")
    if agent.name in exhibits:
        problems.error(at.place("id"), f"{agent.name} is an exhibit", "give the agent another id; passages carry it")


def _seen(agent: DraftAgent, at: Located, draft: Draft, problems: Problems) -> None:
    for name in ("name", "description", "alt"):
        check_languages(at, (name,), draft.languages, problems)
    if any(passage.imagined for text in agent.texts for passage in text.passages):
        if at.keys("performance") is None:
            wrong = "is missing, though some passages are imagined"
            problems.error(at.place("performance"), wrong, "write what the screen says of them, in each language")
        else:
            check_languages(at, ("performance",), draft.languages, problems)
    picture = at.text("picture")
    path = draft.folder / MEDIA / picture
    if not is_file_name(picture):
        return  # reading has told
    if path.is_file():
        check_picture(path, f"{MEDIA}/{picture}", problems)
    else:
        wrong = f"there is no {MEDIA}/{picture}"
        problems.error(at.place("picture"), wrong, "add the picture, or correct the name (capitals count)")


def _wordings(
    agent: DraftAgent, at: Located, known: Sequence[str], languages: Sequence[str], problems: Problems
) -> None:
    found = at.keys("wordings") or ()
    for key in OWN_WORDINGS:
        if key not in found and not agent.is_guide:
            wrong = "is missing: a character says this in its own words"
            problems.error(at.place("wordings", key), wrong, f"add `{key}:` with a list for each language")
    for key in found:
        if key not in known:
            remedy = f"use one of: {', '.join(known)}"
            problems.warn(at.place("wordings", key), "is not a wording Wayside says", remedy)
        check_languages(at, ("wordings", key), languages, problems)
        for language in at.keys("wordings", key) or ():
            if at.count("wordings", key, language) == 0:
                problems.error(at.place("wordings", key, language), "has no variant", "write at least one `- …`")


def _names(agent: DraftAgent, at: Located, taken: dict[tuple[str, str], str], problems: Problems) -> None:
    """No two agents answer to one name."""
    called: list[tuple[str, tuple[str | int, ...]]] = [(lang, ("name", lang)) for lang in at.keys("name") or ()]
    for language in at.keys("spellings") or ():
        spellings = range(at.count("spellings", language) or 0)
        called += [(language, ("spellings", language, number)) for number in spellings]
    for language, path in called:
        name = at.text(*path)
        owner = taken.setdefault((language, fold(name)), agent.name)
        if name and owner != agent.name:
            problems.error(
                at.place(*path), f"{name!r} is already a name of {owner}", "give each agent names of its own"
            )


def _texts(agent: DraftAgent, draft: Draft, problems: Problems) -> None:
    versions = {text.language: text for text in agent.texts}
    for language in draft.languages:
        if language not in versions:
            wrong = f"says nothing in {language}"
            problems.error(Place(agent.file), wrong, f"add `{AGENTS}/{agent.name}.{language}.md`")
    reference = _reference(versions, draft.languages)
    for text in agent.texts:
        at = text.located
        if at is not None:
            _text_identity(text, at, draft.languages, problems)
            check_questions(at, text.passages, problems)
        check_passages(text.passages, draft.sources, problems)
        if reference is not None and text is not reference:
            check_agreement(Place(text.file), text.passages, reference.file, reference.passages, problems)


def _reference(versions: Mapping[str, DraftCharacter], languages: Sequence[str]) -> DraftCharacter | None:
    found = versions.get(languages[0]) if languages else None
    return found or next(iter(versions.values()), None)


def _text_identity(text: DraftCharacter, at: Located, languages: Sequence[str], problems: Problems) -> None:
    name, language = at.text("id"), at.text("language")
    if name and name != text.name:
        wrong = f"{name} does not match the file name"
        problems.error(at.place("id"), wrong, f"write `id: {text.name}`, or rename the file")
    if language and language != text.language:
        wrong = f"{language} does not match the file name"
        problems.error(at.place("language"), wrong, f"write `language: {text.language}`, or rename the file")
    if languages and text.language not in languages:
        wrong = f"{text.language} is not a language of this pack"
        problems.error(at.place("language"), wrong, "add it to `languages` in pack.yaml, or remove this file")
