"""The only place that decides who has the floor: turn taking as a fold over events.

Visit, input segment, reply and run are separate facts here; the word on the screen is derived from them elsewhere.
Time is `event.at` in monotonic seconds. Timers leave as `SetTimer` and come back as `TimerFired`; a timer that fires
early or twice does nothing, because the deadline it belongs to is part of the state.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from wayside.core.turn_events import (
    CancelRun,
    CancelTimer,
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DuckReply,
    Final,
    HoldReply,
    Interim,
    InterruptReply,
    LanguageChosen,
    MicrophoneLost,
    ModeChosen,
    OpenSegment,
    PauseSegment,
    ReplyEnded,
    ReplyStarted,
    ResumeReply,
    RunEnded,
    RunStarted,
    SegmentFailed,
    SetTimer,
    StopPressed,
    TalkDown,
    TalkUp,
    Tell,
    Timer,
    TimerFired,
    TurnCommand,
    TurnEvent,
    Via,
    VoiceStarted,
    VoiceStopped,
    Written,
)
from wayside.core.words import is_acknowledgement, reads_complete, trails_off, words

# Mean log-probability below which a decode's words do not count. An interim may interrupt somebody, so it must be surer
# than a whole sentence at its end, which a robotic or accented voice brings down to about -1.1.
NOISY_INTERIM = -1.0
NOISY_FINAL = -1.3


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Durations in seconds."""

    base_silence_s: float = 0.55
    complete_silence_s: float = 0.40
    hesitation_silence_s: float = 1.1
    tap_s: float = 0.4  # a shorter press latches, for people who cannot hold
    cap_s: float = 30.0
    final_s: float = 8.0
    hold_s: float = 4.0
    quiet_s: float = 0.5
    resume_s: float = 1.5  # held longer than this, the sentence is started again


Commands = tuple[TurnCommand, ...]


