"""What of an agent's answer may leave it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.room.agents import (
    ActionProposal,
    ActorBinding,
    AgentDecision,
    AgentDescriptor,
    AgentInput,
    Endpoint,
    InteractionDraft,
    Participant,
    RoomUtterance,
    SeatBinding,
)
from wayside.core.room.authority import audience, authorised, authorised_event, proposal
from wayside.core.room.disclosure import NOBODY, ROOM, Disclosure, among
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Completed,
    Decision,
    InputRequested,
    OutputOrigin,
    Progress,
    RunCanceled,
    RunFailed,
)

GUIDE = AgentDescriptor("guide", "Guide")
POTTER = AgentDescriptor("potter", "Exekias", binding=ActorBinding("potter-1", seat="south"))
REFEREE = AgentDescriptor("referee", "Referee", binding=SeatBinding("north"))
ANA = Participant("ana")
ASKED = AgentInput("in-1", "Hint?", Endpoint("participant", "ana"), "private", among(["ana"]), ANA)
MESSAGE = {"type": "message", "text": "hm"}
PLACE = ActionProposal({"type": "place", "sherd": "s1"})

disclosures = st.one_of(st.just(ROOM), st.builds(among, st.frozensets(st.sampled_from("abcd"))))


def _code(call) -> str:
    with pytest.raises(WaysideError) as refusal:
        call()
    return refusal.value.code


@given(disclosures, disclosures, disclosures)
def test_an_audience_is_never_wider_than_the_turn_the_agent_or_the_wish(
    asked: Disclosure, visible: Disclosure, turn: Disclosure
) -> None:
    """R4. Effective disclosure is an intersection (RFC-021 §6)."""
    heard = audience(asked, replace(GUIDE, visibility=visible), replace(ASKED, disclosure=turn))

    assert all(bound.covers(heard) for bound in (asked, visible, turn))


def test_a_private_reply_stays_private_in_words_and_in_drafts() -> None:
    """R4. Asking for the room does not open a private turn."""
    draft = InteractionDraft((Endpoint("service", "hints"),), MESSAGE, ROOM)
    decision = AgentDecision((RoomUtterance("Left.", ROOM),), (draft,))

    kept = authorised(GUIDE, ASKED, decision)

    assert among(["ana"]) == kept.utterances[0].audience
    assert among(["ana"]) == kept.interactions[0].disclosure


def test_an_agents_visibility_bounds_what_it_says_in_a_public_turn() -> None:
    """R4. Agent visibility is one of the bounds."""
    quiet = replace(GUIDE, visibility=among(["staff"]))

    kept = authorised(quiet, replace(ASKED, disclosure=ROOM), AgentDecision((RoomUtterance("Closed soon."),)))

    assert among(["staff"]) == kept.utterances[0].audience


def test_an_exchange_among_agents_is_disclosed_to_no_participant() -> None:
    """R3. A draft inherits the disclosure of its turn."""
    asked = AgentInput("in-2", "Where?", Endpoint("agent", "lydos"), "agents", NOBODY)
    draft = InteractionDraft((Endpoint("agent", "lydos"),), MESSAGE)

    assert NOBODY == authorised(GUIDE, asked, AgentDecision(interactions=(draft,))).interactions[0].disclosure


def test_an_actors_action_comes_back_as_a_proposal_with_its_own_seat() -> None:
    """R7. The binding, not the driver, says the seat."""
    assert ActionProposal({"type": "place", "sherd": "s1"}, "south") == proposal(POTTER, PLACE)


def test_an_actor_without_a_seat_proposes_for_no_seat() -> None:
    """R7. An actor-scoped proposal needs no seat, and may claim none."""
    free = replace(POTTER, binding=ActorBinding("potter-1"))

    assert proposal(free, PLACE) == ActionProposal({"type": "place", "sherd": "s1"}, None)
    assert _code(lambda: proposal(free, replace(PLACE, seat="south"))) == "room.action_seat"


@pytest.mark.parametrize("role", ["player", "audience", "moderator", "service"])
def test_an_unbound_agent_proposes_nothing_whoever_asked(role: str) -> None:
    """R8. Neither a role nor a seat in the room is authority."""
    turn = replace(ASKED, participant=Participant("ana", role, seat="south"))

    assert _code(lambda: authorised(GUIDE, turn, AgentDecision(action=PLACE))) == "room.action_unbound"


@pytest.mark.parametrize("action", [PLACE, replace(PLACE, seat="spectator")])
def test_a_spectators_proposal_is_refused(action: ActionProposal) -> None:
    """R8. Watching is no seat."""
    watcher = replace(REFEREE, binding=SeatBinding("spectator"))

    assert _code(lambda: proposal(watcher, action)) == "room.action_unbound"
    assert _code(lambda: proposal(POTTER, replace(PLACE, seat="spectator"))) == "room.action_unbound"


@pytest.mark.parametrize(
    "action",
    [ActionProposal({"type": "score"}, "south"), ActionProposal({"type": "score", "seat": "south"})],
)
def test_an_action_for_another_seat_is_refused(action: ActionProposal) -> None:
    """R9. Said beside the action or inside it."""
    assert _code(lambda: proposal(REFEREE, action)) == "room.action_seat"


def test_the_own_seat_may_be_named() -> None:
    """R9. Only a conflict is refused."""
    kept = proposal(REFEREE, ActionProposal({"type": "score", "seat": "north"}, "north"))

    assert kept == ActionProposal({"type": "score", "seat": "north"}, "north")


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        ("room.decision_malformed", "Hello"),
        ("room.decision_malformed", {"utterances": []}),
        ("room.decision_malformed", AgentDecision(utterances="Hello")),
        ("room.decision_malformed", AgentDecision(utterances=("Hello",))),
        ("room.decision_malformed", AgentDecision(utterances=(RoomUtterance("  "),))),
        ("room.decision_malformed", AgentDecision(utterances=(RoomUtterance(7),))),
        ("room.decision_malformed", AgentDecision(utterances=(RoomUtterance("Hi", "room"),))),
        ("room.decision_malformed", AgentDecision(action={"type": "place"})),
        ("room.decision_malformed", AgentDecision(action=ActionProposal({}))),
        ("room.decision_malformed", AgentDecision(action=ActionProposal("place"))),
        ("room.decision_malformed", AgentDecision(action=ActionProposal({"at": {1, 2}}))),
        ("room.decision_malformed", AgentDecision(interactions=({"targets": []},))),
        ("room.no_target", AgentDecision(interactions=(InteractionDraft((), MESSAGE),))),
        ("room.payload_malformed", AgentDecision(interactions=(InteractionDraft((Endpoint("agent", "b"),), {}),))),
    ],
)
def test_a_malformed_decision_is_refused(code: str, decision: object) -> None:
    """R7. What a model made up is refused, not repaired."""
    assert code == _code(lambda: authorised(POTTER, ASKED, decision))


def test_a_decision_keeps_nothing_that_its_driver_still_holds() -> None:
    """R6. Changing an action or a payload afterwards changes nothing that was authorised."""
    action = {"type": "place", "at": [1, 2]}
    payload = {"type": "message", "text": "hm", "data": {"seen": ["a"]}}
    draft = InteractionDraft((Endpoint("agent", "b"),), payload)
    kept = authorised(POTTER, ASKED, AgentDecision(interactions=(draft,), action=ActionProposal(action)))

    action["at"].append(3)
    payload["data"]["seen"].append("b")

    assert kept.action is not None
    assert kept.action.action["at"] == [1, 2]
    assert kept.interactions[0].payload["data"] == {"seen": ["a"]}


def test_an_output_is_clamped_and_says_nothing_of_its_own_origin() -> None:
    """R4. A delta has the audience of its turn; what the runtime knows of it is not the driver's to say."""
    spoofed = AssistantOutput("o", "Left.", audience=ROOM, origin=OutputOrigin("decision", 9, "in-9", "x"))

    kept = AssistantOutput("o", "Left.", audience=among(["ana"]))

    assert kept == authorised_event(GUIDE, ASKED, spoofed)
    assert kept == authorised_event(GUIDE, ASKED, AssistantOutput("o", "Left."))


