"""Agents propose, the game's host decides: RFC-021 §10, invariants 2-6 and 13, and its Gate C."""

import asyncio
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from room.game_host import GAME_ID, MANIFEST, PLAYERS, SEATS, VERSION, Accepted, Credential, Refused, SherdTable, replay
from wayside.core.errors import WaysideError
from wayside.core.plain_json import canonical
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
from wayside.core.room.disclosure import ROOM
from wayside.core.room.envelope import ServiceRequest
from wayside.core.room.votes import Ballot, resolve_room_vote
from wayside.ports.room_agent import AbortSignal, TurnContext
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.services import RoomAgentServiceRegistry, ServiceCall
from wayside.runtime.room.watchers import RoomInteractionWatcherRegistry

GUIDE = AgentDescriptor("guide", "Guide", services=frozenset(["hints"]))
POTTER = AgentDescriptor("potter", "Exekias", "potter", "deep", ActorBinding("potter-1", "south"))
RIVAL = AgentDescriptor("rival", "Lydos", "rival", "bright", SeatBinding("east"))
ANA = Participant("ana")
RIM_ON_TOP = {"type": "place", "sherd": "rim", "cell": "top"}
FOOT_BELOW = {"type": "place", "sherd": "foot", "cell": "bottom"}
GAME = [
    ("south", RIM_ON_TOP),
    ("east", FOOT_BELOW),
    ("south", {"type": "place", "sherd": "belly", "cell": "upper"}),
    ("east", {"type": "place", "sherd": "shoulder", "cell": "middle"}),
    ("referee", {"type": "score"}),
]


class Says:
    """Answers with one decision and remembers what it was shown, for itself alone."""

    def __init__(self, decision: AgentDecision) -> None:
        self.decision = decision
        self.shown: list[TurnContext] = []

    async def respond(self, context: TurnContext) -> AgentDecision:
        self.shown.append(context)
        return self.decision


def speech(text: str) -> AgentDecision:
    return AgentDecision((RoomUtterance(text),))


def proposes(command: dict, seat: str | None = None) -> AgentDecision:
    return AgentDecision(action=ActionProposal(command, seat))


def room(**drivers) -> RoomAgentRegistry:
    registry = RoomAgentRegistry()
    registry.join(ANA)
    for agent in (GUIDE, POTTER, RIVAL):
        if agent.id in drivers:
            registry.register(agent, drivers[agent.id], manifest=MANIFEST, game=(GAME_ID, VERSION))
    return registry


def asks(text: str, observation: object = None, participant: Participant = ANA) -> TurnContext:
    asked = AgentInput("in", text, Endpoint("participant", participant.id), "public", ROOM, participant)
    return TurnContext(GUIDE, asked, AbortSignal(), observation)


def test_a_whole_game_can_be_played() -> None:
    """RFC-021 §10.6. The host accepts what is legal, in order; every case below refuses against this one."""
    host = SherdTable()
    seats = {seat: host.take_control(seat) for seat in SEATS}

    for number, (seat, command) in enumerate(GAME, 1):
        assert command in host.legal(seat)
        assert Accepted(number) == host.submit(f"op-{number}", seats[seat], command)

    assert {"south": 1, "east": 1} == host.public_view()["scores"]


async def test_a_guide_answers_a_rules_question_from_public_state_without_an_action() -> None:
    """Gate C, RFC-021 §10.7-8. It is shown the manifest and the public view, no hand and no plan."""
    host = SherdTable()
    driver = Says(speech("South is to move."))

    decision = await room(guide=driver).respond("guide", asks("Whose turn is it?", host.public_view()))

    assert speech("South is to move.") == decision
    shown = driver.shown[0]
    assert (MANIFEST, "south") == (shown.manifest, shown.observation["turn"])
    assert "hand" not in shown.observation
    assert host.revision == 0


async def test_two_characters_keep_their_identity_voice_and_view() -> None:
    """Gate C. Each is shown itself and its own seat's view."""
    host, south, east = SherdTable(), Says(speech("Mine.")), Says(speech("No, mine."))
    registry = room(potter=south, rival=east)

    await registry.respond("potter", asks("Who wins?", host.view_for("south")))
    await registry.respond("rival", asks("Who wins?", host.view_for("east")))

    assert [("potter", "deep"), ("rival", "bright")] == [
        (seen.shown[0].agent.persona_id, seen.shown[0].agent.voice) for seen in (south, east)
    ]
    assert [["rim", "belly"], ["shoulder", "foot"]] == [seen.shown[0].observation["hand"] for seen in (south, east)]
    assert (1, 1) == (len(south.shown), len(east.shown))


