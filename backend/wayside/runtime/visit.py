"""One visit: from the first touch to reset. Owns every piece of a visitor's data and every task that touches it.

Inputs become turn events, turn commands become calls on the listener, the speaker and the runs. When the visit's
task ends, everything here ends with it.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, assert_never

from wayside.core.idle import Idle
from wayside.core.plain_json import Json
from wayside.core.runs.events import (
    OfferChoices,
    Progress,
    ShowExhibit,
)
from wayside.core.runs.record import RunStatus
from wayside.core.status import derive
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
    ResumeReply,
    RunEnded,
    RunStarted,
    SetTimer,
    StopPressed,
    TalkDown,
    TalkUp,
    Tell,
    TurnCommand,
    TurnEvent,
    Written,
)
from wayside.core.turns import Turns, TurnSettings, step
from wayside.core.words import visible_text
from wayside.ports.audio_link import CaptureFrame, DeviceFound, DeviceLost, LinkEnded, LinkEvent
from wayside.ports.run_store import RunStore
from wayside.runtime.answer import Answered, TurnTimes
from wayside.runtime.conversation import Conversation
from wayside.runtime.guide import rest_of_answer
from wayside.runtime.inactivity import Inactivity
from wayside.runtime.listener import Listener
from wayside.runtime.offers import Offers
from wayside.runtime.parts import Parts
from wayside.runtime.recovery import VisitKeeper, VisitState
from wayside.runtime.runs.runtime import RunResult
from wayside.runtime.screen import (
    Focus,
    Notice,
    ProgressFrame,
    ScreenEvent,
    SettingsFrame,
    Snapshot,
    Sources,
    SourceView,
    Status,
    TranscriptFrame,
)
from wayside.runtime.speaker import Delivery, Speaker
from wayside.runtime.timers import TurnTimers
from wayside.runtime.transcript import TranscriptBook

MAX_VISIT_S = 30 * 60.0
MAX_TEXT = 500
TICK_S = 0.5

Mode = Literal["button", "automatic"]
Reason = Literal["ended", "inactive", "limit"]


class Visit:
    """The conversation of one visit. Construct it inside a running `host`."""

    def __init__(
        self,
        parts: Parts,
        store: RunStore,
        language: str,
        show: Callable[[ScreenEvent], None],
        group: asyncio.TaskGroup,
        *,
        over: Callable[[Reason], None],
        answered: Callable[[Answered], None] | None = None,
        settings: TurnSettings | None = None,
        idle: Idle | None = None,
        volume: float = 0.0,
        left: VisitState | None = None,
    ) -> None:
        self.id = left.id if left else parts.new_id()
        self.token = left.token if left else parts.new_id()
        self._parts = parts
        self._send = show
        self._group = group
        self._over = over
        self.language = language
        self.volume = volume
        self._offers = Offers(parts.pack, self._show)
        self._transcript = TranscriptBook()
        turn = left.turn if left else 0
        self._turns = Turns(language=language, settings=settings or TurnSettings(), last_turn=turn)
        self._timers = TurnTimers(parts.clock, self.feed)
        self._status = derive(self._turns, frozenset())
        self._degraded: set[str] = set()
        self._microphone = False
        self._started_ms = left.started_ms if left else parts.clock.boottime_ms()
        self._inactivity = Inactivity(idle or Idle(last=parts.clock.now()), parts.clock, self._show)
        self._times: dict[int, TurnTimes] = {}
        self._speaker = Speaker(
            parts.link, parts.voice, parts.clock, parts.generations.mint, self._show, self.feed, self._settings
        )
        self._conversation = Conversation(parts, store, self._speaker, self, group, answered)
        self._listener = Listener(parts.voice_activity, parts.speech_to_text, parts.clock, self.feed, group)
        self._keeper = VisitKeeper(store)
        self._offer()
        self._ticker = group.create_task(self._tick(), name="visit.tick")

    async def take_up(self, left: VisitState) -> None:
        """Go on with the visit that a dead process left: what was seen is seen again, nothing is said again."""
        self.volume = left.volume
        self._parts.link.set_gain(None, left.volume)
        self._speaker.silent = left.silent
        recovered = await self._conversation.take_up(left.agent)
        for line in recovered.lines:
            self._transcript.restore(line)
        if self._offers.known(left.exhibit):
            self._offers.look_at(left.exhibit)
        self._offer()
        self._offers.owe(recovered.rest)
        if left.automatic:
            self.listen("automatic")
        await self.keep()

    async def keep(self) -> None:
        """Write down what the process after this one must know."""
        await self._keeper.keep(self._state())

    # --- what the page can do ---------------------------------------------------------------------------------------

    def talk(self, *, down: bool) -> None:
        """The talk button."""
        self._inactivity.touched()
        now = self._parts.clock.now()
        self.feed(TalkDown(now) if down else TalkUp(now))

    def say(self, text: str) -> None:
        """Typed text."""
        self._inactivity.touched()
        clean = visible_text(text, MAX_TEXT)
        if clean:
            self.feed(Written(self._parts.clock.now(), clean))

    def choose(self, choice_id: str) -> bool:
        """A touched choice; False when it is not on offer."""
        self._inactivity.touched()
        choice = self._offers.find(choice_id)
        if choice is not None:
            self.feed(Written(self._parts.clock.now(), choice.text, "choice"))
        return choice is not None

    def look_at(self, exhibit: str | None) -> bool:
        """Bring an exhibit up, or the whole gallery; False when there is no such exhibit."""
        self._inactivity.touched()
        if not self._offers.known(exhibit):
            return False
        self._offers.look_at(exhibit)
        self._offer()
        return True

    def address(self, agent: str) -> bool:
        """Turn to another agent; False when there is no such agent. What is being said stops."""
        self._inactivity.touched()
        if agent == self._conversation.agent:
            return True
        if not self._conversation.knows(agent):
            return False
        self.feed(StopPressed(self._parts.clock.now()))
        return self._conversation.address(agent)

    def stop(self) -> None:
        """Stop everything, always."""
        self._inactivity.touched()
        self.feed(StopPressed(self._parts.clock.now()))

    def listen(self, mode: Mode) -> None:
        """Choose between the button and automatic turns."""
        self._inactivity.touched()
        self.feed(ModeChosen(self._parts.clock.now(), mode == "automatic"))
        self._settings()

    def set_language(self, language: str) -> None:
        """Switch; the conversation keeps its place. What is being said in the old language stops."""
        self._inactivity.touched()
        if language not in self._parts.pack.languages or language == self.language:
            return
        self.language = language
        now = self._parts.clock.now()
        self.feed(StopPressed(now))
        self.feed(LanguageChosen(now, language))
        self._offer()
        self._settings()

    def set_silent(self, *, silent: bool) -> None:
        """Replies are read, not spoken (or spoken again)."""
        self._inactivity.touched()
        if silent:
            self.feed(StopPressed(self._parts.clock.now()))
        self._speaker.silent = silent
        self._settings()

    def set_volume(self, db: float) -> None:
        """This visit's volume; the next visit starts at the site's."""
        self._inactivity.touched()
        self.volume = db
        self._parts.link.set_gain(None, db)
        self._settings()

    def shown(self, generation: int, utterance: int, chars: int) -> None:
        """The page acknowledges shown text."""
        self._speaker.acknowledge(generation, utterance, chars)

    def activity(self) -> None:
        """A touch anywhere, or "still here"."""
        self._inactivity.touched()

    def snapshot(self) -> Snapshot:
        """Everything the page shows, for a page that comes (back)."""
        return Snapshot(
            "visit",
            self.language,
            self._mode,
            self._speaker.reading,
            self.volume,
            self.exhibit,
            self._offers.views(),
            self._transcript.lines(),
            self._status,
            self._inactivity.countdown_s,
            self._offers.agents(),
            self._conversation.agent,
        )

    # --- what the link says -----------------------------------------------------------------------------------------

    def on_frame(self, frame: CaptureFrame) -> None:
        """10 ms of capture."""
        if self._microphone:
            self._listener.take(frame)

    def on_link(self, event: LinkEvent) -> None:
        """Playout facts and device changes."""
        match event:
            case DeviceLost(kind=kind):
                self._degrade(f"audio.{kind}_lost", lost=True)
                if kind == "microphone":
                    self.feed(MicrophoneLost(self._parts.clock.now()))
            case DeviceFound(kind=kind):
                self._degrade(f"audio.{kind}_lost", lost=False)
            case LinkEnded():
                self.feed(MicrophoneLost(self._parts.clock.now()))
            case _:
                pass
        self._speaker.on_link(event)

    def degrade(self, codes: frozenset[str]) -> None:
        """What did not work before the visit began."""
        self._degraded |= codes
        self._speaker.loudspeaker = "audio.loudspeaker_lost" not in codes
        self._refresh()

    @property
    def exhibit(self) -> str | None:
        """The exhibit in view."""
        return self._offers.exhibit

    @property
    def busy(self) -> bool:
        """Whether something is being said, heard or thought."""
        return self._turns.segment is not None or self._turns.playing is not None or self._turns.run_id is not None

    # --- turns ------------------------------------------------------------------------------------------------------

    def feed(self, event: TurnEvent) -> None:
        """Fold one event in and carry out what it asks for, in order."""
        self._note(event)
        self._turns, commands = step(self._turns, event)
        for command in commands:
            self._carry_out(command)
        self._microphone_follows()
        self._refresh()

    def _carry_out(self, command: TurnCommand) -> None:
        match command:
            case OpenSegment(segment=segment, via=via):
                if via == "press" and not self._microphone:
                    self._listener.restart()
                self._listener.open(
                    segment, via, self.language, self._parts.pack.vocabulary(self.language, self.exhibit)
                )
            case PauseSegment(segment=segment):
                self._listener.pause(segment)
            case CloseSegment(segment=segment):
                self._times[segment] = TurnTimes("speech", self._listener.last_voice_at, self._parts.clock.now())
                self._listener.close(segment)
            case DiscardSegment(segment=segment):
                self._times.pop(segment, None)
                self._listener.discard(segment)
                self._visitor_text(f"s{segment}", "", final=True)
            case CommitTurn():
                self._commit(command)
            case HoldReply(generation=generation):
                self._speaker.hold(generation)
            case ResumeReply(generation=generation):
                # The link resumes at the very next sample; starting the sentence again would need a generation more.
                self._speaker.resume(generation)
            case DuckReply(generation=generation, down=down):
                self._speaker.duck(generation, down=down)
            case InterruptReply(generation=generation):
                self._conversation.hush()
                self._speaker.interrupt(generation)
            case CancelRun(run_id=run_id, reason=reason):
                self._conversation.cancel(run_id, reason)
            case SetTimer(timer=timer, at=at):
                self._timers.set(timer, at)
            case CancelTimer(timer=timer):
                self._timers.cancel(timer)
            case Tell(code=code):
                self._show(Notice(code, "warning"))
            case _:
                assert_never(command)

    def _note(self, event: TurnEvent) -> None:
        match event:
            case Interim(segment=segment, text=text):
                self._visitor_text(f"s{segment}", text, final=False)
            case Final(segment=segment, text=text) if self._turns.closing and self._turns.closing.id == segment:
                self._visitor_text(f"s{segment}", text, final=True)
            case _:
                pass

    def _microphone_follows(self) -> None:
        segment = self._turns.segment
        wanted = self._turns.automatic or segment is not None
        if wanted != self._microphone:
            self._microphone = wanted
            if wanted and segment is None:
                self._listener.restart()
            self._parts.link.listen(wanted)

    # --- answering --------------------------------------------------------------------------------------------------

    def _commit(self, command: CommitTurn) -> None:
        now = self._parts.clock.now()
        key = f"s{command.segment}" if command.segment is not None else f"t{command.turn}"
        times = self._times.pop(command.segment or 0, None) or TurnTimes(command.kind)
        times.committed = now
        self._inactivity.touched()
        self._visitor_text(key, command.text, final=True)
        data: dict[str, Json] = {"exhibit": self.exhibit, "turn": command.turn}
        rest = self._offers.rest if self._offers.asks_for_rest(command.text) else None
        if rest is not None:
            data |= rest_of_answer(rest.text, rest.sources, rest.passages)
            self._conversation.address(rest.agent)
        self._offers.owe(None)
        self._conversation.say(command.text, self.language, data, times, resumes=command.resumes)

    def run_started(self, run_id: str) -> None:
        """A run was admitted."""
        self.feed(RunStarted(self._parts.clock.now(), run_id))

    def run_over(self, result: RunResult) -> None:
        """A run has ended, or asks back."""
        self.feed(RunEnded(self._parts.clock.now(), result.run_id))
        if result.status is RunStatus.FAILED:
            self._show(Notice("answer_failed", "warning"))

    def reply_over(self, delivery: Delivery | None) -> None:
        """A reply gave the floor back."""
        if delivery is not None:
            self._transcript.guide_ended(delivery.generation, delivery.state)
        self._degraded = {code for code in self._degraded if not code.startswith("tts.")} | self._speaker.degraded
        self._refresh()

    def shortened(self) -> None:
        """An answer was longer than a reply may be."""
        self._show(Notice("answer_shortened"))

    def focused(self, agent: str) -> None:
        """Another agent is asked from now on: the screen says so, and offers what this one can answer."""
        self._show(Focus(agent))
        self._offer()
        self._group.create_task(self.keep(), name="visit.keep")

    def show_sources(self, generation: int, sources: tuple[SourceView, ...]) -> None:
        """Sources of a reply that has the floor."""
        self._show(Sources(generation, sources))

    def guide_line(self, generation: int, agent: str) -> None:
        """A reply got the floor: it has a line from now on."""
        self._transcript.guide_speaks(generation, agent)

    def interaction(self, item: ShowExhibit | OfferChoices) -> None:
        """What a run asks the screen to do."""
        if isinstance(item, ShowExhibit):
            self._offers.look_at(item.exhibit)
        else:
            self._offers.offer(item.choices)

    def progress(self, progress: Progress) -> None:
        """Truthful progress of a run."""
        self._show(ProgressFrame(progress.stage, progress.current, progress.total))

    def now(self) -> float:
        """The visit's clock."""
        return self._parts.clock.now()

    # --- screen -----------------------------------------------------------------------------------------------------

    def _show(self, event: ScreenEvent) -> None:
        self._transcript.follow(event)
        self._send(event)

    def _visitor_text(self, key: str, text: str, *, final: bool) -> None:
        if text or self._transcript.has(key):
            self._show(TranscriptFrame(key, text, final))

    def _offer(self) -> None:
        self._offers.begin(self.language, self._conversation.agent)

    def _state(self) -> VisitState:
        ends_ms = self._parts.clock.boottime_ms() + self._inactivity.left_s * 1000
        return VisitState(
            id=self.id,
            token=self.token,
            language=self.language,
            started_ms=self._started_ms,
            ends_ms=int(ends_ms // 1000) * 1000,  # whole seconds: not a write for every look at the clock
            turn=self._turns.last_turn,
            exhibit=self.exhibit,
            agent=self._conversation.agent,
            silent=self._speaker.silent,
            automatic=self._turns.automatic,
            volume=self.volume,
        )

    @property
    def _mode(self) -> Mode:
        return "automatic" if self._turns.automatic else "button"

    def _settings(self) -> None:
        self._show(SettingsFrame(self.language, self._mode, self._speaker.reading, self.volume))

    def _degrade(self, code: str, *, lost: bool) -> None:
        if lost:
            self._degraded.add(code)
        else:
            self._degraded.discard(code)
        self._refresh()

    def _refresh(self) -> None:
        status = derive(self._turns, frozenset(self._degraded))
        if status != self._status:
            self._status = status
            self._send(Status(status))

    # --- inactivity -------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            playing, hearing = self._turns.playing is not None, self._turns.segment is not None
            if self._inactivity.over(playing=playing, segment_open=hearing):
                self._over("inactive")
                return
            if self._parts.clock.boottime_ms() - self._started_ms >= MAX_VISIT_S * 1000:
                self._over("limit")
                return
            await self.keep()
