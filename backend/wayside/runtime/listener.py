"""Turns captured frames into gate events and transcribed segments. Decides nothing: `core.turns` does.

Audio lives in memory for as long as its segment does and is dropped with it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wayside.core.errors import WaysideError
from wayside.core.gate import GateSettings, SpeechGate, SpeechStarted
from wayside.core.turn_events import Final, Interim, SegmentFailed, TurnEvent, Via, VoiceStarted, VoiceStopped
from wayside.ports.audio_link import CAPTURE_RATE, CaptureFrame
from wayside.ports.clock import Clock
from wayside.ports.speech_to_text import SpeechStream, SpeechToText, Transcript
from wayside.ports.voice_activity import WINDOW_SAMPLES, VoiceActivity

PRE_ROLL_S = 0.5  # before a speech onset in automatic turns: the first syllable is never lost
WINDOW_BYTES = 2 * WINDOW_SAMPLES
MAX_SEGMENT_BYTES = 2 * CAPTURE_RATE * 40  # the cap of a segment is 30 s; past this nothing is kept
NO_SPEECH = 0.8


@dataclass(slots=True)
class _Segment:
    id: int
    waiting: list[bytes] = field(default_factory=list)
    stream: SpeechStream | None = None
    pushed: int = 0
    paused: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Listener:
    """One visit's ears. `take` is called for every captured frame, on the event loop."""

    def __init__(
        self,
        voice_activity: VoiceActivity,
        speech_to_text: SpeechToText,
        clock: Clock,
        turn: Callable[[TurnEvent], None],
        group: asyncio.TaskGroup,
        gate: GateSettings | None = None,
    ) -> None:
        self._vad = voice_activity
        self._stt = speech_to_text
        self._clock = clock
        self._turn = turn
        self._group = group
        self._settings = gate or GateSettings()
        self._gate = SpeechGate(self._settings)
        self._window = bytearray()
        self._ring: deque[bytes] = deque(maxlen=int(PRE_ROLL_S * 100))
        self._segments: dict[int, _Segment] = {}
        self._active: _Segment | None = None
        self.last_voice_at: float | None = None

    def restart(self) -> None:
        """The microphone opens anew: nothing from before counts."""
        self._vad.reset()
        self._gate = SpeechGate(self._settings)
        self._window.clear()
        self._ring.clear()

    def take(self, frame: CaptureFrame) -> None:
        """Take 10 ms of capture."""
        if self._active is not None:
            self._push(self._active, frame.pcm)
        else:
            self._ring.append(frame.pcm)
        self._window.extend(frame.pcm)
        while len(self._window) >= WINDOW_BYTES:
            window = bytes(self._window[:WINDOW_BYTES])
            del self._window[:WINDOW_BYTES]
            self._gate, event = self._gate.step(self._vad.probability(window))
            if event is None:
                continue
            behind_s = (self._gate.position - event.sample) / CAPTURE_RATE
            if isinstance(event, SpeechStarted):
                self._turn(VoiceStarted(frame.at))
            else:
                self.last_voice_at = frame.at - behind_s
                self._turn(VoiceStopped(frame.at, self.last_voice_at))

    def open(self, segment: int, via: Via, language: str, hints: Sequence[str]) -> None:
        """Begin a segment with the pre-roll that waits in the ring."""
        opened = _Segment(segment, waiting=list(self._ring))
        self._ring.clear()
        self._segments[segment] = opened
        self._active = opened
        opened.task = self._group.create_task(self._transcribe(opened, language, hints), name=f"segment.{via}")

    def pause(self, segment: int) -> None:
        """The visitor may have finished."""
        opened = self._segments.get(segment)
        if opened is not None:
            opened.paused = True
            if opened.stream is not None:
                opened.stream.pause()

    def close(self, segment: int) -> None:
        """The visitor has finished; `Final` or `SegmentFailed` follows."""
        opened = self._segments.get(segment)
        if opened is not None:
            if self._active is opened:
                self._active = None
            opened.closed.set()

    def discard(self, segment: int) -> None:
        """Forget a segment; its words never arrive."""
        opened = self._segments.pop(segment, None)
        if opened is not None:
            if self._active is opened:
                self._active = None
            opened.waiting.clear()
            if opened.task is not None:
                opened.task.cancel()

    def _push(self, segment: _Segment, pcm: bytes) -> None:
        if segment.pushed + len(pcm) > MAX_SEGMENT_BYTES:
            return
        segment.pushed += len(pcm)
        if segment.stream is None:
            segment.waiting.append(pcm)
        else:
            segment.stream.push(pcm)

    async def _transcribe(self, segment: _Segment, language: str, hints: Sequence[str]) -> None:
        stream: SpeechStream | None = None
        try:
            stream = await self._stt.open(language, hints)
            for pcm in segment.waiting:
                stream.push(pcm)
            segment.waiting.clear()
            segment.stream = stream
            if segment.paused:
                stream.pause()
            async with asyncio.TaskGroup() as group:
                interims = group.create_task(self._interims(segment, stream))
                await segment.closed.wait()
                final = await stream.finish()
                interims.cancel()
            self._segments.pop(segment.id, None)
            self._turn(Final(self._clock.now(), segment.id, _spoken(final), final.confidence))
        except* WaysideError as group_error:
            self._segments.pop(segment.id, None)
            code = next((e.code for e in _leaves(group_error) if isinstance(e, WaysideError)), "stt.failed")
            self._turn(SegmentFailed(self._clock.now(), segment.id, code))
        finally:
            if stream is not None:
                await stream.close()

    async def _interims(self, segment: _Segment, stream: SpeechStream) -> None:
        while (transcript := await stream.interim()) is not None:
            if segment.id in self._segments and not segment.closed.is_set():
                self._turn(Interim(self._clock.now(), segment.id, _spoken(transcript), transcript.confidence))


def _spoken(transcript: Transcript) -> str:
    return "" if transcript.no_speech >= NO_SPEECH else transcript.text.strip()


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found
