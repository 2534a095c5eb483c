"""Decides what an acting mind's experience becomes: always something the persona knows, seldom something it says.

ADR 0123: every settled step seeds the persona's memory; a wanted narration is asked for only when nothing sounds, the
last one is long enough ago and no response is on its way. Refuses over-long or empty snapshots and every other field:
no frame, no sound, no authored sentence, no audience and no credential has a place to travel in. It asks for speech and
never words it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, assert_never

from wayside.core.questions import fold
from wayside.core.room.refusals import refuse
from wayside.core.words import visible_text

BOUNDS: dict[str, int] = {"thought": 160, "observed": 120, "objective": 80, "next": 80}
MAX_SUBJECT = 80
MAX_NOTES = 12
MAX_RESPONDING = 16
NARRATION_INTERVAL_S = 12.0
# A response that nobody ever ends must not silence the persona for good.
RESPONSE_S = 60.0

SuppressionReason = Literal["playing", "rate_limited", "responding"]


@dataclass(frozen=True, slots=True)
class ExperienceSnapshot:
    """What the acting mind just lived through, in its own words; lengths in characters.

    Raises `experience.malformed`, `experience.too_long` or `experience.empty`. Nothing is cut: half a thought may mean
    its opposite.
    """

    thought: str = ""
    observed: str = ""
    objective: str = ""
    next: str = ""

    def __post_init__(self) -> None:
        texts = {name: getattr(self, name) for name in BOUNDS}
        if not all(isinstance(text, str) for text in texts.values()):
            raise refuse("experience.malformed")
        if any(len(text) > BOUNDS[name] for name, text in texts.items()):
            raise refuse("experience.too_long")
        if not any(_clean(text) for text in texts.values()):
            raise refuse("experience.empty")


def read_snapshot(data: Mapping[str, object]) -> ExperienceSnapshot:
    """A snapshot from an interactive's plain fields; a field of another name or kind raises `experience.malformed`."""
    texts = {name: value for name, value in data.items() if name in BOUNDS and isinstance(value, str)}
    if len(texts) != len(data):
        raise refuse("experience.malformed")
    return ExperienceSnapshot(**texts)


def as_memory(snapshot: ExperienceSnapshot) -> str:
    """One line for a driver's memory, in the first person: something to have lived through, not something to repeat."""
    parts = ((_LABELS[field.name], _clean(getattr(snapshot, field.name))) for field in fields(snapshot))
    return _FRAME + "; ".join(f"{label}: {text}" for label, text in parts if text)


def evidence(delivery_id: str) -> str:
    """What words spoken from experience carry as their evidence, and nothing else does."""
    return f"experience:{delivery_id}"


# --- notes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Note:
    """The latest experience of one subject. `subject` only tells notes apart; it is never worded.

    `delivery_id` names the narration that was asked for with it; a mere context update has none.
    """

    subject: str
    snapshot: ExperienceSnapshot
    delivery_id: str | None = None


def subject_of(snapshot: ExperienceSnapshot, about: str = "") -> str:
    """What a note is of: what the engine says it is about, else the same aim and the same next move."""
    return f"about {about}" if about else f"aim {fold(snapshot.objective)} / {fold(snapshot.next)}"


def remember(notes: tuple[Note, ...], note: Note) -> tuple[Note, ...]:
    """Newest last. Fresh evidence takes the place of the note on its subject; the oldest subject goes first."""
    kept = tuple(old for old in notes if old.subject != note.subject)
    return (*kept, note)[-MAX_NOTES:]


# --- events, commands, state --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reported:
    """A step has settled. `delivery_id` is there when, and only when, the acting mind wants it told."""

    at: float
    snapshot: ExperienceSnapshot
    delivery_id: str | None = None
    about: str = ""

    @property
    def speak_wanted(self) -> bool:
        """Whether a narration is wanted."""
        return self.delivery_id is not None


@dataclass(frozen=True, slots=True)
class AudioStarted:
    """Something sounds in the room, whoever speaks."""

    at: float
    generation: int = 0


