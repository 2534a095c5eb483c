"""Speech of a room: carries each run's words to a voice, one reply at a time, and keeps what of them reached people.

Speech is decoupled from the run by a bounded feed: a slow voice neither blocks a driver nor eats its deadline.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, assert_never

from wayside.core.errors import WaysideError
from wayside.core.reply import Alignment
from wayside.core.room import arbiter
from wayside.core.room.arbiter import Arbiter, Grant, Interrupt, SpeechOffer, Suppress
from wayside.core.room.disclosure import ROOM, Disclosure
from wayside.core.runs.events import AssistantOutput, JournalEntry
from wayside.core.runs.record import RunRecord
from wayside.ports.clock import Clock
from wayside.ports.run_store import DeliveryRow, RunStore
from wayside.runtime.logs import get_logger
from wayside.runtime.outside import told
from wayside.runtime.text_feed import TextFeed

log = get_logger()

SAVE_GAP_S = 0.05  # between two writes of what was heard; a voice says some three words a second
FAILED = "speech.observer_failed"


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """One reply on its way: the words of one attempt of one run."""

    delivery_id: str
    run_id: str
    attempt: int
    agent: str
    channel: str
    language: str
    audience: Disclosure
    interruptible: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """How much of a reply has reached people so far."""

    generation: int
    medium: Literal["voice", "screen"]
    chars: int
    alignment: Alignment
    state: str


class SpeechAdapter(Protocol):
    """The host's voice. One reply at a time; `reached` may be called as often as there is news."""

    async def speak(self, request: SpeechRequest, feed: TextFeed, reached: Callable[[Reached], None]) -> None: ...

    def interrupt(self, run_id: str) -> None: ...


class SpeechObserver(Protocol):
    """The host's captions and status: what begins, what ends, what is not spoken and why. Never text."""

    def speech_started(self, request: SpeechRequest) -> None: ...

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None: ...

    def speech_suppressed(self, request: SpeechRequest, reason: arbiter.Reason) -> None: ...


@dataclass(slots=True)
class _Outgoing:
    request: SpeechRequest
    input_id: str
    feed: TextFeed
    granted: "asyncio.Future[bool]"
    task: "asyncio.Task[Reached | None] | None" = None
    last: Reached | None = None
    saved: Reached | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False  # nothing more of it will be spoken
    over: bool = False  # no more words come of its attempt


