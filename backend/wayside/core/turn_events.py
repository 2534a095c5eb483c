"""What can happen to turn taking, and what it can ask for. Times `at` are monotonic seconds."""

from dataclasses import dataclass
from typing import Literal

Timer = Literal["endpoint", "final", "cap", "hold", "quiet"]
Via = Literal["press", "voice"]


# --- events -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VoiceStarted:
    """The gate heard speech begin."""

    at: float


@dataclass(frozen=True, slots=True)
class VoiceStopped:
    """The gate heard speech end; `last_voice_at` is when the last voiced window ended."""

    at: float
    last_voice_at: float


@dataclass(frozen=True, slots=True)
class TalkDown:
    """The talk button is pressed."""

    at: float


@dataclass(frozen=True, slots=True)
class TalkUp:
    """The talk button is released, or its pointer was lost."""

    at: float


@dataclass(frozen=True, slots=True)
class Interim:
    """Interim words of a segment."""

    at: float
    segment: int
    text: str
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Final:
    """Final words of a segment."""

    at: float
    segment: int
    text: str
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class SegmentFailed:
    """The recogniser gave up on a segment."""

    at: float
    segment: int
    code: str


@dataclass(frozen=True, slots=True)
class Written:
    """Typed text or a touched choice."""

    at: float
    text: str
    kind: Literal["text", "choice"] = "text"


@dataclass(frozen=True, slots=True)
class StopPressed:
    """The visible stop control: everything, always."""

    at: float


@dataclass(frozen=True, slots=True)
class ReplyStarted:
    """A reply got the floor and is about to play."""

    at: float
    generation: int
    interruptible: bool = True


@dataclass(frozen=True, slots=True)
class ReplyEnded:
    """A reply gave the floor back: finished, failed, or settled after an interruption."""

    at: float
    generation: int


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run is working on the committed turn."""

    at: float
    run_id: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run has ended, however."""

    at: float
    run_id: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A deadline passed."""

    at: float
    timer: Timer


@dataclass(frozen=True, slots=True)
class ModeChosen:
    """Button or automatic turns."""

    at: float
    automatic: bool


@dataclass(frozen=True, slots=True)
class LanguageChosen:
    """The visitor's language."""

    at: float
    language: str


@dataclass(frozen=True, slots=True)
class MicrophoneLost:
    """No capture any more; open segments end with what they have."""

    at: float


TurnEvent = (
    VoiceStarted
    | VoiceStopped
    | TalkDown
    | TalkUp
    | Interim
    | Final
    | SegmentFailed
    | Written
    | StopPressed
    | ReplyStarted
    | ReplyEnded
    | RunStarted
    | RunEnded
    | TimerFired
    | ModeChosen
    | LanguageChosen
    | MicrophoneLost
)

# --- commands -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """Begin to transcribe, pre-roll included."""

    segment: int
    via: Via


@dataclass(frozen=True, slots=True)
class PauseSegment:
    """The visitor may have finished: decode now."""

    segment: int


@dataclass(frozen=True, slots=True)
class CloseSegment:
    """The visitor has finished: bring the final transcript."""

    segment: int


@dataclass(frozen=True, slots=True)
class DiscardSegment:
    """Forget the segment's audio and words."""

    segment: int


@dataclass(frozen=True, slots=True)
class CommitTurn:
    """One visitor input is complete. `segment` is None for text and choices.

    `resumes` is the run whose question it goes on with: nothing of that run's answer was heard.
    """

    turn: int
    text: str
    kind: Literal["speech", "text", "choice"]
    segment: int | None = None
    resumes: str | None = None


@dataclass(frozen=True, slots=True)
class HoldReply:
    """Zeros now; queue and position kept."""

    generation: int


@dataclass(frozen=True, slots=True)
class ResumeReply:
    """Go on at the very next sample, or with `restart` from the start of the sentence."""

    generation: int
    restart: bool


@dataclass(frozen=True, slots=True)
class DuckReply:
    """Play more softly under the visitor (`down`), or at full level again."""

    generation: int
    down: bool


@dataclass(frozen=True, slots=True)
class InterruptReply:
    """The visitor has taken the floor: clear, cancel, close the delivery."""

    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class CancelRun:
    """Cancel the run that is still working."""

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class SetTimer:
    """(Re)arm a timer for the monotonic time `at`."""

    timer: Timer
    at: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Disarm a timer."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class Tell:
    """Show a notice by its code."""

    code: str


TurnCommand = (
    OpenSegment
    | PauseSegment
    | CloseSegment
    | DiscardSegment
    | CommitTurn
    | HoldReply
    | ResumeReply
    | DuckReply
    | InterruptReply
    | CancelRun
    | SetTimer
    | CancelTimer
    | Tell
)
