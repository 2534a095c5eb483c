"""Holds a room's agents and runs their turns. Decides who may be asked and by whom; never submits an action.

A driver works on copies and its answer is bound by `core/room/authority.py` before anybody sees it. Replacing an agent
aborts its turns and discards what they still bring (RFC-021 §10.5, §10.9).
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from wayside.core.plain_json import plain
from wayside.core.room.agents import (
    AgentDecision,
    AgentDescriptor,
    AgentInput,
    Endpoint,
    GameAgentManifest,
    Participant,
    RoomUtterance,
)
from wayside.core.room.authority import authorised, authorised_event
from wayside.core.room.disclosure import ROOM
from wayside.core.room.envelope import copied
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import AssistantOutput, Completed, Decision, DriverEvent, InputRequested
from wayside.ports.room_agent import Driver, TurnContext

REPLACED = "agent_replaced"


@dataclass(slots=True)
class _Registration:
    agent: AgentDescriptor
    driver: Any
    manifest: GameAgentManifest | None
    left: bool = False
    turns: list[TurnContext] = field(default_factory=list)


class RoomAgentRegistry:
    """The agents of one room, in registration order, and who is present to ask them.

    `routed` says whether a service or a watcher may be the source of an input; without it none may.
    """

    def __init__(self, *, routed: Callable[[Endpoint], bool] | None = None) -> None:
        self._routed = routed
        self._agents: dict[str, _Registration] = {}
        self._present: dict[str, Participant] = {}

    def join(self, participant: Participant) -> None:
        """Somebody is in the room; again with another description is fine."""
        self._present[participant.id] = participant

    def leave(self, participant_id: str) -> None:
        """Somebody left; twice is fine."""
        self._present.pop(participant_id, None)

    def present(self) -> tuple[Participant, ...]:
        """Who is in the room, in the order they came."""
        return tuple(self._present.values())

    def register(
        self,
        agent: AgentDescriptor,
        driver: Driver,
        *,
        manifest: GameAgentManifest | None = None,
        game: tuple[str, str] | None = None,
        replace_existing: bool = False,
    ) -> None:
        """Put an agent in the room. `game` is the id and version that its manifest must belong to.

        Replacing keeps the agent's place in the order and aborts its turns.
        """
        if not (callable(getattr(driver, "respond", None)) or callable(getattr(driver, "run", None))):
            raise refuse("room.driver_missing")
        if game is not None and (manifest is None or (manifest.game_id, manifest.version) != game):
            raise refuse("room.manifest_mismatch")
        old = self._agents.get(agent.id)
        if old is not None and not replace_existing:
            raise refuse("room.agent_exists")
        self._agents[agent.id] = _Registration(
            replace(agent, services=frozenset(agent.services)), driver, _manifest_copy(manifest)
        )
        if old is not None:
            _abandon(old)

    def unregister(self, agent_id: str) -> None:
        """Take an agent out and abort its turns; twice is fine."""
        old = self._agents.pop(agent_id, None)
        if old is not None:
            _abandon(old)

    def get(self, agent_id: str) -> AgentDescriptor | None:
        """A copy of the agent's descriptor, or None."""
        found = self._agents.get(agent_id)
        return None if found is None else _agent_copy(found.agent)

    def require(self, agent_id: str) -> AgentDescriptor:
        """A copy of the agent's descriptor; raises `room.unknown_agent`."""
        return _agent_copy(self._registration(agent_id).agent)

    def list(self) -> tuple[AgentDescriptor, ...]:
        """Copies of all descriptors in registration order."""
        return tuple(_agent_copy(found.agent) for found in self._agents.values())

    async def run(self, agent_id: str, context: TurnContext) -> AsyncGenerator[DriverEvent, None]:
        """The events of one turn, each bound by authority. A driver with only `respond` decides once, then completes.

        Raises `room.agent_replaced` when the agent left meanwhile, whatever its driver still brought. The abort signal
        of `context` must be this turn's alone.
        """
        held = self._registration(agent_id)
        self._check(held.agent, context)
        driver = held.driver
        with _turn(held, context):
            if not callable(getattr(driver, "run", None)):
                decision = await self._respond(held, context)
                if decision is not None:
                    yield _as_event(decision)
                    _still(held)
                yield Completed()
                return
            events = driver.run(_for_driver(held, context))
            try:
                async for event in events:
                    _still(held)
                    yield authorised_event(held.agent, context.input, event)
                    _still(held)
            finally:
                close = getattr(events, "aclose", None)
                if close is not None:
                    await close()

    async def respond(self, agent_id: str, context: TurnContext) -> AgentDecision | None:
        """One turn as one decision, or None for silence. The outputs of a driver with only `run` become utterances.

        Its unfinished outputs are dropped; a second action is `room.decision_malformed`.
        """
        held = self._registration(agent_id)
        if not callable(getattr(held.driver, "respond", None)):
            collected = _Collected()
            async with aclosing(self.run(agent_id, context)) as events:
                async for event in events:
                    collected.add(event)
                    if isinstance(event, Completed | InputRequested):
                        break
            return collected.decision()
        self._check(held.agent, context)
        with _turn(held, context):
            return await self._respond(held, context)

    async def _respond(self, held: _Registration, context: TurnContext) -> AgentDecision | None:
        decision = await held.driver.respond(_for_driver(held, context))
        _still(held)
        return None if decision is None else authorised(held.agent, context.input, decision)

    def _registration(self, agent_id: str) -> _Registration:
        found = self._agents.get(agent_id)
        if found is None:
            raise refuse("room.unknown_agent")
        return found

    def _check(self, agent: AgentDescriptor, context: TurnContext) -> None:
        """Refuse a source that is not what it says, before the driver hears of it."""
        asked = context.input
        _check_interaction(agent, context)
        speaker = asked.participant.id if asked.participant is not None else None
        if speaker != (asked.source.id if asked.source.kind == "participant" else None):
            raise refuse("room.source_spoofed")
        match asked.source.kind:
            case "participant":
                if asked.source.id not in self._present:
                    raise refuse("room.speaker_absent")
            case "agent":
                if asked.source.id not in self._agents:
                    raise refuse("room.source_spoofed")
            case _:
                if self._routed is None or not self._routed(asked.source):
                    raise refuse("room.source_spoofed")