# --- state --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """Input being transcribed. `closing`: its final is on the way; `pressed_at`: the press that holds it open.

    `opened_at` is when it began, `quiet_since` when speech was last heard to stop.
    """

    id: int
    via: Via
    opened_at: float = 0.0
    quiet_since: float | None = None
    pressed_at: float | None = None
    latched: bool = False
    voiced: bool = False  # speech is being heard right now
    text: str = ""
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Playing:
    """The reply that has the floor. `accepted` means it has been interrupted and is being settled."""

    generation: int
    interruptible: bool = True
    held_since: float | None = None
    ducked: bool = False
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Turns:
    """Everything turn taking remembers. `closing` waits for its final while `segment` may already be a new one."""

    language: str = "en"
    automatic: bool = False
    settings: TurnSettings = TurnSettings()
    segment: Segment | None = None
    closing: Segment | None = None
    playing: Playing | None = None
    run_id: str | None = None
    voice_ended: float | None = None  # end of the speech that was committed last; None when it was touched or typed
    resumed_run: str | None = None  # cancelled unheard by speech that goes on with its question
    carried: str = ""  # words of an earlier segment that belong to the turn still being spoken
    ignoring: bool = False  # after a release, sounds do not hold again until it has been quiet
    last_segment: int = 0
    last_turn: int = 0
    deadlines: tuple[tuple[Timer, float], ...] = field(default=())

    def deadline(self, timer: Timer) -> float | None:
        """When `timer` is due, or None when it is not armed."""
        return dict(self.deadlines).get(timer)


def step(state: Turns, event: TurnEvent) -> tuple[Turns, Commands]:
    """Take one event; return the new state and what to do, in order."""
    match event:
        case VoiceStarted(at=at):
            return _voice_started(state, at)
        case VoiceStopped():
            return _voice_stopped(state, event)
        case TalkDown(at=at):
            return _talk_down(state, at)
        case TalkUp(at=at):
            return _talk_up(state, at)
        case Interim(segment=segment):
            return _interim(state, event) if _current(state, segment) else (state, ())
        case Final(segment=segment, text=text):
            if not (state.closing and state.closing.id == segment):
                return state, ()
            return _final(state, event.at, text if event.confidence >= NOISY_FINAL else "")
        case SegmentFailed(segment=segment):
            return _failed(state, event.at, segment)
        case Written():
            return _written(state, event)
        case StopPressed(at=at):
            return _stop(state, at)
        case ReplyStarted(at=at, generation=generation, interruptible=interruptible):
            state = replace(state, playing=Playing(generation, interruptible))
            # Somebody is speaking already: the guide waits before its first word.
            if interruptible and state.segment and (state.segment.voiced or state.segment.pressed_at is not None):
                return _hold(state, at)
            return state, ()
        case ReplyEnded(generation=generation):
            if state.playing is None or state.playing.generation != generation:
                return state, ()
            return _disarm(replace(state, playing=None), "hold")
        case RunStarted(run_id=run_id):
            return replace(state, run_id=run_id), ()
        case RunEnded(run_id=run_id):
            return (replace(state, run_id=None), ()) if state.run_id == run_id else (state, ())
        case TimerFired(at=at, timer=timer):
            due = state.deadline(timer)
            return _timer(_forget(state, timer), at, timer) if due is not None and at >= due else (state, ())
        case ModeChosen(automatic=automatic):
            state = replace(state, automatic=automatic)
            if not automatic and state.segment and state.segment.via == "voice":
                return _discard(state, event.at)
            return state, ()
        case LanguageChosen(language=language):
            return replace(state, language=language), ()
        case MicrophoneLost(at=at):
            return _close(state, at) if state.segment else (state, ())
        case _:
            assert_never(event)


# --- voice --------------------------------------------------------------------------------------------------------


def _voice_started(state: Turns, at: float) -> tuple[Turns, Commands]:
    state, quiet = _disarm(state, "quiet")
    if state.segment is not None:
        state, endpoint = _disarm(replace(state, segment=replace(state.segment, voiced=True)), "endpoint")
        held, hold = _hold(state, at) if _may_hold(state) else (state, ())
        return held, quiet + endpoint + hold
    if not state.automatic:
        return state, quiet
    if state.ignoring and state.playing is not None and not state.playing.accepted:
        return state, quiet
    # The visitor always wins, even over the first word: sound stops before we know why they spoke.
    held, hold = _hold(state, at) if _may_hold(state) else (state, ())
    opened, opening = _open(held, at, "voice")
    return opened, quiet + hold + opening


def _voice_stopped(state: Turns, event: VoiceStopped) -> tuple[Turns, Commands]:
    commands: Commands = ()
    if state.ignoring:
        state, commands = _arm(state, "quiet", event.last_voice_at + state.settings.quiet_s)
    segment = state.segment
    if segment is None:
        return state, commands
    state = replace(state, segment=replace(segment, voiced=False, quiet_since=event.last_voice_at))
    if segment.pressed_at is not None:
        return state, (*commands, PauseSegment(segment.id))
    state, armed = _arm(state, "endpoint", event.last_voice_at + _silence_s(state, segment.text))
    return state, (*commands, PauseSegment(segment.id), *armed)


def _silence_s(state: Turns, text: str) -> float:
    if trails_off(text, state.language):
        return state.settings.hesitation_silence_s
    return state.settings.complete_silence_s if reads_complete(text) else state.settings.base_silence_s


def _interim(state: Turns, event: Interim) -> tuple[Turns, Commands]:
    if event.confidence < NOISY_INTERIM:
        return state, ()
    commands: Commands = ()
    if state.segment and state.segment.id == event.segment:
        segment = replace(state.segment, text=event.text)
        state = replace(state, segment=segment)
        due = state.deadline("endpoint")
        if due is not None and not segment.voiced and trails_off(event.text, state.language):
            state, commands = _arm(state, "endpoint", due + state.settings.hesitation_silence_s / 2)
    if words(event.text) and not is_acknowledgement(event.text, state.language):
        state, accepted = _accept(state, "speech")
        commands += accepted
    return state, commands


def _final(state: Turns, at: float, text: str) -> tuple[Turns, Commands]:
    closing = state.closing
    if closing is None:
        return state, ()
    state, commands = _disarm(replace(state, closing=None), "final")
    whole = f"{state.carried} {text}".strip() if words(text) else state.carried
    if state.segment is not None and whole:
        # The visitor went on talking before the words of this stretch arrived: one turn, not two.
        return replace(state, carried=whole), commands
    playing = state.playing
    if playing and playing.held_since is not None and (not words(whole) or is_acknowledgement(whole, state.language)):
        state, released = _release(replace(state, carried=""), at)
        return state, commands + released
    if not words(whole):
        told: Commands = (Tell("not_heard"),) if closing.via == "press" else ()
        return replace(state, carried=""), commands + told
    if playing and closing.via == "voice" and is_acknowledgement(whole, state.language):
        return replace(state, carried=""), commands
    state, accepted = _accept(replace(state, carried=""), "speech")
    state, committed = _commit(state, whole, "speech", closing.id)
    return replace(state, voice_ended=closing.quiet_since), commands + accepted + committed


def _failed(state: Turns, at: float, segment: int) -> tuple[Turns, Commands]:
    if state.closing and state.closing.id == segment:
        text = state.closing.text
        if words(text):
            # The final never came; what the interim heard is better than asking again.
            return _final(state, at, text)
        state, commands = _final(state, at, "")
        return state, (*(c for c in commands if c != Tell("not_heard")), Tell("stt_failed"))
    if state.segment and state.segment.id == segment:
        state, commands = _discard(state, at)
        return state, (*commands, Tell("stt_failed"))
    return state, ()


# --- the button ---------------------------------------------------------------------------------------------------


def _talk_down(state: Turns, at: float) -> tuple[Turns, Commands]:
    state, accepted = _accept(state, "press")
    segment = state.segment
    if segment is not None and segment.latched:
        state, closed = _close(state, at)
        return state, accepted + closed
    if segment is not None:
        # The voice came first; from here on the button holds the segment open.
        state, endpoint = _disarm(replace(state, segment=replace(segment, pressed_at=at, via="press")), "endpoint")
        return state, accepted + endpoint
    state, opening = _open(state, at, "press")
    return state, accepted + opening


def _talk_up(state: Turns, at: float) -> tuple[Turns, Commands]:
    segment = state.segment
    if segment is None or segment.pressed_at is None:
        return state, ()
    if at - segment.pressed_at < state.settings.tap_s:
        return replace(state, segment=replace(segment, pressed_at=None, latched=True)), ()
    return _close(state, at)


# --- written input and stop ---------------------------------------------------------------------------------------


def _written(state: Turns, event: Written) -> tuple[Turns, Commands]:
    state, discarded = _discard(state, event.at)
    state, accepted = _accept(state, event.kind)
    state, committed = _commit(replace(state, carried="", resumed_run=None), event.text, event.kind, None)
    return state, discarded + accepted + committed


def _stop(state: Turns, at: float) -> tuple[Turns, Commands]:
    state, discarded = _discard(state, at)
    commands: Commands = ()
    if state.playing and not state.playing.accepted:
        commands += (InterruptReply(state.playing.generation, "stop"),)
        state, disarmed = _disarm(
            replace(state, playing=replace(state.playing, accepted=True, held_since=None)), "hold"
        )
        commands += disarmed
    if state.run_id is not None:
        commands += (CancelRun(state.run_id, "stop"),)
        state = replace(state, run_id=None)
    return replace(state, carried="", voice_ended=None, resumed_run=None), discarded + commands


# --- hold, accept, release ----------------------------------------------------------------------------------------


def _may_hold(state: Turns) -> bool:
    playing = state.playing
    return playing is not None and playing.held_since is None and not playing.accepted and not state.ignoring


def _hold(state: Turns, at: float) -> tuple[Turns, Commands]:
    playing = state.playing
    if playing is None:
        return state, ()
    if not playing.interruptible:
        if playing.ducked:
            return state, ()
        return replace(state, playing=replace(playing, ducked=True)), (DuckReply(playing.generation, down=True),)
    state, armed = _arm(replace(state, playing=replace(playing, held_since=at)), "hold", at + state.settings.hold_s)
    return state, (HoldReply(playing.generation), *armed)


def _accept(state: Turns, reason: str) -> tuple[Turns, Commands]:
    """Give the visitor the floor: interrupt what plays and cancel what still thinks."""
    commands: Commands = ()
    playing = state.playing
    if playing and playing.interruptible and not playing.accepted:
        state, disarmed = _disarm(replace(state, playing=replace(playing, accepted=True, held_since=None)), "hold")
        commands += (InterruptReply(playing.generation, reason), *disarmed)
    if state.run_id is not None and (playing is None or playing.interruptible):
        resumed = playing is None and _goes_on(state)
        superseded = reason != "press" or resumed
        commands += (CancelRun(state.run_id, "superseded_by_new_input" if superseded else "barge_in"),)
        state = replace(state, run_id=None, resumed_run=state.run_id if resumed else None)
    return replace(state, ignoring=False), commands


def _goes_on(state: Turns) -> bool:
    """Whether the visitor took a breath in the middle of a question that was committed too early."""
    segment = state.segment or state.closing
    if segment is None or state.voice_ended is None:
        return False
    return segment.opened_at - state.voice_ended <= state.settings.resume_s


def _release(state: Turns, at: float) -> tuple[Turns, Commands]:
    playing = state.playing
    if playing is None or playing.held_since is None:
        return state, ()
    restart = at - playing.held_since > state.settings.resume_s
    state = replace(state, playing=replace(playing, held_since=None), ignoring=True)
    state, disarmed = _disarm(state, "hold")
    state, quiet = _arm(state, "quiet", at + state.settings.quiet_s)
    return state, (*disarmed, ResumeReply(playing.generation, restart=restart), *quiet)


# --- segments and turns -------------------------------------------------------------------------------------------


def _open(state: Turns, at: float, via: Via) -> tuple[Turns, Commands]:
    number = state.last_segment + 1
    segment = Segment(number, via, at, pressed_at=at if via == "press" else None, voiced=via == "voice")
    state, armed = _arm(replace(state, segment=segment, last_segment=number), "cap", at + state.settings.cap_s)
    return state, (OpenSegment(number, via), *armed)


def _close(state: Turns, at: float) -> tuple[Turns, Commands]:
    segment = state.segment
    if segment is None:
        return state, ()
    commands: Commands = ()
    if state.closing is not None:
        # Two finals at once would be two turns: the older one's interim words are carried into this one.
        older = state.closing
        carried = f"{state.carried} {older.text}".strip()
        state, commands = replace(state, carried=carried, closing=None), (DiscardSegment(older.id),)
    quiet_since = at if segment.pressed_at is not None or segment.quiet_since is None else segment.quiet_since
    closed = replace(segment, closing=True, voiced=False, pressed_at=None, quiet_since=quiet_since)
    state, one = _disarm(replace(state, segment=None, closing=closed), "cap")
    state, two = _disarm(state, "endpoint")
    state, three = _arm(state, "final", at + state.settings.final_s)
    return state, (*commands, *one, *two, CloseSegment(segment.id), *three)


def _discard(state: Turns, at: float) -> tuple[Turns, Commands]:
    commands: Commands = ()
    for segment in (state.segment, state.closing):
        if segment is not None:
            commands += (DiscardSegment(segment.id),)
    state = replace(state, segment=None, closing=None)
    for timer in ("cap", "endpoint", "final"):
        state, disarmed = _disarm(state, timer)
        commands += disarmed
    if state.playing and state.playing.held_since is not None:
        state, released = _release(state, at)
        commands += released
    return state, commands


def _commit(
    state: Turns, text: str, kind: Literal["speech", "text", "choice"], segment: int | None
) -> tuple[Turns, Commands]:
    number = state.last_turn + 1
    command = CommitTurn(number, text, kind, segment, state.resumed_run)
    return replace(state, last_turn=number, voice_ended=None, resumed_run=None), (command,)


def _timer(state: Turns, at: float, timer: Timer) -> tuple[Turns, Commands]:
    match timer:
        case "endpoint" | "cap":
            return _close(state, at)
        case "final":
            if state.closing is None:
                return state, ()
            late = state.closing.id
            state, commands = _failed(state, at, late)
            # The recogniser may still be at work on it; nothing waits for that any more.
            return state, (DiscardSegment(late), *commands)
        case "hold":
            held_by = state.segment
            state, released = _release(state, at)
            if held_by is not None and held_by.via == "voice" and not words(held_by.text):
                state, discarded = _discard(state, at)
                return state, released + discarded
            return state, released
        case "quiet":
            return replace(state, ignoring=False), ()
        case _:
            assert_never(timer)


def _current(state: Turns, segment: int) -> bool:
    return any(s is not None and s.id == segment for s in (state.segment, state.closing))


def _arm(state: Turns, timer: Timer, at: float) -> tuple[Turns, Commands]:
    state = _forget(state, timer)
    return replace(state, deadlines=(*state.deadlines, (timer, at))), (SetTimer(timer, at),)


def _disarm(state: Turns, timer: Timer) -> tuple[Turns, Commands]:
    if state.deadline(timer) is None:
        return state, ()
    return _forget(state, timer), (CancelTimer(timer),)


def _forget(state: Turns, timer: Timer) -> Turns:
    return replace(state, deadlines=tuple(d for d in state.deadlines if d[0] != timer))
