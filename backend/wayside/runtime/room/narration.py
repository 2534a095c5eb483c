"""Joins an agent's experience to its room: what it lives through is in its memory, what it wants told becomes a run.

A narration is a run like any other, so that the arbiter, the journal and the deliveries know it; its input has no
words. What sounds and what is being answered in the room is told here by the host (ADR 0123).
"""

from collections.abc import Callable

from wayside.core.room.agents import AgentInput, Endpoint
from wayside.core.room.disclosure import ROOM
from wayside.core.runs.events import AssistantOutput, JournalEntry
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.core.runs.request import RunRequest
from wayside.ports.clock import Clock
from wayside.ports.room_agent import MemoryItem
from wayside.runtime.room.experience import ExperienceSeam, Outcome
from wayside.runtime.room.speech import Reached, SpeechRequest
from wayside.runtime.runs.runtime import RoomAgentRuntime, RunLifecycle

SOURCE = Endpoint("service", "experience")
DELIVERY = "experience"  # key of the input's data: the delivery id that words from experience carry as evidence


class Narrator:
    """One agent's. The registry must accept `SOURCE` as a routed source; the host owns `seam.run()`."""

    def __init__(
        self,
        agent: str,
        runtime: RoomAgentRuntime,
        clock: Clock,
        new_id: Callable[[], str],
        *,
        enabled: bool,
        language: str = "",
    ) -> None:
        self._agent = agent
        self._runtime = runtime
        self._language = language
        self._inputs: dict[str, str] = {}
        self._worded: set[str] = set()
        self._sounding: dict[str, int] = {}
        self._count = 0
        self.seam = ExperienceSeam(
            agent,
            enabled=enabled,
            present=lambda: runtime.registry.get(agent) is not None,
            clock=clock,
            new_id=new_id,
            seed=_no_copy,
            request_response=self._ask,
        )

    def remember(self, record: RunRecord) -> tuple[MemoryItem, ...]:
        """For `Hooks.remember`: what this agent knows from experience, and nobody else."""
        return self.seam.memory() if record.agent == self._agent else ()

    def lifecycle(self, event: RunLifecycle) -> None:
        """For `Hooks.lifecycle`: an answer is being made in the room, or has been."""
        if event.kind in {"started", "resumed"}:
            self._inputs[event.run_id] = event.input_id
            self.seam.response_started(event.input_id)
            return
        worded = event.input_id in self._worded
        self._worded.discard(event.input_id)
        outcome: Outcome = "failed" if event.kind != RunStatus.COMPLETED.value else "words" if worded else "silent"
        self.seam.response_ended(event.input_id, outcome)
        if not worded:
            self._inputs.pop(event.run_id, None)

    def entry(self, record: RunRecord, entry: JournalEntry) -> None:
        """For `Hooks.on_entry`: whether there are words at all."""
        if isinstance(entry.event, AssistantOutput) and entry.event.delta.strip():
            self._worded.add(record.input.id)

    def speech_started(self, request: SpeechRequest) -> None:
        """Something is about to sound."""
        self._count += 1
        self._sounding[request.delivery_id] = self._count
        self.seam.audio_started(self._count)

    def speech_ended(self, request: SpeechRequest, last: Reached | None) -> None:
        """It has fallen silent; a narration of which something was heard has been played."""
        number = self._sounding.pop(request.delivery_id, None)
        narrated = self._inputs.pop(request.run_id, None) if request.channel == self._channel else None
        if number is None:
            return
        if narrated is not None and last is not None and last.chars > 0:
            self.seam.audio_started(number, narrated)
        self.seam.audio_ended(number)

    @property
    def _channel(self) -> str:
        return f"experience.{self._agent}"

    async def _ask(self, agent: str, delivery_id: str) -> None:
        given = AgentInput(
            id=delivery_id,
            text="",
            source=SOURCE,
            channel=self._channel,
            disclosure=ROOM,
            language=self._language,
            data={DELIVERY: delivery_id},
        )
        self._runtime.start_run(RunRequest(given, agents=(agent,)))


def _no_copy(_agent: str, _item: MemoryItem) -> None:
    """The seam keeps the notes, and `remember` reads them when they are wanted: a corrected one leaves no copy."""