async def test_a_characters_proposal_passes_ordinary_validation_and_appears_in_the_replay() -> None:
    """Gate C, RFC-021 §10.5. Only when the host admits it."""
    host = SherdTable()
    control = host.take_control("south")
    decision = await room(potter=Says(proposes(RIM_ON_TOP))).respond("potter", asks("Go on!"))

    assert decision is not None and decision.action is not None
    assert (0, []) == (host.revision, host.accepted)
    assert Accepted(1) == host.admit("op-1", control, decision.action)
    assert [("south", RIM_ON_TOP)] == host.accepted
    assert host.table() == canonical(replay(host.accepted).as_json())


@pytest.mark.parametrize("role", ["player", "moderator"])
async def test_a_registration_or_a_role_is_no_credential(role: str) -> None:
    """RFC-021 §10.2. A registered, seat-bound agent asked by a seated player still has nothing to submit with."""
    host = SherdTable()
    registry = room(potter=Says(proposes(RIM_ON_TOP)))
    player = Participant("ana", role, "south")
    registry.join(player)

    decision = await registry.respond("potter", asks("Go on!", participant=player))

    assert decision is not None and decision.action is not None
    for credential in (
        None,
        Credential("south", 0),
        Credential("south", 7),
        Credential("potter-1", 0),
        Credential("ana", 0),
    ):
        assert isinstance(host.admit("op-1", credential, decision.action), Refused)
    assert host.revision == 0


async def test_an_unbound_agent_returns_no_proposal() -> None:
    """RFC-021 §10.3. Nothing reaches the host."""
    with pytest.raises(WaysideError) as refusal:
        await room(guide=Says(proposes(RIM_ON_TOP))).respond("guide", asks("Place the rim!"))

    assert refusal.value.code == "room.action_unbound"


@pytest.mark.parametrize("seat", [seat for seat in SEATS if seat != "south"])
async def test_an_action_of_a_conflicting_seat_is_rejected_before_handoff(seat: str) -> None:
    """RFC-021 §10.4. Beside the action or inside it."""
    for decision in (proposes(RIM_ON_TOP, seat), proposes({**RIM_ON_TOP, "seat": seat})):
        with pytest.raises(WaysideError) as refusal:
            await room(potter=Says(decision)).respond("potter", asks("Go on!"))

        assert refusal.value.code == "room.action_seat"


@pytest.mark.parametrize("streams", [False, True])
async def test_the_registry_never_submits(streams: bool) -> None:
    """RFC-021 §10.5. Not with `respond`, not with `run`, however often it is asked."""
    host = SherdTable()
    host.take_control("south")
    registry = room(potter=Says(proposes(RIM_ON_TOP)))
    before = host.table()

    for _ in range(3):
        if streams:
            assert len([event async for event in registry.run("potter", asks("Go on!"))]) == 2
        else:
            await registry.respond("potter", asks("Go on!"))

    assert (before, 0) == (host.table(), host.revision)


