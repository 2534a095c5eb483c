"""What curators approved, as the conversation sees it: exhibits, passages, sources and fixed wordings."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """Who says so, and where."""

    id: str
    title: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """One approved stretch of text in one language, the smallest thing that may be spoken as a fact."""

    id: str  # "<exhibit>#<topic>"; the same in every language
    exhibit: str
    language: str
    topic: str
    text: str
    sources: tuple[Source, ...]


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
class Pack:
    """A whole exhibit pack, read and checked.

    `wordings[key][language]` is a tuple of approved variants. Keys every pack must have: `greeting`, `unknown`,
    `who_are_you`, `help`, `thanks`, `goodbye`, `small_talk`, `joke`, `abuse`, `repeat_nothing`, `slower`, `more`,
    `no_more`, `welcome_back`, `too_long`, `price`, `danger` (sensitive), `still_there`. `notice[language]` is the
    one-line notice.
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

    def vocabulary(self, language: str, first: str | None = None) -> tuple[str, ...]:
        """Titles for prompting a recogniser, that of the exhibit `first` in front.

        Aliases stay out: they hold misheard spellings, which a recogniser would learn to write.
        """
        ordered = sorted(self.exhibits, key=lambda exhibit: exhibit.id != first)
        return tuple(exhibit.title[language] for exhibit in ordered)