def test_a_decision_of_a_run_is_bound_like_any_other() -> None:
    """R8. Streaming is no way around authority."""
    kept = authorised_event(GUIDE, ASKED, Decision(refused=True, utterances=(RoomUtterance("No."),)))

    assert Decision(refused=True, utterances=(RoomUtterance("No.", among(["ana"])),)) == kept
    assert _code(lambda: authorised_event(GUIDE, ASKED, Decision(action=PLACE))) == "room.action_unbound"


@pytest.mark.parametrize("event", [Progress("digging", 1, 2), Completed(), InputRequested("r", "t"), Checkpoint([1])])
def test_other_events_of_a_run_pass_as_they_are(event: object) -> None:
    """R7. Only what people hear and games receive is bound."""
    assert event == authorised_event(GUIDE, ASKED, event)


@pytest.mark.parametrize(
    ("code", "event"),
    [
        ("room.decision_malformed", "event"),
        ("room.decision_malformed", None),
        ("room.decision_malformed", RunFailed("x")),
        ("room.decision_malformed", RunCanceled("x")),
        ("room.decision_malformed", AssistantOutput("", "words")),
        ("room.decision_malformed", AssistantOutput("o", None)),
        ("room.decision_malformed", AssistantOutput("o", "words", audience="room")),
        ("room.decision_malformed", InputRequested("", "t")),
        ("run.checkpoint_malformed", Checkpoint({"at": object()})),
    ],
)
def test_a_malformed_event_is_refused(code: str, event: object) -> None:
    """R7. A driver may yield driver events only, and whole ones."""
    assert code == _code(lambda: authorised_event(GUIDE, ASKED, event))