@dataclass(frozen=True, slots=True)
class AudioEnded:
    """This generation has fallen silent."""

    at: float
    generation: int = 0


@dataclass(frozen=True, slots=True)
class ResponseStarted:
    """A response is being made, asked for by a visitor or by a narration."""

    at: float
    response_id: str


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """It is made, or it has failed."""

    at: float
    response_id: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""

    at: float


NarrationEvent = Reported | AudioStarted | AudioEnded | ResponseStarted | ResponseEnded | Tick


@dataclass(frozen=True, slots=True)
class SeedContext:
    """Let the persona know it."""

    note: Note


@dataclass(frozen=True, slots=True)
class RequestResponse:
    """Ask the persona for words of its own."""

    delivery_id: str


@dataclass(frozen=True, slots=True)
class Suppress:
    """The wanted narration is not asked for."""

    delivery_id: str
    reason: SuppressionReason


NarrationCommand = SeedContext | RequestResponse | Suppress


@dataclass(frozen=True, slots=True)
class Narration:
    """Everything the seam remembers. `responding` holds response ids with the time since when; seconds throughout."""

    interval_s: float = NARRATION_INTERVAL_S
    playing: int | None = None
    responding: tuple[tuple[str, float], ...] = ()
    asked_at: float | None = None
    notes: tuple[Note, ...] = ()


def step(state: Narration, event: NarrationEvent) -> tuple[Narration, tuple[NarrationCommand, ...]]:
    """Take one event; return the new state and what to do, in order. Only a report ever brings a command."""
    state = _forgotten(state, event.at)
    match event:
        case Reported():
            return _reported(state, event)
        case AudioStarted(generation=generation):
            return replace(state, playing=max(generation, state.playing or 0)), ()
        case AudioEnded(generation=generation):
            # The end of an interrupted reply may arrive after the next one has begun to sound.
            over = state.playing is not None and generation >= state.playing
            return (replace(state, playing=None) if over else state), ()
        case ResponseStarted(at=at, response_id=response):
            return _responding(state, response, at), ()
        case ResponseEnded(response_id=response):
            return replace(state, responding=_without(state, response)), ()
        case Tick():
            return state, ()
        case _:
            assert_never(event)


def _reported(state: Narration, event: Reported) -> tuple[Narration, tuple[NarrationCommand, ...]]:
    reason = _reason(state, event.at)
    asked = event.delivery_id if reason is None else None
    note = Note(subject_of(event.snapshot, event.about), event.snapshot, asked)
    state = replace(state, notes=remember(state.notes, note))
    if event.delivery_id is None:
        return state, (SeedContext(note),)
    if reason is not None:
        return state, (SeedContext(note), Suppress(event.delivery_id, reason))
    state = replace(_responding(state, event.delivery_id, event.at), asked_at=event.at)
    return state, (SeedContext(note), RequestResponse(event.delivery_id))


def _reason(state: Narration, at: float) -> SuppressionReason | None:
    if state.playing is not None:
        return "playing"
    # Before `responding`, so that a burst says what really held it back: the first of it was asked for just now.
    if state.asked_at is not None and at - state.asked_at < state.interval_s:
        return "rate_limited"
    return "responding" if state.responding else None


def _responding(state: Narration, response: str, at: float) -> Narration:
    return replace(state, responding=(*_without(state, response), (response, at))[-MAX_RESPONDING:])


def _without(state: Narration, response: str) -> tuple[tuple[str, float], ...]:
    return tuple(entry for entry in state.responding if entry[0] != response)


def _forgotten(state: Narration, at: float) -> Narration:
    live = tuple(entry for entry in state.responding if at - entry[1] < RESPONSE_S)
    return state if len(live) == len(state.responding) else replace(state, responding=live)


def _clean(text: str) -> str:
    return visible_text(text, len(text))


_FRAME = "(my own experience while playing, mine to know and not to recite) "
_LABELS = {"thought": "I thought", "observed": "I saw", "objective": "I am after", "next": "next I mean to"}