@pytest.mark.parametrize(
    ("code", "seat", "command"),
    [
        ("wrong_seat", "south", {**RIM_ON_TOP, "seat": "east"}),
        ("wrong_seat", "south", {"type": "score"}),
        ("wrong_seat", "referee", RIM_ON_TOP),
        ("wrong_seat", "south", {"type": "crowd_hint", "cell": "top"}),
        ("not_your_turn", "east", FOOT_BELOW),
        ("unknown_command", "south", {"type": "win"}),
        ("unknown_command", "south", {"type": "talk"}),
        ("unknown_command", "south", {"type": "wait"}),
        ("malformed", "south", "place the rim on top"),
        ("malformed", "south", {}),
        ("malformed", "south", {"type": 3}),
        ("malformed", "south", {"type": "place", "sherd": "rim"}),
        ("malformed", "south", {"type": "place", "sherd": ["rim"], "cell": "top"}),
        ("malformed", "south", {**RIM_ON_TOP, "score": 100}),
        ("illegal", "south", {"type": "place", "sherd": "foot", "cell": "top"}),
        ("illegal", "south", {"type": "place", "sherd": "rim", "cell": "pocket"}),
        ("illegal", "referee", {"type": "score"}),
        ("illegal", "crowd", {"type": "crowd_hint", "cell": "pocket"}),
    ],
)
def test_a_bad_command_is_refused_and_the_table_untouched(code: str, seat: str, command: object) -> None:
    """RFC-021 §10.6, Gate C. A malformed or unauthorised action fails the ordinary checks, whoever made it up."""
    host = SherdTable()
    control = host.take_control(seat)
    before = host.table()

    assert Refused(code) == host.submit("op-1", control, command)
    assert (before, []) == (host.table(), host.accepted)
    # The operation was not consumed either: what is legal may still use its id.
    assert Accepted(1) == host.submit("op-1", host.take_control("south"), RIM_ON_TOP)


async def test_a_models_malformed_action_is_refused_by_the_host() -> None:
    """Gate C. The registry hands on what has the shape of a proposal; only the host knows the game."""
    host = SherdTable()
    control = host.take_control("south")
    registry = room(potter=Says(proposes({"type": "place", "sherd": "the lovely rim", "cell": 3})))

    decision = await registry.respond("potter", asks("Go on!"))

    assert decision is not None and decision.action is not None
    assert Refused("malformed") == host.admit("op-1", control, decision.action)
    assert host.revision == 0


def test_a_stale_controller_is_refused() -> None:
    """RFC-021 §10.6. A proposal of before a change of control is void, even for the right seat."""
    host = SherdTable()
    old = host.take_control("south")
    new = host.take_control("south")

    assert Refused("stale_epoch") == host.submit("op-1", old, RIM_ON_TOP)
    assert Refused("stale_epoch") == host.submit("op-1", replace(new, epoch=new.epoch + 1), RIM_ON_TOP)
    assert host.revision == 0
    assert Accepted(1) == host.submit("op-1", new, RIM_ON_TOP)


def test_a_seat_that_takes_no_part_is_refused() -> None:
    """RFC-021 §10.6. Participation is checked when the command comes, not when it was thought of."""
    host = SherdTable()
    control = host.take_control("south")
    host.withdraw("south")

    assert Refused("not_participating") == host.submit("op-1", control, RIM_ON_TOP)
    assert host.revision == 0


def test_an_operation_id_stands_for_one_command() -> None:
    """RFC-021 §10.6. A repeat is harmless; another command, or another seat, under the same id is refused."""
    host = SherdTable()
    south, east = host.take_control("south"), host.take_control("east")
    assert Accepted(1) == host.submit("op-1", south, RIM_ON_TOP)
    before = host.table()

    assert Accepted(1, repeated=True) == host.submit("op-1", south, RIM_ON_TOP)
    assert Refused("operation_mismatch") == host.submit("op-1", south, {**RIM_ON_TOP, "cell": "upper"})
    assert Refused("operation_mismatch") == host.submit("op-1", east, FOOT_BELOW)
    assert (before, 1) == (host.table(), host.revision)


async def test_speech_invents_no_action() -> None:
    """RFC-021 §10.7. However much is said, no `wait` and no `talk` appears."""
    host = SherdTable()
    registry = room(guide=Says(speech("Place the rim on top!")), potter=Says(speech("I place the rim on top.")))

    for agent in ("guide", "potter", "potter"):
        decision = await registry.respond(agent, asks("Place the rim on top!"))
        assert decision is not None
        assert decision.action is None

    assert (0, []) == (host.revision, host.accepted)


async def test_an_audience_vote_changes_nothing_until_its_command_is_accepted() -> None:
    """Gate C, RFC-021 §10.13. The result is data; the crowd seat's credential is what counts."""
    host = SherdTable()
    before = host.table()
    ballots = [Ballot("ana", "top"), Ballot("ben", "top"), Ballot("caro", "bottom")]
    result = resolve_room_vote(["top", "bottom"], ["ana", "ben", "caro"], ballots, ["bottom", "top"])
    command = {"type": "crowd_hint", "cell": result.winner}

    assert host.table() == before
    assert Refused("not_seated") == host.submit("vote-1", None, command)
    assert Refused("wrong_seat") == host.submit("vote-1", host.take_control("south"), command)
    assert host.table() == before
    assert Accepted(1) == host.submit("vote-1", host.take_control("crowd"), command)
    assert host.public_view()["hint"] == "top"
    assert host.table() == canonical(replay(host.accepted).as_json())


