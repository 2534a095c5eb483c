"""Decides what of an agent's answer may leave it: who may hear it, and whether it may propose an action at all.

A proposal that passes is still only a proposal; the game's host admits or refuses it (RFC-021 §10.3-6).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from wayside.core.plain_json import plain
from wayside.core.room.agents import (
    ActionProposal,
    ActorBinding,
    AgentDecision,
    AgentDescriptor,
    AgentInput,
    InteractionDraft,
    RoomUtterance,
    SeatBinding,
)
from wayside.core.room.disclosure import ROOM, Disclosure
from wayside.core.room.envelope import explicit, payload_as_json, payload_from_json
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    DriverEvent,
    InputRequested,
    Progress,
)

SPECTATOR = "spectator"


def audience(asked: Disclosure, agent: AgentDescriptor, turn: AgentInput) -> Disclosure:
    """Who may have it: whom the agent asked for, if the turn's disclosure and the agent's visibility allow them too."""
    return turn.disclosure.intersect(agent.visibility).intersect(asked)


def authorised(agent: AgentDescriptor, turn: AgentInput, decision: object) -> AgentDecision:
    """A copy of the decision with every audience clamped; raises when it is malformed or proposes too much."""
    if not isinstance(decision, AgentDecision):
        raise refuse(_MALFORMED)
    return AgentDecision(
        utterances=_utterances(agent, turn, decision.utterances),
        interactions=_drafts(agent, turn, decision.interactions),
        action=proposal(agent, decision.action),
    )


def authorised_event(agent: AgentDescriptor, turn: AgentInput, event: object) -> DriverEvent:
    """The same for one event of a run. An output comes out with its audience, and without an `origin` of its own."""
    if not isinstance(event, DriverEvent):
        raise refuse(_MALFORMED)
    match event:
        case AssistantOutput(output_id=output_id, delta=delta, audience=asked):
            if not (isinstance(output_id, str) and output_id and isinstance(delta, str)):
                raise refuse(_MALFORMED)
            if not isinstance(asked, Disclosure | None):
                raise refuse(_MALFORMED)
            return replace(event, audience=audience(asked or ROOM, agent, turn), origin=None)
        case Decision():
            return replace(
                event,
                utterances=_utterances(agent, turn, event.utterances),
                interactions=_drafts(agent, turn, event.interactions),
                action=proposal(agent, event.action),
            )
        case Checkpoint(state=state):
            return Checkpoint(plain(state, "run.checkpoint_malformed"))
        case InputRequested(request_id=request_id, token=token):
            if not all(isinstance(text, str) and text for text in (request_id, token)):
                raise refuse(_MALFORMED)
            return event
        case Progress() | Completed():
            return event
        case _:
            assert_never(event)


def proposal(agent: AgentDescriptor, action: object) -> ActionProposal | None:
    """A copy of the proposal with the seat that the agent's binding gives it, if any."""
    if action is None:
        return None
    if not isinstance(action, ActionProposal) or not isinstance(action.action, Mapping) or not action.action:
        raise refuse(_MALFORMED)
    wanted = plain(action.action, _MALFORMED)
    if not isinstance(wanted, dict):
        raise refuse(_MALFORMED)
    match agent.binding:
        case None:
            raise refuse("room.action_unbound")
        case SeatBinding(seat=seat) | ActorBinding(seat=seat):
            pass
        case _:
            assert_never(agent.binding)
    # A seat named "spectator" watches: whoever holds it holds no more than an unbound agent (RFC-021 §5).
    if SPECTATOR in {seat, action.seat}:
        raise refuse("room.action_unbound")
    named = [name for name in (action.seat, wanted.get("seat")) if name is not None]
    if any(name != seat for name in named):
        raise refuse("room.action_seat")
    return ActionProposal(wanted, seat)


_MALFORMED = "room.decision_malformed"


def _utterances(agent: AgentDescriptor, turn: AgentInput, said: object) -> tuple[RoomUtterance, ...]:
    if not isinstance(said, tuple | list):
        raise refuse(_MALFORMED)
    kept = []
    for utterance in said:
        if not isinstance(utterance, RoomUtterance) or not isinstance(utterance.audience, Disclosure):
            raise refuse(_MALFORMED)
        if not isinstance(utterance.text, str) or not utterance.text.strip():
            raise refuse(_MALFORMED)
        kept.append(replace(utterance, audience=audience(utterance.audience, agent, turn)))
    return tuple(kept)


def _drafts(agent: AgentDescriptor, turn: AgentInput, drafts: object) -> tuple[InteractionDraft, ...]:
    if not isinstance(drafts, tuple | list):
        raise refuse(_MALFORMED)
    kept = []
    for draft in drafts:
        if not isinstance(draft, InteractionDraft) or not isinstance(draft.disclosure, Disclosure):
            raise refuse(_MALFORMED)
        kept.append(
            InteractionDraft(
                explicit(draft.targets),
                payload_as_json(payload_from_json(draft.payload)),
                audience(draft.disclosure, agent, turn),
            )
        )
    return tuple(kept)