class RoomSpeech:
    """Owns the floor of one room for one visit."""

    def __init__(
        self,
        adapter: SpeechAdapter,
        store: RunStore,
        clock: Clock,
        group: asyncio.TaskGroup,
        observer: SpeechObserver,
        surface: Disclosure = ROOM,
    ) -> None:
        self._adapter = adapter
        self._store = store
        self._clock = clock
        self._group = group
        self._observer = observer
        self._arbiter = Arbiter(surface)
        self._outgoing: dict[str, _Outgoing] = {}
        self._kept_back: dict[str, set[str]] = {}
        self._expiry: asyncio.TimerHandle | None = None

    def address(self, agent: str) -> None:
        """Who was spoken to last goes first among equals."""
        self._arbiter = replace(self._arbiter, addressed=agent)

    def output(self, record: RunRecord, entry: JournalEntry) -> None:
        """Take words that are in the journal."""
        event = entry.event
        if not isinstance(event, AssistantOutput):
            return
        delivery_id = f"{record.id}/{entry.attempt}"
        request = SpeechRequest(
            delivery_id,
            record.id,
            entry.attempt,
            record.agent,
            record.channel,
            record.input.language,
            record.disclosure,
            event.interruptible,
        )
        outgoing = self._outgoing.get(delivery_id)
        if event.audience is not None and not event.audience.covers(record.disclosure):
            # Words for fewer than the reply is for: they are never mixed into it.
            self._keep_back(request, event.output_id)
            return
        if outgoing is None:
            outgoing = _Outgoing(request, record.input.id, TextFeed(), asyncio.get_running_loop().create_future())
            self._outgoing[delivery_id] = outgoing
            outgoing.task = self._group.create_task(self._deliver(outgoing), name="room.speech")
            offer = SpeechOffer(
                delivery_id,
                record.id,
                record.agent,
                record.channel,
                self._clock.now(),
                record.disclosure,
                interruptible=event.interruptible,
            )
            self._arbitrate(arbiter.Offered(offer))
        shortened = outgoing.feed.truncated
        outgoing.feed.put(event.delta)
        if outgoing.feed.truncated and not shortened:
            self._suppressed(request, "too_long")

    def attempt_over(self, run_id: str, attempt: int, *, aborted: bool) -> None:
        """No more words come of this attempt; with `aborted` the rest is not to be spoken, if it may be interrupted."""
        delivery_id = f"{run_id}/{attempt}"
        self._kept_back.pop(delivery_id, None)
        outgoing = self._outgoing.get(delivery_id)
        if outgoing is not None:
            outgoing.feed.end(aborted=aborted and outgoing.request.interruptible)
            outgoing.over = True
            self._forget(outgoing)

    def withdraw(self, run_id: str, reason: arbiter.Reason = "canceled") -> None:
        """A run is not wanted any more."""
        for outgoing in self._outgoing.values():
            if outgoing.request.run_id == run_id and outgoing.request.interruptible:
                outgoing.feed.end(aborted=True)
        self._arbitrate(arbiter.Withdrawn(run_id, reason, self._clock.now()))

    def withdraw_waiting(self, reason: arbiter.Reason) -> None:
        """Nothing that waits will be spoken; what is being spoken goes on."""
        for offer in self._arbiter.waiting:
            self.withdraw(offer.run_id, reason)

    def withdraw_channel(self, channel: str, input_id: str) -> None:
        """A newer input of the channel has the floor: answers to earlier ones are not wanted any more."""
        for outgoing in tuple(self._outgoing.values()):
            if outgoing.request.channel == channel and outgoing.input_id != input_id and not outgoing.closed:
                self.withdraw(outgoing.request.run_id, "superseded")

    def withdraw_all(self) -> None:
        """Nothing that is said or waits is wanted any more."""
        for run_id in {outgoing.request.run_id for outgoing in self._outgoing.values()}:
            self.withdraw(run_id)

    async def settled(self, channel: str, input_id: str, limit_s: float) -> None:
        """Wait a little for replies to earlier inputs of the channel to be closed, so that what was heard counts."""
        closing = {
            outgoing.task
            for outgoing in self._outgoing.values()
            if outgoing.request.channel == channel and outgoing.input_id != input_id and outgoing.task is not None
        }
        if closing:
            await asyncio.wait(closing, timeout=limit_s)

    async def delivered(self, run_id: str, attempt: int) -> Reached | None:
        """Wait until the reply of this attempt is over; what reached people, None when nothing was to be spoken."""
        outgoing = self._outgoing.get(f"{run_id}/{attempt}")
        if outgoing is None or outgoing.task is None:
            return None
        await asyncio.wait({outgoing.task})
        return outgoing.last

    def reached(self, run_id: str) -> int:
        """Characters of the run that have reached people so far, in this process."""
        return sum(o.last.chars for o in self._outgoing.values() if o.request.run_id == run_id and o.last)

    async def _deliver(self, outgoing: _Outgoing) -> Reached | None:
        request = outgoing.request
        try:
            if not await outgoing.granted:
                await self._save(outgoing, "suppressed")
                return None
            told(lambda: self._observer.speech_started(request), FAILED)
            saving = asyncio.ensure_future(self._keep_saving(outgoing))
            try:
                await self._adapter.speak(request, outgoing.feed, lambda news: _note(outgoing, news))
            except Exception as error:  # noqa: BLE001 - a voice is outside code, and what it raises may hold content
                log.warning("speech.failed", code=error.code if isinstance(error, WaysideError) else "speech.failed")
            finally:
                saving.cancel()
            await asyncio.wait({saving})
            # Closed in the store before the next reply may begin, also when nothing of it was heard.
            await self._save(outgoing, "interrupted")
            told(lambda: self._observer.speech_ended(request, outgoing.last), FAILED)
            return outgoing.last
        finally:
            outgoing.closed = True
            self._arbitrate(arbiter.Spoken(request.delivery_id, self._clock.now()))
            self._forget(outgoing)

    def _forget(self, outgoing: _Outgoing) -> None:
        """Until no more words can come, a reply that is over is known: the rest of it begins no second one."""
        if outgoing.over and outgoing.closed:
            self._outgoing.pop(outgoing.request.delivery_id, None)

    def _keep_back(self, request: SpeechRequest, output_id: str) -> None:
        known = self._kept_back.setdefault(request.delivery_id, set())
        if output_id not in known:
            known.add(output_id)
            self._suppressed(request, "not_for_this_surface")

    async def _keep_saving(self, outgoing: _Outgoing) -> None:
        """Write each word soon after it was heard: one that is not would be said again after a crash."""
        while True:
            await outgoing.news.wait()
            outgoing.news.clear()
            await self._save(outgoing)
            await asyncio.sleep(SAVE_GAP_S)

    async def _save(self, outgoing: _Outgoing, unheard: str | None = None) -> None:
        """Write what has reached people; `unheard` is the state of a reply that is over and of which nothing has."""
        news = outgoing.last
        if news is None and unheard is not None:
            news = Reached(0, "voice", 0, "timed", unheard)
        if news is None or news == outgoing.saved:
            return
        request = outgoing.request
        row = DeliveryRow(
            request.delivery_id,
            request.run_id,
            request.attempt,
            news.generation,
            news.medium,
            news.chars,
            news.alignment,
            news.state,
        )
        try:
            await self._store.save_delivery(row)
        except WaysideError as error:
            # People have heard it all the same; what later answers know of it is what was written last.
            log.warning("delivery.unsaved", code=error.code)
            return
        outgoing.saved = news

    def _arbitrate(self, event: arbiter.ArbiterEvent) -> None:
        self._arbiter, commands = arbiter.step(self._arbiter, event)
        for command in commands:
            outgoing = self._outgoing.get(command.id)
            if outgoing is None or (outgoing.granted.done() and not isinstance(command, Interrupt)):
                continue
            match command:
                case Grant():
                    outgoing.granted.set_result(True)
                case Suppress(reason=reason):
                    outgoing.feed.end(aborted=True)
                    outgoing.granted.set_result(False)
                    self._suppressed(outgoing.request, reason)
                case Interrupt():
                    self._interrupt(outgoing.request.run_id)
                case _:
                    assert_never(command)
        self._watch_expiry()

    def _suppressed(self, request: SpeechRequest, reason: arbiter.Reason) -> None:
        told(lambda: self._observer.speech_suppressed(request, reason), FAILED)

    def _interrupt(self, run_id: str) -> None:
        told(lambda: self._adapter.interrupt(run_id), FAILED)

    def _watch_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        due = self._arbiter.next_expiry()
        if due is not None:
            delay = max(0.0, due - self._clock.now())
            self._expiry = asyncio.get_running_loop().call_later(delay, self._look)

    def _look(self) -> None:
        self._arbitrate(arbiter.Looked(self._clock.now()))


def _note(outgoing: _Outgoing, news: Reached) -> None:
    if news != outgoing.last:
        outgoing.last = news
        outgoing.news.set()