async def test_services_and_watchers_grant_no_authority() -> None:
    """RFC-021 §10.13. A service's data and a watcher's event are heard by agents; neither reaches the table."""
    host = SherdTable()
    before = host.table()
    registry = room(guide=Says(speech("Hm.")))
    heard: list[tuple[Endpoint, InteractionDraft]] = []

    async def hints(_call: ServiceCall) -> dict:
        return {"type": "place", "sherd": "rim", "cell": "top", "seat": "south"}

    async def greedy(_projection: object) -> tuple[InteractionDraft, ...]:
        return (
            InteractionDraft((Endpoint("agent", "guide"),), {"type": "event", "name": "place", "data": RIM_ON_TOP}),
        )

    async def route(source: Endpoint, draft: InteractionDraft) -> None:
        heard.append((source, draft))

    async with asyncio.TaskGroup() as tasks:
        services = RoomAgentServiceRegistry("room", tasks, registry.require)
        services.register("hints", hints)
        call = ServiceCall("guide", "public", ROOM, ServiceRequest("hints", "c-1"))
        result = await services.invoke(call)
        watchers = RoomInteractionWatcherRegistry(tasks, route)
        watchers.register("greedy", greedy)
        await watchers.raise_committed(host.revision, host.public_view())

    assert len(heard) == 1
    assert (before, 0) == (host.table(), host.revision)
    assert Refused("not_seated") == host.submit("op-1", None, result.output)
    assert host.table() == before


def test_a_view_shows_a_seat_its_own_hand_only() -> None:
    """RFC-021 §10.8. No projection holds the plan or another hand."""
    host = SherdTable()

    views = {seat: canonical(host.view_for(seat)) for seat in SEATS}

    assert "rim" in views["south"]
    assert not any("rim" in views[seat] for seat in SEATS if seat != "south")
    assert not any(sherd in canonical(host.public_view()) for sherd in ("rim", "shoulder", "belly", "foot"))


commands = st.one_of(
    st.sampled_from([command for _seat, command in GAME]),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["place", "score", "crowd_hint", "talk"]),
            "sherd": st.sampled_from(["rim", "foot", "shoulder", "belly", 3]),
            "cell": st.sampled_from(["top", "upper", "middle", "bottom", "pocket"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("crowd_hint"),
            "cell": st.sampled_from(["top", "upper", "middle", "bottom"]),
        }
    ),
)


@given(st.lists(st.tuples(st.sampled_from(SEATS), st.integers(0, 1), st.integers(0, 9), commands), max_size=30))
def test_a_replay_of_accepted_commands_reproduces_the_table_without_speech(submitted) -> None:
    """Gate C, RFC-021 §10.1, §10.6. And whatever was refused left no trace."""
    host = SherdTable()
    controls = {seat: (Credential(seat, 0), host.take_control(seat)) for seat in SEATS}
    for seat, current, operation, command in submitted:
        before, revision = host.table(), host.revision
        legal = host.legal(seat)
        verdict = host.submit(f"op-{operation}", controls[seat][current], command)
        if isinstance(verdict, Accepted) and not verdict.repeated:
            assert current == 1
            assert command in legal
            assert revision + 1 == verdict.revision == host.revision
        else:
            assert (before, revision) == (host.table(), host.revision)

    assert host.table() == canonical(replay(host.accepted).as_json())


@given(st.data())
def test_what_is_called_legal_is_accepted(data) -> None:
    """RFC-021 §10.6. Explained and admitted commands are the same ones, to the end of the game."""
    host = SherdTable()
    for number in itertools.count(1):
        every = [(seat, command) for seat in (*PLAYERS, "referee") for command in host.legal(seat)]
        if not every:
            break
        seat, command = data.draw(st.sampled_from(every))
        assert Accepted(number) == host.submit(f"op-{number}", host.take_control(seat), command)

    assert (5, True) == (host.revision, host.public_view()["scores"] is not None)
