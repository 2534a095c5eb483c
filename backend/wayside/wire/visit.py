"""The visit WebSocket `/v1/visit`: every frame in both directions, discriminated by `type`.

JSON text frames of at most 16 KiB from the page. Unknown, malformed or oversize frames are answered with `error`,
never ignored. Server frames carry `seq`; a reconnect receives a full `snapshot` and never old audio.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

MAX_FRAME_BYTES = 16 * 1024
MAX_TEXT = 500


class _Frame(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# --- page → sidecar ---------------------------------------------------------------------------------------------


class Hello(_Frame):
    """First frame of every connection. `token` is the boot token; `visit_token` resumes a visit after a reconnect."""

    type: Literal["hello"]
    token: str = Field(max_length=200)
    build: str = Field(default="", max_length=100)
    visit_token: str | None = Field(default=None, max_length=200)
    languages: list[str] = Field(default_factory=list, max_length=20)


class _Command(_Frame):
    id: str = Field(min_length=1, max_length=64, description="repeats get the first outcome")


class Start(_Command):
    """The first touch: begins a visit."""

    type: Literal["start"]
    language: str = Field(max_length=20)


class SetLanguage(_Command):
    """One tap, on every screen; the conversation keeps its place."""

    type: Literal["language"]
    language: str = Field(max_length=20)


class TalkDown(_Command):
    """The talk button is pressed."""

    type: Literal["talk_down"]


class TalkUp(_Command):
    """The talk button is released. A release within 400 ms of the press latches: the next press or silence ends it."""

    type: Literal["talk_up"]


class Listen(_Command):
    """Choose between the button and automatic turns."""

    type: Literal["listen"]
    mode: Literal["button", "automatic"]


class Say(_Command):
    """Typed text."""

    type: Literal["say"]
    text: str = Field(min_length=1, max_length=MAX_TEXT)


class Choose(_Command):
    """A touched choice (a suggested question)."""

    type: Literal["choose"]
    choice_id: str = Field(max_length=100)


class ExhibitFrame(_Command):
    """Look at one exhibit (None: the whole gallery)."""

    type: Literal["exhibit"]
    exhibit: str | None = Field(max_length=100)


class Address(_Command):
    """Ask this agent from now on."""

    type: Literal["address"]
    agent: str = Field(max_length=64)


class Stop(_Command):
    """The stop control: stops everything, always."""

    type: Literal["stop"]


class Setting(_Command):
    """A visitor's own settings; back to default at reset."""

    type: Literal["setting"]
    name: Literal["volume", "silent"]
    value: float = Field(ge=-20, le=12, description="volume: dB, −20..+12; silent: 0 or 1 (replies are read)")


class Activity(_Frame):
    """A touch anywhere renews the inactivity timer. Sent at most once a second."""

    type: Literal["activity"]


class Shown(_Frame):
    """In silent mode: so many characters of an utterance have been shown for long enough to read."""

    type: Literal["shown"]
    generation: int = Field(ge=0)
    utterance_id: int = Field(ge=0)
    chars: int = Field(ge=0, le=8000)


class Extend(_Command):
    """Answers the countdown: still here."""

    type: Literal["extend"]


class End(_Command):
    """The visitor is done."""

    type: Literal["end"]


class Heartbeat(_Frame):
    """Work done by the page: frames painted while visible."""

    type: Literal["heartbeat"]
    frames: int = Field(ge=0)
    tick: int = Field(ge=0)


ClientFrame = Annotated[
    Hello
    | Start
    | SetLanguage
    | TalkDown
    | TalkUp
    | Listen
    | Say
    | Choose
    | ExhibitFrame
    | Address
    | Stop
    | Setting
    | Activity
    | Shown
    | Extend
    | End
    | Heartbeat,
    Field(discriminator="type"),
]
client_frames: TypeAdapter[ClientFrame] = TypeAdapter(ClientFrame)

# --- sidecar → page ---------------------------------------------------------------------------------------------


class _ServerFrame(_Frame):
    seq: int = 0


class SourceView(_Frame):
    """A source as shown."""

    id: str
    title: str


class ChoiceView(_Frame):
    """What can be touched: a question, or to go on with an answer that a restart broke off."""

    id: str
    text: str
    kind: Literal["question", "continue"] = "question"


class AgentView(_Frame):
    """Somebody who can be asked. `name` and `description` are by language; `picture` is a path as in the manifest."""

    id: str
    name: dict[str, str]
    description: dict[str, str] = Field(default_factory=dict)
    picture: str = ""


class Features(_Frame):
    """What this kiosk can do right now."""

    speech_in: bool
    speech_out: bool
    automatic: bool
    robotic_voice: list[str] = Field(default_factory=list, description="languages with only a robotic voice")


class Welcome(_ServerFrame):
    """After `hello`, and again when a visit starts. `visit` and `visit_token` are empty when no visit is running."""

    type: Literal["welcome"] = "welcome"
    visit: str
    visit_token: str
    epoch: int
    build: str
    release: str
    languages: list[str]
    features: Features


class Line(_Frame):
    """One line of the shared transcript. `text` of a guide line is what was delivered so far; `state` as in Caption."""

    role: Literal["visitor", "guide"]
    key: str  # turn id, or "<generation>" for guide lines
    text: str
    state: Literal["pending", "speaking", "held", "finished", "interrupted", "failed"]
    sources: list[SourceView] = Field(default_factory=list)
    agent: str = "guide"  # who said a guide line


