"""A room agent's driver: what answers for an agent. RFC-021 `respond`, RFC-022 `run`, or both."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from wayside.core.plain_json import Json
from wayside.core.room.agents import AgentDecision, AgentDescriptor, AgentInput, GameAgentManifest
from wayside.core.room.envelope import RoomInteractionEnvelope
from wayside.core.runs.events import DriverEvent


class AbortSignal:
    """Raised once, when the work is no longer wanted. Drivers look at it around expensive work and effects."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reason = ""

    @property
    def aborted(self) -> bool:
        """Whether it has been raised."""
        return self._event.is_set()

    def abort(self, reason: str) -> None:
        """Raise it; the first reason stands."""
        if not self._event.is_set():
            self.reason = reason
            self._event.set()

    async def wait(self) -> None:
        """Return when it is raised."""
        await self._event.wait()


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One thing an agent may remember of its channel: what was said to it, or what of its own words reached people.

    `evidence` are ids of what stood behind the words (passages, an experience).
    """

    role: Literal["visitor", "agent"]
    agent: str
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Continuation:
    """Which question of the run this input answers."""

    request_id: str
    token: str


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a driver gets, all of it copies: changing it changes nothing in the room.

    `observation` is the projection the host chose for this agent's binding; `memory` is this channel's, delivered
    text only. `run_id`, `attempt`, `resumed`, `checkpoint` and `continuation` belong to a run and are empty in a
    single `respond`. `interaction` is the envelope that brought a routed input.
    """

    agent: AgentDescriptor
    input: AgentInput
    abort: AbortSignal
    observation: Json = None
    manifest: GameAgentManifest | None = None
    memory: tuple[MemoryItem, ...] = ()
    services: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    attempt: int = 0
    resumed: bool = False
    checkpoint: Json = None
    continuation: Continuation | None = None
    interaction: RoomInteractionEnvelope | None = None


class RespondingDriver(Protocol):
    """Answers a turn with one decision, or None for silence."""

    async def respond(self, context: TurnContext) -> AgentDecision | None: ...


class RunningDriver(Protocol):
    """Answers a run event by event; an async generator. Must stop when closed or aborted."""

    def run(self, context: TurnContext) -> AsyncIterator[DriverEvent]: ...


Driver = RespondingDriver | RunningDriver