class _Collected:
    """A run's events as one decision."""

    def __init__(self) -> None:
        self._parts: list[AgentDecision] = []
        self._open: dict[str, str] = {}

    def add(self, event: DriverEvent) -> None:
        match event:
            case AssistantOutput(output_id=output_id, delta=delta):
                text = self._open.pop(output_id, "") + delta
                if not event.final:
                    self._open[output_id] = text
                elif text.strip():
                    said = RoomUtterance(text, event.audience or ROOM, event.interruptible, event.history)
                    self._parts.append(AgentDecision((said,)))
            case Decision():
                self._parts.append(AgentDecision(event.utterances, event.interactions, event.action))
            case _:
                pass

    def decision(self) -> AgentDecision | None:
        actions = [part.action for part in self._parts if part.action is not None]
        if len(actions) > 1:
            raise refuse("room.decision_malformed")
        whole = AgentDecision(
            tuple(said for part in self._parts for said in part.utterances),
            tuple(draft for part in self._parts for draft in part.interactions),
            actions[0] if actions else None,
        )
        return None if whole == AgentDecision() else whole


def _check_interaction(agent: AgentDescriptor, context: TurnContext) -> None:
    """A routed input must be what its envelope brought, to an agent it was for (RFC-021 §6)."""
    asked, envelope = context.input, context.interaction
    if envelope is None:
        return
    if Endpoint("agent", agent.id) not in envelope.targets:
        raise refuse("room.unknown_target")
    if (asked.id, asked.source, asked.channel) != (envelope.id, envelope.source, envelope.channel):
        raise refuse("room.source_spoofed")
    if not envelope.disclosure.covers(asked.disclosure):
        raise refuse("room.disclosure_widened")


@contextmanager
def _turn(held: _Registration, context: TurnContext) -> Iterator[None]:
    held.turns.append(context)
    try:
        yield
        _still(held)
    except Exception:
        # Whatever a driver makes of being aborted is a late result, too.
        _still(held)
        raise
    finally:
        held.turns.remove(context)


def _abandon(held: _Registration) -> None:
    held.left = True
    for turn in held.turns:
        turn.abort.abort(REPLACED)


def _still(held: _Registration) -> None:
    if held.left:
        raise refuse("room.agent_replaced") from None


def _as_event(decision: AgentDecision) -> Decision:
    return Decision(utterances=decision.utterances, interactions=decision.interactions, action=decision.action)


def _for_driver(held: _Registration, context: TurnContext) -> TurnContext:
    """The context with copies for everything that a driver could change; only the abort signal is shared."""
    manifest = held.manifest if held.manifest is not None else context.manifest
    return replace(
        context,
        agent=_agent_copy(held.agent),
        input=_input_copy(context.input),
        observation=plain(context.observation),
        manifest=_manifest_copy(manifest),
        memory=tuple(replace(item) for item in context.memory),
        services=dict(context.services),
        checkpoint=plain(context.checkpoint),
        continuation=None if context.continuation is None else replace(context.continuation),
        interaction=None if context.interaction is None else copied(context.interaction),
    )


def _input_copy(asked: AgentInput) -> AgentInput:
    return replace(
        asked,
        source=replace(asked.source),
        disclosure=replace(asked.disclosure),
        participant=None if asked.participant is None else replace(asked.participant),
        data={key: plain(value) for key, value in asked.data.items()},
    )


def _agent_copy(agent: AgentDescriptor) -> AgentDescriptor:
    """By hand and not by `deepcopy`, which takes fifty times as long for what is frozen anyway."""
    return replace(
        agent,
        visibility=replace(agent.visibility),
        binding=None if agent.binding is None else replace(agent.binding),
        services=frozenset(agent.services),
    )


def _manifest_copy(manifest: GameAgentManifest | None) -> GameAgentManifest | None:
    if manifest is None:
        return None
    knowledge = {key: plain(value) for key, value in manifest.knowledge.items()}
    return deepcopy(replace(manifest, glossary=dict(manifest.glossary), knowledge=knowledge))
