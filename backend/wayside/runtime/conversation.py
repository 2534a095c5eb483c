"""The conversation of a visit: every turn becomes an interaction for an agent, every interaction an input of a run.

Owns the runs, the room's speech and what agents say to each other. Who has the floor is decided elsewhere (`Turns`);
what was heard is counted elsewhere (`Speaker`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json
from wayside.core.room.agents import Endpoint, InteractionDraft, Participant
from wayside.core.room.arbiter import Reason
from wayside.core.room.disclosure import ROOM
from wayside.core.room.envelope import RoomInteractionEnvelope, input_of
from wayside.core.room.routing import RoutingPolicy, mentioned
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.core.runs.request import InputPolicy, RunRequest, Supersession
from wayside.ports.run_store import RunStore
from wayside.runtime.answer import Answer, Answered, AnswerSink, TurnTimes
from wayside.runtime.logs import get_logger
from wayside.runtime.parts import Parts
from wayside.runtime.recovery import Recovered, recover
from wayside.runtime.room.router import RoomInteractionRouter
from wayside.runtime.room.speech import Reached, RoomSpeech, SpeechRequest
from wayside.runtime.runs.runtime import Hooks, RoomAgentRuntime, RunLifecycle, RunResult
from wayside.runtime.speaker import Delivery, Speaker
from wayside.runtime.text_feed import TextFeed

ROOM_ID = "kiosk"
VISITOR = "visitor"
MAX_APPENDED = 500

log = get_logger()


class ConversationHost(AnswerSink, Protocol):
    """What the conversation tells its visit beside its answers."""

    def run_over(self, result: RunResult) -> None: ...

    def reply_over(self, delivery: Delivery | None) -> None: ...

    def focused(self, agent: str) -> None: ...

    def shortened(self) -> None: ...


class Conversation:
    """One visit's. `store` is its own; the registry is the kiosk's."""

    def __init__(
        self,
        parts: Parts,
        store: RunStore,
        speaker: Speaker,
        host: ConversationHost,
        group: asyncio.TaskGroup,
        answered: Callable[[Answered], None] | None = None,
    ) -> None:
        self._parts = parts
        self._store = store
        self._speaker = speaker
        self._host = host
        self._group = group
        self._answered = answered
        self._me = Participant(VISITOR)
        self._answers: dict[str, Answer] = {}
        self._times: dict[str, TurnTimes] = {}
        self._supersede: dict[str, Supersession] = {}
        self.agent = parts.pack.agents[0].id
        parts.registry.join(self._me)
        self._speech = RoomSpeech(self, store, parts.clock, group, self)
        self._runs = RoomAgentRuntime(
            ROOM_ID,
            parts.registry,
            store,
            parts.clock,
            parts.new_id,
            group,
            policy=RoutingPolicy(fallback=self.agent),
            speech=self._speech,
            hooks=Hooks(lifecycle=_log_run),
        )
        self._router = RoomInteractionRouter(ROOM_ID, group, parts.new_id)
        for agent in parts.registry.list():
            self._router.connect(Endpoint("agent", agent.id), self._receive)

    def say(
        self, text: str, language: str, data: dict[str, Json], times: TurnTimes, *, resumes: str | None = None
    ) -> None:
        """One committed turn. Speaking to an agent by name is how to turn to it.

        `resumes` names the run whose unanswered question this text goes on with.
        """
        self.hush()
        names = {
            agent.id: (agent.name.get(language, ""), *agent.spellings.get(language, ()))
            for agent in self._parts.pack.agents
        }
        called = mentioned(text, names) if len(names) > 1 else None
        if called is not None and called != self.agent and self._parts.registry.get(called) is not None:
            self.address(called)
        input_id = self._parts.new_id()
        self._times[input_id] = times
        if resumes is not None:
            self._supersede[input_id] = Supersession(resumes, input_policy=InputPolicy("append", MAX_APPENDED))
        message: dict[str, Json] = {"type": "message", "text": text, "language": language, "data": data}
        # A public loudspeaker: everybody in the room hears the answer, and nobody at the screen is known as a person.
        draft = InteractionDraft((Endpoint("agent", self.agent),), message, ROOM)
        envelope = self._router.create(
            f"{VISITOR}.{self.agent}", Endpoint("participant", VISITOR), draft, envelope_id=input_id
        )
        # A visitor never waits in a lane: the turn is taken at once, and routed when an agent wants to pass it on.
        self._group.create_task(self._turn(envelope, Endpoint("agent", self.agent)), name="visit.turn")

    def knows(self, agent: str) -> bool:
        """Whether this agent is in the room."""
        return self._parts.registry.get(agent) is not None

    def address(self, agent: str) -> bool:
        """Turn to another agent; False when there is no such agent here."""
        if self._parts.registry.get(agent) is None:
            return False
        if agent != self.agent:
            self.agent = agent
            self._group.create_task(self._runs.set_focus(VISITOR, agent), name="visit.focus")
            self._host.focused(agent)
        return True

    def cancel(self, run_id: str, reason: str) -> None:
        """Stop a run; its words are void at once, its end is written as soon as may be."""
        self._speech.withdraw(run_id)
        self._group.create_task(self._cancel(run_id, reason), name="visit.cancel")

    def hush(self) -> None:
        """The visitor has the floor: what waits to be said will not be."""
        self._speech.withdraw_waiting("superseded")

    async def take_up(self, agent: str) -> Recovered:
        """After a restart: finish silently what was begun, and say what people had seen and what is due."""
        self.agent = agent if self._parts.registry.get(agent) is not None else self.agent
        for record in await self._runs.resume():
            if record.status is RunStatus.ACTIVE:
                await self._runs.resume_run(record.id, present=False)
        recovered = await recover(self._store, ROOM_ID)
        self._parts.generations.start_after(recovered.generation)
        return recovered

    # --- agents -----------------------------------------------------------------------------------------------------

    async def _send(self, envelope: RoomInteractionEnvelope) -> None:
        dispatched = await self._router.dispatch(envelope)
        for receipt in dispatched.receipts:
            if receipt.state == "failed":
                log.warning("room.undelivered", code=receipt.code)

    async def _receive(self, envelope: RoomInteractionEnvelope) -> tuple[InteractionDraft, ...]:
        """An interaction for an agent: its run begins, and the lane is free again."""
        (target,) = envelope.targets
        if envelope.source.kind == "participant":
            return ()
        self._group.create_task(self._turn(envelope, target), name="visit.answer")
        return ()

    async def _turn(self, envelope: RoomInteractionEnvelope, agent: Endpoint) -> None:
        """One input from admission to what of the answer was heard."""
        given = input_of(envelope, self._me if envelope.source.kind == "participant" else None)
        times = self._times.pop(given.id, None) or TurnTimes("agent")
        request = RunRequest(
            given, agents=(agent.id,), supersession=self._supersede.pop(given.id, None), interaction=envelope
        )
        try:
            result = await self._run(request, times)
        except WaysideError as error:
            if request.supersession is None or error.code != "run.supersession_mismatch":
                log.warning("run.refused", code=error.code)
                return
            # The run that it went on with has ended in the meantime: it is a turn of its own.
            result = await self._run(replace(request, supersession=None), times)
        self._host.run_over(result)
        if result.status is RunStatus.COMPLETED and result.decision.interactions:
            await self._pass_on(envelope, agent, result.decision.interactions)
        await self._speech.delivered(result.run_id, result.attempt)
        answer = self._answers.pop(result.run_id, None)
        if answer is not None and self._answered is not None:
            self._answered(_outcome(answer, result, times, given.text))

    async def _pass_on(
        self, envelope: RoomInteractionEnvelope, agent: Endpoint, drafts: tuple[InteractionDraft, ...]
    ) -> None:
        """What an agent wants sent, derived from what it was asked (RFC-021 §6)."""
        if envelope.source.kind == "participant":
            await self._send(envelope)
        for draft in drafts:
            try:
                await self._send(self._router.derive(envelope, agent, draft))
            except WaysideError as error:
                log.warning("room.undelivered", code=error.code)

    async def _run(self, request: RunRequest, times: TurnTimes) -> RunResult:
        def admitted(record: RunRecord) -> None:
            self._answers[record.id] = Answer(self._host, times, record)
            self._host.run_started(record.id)

        def committed(entry: JournalEntry) -> None:
            answer = self._answers.get(entry.run_id)
            if answer is not None:
                answer.on_event(entry)

        (result,) = await self._runs.handle_run_input(request, committed, admitted)
        return result

    async def _cancel(self, run_id: str, reason: str) -> None:
        try:
            await self._runs.cancel_run(run_id, reason)
        except WaysideError as error:
            log.warning("run.cancel_failed", code=error.code)

    # --- speech -----------------------------------------------------------------------------------------------------

    async def speak(self, request: SpeechRequest, feed: TextFeed, reached: Callable[[Reached], None]) -> None:
        """The room's voice: this visit's speaker."""
        answer = self._answers.get(request.run_id)
        if answer is None:
            return
        style = self._parts.pack.agent(request.agent).voice
        answer.delivery = await self._speaker.say(request, feed, answer.on_floor, reached, style)

    def interrupt(self, run_id: str) -> None:
        """Take the floor from a reply."""
        self._speaker.interrupt_run(run_id)

    def speech_started(self, request: SpeechRequest) -> None:
        """Its line begins when its generation is known."""

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None:  # noqa: ARG002 - the delivery says more
        """A reply gave the floor back."""
        answer = self._answers.get(request.run_id)
        self._host.reply_over(answer.delivery if answer else None)

    def speech_suppressed(self, request: SpeechRequest, reason: Reason) -> None:  # noqa: ARG002 - whose words: not told
        """Operators see why something was not spoken, never what; visitors learn that an answer was cut short."""
        log.info("speech.suppressed", reason=reason)
        if reason == "too_long":
            self._host.shortened()


def _outcome(answer: Answer, result: RunResult, times: TurnTimes, text: str) -> Answered:
    delivery = answer.delivery
    times.first_audio = delivery.first_audio_at if delivery else None
    times.first_rendered = delivery.first_rendered_at if delivery else None
    return Answered(text, answer.text, answer.sources, answer.refused, result.status, delivery, times)


def _log_run(event: RunLifecycle) -> None:
    log.debug(
        "run.lifecycle",
        state=event.kind,
        attempt=event.attempt,
        duration_ms=round(event.duration_ms, 1),
        code=event.code,
    )
