"""Reads `agents/`: `<id>.yaml` says who somebody is, `<id>.<language>.md` what a character says.

The guide has no texts of its own: it speaks the exhibits' passages. A pack without the folder has the guide alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wayside.core.content import GUIDE, Agent, Passage, Source, SuggestedQuestion, VoiceStyle
from wayside.releases.exhibit_file import DraftCharacter, DraftPassage, read_character
from wayside.releases.files import text_of, yaml_of
from wayside.releases.located import Located, validate
from wayside.releases.problems import Place, Problems
from wayside.wire.pack import AgentFile

AGENTS = "agents"


@dataclass(frozen=True, slots=True)
class DraftAgent:
    """One agent as far as its files could be read; `head` is None where its own file is wrong."""

    file: str
    name: str  # of the file
    head: AgentFile | None
    located: Located | None
    texts: tuple[DraftCharacter, ...]

    @property
    def is_guide(self) -> bool:
        """Whether this is the guide's file."""
        return self.name == GUIDE


def read_agents(folder: Path, problems: Problems) -> tuple[DraftAgent, ...]:
    """Every agent, the guide first and the others by their file names."""
    place = folder / AGENTS
    if not place.is_dir():
        return ()
    heads = sorted((path.stem for path in place.glob("*.yaml")), key=lambda name: (name != GUIDE, name))
    texts: dict[str, list[DraftCharacter]] = {name: [] for name in heads}
    for path in sorted(place.iterdir()):
        file = f"{AGENTS}/{path.name}"
        if path.suffix == ".md":
            written = text_of(folder, file, problems)
            draft = read_character(written, file, problems) if written is not None else None
            if draft is not None and draft.name in texts:
                texts[draft.name].append(draft)
            elif draft is not None:
                wrong = f"there is no agent {draft.name or path.stem}"
                problems.error(Place(file), wrong, f"add `{AGENTS}/{draft.name or path.stem}.yaml`, or rename the file")
        elif path.suffix != ".yaml" and not path.name.startswith("."):
            problems.warn(Place(file), "is no file of an agent", "keep `<id>.yaml` and `<id>.<language>.md` here")
    if not heads:
        problems.warn(Place(f"{AGENTS}/"), "has no agents", "add `<id>.yaml`, or remove the folder")
    return tuple(_agent(folder, name, tuple(texts[name]), problems) for name in heads)


def agents_of(drafts: tuple[DraftAgent, ...], sources: Mapping[str, Source]) -> tuple[Agent, ...]:
    """The agents of a draft without errors; the guide is always there, and first."""
    agents = tuple(_made(draft.head, draft.texts, sources) for draft in drafts if draft.head is not None)
    return agents if agents and agents[0].id == GUIDE else (Agent(), *agents)


def _agent(folder: Path, name: str, texts: tuple[DraftCharacter, ...], problems: Problems) -> DraftAgent:
    file = f"{AGENTS}/{name}.yaml"
    located = yaml_of(folder, file, problems)
    head = validate(AgentFile, located, problems) if located is not None else None
    return DraftAgent(file, name, head, located, texts)


def _made(head: AgentFile, texts: tuple[DraftCharacter, ...], sources: Mapping[str, Source]) -> Agent:
    return Agent(
        id=head.id,
        name=dict(head.name),
        spellings={language: tuple(names) for language, names in head.spellings.items()},
        description=dict(head.description),
        persona=head.persona,
        voice=VoiceStyle(head.voice.pitch, head.voice.pace),
        wordings={key: {lang: tuple(v) for lang, v in wording.items()} for key, wording in head.wordings.items()},
        passages=tuple(_passage(head.id, t.language, p, sources) for t in texts for p in t.passages),
        questions={
            text.language: tuple(SuggestedQuestion(q.text, f"{head.id}#{q.passage}") for q in text.head.questions)
            for text in texts
            if text.head is not None
        },
        home=tuple(head.home),
        performance=dict(head.performance),
        picture=head.picture,
        alt=dict(head.alt),
    )


def _passage(agent: str, language: str, draft: DraftPassage, sources: Mapping[str, Source]) -> Passage:
    known = tuple(sources[name] for name in draft.sources if name in sources)
    name = f"{agent}#{draft.topic}"
    return Passage(name, agent, language, draft.topic, draft.text, known, draft.imagined, draft.asked_with)