class StatusView(_Frame):
    """Separate facts; the page derives one word from them."""

    listening: bool = False  # the microphone is open for a turn
    hearing: bool = False  # speech is being heard right now
    thinking: bool = False
    speaking: bool = False
    held: bool = False
    degraded: list[str] = Field(default_factory=list, description="codes, e.g. audio.microphone_lost, stt.failed")


class Snapshot(_ServerFrame):
    """Everything the page shows; sent after every `welcome` and with a stale command's error."""

    type: Literal["snapshot"] = "snapshot"
    phase: Literal["attract", "visit"]
    language: str
    mode: Literal["button", "automatic"]
    silent: bool
    volume: float
    exhibit: str | None
    choices: list[ChoiceView]
    lines: list[Line]
    status: StatusView
    countdown_s: float | None = None
    agents: list[AgentView] = Field(default_factory=list, description="with one or none, nobody is to be chosen")
    agent: str = Field(default="guide", description="who is asked")


class Status(_ServerFrame):
    """The status changed."""

    type: Literal["status"] = "status"
    status: StatusView


class TranscriptFrame(_ServerFrame):
    """The visitor's words. Interim ones are replaced; a final with empty text removes the line."""

    type: Literal["transcript"] = "transcript"
    turn_id: str
    text: str
    final: bool


class ProgressFrame(_ServerFrame):
    """Truthful progress of longer work."""

    type: Literal["progress"] = "progress"
    stage: str
    current: int | None = None
    total: int | None = None


class UtteranceFrame(_ServerFrame):
    """One utterance of a reply, sent when its first sample is rendered (silent mode: when it may be shown).

    `spans` are [start, end) character offsets of its phrases, each at most two caption lines.
    """

    type: Literal["utterance"] = "utterance"
    generation: int
    utterance_id: int
    text: str
    spans: list[tuple[int, int]]
    agent: str = "guide"


class Focus(_ServerFrame):
    """Another agent is asked from now on."""

    type: Literal["focus"] = "focus"
    agent: str


class Caption(_ServerFrame):
    """`rendered_chars` of the utterance have been heard so far. `interrupted` ends the reply there."""

    type: Literal["caption"] = "caption"
    generation: int
    utterance_id: int
    rendered_chars: int
    state: Literal["speaking", "held", "finished", "interrupted", "failed"]


class Level(_ServerFrame):
    """RMS of what is being rendered, 0..1, about 20 times a second while speaking, and a last 0."""

    type: Literal["level"] = "level"
    generation: int
    level: float


class Clear(_ServerFrame):
    """Everything of `generation` and older is void."""

    type: Literal["clear"] = "clear"
    generation: int


class Sources(_ServerFrame):
    """The sources behind a reply."""

    type: Literal["sources"] = "sources"
    generation: int
    sources: list[SourceView]


class ExhibitShown(_ServerFrame):
    """The exhibit on screen changed."""

    type: Literal["exhibit"] = "exhibit"
    exhibit: str | None


class Choices(_ServerFrame):
    """Three questions this pack can answer; a choice to go on may stand among them."""

    type: Literal["choices"] = "choices"
    choices: list[ChoiceView]


class SettingsFrame(_ServerFrame):
    """Language, mode, silence and volume as they are now."""

    type: Literal["settings"] = "settings"
    language: str
    mode: Literal["button", "automatic"]
    silent: bool
    volume: float


class Notice(_ServerFrame):
    """A code (`not_heard`, `stt_failed`, `answer_failed`, …) that the page words in the visitor's language."""

    type: Literal["notice"] = "notice"
    code: str
    severity: Literal["info", "warning"] = "info"


class Countdown(_ServerFrame):
    """Still there? Reset comes in `ends_in_s` seconds; None withdraws it."""

    type: Literal["countdown"] = "countdown"
    ends_in_s: float | None


class Reset(_ServerFrame):
    """The visit is over; forget everything and show the start screen."""

    type: Literal["reset"] = "reset"
    reason: Literal["ended", "inactive", "staff", "replaced", "shutdown", "limit"]


class TakenOver(_ServerFrame):
    """A newer page took this one's place; do not reconnect by yourself."""

    type: Literal["taken_over"] = "taken_over"


class Ack(_ServerFrame):
    """A command was carried out (or had been: repeats get the first outcome)."""

    type: Literal["ack"] = "ack"
    id: str


class ErrorFrame(_ServerFrame):
    """A frame was refused. `id` is the command's, where it could be read."""

    type: Literal["error"] = "error"
    code: str
    message: str
    id: str | None = None


ServerFrame = Annotated[
    Welcome
    | Snapshot
    | Status
    | TranscriptFrame
    | ProgressFrame
    | UtteranceFrame
    | Caption
    | Level
    | Clear
    | Sources
    | ExhibitShown
    | Focus
    | Choices
    | SettingsFrame
    | Notice
    | Countdown
    | Reset
    | TakenOver
    | Ack
    | ErrorFrame,
    Field(discriminator="type"),
]
server_frames: TypeAdapter[ServerFrame] = TypeAdapter(ServerFrame)


def json_schema() -> dict[str, object]:
    """One JSON Schema for both directions; the page's types are generated from it."""
    return TypeAdapter(dict[Literal["client", "server"], ClientFrame | ServerFrame]).json_schema(mode="serialization")


if __name__ == "__main__":
    import json
    import sys

    sys.stdout.write(json.dumps(json_schema(), indent=1, sort_keys=True) + "\n")
