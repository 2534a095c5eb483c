"""Turns a reply's text into delivered words: cuts, synthesises, plays, follows what is rendered, settles interruptions.

The room's arbiter gives the floor to one reply at a time. A generation is minted when a reply gets it; accepting an
interruption raises the `cleared_through` watermark first, so whatever of an old generation arrives later is dropped by
its number alone.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from wayside.core import reply as ledger
from wayside.core.errors import WaysideError
from wayside.core.reply import Heard, Reply, ReplyState, Utterance
from wayside.core.sentences import spans
from wayside.core.turn_events import ReplyEnded, ReplyStarted, TurnEvent
from wayside.ports.audio_link import AudioLink, DeviceFound, DeviceLost, LinkEvent, Rendered
from wayside.ports.clock import Clock
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, TextToSpeech, VoiceStyle
from wayside.runtime.room.speech import Reached, SpeechRequest
from wayside.runtime.screen import Caption, CaptionState, Clear, Level, ScreenEvent, UtteranceFrame
from wayside.runtime.text_feed import TextFeed

CLEAR_DEADLINE_S = 0.5
STALL_S = 3.0  # no rendered progress for this long, while not held, is a failed reply (noticed within seconds)
CHUNK_S = 8.0
MAX_LEAD_S = 20.0  # synthesised but not yet rendered
CAPTION_EVERY_S = 0.08
LEVEL_EVERY_S = 0.05
READING_CHARS_PER_S = 12.0  # 160 words a minute, slower than most read
DUCK_DB = -12.0

Show = Callable[[ScreenEvent], None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What of a reply reached people, and how it ended."""

    delivery_id: str
    run_id: str
    generation: int
    medium: str  # "voice" | "screen"
    heard: Heard
    state: ReplyState
    first_audio_at: float | None  # when the voice's first chunk arrived
    first_rendered_at: float | None


