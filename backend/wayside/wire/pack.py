"""The files of an exhibit pack: what curators write, and what a build writes for the sidecar and the fallback.

Curators' files keep unknown keys, because `check` reports them as warnings; built files are ours and allow none.
Every value in a curator's file is text: `number: 007` stays 007, `no` stays the word.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

SCHEMA = 1

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Pitch = Annotated[float, Field(ge=-6, le=6)]  # semitones
Pace = Annotated[float, Field(ge=0.7, le=1.4)]
PassageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+#[a-z0-9-]+$")]


_FILE_NAME = TypeAdapter(FileName)


def is_file_name(name: str) -> bool:
    """Whether a name may be looked for in the media folder."""
    try:
        _FILE_NAME.validate_python(name)
    except ValidationError:
        return False
    return True


class _Curated(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


# --- written by curators ----------------------------------------------------------------------------------------


class SourceEntry(_Curated):
    """Who says so, and where."""

    title: Text
    where: str = ""


class StartQuestion(_Curated):
    """A question of the start screen; `passage` is `<exhibit>#<topic>`."""

    text: Text
    passage: PassageName


class ExhibitQuestion(_Curated):
    """A question at one exhibit; `passage` is a topic of the same exhibit."""

    text: Text
    passage: Name


class PackFile(_Curated):
    """`pack.yaml`."""

    id: Name
    title: dict[Language, Text]
    institution: Text
    languages: list[Language] = Field(min_length=1)
    licence: Text
    notice: dict[Language, Text]
    privacy: dict[Language, Text]
    staff_help: dict[Language, Text]
    sources: dict[Name, SourceEntry]
    start_questions: dict[Language, list[StartQuestion]]


class ExhibitHead(_Curated):
    """The front matter of `exhibits/<id>.<language>.md`."""

    id: Name
    number: Text
    language: Language
    title: Text
    subtitle: Text
    picture: FileName
    alt: Text
    aliases: list[Text] = Field(default_factory=list)
    questions: list[ExhibitQuestion] = Field(default_factory=list)


class PassageHead(_Curated):
    """What stands in the braces behind a passage's topic."""

    sources: list[Name] = Field(min_length=1)


class AgentVoice(_Curated):
    """How an agent's voice differs from the kiosk's; numbers as text, like everything in these files."""

    pitch: Pitch = 0.0
    pace: Pace = 1.0


class AgentFile(_Curated):
    """`agents/<id>.yaml`. A character has `wordings` of its own; those it lacks are the pack's."""

    id: Name
    name: dict[Language, Text]
    description: dict[Language, Text]
    picture: FileName
    alt: dict[Language, Text]
    persona: Text
    spellings: dict[Language, list[Text]] = Field(default_factory=dict)
    voice: AgentVoice = Field(default_factory=AgentVoice)
    home: list[Name] = Field(default_factory=list)
    performance: dict[Language, Text] = Field(default_factory=dict)
    wordings: dict[Text, dict[Language, list[Text]]] = Field(default_factory=dict)


class AgentHead(_Curated):
    """The front matter of `agents/<id>.<language>.md`; the first three questions are those a visitor begins with."""

    id: Name
    language: Language
    questions: list[ExhibitQuestion] = Field(default_factory=list)


class AgentPassageHead(_Curated):
    """What stands in the braces behind a topic of a character; what is imagined may have no source."""

    sources: list[Name] = Field(default_factory=list)
    imagined: Literal["yes", "no"] = "no"
    asked_with: list[Text] = Field(default_factory=list)


class WordingsFile(_Curated):
    """`wordings.yaml`: every key is a wording, so every key is known."""

    wordings: dict[Text, dict[Language, list[Text]]]


class QuestionCase(_Curated):
    """One line of `questions.yaml`; no `expect` means that an honest "I don't know" is right."""

    text: Text
    language: Language
    exhibit: Name | None = None
    expect: PassageName | None = None


class QuestionsFile(_Curated):
    """`questions.yaml`."""

    cases: list[QuestionCase]


# --- written by a build -----------------------------------------------------------------------------------------


class _Built(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BuiltQuestion(_Built):
    """A suggested question."""

    text: str
    passage: str


class BuiltExhibit(_Built):
    """An exhibit of `pack.json`."""

    id: str
    number: str
    title: dict[str, str]
    subtitle: dict[str, str]
    picture: str
    alt: dict[str, str]
    aliases: dict[str, list[str]]
    questions: dict[str, list[BuiltQuestion]]


class BuiltPassage(_Built):
    """A passage of `pack.json`; `sources` are ids."""

    id: str
    exhibit: str
    language: str
    topic: str
    text: str
    sources: list[str]
    imagined: bool = False
    asked_with: list[str] = Field(default_factory=list)


class BuiltSource(_Built):
    """A source of `pack.json`."""

    title: str
    where: str


class BuiltAgent(_Built):
    """An agent of `pack.json`; the passages of a character have its id as their exhibit."""

    id: str
    name: dict[str, str]
    spellings: dict[str, list[str]]
    description: dict[str, str]
    persona: str
    pitch: Pitch
    pace: Pace
    wordings: dict[str, dict[str, list[str]]]
    passages: list[BuiltPassage]
    questions: dict[str, list[BuiltQuestion]]
    home: list[str]
    performance: dict[str, str]
    picture: str
    alt: dict[str, str]


class BuiltPack(_Built):
    """`pack.json`. `files` holds the sha256 of every other file of the release by its path."""

    schema_version: int = Field(alias="schema")
    id: str
    release: str
    title: dict[str, str]
    institution: str
    licence: str
    languages: list[str]
    notice: dict[str, str]
    privacy: dict[str, str]
    staff_help: dict[str, str]
    sources: dict[str, BuiltSource]
    wordings: dict[str, dict[str, list[str]]]
    exhibits: list[BuiltExhibit]
    passages: list[BuiltPassage]
    start_questions: dict[str, list[BuiltQuestion]]
    agents: list[BuiltAgent] = Field(default_factory=list, description="empty: the guide alone")
    files: dict[str, str]


class FallbackPassage(_Built):
    """A passage the page can show, and play where speech was recorded."""

    id: str
    text: str
    speech: str | None
    sources: list[str]


class FallbackExhibit(_Built):
    """An exhibit of the fallback."""

    id: str
    number: str
    title: dict[str, str]
    subtitle: dict[str, str]
    picture: str
    alt: dict[str, str]
    passages: dict[str, list[FallbackPassage]]


class FallbackManifest(_Built):
    """`fallback/manifest.json`: approved content shown without any provider."""

    schema_version: int = Field(alias="schema")
    release: str
    languages: list[str]
    title: dict[str, str]
    institution: str
    notice: dict[str, str]
    privacy: dict[str, str]
    staff_help: dict[str, str]
    exhibits: list[FallbackExhibit]
