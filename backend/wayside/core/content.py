"""What curators approved, as the conversation sees it: exhibits, passages, sources, wordings and who says them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

GUIDE = "guide"  # id of the agent who answers when nobody else is asked


@dataclass(frozen=True, slots=True)
class Source:
    """Who says so, and where."""

    id: str
    title: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """One approved stretch of text in one language, the smallest thing that may be spoken as a fact.

    `imagined` marks words of a character that no source stands behind; they are shown as such. `asked_with` are words
    that visitors use for it and the text does not.
    """

    id: str  # "<exhibit or agent>#<topic>"; the same in every language
    exhibit: str
    language: str
    topic: str
    text: str
    sources: tuple[Source, ...]
    imagined: bool = False
    asked_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuggestedQuestion:
    """A question the screen offers; `passage` is the id of the passage that answers it."""

    text: str
    passage: str


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One object on show. Mappings are keyed by BCP-47 language."""

    id: str
    number: str  # on the label
    title: Mapping[str, str]
    subtitle: Mapping[str, str]  # culture and date, one line
    picture: str  # file name inside the pack's media folder
    alt: Mapping[str, str]
    questions: Mapping[str, tuple[SuggestedQuestion, ...]]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VoiceStyle:
    """How a voice speaks: higher or lower by semitones, and `pace` times as fast as its own."""

    pitch_semitones: float = 0.0  # -6..+6
    pace: float = 1.0  # 0.7..1.4

    def __post_init__(self) -> None:
        if not (-6.0 <= self.pitch_semitones <= 6.0 and 0.7 <= self.pace <= 1.4):
            raise ValueError("a voice style is out of its range")


@dataclass(frozen=True, slots=True)
class Agent:
    """Somebody to talk with. The guide speaks of the exhibits; a character speaks its own `passages` and no others.

    Mappings are keyed by BCP-47 language. `spellings` are further names that address it, also misheard ones.
    `wordings` stand before the pack's. `home` are exhibits that it speaks of as its own. `performance` says on the
    screen that a passage is imagined. `picture` is a file name inside the pack's media folder, or empty.
    """

    id: str = GUIDE
    name: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    description: Mapping[str, str] = field(default_factory=dict)
    persona: str = ""
    voice: VoiceStyle = field(default_factory=VoiceStyle)
    wordings: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    passages: tuple[Passage, ...] = ()
    questions: Mapping[str, tuple[SuggestedQuestion, ...]] = field(
        default_factory=dict
    )  # the first three to begin with
    home: tuple[str, ...] = ()
    performance: Mapping[str, str] = field(default_factory=dict)
    picture: str = ""
    alt: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pack:
    """A whole exhibit pack, read and checked.

    `wordings[key][language]` is a tuple of approved variants. Keys every pack must have: `greeting`, `unknown`,
    `who_are_you`, `help`, `thanks`, `goodbye`, `small_talk`, `joke`, `abuse`, `repeat_nothing`, `slower`, `more`,
    `no_more`, `welcome_back`, `too_long`, `price`, `danger` (sensitive), `still_there`. `notice[language]` is the
    one-line notice. The first of `agents` is the guide; `passages` are the guide's.
    """

    id: str
    release: str
    title: Mapping[str, str]
    institution: str
    languages: tuple[str, ...]
    notice: Mapping[str, str]
    privacy: Mapping[str, str]
    staff_help: Mapping[str, str]
    wordings: Mapping[str, Mapping[str, tuple[str, ...]]]
    exhibits: tuple[Exhibit, ...]
    passages: tuple[Passage, ...]
    start_questions: Mapping[str, tuple[SuggestedQuestion, ...]]
    agents: tuple[Agent, ...] = (Agent(),)

    def agent(self, name: str) -> Agent:
        """The agent of this id; the guide when there is none."""
        return next((agent for agent in self.agents if agent.id == name), self.agents[0])

    def vocabulary(self, language: str, first: str | None = None) -> tuple[str, ...]:
        """Titles and names for prompting a recogniser, that of the exhibit `first` in front.

        Aliases stay out: they hold misheard spellings, which a recogniser would learn to write.
        """
        ordered = sorted(self.exhibits, key=lambda exhibit: exhibit.id != first)
        titles = (exhibit.title[language] for exhibit in ordered)
        return (*titles, *(agent.name[language] for agent in self.agents[1:] if language in agent.name))