class Speaker:
    """The loudspeaker and the captions of one visit."""

    def __init__(
        self,
        link: AudioLink,
        voice: TextToSpeech,
        clock: Clock,
        mint: Callable[[], int],
        show: Show,
        turn: Callable[[TurnEvent], None],
        reading_changed: Callable[[], None],
    ) -> None:
        self._link = link
        self._voice = voice
        self._clock = clock
        self._mint = mint
        self._show = show
        self._turn = turn
        self._reading_changed = reading_changed
        self._reply: Reply | None = None
        self._reached: Callable[[Reached], None] = lambda _news: None
        self._style = NEUTRAL
        self._agent = ""
        self._interrupted = asyncio.Event()
        self._progress = asyncio.Event()
        self._shown: set[int] = set()
        self._voiced = True  # the last utterance was spoken, not shown
        self._muted = False  # sound has failed in this reply: the rest of it is read
        self._showing: int | None = None  # the utterance that is being read
        self._last_caption = 0.0
        self._last_level = 0.0
        self._first_audio_at: float | None = None
        self._first_rendered_at: float | None = None
        self.cleared_through = 0
        self.silent = False
        self.loudspeaker = True
        self.degraded: set[str] = set()

    @property
    def reading(self) -> bool:
        """Whether replies are read rather than heard: by choice, because nothing can sound, or still to its end."""
        return self.silent or not self.loudspeaker or bool(self.degraded) or self._muted or self._showing is not None

    @property
    def reply(self) -> Reply | None:
        """The reply that has the floor."""
        return self._reply

    async def say(
        self,
        request: SpeechRequest,
        feed: TextFeed,
        started: Callable[[int], None],
        reached: Callable[[Reached], None],
        style: VoiceStyle = NEUTRAL,
    ) -> Delivery | None:
        """Deliver the feed's text; None when the run ended before any of it could be said.

        `started` learns the generation; `reached` how much has been delivered, as often as the captions move.
        """
        first = await feed.next()
        if first is None or feed.aborted:
            return None
        generation = self._mint()
        self._reply = Reply(generation, request.run_id)
        self._reached, self._style, self._agent = reached, style, request.agent
        self._interrupted = asyncio.Event()
        self._shown.clear()
        self._first_audio_at = self._first_rendered_at = None
        started(generation)
        self._turn(ReplyStarted(self._clock.now(), generation, request.interruptible))
        try:
            acked = await self._perform(request.language, first, feed)
            return self._settle(request, acked=acked)
        finally:
            self._reply = None
            self._read(None, muted=False)
            self._turn(ReplyEnded(self._clock.now(), generation))

    def interrupt_run(self, run_id: str) -> None:
        """Interrupt the reply of this run, if it is the one being said."""
        if self._reply is not None and self._reply.run_id == run_id:
            self.interrupt(self._reply.generation)

    def hold(self, generation: int) -> None:
        """Silence within one block; nothing is lost."""
        if self._now_speaking(generation):
            self._link.hold(generation)
            self._move(ReplyState.HELD)

    def resume(self, generation: int) -> None:
        """Go on at the next sample."""
        if self._now_speaking(generation):
            self._link.resume(generation)
            self._move(ReplyState.SPEAKING)

    def duck(self, generation: int, *, down: bool) -> None:
        """Play a notice more softly under the visitor."""
        self._link.set_gain(generation, DUCK_DB if down else 0.0)

    def interrupt(self, generation: int) -> None:
        """Raise the watermark, stop synthesis, wake `say` to clear and settle. Sound is silent from here on."""
        if generation <= self.cleared_through:
            return
        self.cleared_through = generation
        self._link.hold(generation)
        self._voice.cancel(generation)
        self._show(Clear(generation))
        if self._now_speaking(generation):
            self._interrupted.set()

    def acknowledge(self, generation: int, utterance: int, chars: int) -> None:
        """The page has shown so many characters (delivery by screen)."""
        if self._reply and self._reply.generation == generation and utterance == self._showing:
            self._reply = ledger.shown(self._reply, utterance, chars)
            self._caption(utterance, "speaking", force=True)
            self._progress.set()

    def on_link(self, event: LinkEvent) -> None:
        """Take what the link says about playout."""
        match event:
            case Rendered():
                self._rendered(event)
            case DeviceLost(kind="loudspeaker"):
                self.loudspeaker = False
                self._progress.set()
                self._reading_changed()
            case DeviceFound(kind="loudspeaker"):
                self.loudspeaker = True
                self._reading_changed()
            case _:
                pass

    # --- one reply ------------------------------------------------------------------------------------------------

    async def _perform(self, language: str, first: str, feed: TextFeed) -> bool:
        """Speak until the end or an interruption; True when the final counts are certain."""
        if self._reply is None:
            return False
        generation = self._reply.generation
        async with asyncio.TaskGroup() as group:
            body = group.create_task(self._body(language, first, feed))
            watch = group.create_task(self._interrupted.wait())
            await asyncio.wait({body, watch}, return_when=asyncio.FIRST_COMPLETED)
            body.cancel()
            watch.cancel()
        if not self._interrupted.is_set() and self._reply.state is not ReplyState.FAILED:
            return True
        return await self._clear(generation)

    async def _clear(self, generation: int) -> bool:
        self.cleared_through = max(self.cleared_through, generation)
        return await self._silence(generation)

    async def _silence(self, generation: int) -> bool:
        """Take back what the link has not rendered; True when the final counts are certain."""
        try:
            async with asyncio.timeout(CLEAR_DEADLINE_S):
                ack = await self._link.clear(generation)
        except (TimeoutError, WaysideError):
            return False
        certain = True
        for item in ack.utterances:
            if self._reply is not None:
                self._reply = ledger.rendered(self._reply, item.utterance, item.samples)
            certain = certain and item.certainty == "counted"
        return certain

    async def _body(self, language: str, first: str, feed: TextFeed) -> None:
        waiting: deque[Utterance] = deque(self._take(first))
        while True:
            if feed.aborted:
                self._move(ReplyState.FAILED)
                return
            if waiting:
                if not await self._deliver(language, waiting.popleft()):
                    self._move(ReplyState.FAILED)
                    return
                continue
            delta = await feed.next()
            if delta is None:
                waiting.extend(self._end_text())
                if not waiting:
                    break
            else:
                waiting.extend(self._take(delta))
        if not await self._drained(0.0) and not await self._read_on():
            self._move(ReplyState.FAILED)

    async def _deliver(self, language: str, utterance: Utterance) -> bool:
        self._voiced = not self.silent and self.loudspeaker and not self._muted
        if not self._voiced:
            return await self._show_text(utterance)
        try:
            return await self._speak(language, utterance) or await self._read_on(utterance.id)
        except WaysideError as error:
            return await self._read_on(utterance.id, error.code)

    async def _read_on(self, through: int | None = None, code: str | None = None) -> bool:
        """The worse but honest way on when the voice or the sound failed: what was not heard whole is shown.

        That is up to the utterance `through`, or all of them. `code` says how the voice failed.
        """
        reply = self._reply
        if reply is None or reply.generation <= self.cleared_through:
            return False
        if not await self._drained(0.0):
            await self._silence(reply.generation)
        self._voiced = False
        self._read(None, muted=True)
        if code is not None:
            self.degraded.add(code)
        for utterance in self._reply.utterances[:through] if self._reply else ():
            if utterance.heard_chars() < len(utterance.text.rstrip()):
                self._shown.discard(utterance.id)
                if not await self._show_text(utterance):
                    return False
        return True

    def _read(self, showing: int | None, *, muted: bool) -> None:
        """Note how the reply is delivered; whoever shows the settings is told when that changes `reading`."""
        before = self.reading
        self._showing, self._muted = showing, muted
        if self.reading != before:
            self._reading_changed()

    async def _speak(self, language: str, utterance: Utterance) -> bool:
        reply = self._reply
        if reply is None:
            return False
        generation = reply.generation
        async with aclosing(
            _with_deadline(self._voice.speak(utterance.text, language, generation, utterance.id, self._style))
        ) as chunks:
            async for chunk in chunks:
                if generation <= self.cleared_through or self._reply is None:
                    return False
                if self._first_audio_at is None:
                    self._first_audio_at = self._clock.now()
                samples = len(chunk.pcm) // 2
                self._reply = ledger.synthesised(self._reply, utterance.id, samples, chunk.rate, chunk.words)
                self._link.play(generation, utterance.id, chunk.pcm, chunk.rate)
                self._reply = ledger.sent(self._reply, utterance.id, samples)
                if not await self._drained(MAX_LEAD_S):
                    return False
        if self._reply is not None:
            self._reply = ledger.synthesis_ended(self._reply, utterance.id)
            if not self._reply.utterances[utterance.id - 1].synthesised and utterance.text.strip():
                raise WaysideError("tts.failed", "The voice made no sound.", retryable=True)
        if self.degraded:
            self.degraded.clear()
            self._reading_changed()
        return True

    async def _show_text(self, utterance: Utterance) -> bool:
        """Deliver one utterance by the screen; only what the page acknowledges counts."""
        if self._reply is None:
            return False
        self._read(utterance.id, muted=self._muted)
        self._announce(utterance)
        seconds = 5.0 + 2.0 * len(utterance.text) / READING_CHARS_PER_S
        try:
            async with asyncio.timeout(seconds):
                while self._reply is not None and self._reply.utterances[utterance.id - 1].shown < len(
                    utterance.text.rstrip()
                ):
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            return False
        finally:
            self._read(None, muted=self._muted)
        self._reply = ledger.shown(self._reply, utterance.id, len(utterance.text)) if self._reply else None
        return True

    async def _drained(self, lead_s: float) -> bool:
        """Wait until at most `lead_s` of sound is unrendered; False when playout stands still or has no loudspeaker."""
        while self._reply is not None:
            left = sum((u.sent - u.rendered) / u.rate for u in self._reply.utterances if u.rate)
            if left <= lead_s:
                return True
            if not self.loudspeaker:
                return False
            self._progress.clear()
            limit = STALL_S if self._reply.state is ReplyState.SPEAKING else None
            try:
                async with asyncio.timeout(limit):
                    await self._progress.wait()
            except TimeoutError:
                if self._reply is not None and self._reply.state is ReplyState.SPEAKING:
                    return False
        return False

    def _settle(self, request: SpeechRequest, *, acked: bool) -> Delivery:
        reply = self._reply
        if reply is None:
            raise AssertionError("a reply is settled while it has the floor")
        if self._interrupted.is_set():
            state, word = ReplyState.INTERRUPTED, "interrupted"
        elif reply.state is ReplyState.FAILED:
            state, word = ReplyState.FAILED, "failed"
        else:
            state, word = ReplyState.FINISHED, "finished"
        what = ledger.heard(reply, acked=acked)
        if self._shown:
            self._caption(max(self._shown), word, force=True)  # type: ignore[arg-type]
        self._show(Level(reply.generation, 0.0))
        self._tell_reached(what, state)
        return Delivery(
            request.delivery_id,
            reply.run_id,
            reply.generation,
            "voice" if self._voiced else "screen",
            what,
            state,
            self._first_audio_at,
            self._first_rendered_at,
        )

    # --- facts ----------------------------------------------------------------------------------------------------

    def _rendered(self, event: Rendered) -> None:
        reply = self._reply
        if reply is None or event.generation != reply.generation or event.generation <= self.cleared_through:
            return
        self._reply = ledger.rendered(reply, event.utterance, event.samples)
        self._progress.set()
        if event.samples > 0 and 1 <= event.utterance <= len(reply.utterances):
            if self._first_rendered_at is None:
                self._first_rendered_at = event.at
            self._announce(reply.utterances[event.utterance - 1])
            word: CaptionState = "held" if reply.state is ReplyState.HELD else "speaking"
            whole = self._reply.utterances[event.utterance - 1].fully_rendered
            self._caption(event.utterance, word, force=whole)
        now = self._clock.now()
        if now - self._last_level >= LEVEL_EVERY_S:
            self._last_level = now
            self._show(Level(event.generation, round(min(1.0, event.level), 3)))

    def _announce(self, utterance: Utterance) -> None:
        if self._reply is not None and utterance.id not in self._shown:
            if self._shown:
                # The one before is over: its last words must not fall between two captions.
                self._caption(max(self._shown), "speaking", force=True)
            self._shown.add(utterance.id)
            text = utterance.text
            self._show(UtteranceFrame(self._reply.generation, utterance.id, text, spans(text), self._agent))

    def _caption(self, utterance: int, state: CaptionState, *, force: bool = False) -> None:
        now = self._clock.now()
        if self._reply is None or (not force and now - self._last_caption < CAPTION_EVERY_S):
            return
        self._last_caption = now
        chars = self._reply.utterances[utterance - 1].heard_chars()
        self._show(Caption(self._reply.generation, utterance, chars, state))
        if self._reply.open:
            self._tell_reached(ledger.heard(self._reply), self._reply.state)

    def _tell_reached(self, what: Heard, state: ReplyState) -> None:
        if self._reply is not None:
            self._reached(
                Reached(
                    self._reply.generation,
                    "voice" if self._voiced else "screen",
                    len(what.text),
                    what.alignment,
                    state.value,
                )
            )

    def _take(self, delta: str) -> tuple[Utterance, ...]:
        if self._reply is None:
            return ()
        self._reply, new = ledger.add_text(self._reply, delta)
        return new

    def _end_text(self) -> tuple[Utterance, ...]:
        if self._reply is None:
            return ()
        self._reply, new = ledger.end_text(self._reply)
        return new

    def _move(self, state: ReplyState) -> None:
        if self._reply is not None:
            self._reply = ledger.move(self._reply, state)
            if self._shown and state in {ReplyState.HELD, ReplyState.SPEAKING}:
                self._caption(max(self._shown), "held" if state is ReplyState.HELD else "speaking", force=True)
            self._progress.set()

    def _now_speaking(self, generation: int) -> bool:
        return self._reply is not None and self._reply.generation == generation


async def _with_deadline(chunks: AsyncIterator[SpeechChunk]) -> AsyncGenerator[SpeechChunk, None]:
    """Pass chunks on; a voice that brings no next chunk in time has failed (`tts.timeout`)."""
    async with aclosing(chunks) as source:  # type: ignore[type-var]  # every provider's `speak` is an async generator
        while True:
            try:
                async with asyncio.timeout(CHUNK_S):
                    chunk = await anext(source)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise WaysideError("tts.timeout", "The voice did not answer in time.", retryable=True) from None
            yield chunk
