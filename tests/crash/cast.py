"""Who plays in a process that is to die: a guide that says what its input's script asks for, and a voice.

Every delta says which it is, `[input/output/number]`, so that each spoken word can be held against the journal.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

from probes import Log, Probe
from wayside.core.room.agents import RoomUtterance
from wayside.core.room.arbiter import Reason
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    DriverEvent,
    InputRequested,
    Progress,
)
from wayside.ports.room_agent import TurnContext
from wayside.runtime.room.speech import Reached, SpeechRequest
from wayside.runtime.text_feed import TextFeed

TOKEN = "t1"  # noqa: S105 - of a continuation: it correlates and opens nothing
GAP_S = 0.001
PIECE_S = 0.002


class Guide:
    """Plays the script that its input names. Its first progress tells from which checkpoint it began."""

    async def run(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        """The events of one attempt; a resumed one says everything again, closed or not."""
        match context.input.data["script"]:
            case "turn":
                events = self._turn(context)
            case "ask":
                events = self._ask(context)
            case "reply":
                events = self._reply(context)
            case _:
                events = self._slow(context)
        async for event in events:
            yield event
            await asyncio.sleep(GAP_S)

    async def _turn(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        yield _begun(context)
        yield Checkpoint({"stage": "found"})
        yield _delta(context, "answer", 0)
        yield _delta(context, "answer", 1, final=True)
        yield _delta(context, "cue", 0, final=True, history="ephemeral", purpose="notice")
        yield Checkpoint({"stage": "told"})
        yield _delta(context, "more", 0)
        yield _delta(context, "more", 1, final=True)
        yield Decision(utterances=(RoomUtterance(f"[{context.input.id}/last/0] "),))
        yield Completed()

    async def _ask(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        yield _begun(context)
        yield Checkpoint({"stage": "asked"})
        yield _delta(context, "words", 0, final=True, purpose="question")
        yield InputRequested("r1", TOKEN)

    async def _reply(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        yield _begun(context)
        yield _delta(context, "words", 0)
        yield _delta(context, "words", 1, final=True)
        yield Completed()

    async def _slow(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        yield Checkpoint({"stage": "slow"})
        yield _delta(context, "answer", 0)
        await context.abort.wait()


def _begun(context: TurnContext) -> Progress:
    at = context.checkpoint
    return Progress(str(at["stage"]) if isinstance(at, dict) else "new", context.attempt)


def _delta(context: TurnContext, output: str, number: int, **changes: Any) -> AssistantOutput:
    return AssistantOutput(output, f"[{context.input.id}/{output}/{number}] ", **changes)


class Voice:
    """Speaks one delta after the other, and writes each down as it does."""

    def __init__(self, probe: Probe, spoken: Log) -> None:
        self._probe = probe
        self._spoken = spoken
        self._interrupted: set[str] = set()
        self._heard: dict[str, asyncio.Event] = {}

    def heard(self, run_id: str) -> asyncio.Event:
        """Set once a word of the run was spoken."""
        return self._heard.setdefault(run_id, asyncio.Event())

    async def speak(self, request: SpeechRequest, feed: TextFeed, reached: Callable[[Reached], None]) -> None:
        """Until the feed ends, the reply is interrupted, or the process dies in the middle of it."""
        while self._probe.point == "transcript_before_speech" and not self._probe.reached["after_transcript"]:
            await asyncio.sleep(PIECE_S)
        self._probe.reach("transcript_before_speech")
        chars, state = 0, "completed"
        while (piece := await feed.next()) is not None:
            await asyncio.sleep(PIECE_S)
            if feed.aborted or request.run_id in self._interrupted:
                state = "interrupted"
                break
            self._spoken.add(request.delivery_id, piece, os.getpid())
            self.heard(request.run_id).set()
            self._probe.reach("mid_speech")
            chars += len(piece)
            reached(Reached(1, "voice", chars, "timed", "speaking"))
        reached(Reached(1, "voice", chars, "timed", state))

    def interrupt(self, run_id: str) -> None:
        """Stop before the next piece."""
        self._interrupted.add(run_id)

    def speech_started(self, request: SpeechRequest) -> None:
        """Nobody looks."""

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None:
        """Nobody looks."""

    def speech_suppressed(self, request: SpeechRequest, reason: Reason) -> None:
        """Nobody looks."""
