"""What the visit shows, as plain events; the server turns them into frames of the same names and fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wayside.core.status import Status as StatusView

CaptionState = Literal["speaking", "held", "finished", "interrupted", "failed"]


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source as shown."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ChoiceView:
    """What can be touched: a question, or to go on with an answer that a restart broke off."""

    id: str
    text: str
    kind: Literal["question", "continue"] = "question"


@dataclass(frozen=True, slots=True)
class AgentView:
    """Somebody who can be asked. Mappings are by language; `picture` is a path as in the fallback's manifest."""

    id: str
    name: Mapping[str, str]
    description: Mapping[str, str]
    picture: str


@dataclass(frozen=True, slots=True)
class Status:
    """The status changed."""

    status: StatusView


@dataclass(frozen=True, slots=True)
class TranscriptFrame:
    """The visitor's words; a final with empty text removes the line."""

    turn_id: str
    text: str
    final: bool


@dataclass(frozen=True, slots=True)
class ProgressFrame:
    """Truthful progress."""

    stage: str
    current: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class UtteranceFrame:
    """An utterance whose first sample was rendered, or which may be shown in silent mode."""

    generation: int
    utterance_id: int
    text: str
    spans: tuple[tuple[int, int], ...]
    agent: str = "guide"


@dataclass(frozen=True, slots=True)
class Caption:
    """So many characters have been delivered."""

    generation: int
    utterance_id: int
    rendered_chars: int
    state: CaptionState


@dataclass(frozen=True, slots=True)
class Level:
    """RMS of what is rendered, 0..1."""

    generation: int
    level: float


@dataclass(frozen=True, slots=True)
class Clear:
    """This generation and older are void."""

    generation: int


@dataclass(frozen=True, slots=True)
class Sources:
    """Evidence behind a reply."""

    generation: int
    sources: tuple[SourceView, ...]


@dataclass(frozen=True, slots=True)
class ExhibitShown:
    """The exhibit on screen."""

    exhibit: str | None


@dataclass(frozen=True, slots=True)
class Choices:
    """Questions on offer."""

    choices: tuple[ChoiceView, ...]


@dataclass(frozen=True, slots=True)
class SettingsFrame:
    """Language, mode, silence, volume."""

    language: str
    mode: Literal["button", "automatic"]
    silent: bool
    volume: float


@dataclass(frozen=True, slots=True)
class Notice:
    """A code the page words."""

    code: str
    severity: Literal["info", "warning"] = "info"


@dataclass(frozen=True, slots=True)
class Countdown:
    """Reset comes in so many seconds; None withdraws it."""

    ends_in_s: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the shared transcript."""

    role: Literal["visitor", "guide"]
    key: str
    text: str
    state: Literal["pending", "speaking", "held", "finished", "interrupted", "failed"]
    sources: tuple[SourceView, ...] = ()
    agent: str = "guide"


@dataclass(frozen=True, slots=True)
class Focus:
    """Another agent is asked from now on."""

    agent: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything the page shows."""

    phase: Literal["attract", "visit"]
    language: str
    mode: Literal["button", "automatic"]
    silent: bool
    volume: float
    exhibit: str | None = None
    choices: tuple[ChoiceView, ...] = ()
    lines: tuple[Line, ...] = ()
    status: StatusView = field(default_factory=StatusView)
    countdown_s: float | None = None
    agents: tuple[AgentView, ...] = ()
    agent: str = "guide"


ScreenEvent = (
    Status
    | TranscriptFrame
    | ProgressFrame
    | UtteranceFrame
    | Caption
    | Level
    | Clear
    | Sources
    | ExhibitShown
    | Choices
    | SettingsFrame
    | Notice
    | Countdown
    | Focus
)
