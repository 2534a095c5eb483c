"""Who may be asked in a room, and what comes back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from wayside.core.errors import WaysideError
from wayside.core.room.agents import (
    ActionProposal,
    ActorBinding,
    AgentDecision,
    AgentDescriptor,
    AgentInput,
    Endpoint,
    GameAgentManifest,
    InteractionDraft,
    ManifestSection,
    Participant,
    RoomUtterance,
)
from wayside.core.room.disclosure import NOBODY, ROOM, among
from wayside.core.room.envelope import create, input_of
from wayside.core.runs.events import AssistantOutput, Completed, Decision, InputRequested, Progress
from wayside.ports.room_agent import AbortSignal, TurnContext
from wayside.runtime.room.registry import RoomAgentRegistry

GUIDE = AgentDescriptor("guide", "Guide", voice="warm")
POTTER = AgentDescriptor("potter", "Exekias", binding=ActorBinding("potter-1", "south"))
ANA = Participant("ana")
MANIFEST = GameAgentManifest(
    "sherds", "1", (ManifestSection("turn", "A turn", "Place one sherd."),), knowledge={"sherds": ["rim", "foot"]}
)
PLACE = ActionProposal({"type": "place", "sherd": "rim"})


def said_by_ana(disclosure=ROOM, **changes) -> AgentInput:
    return replace(AgentInput("in-1", "Why?", Endpoint("participant", "ana"), "public", disclosure, ANA), **changes)


def turn(asked: AgentInput | None = None, **changes) -> TurnContext:
    return replace(TurnContext(GUIDE, asked or said_by_ana(), AbortSignal()), **changes)


class Answers:
    """Responds with one decision and keeps what it was asked."""

    def __init__(self, decision: AgentDecision | None) -> None:
        self.decision = decision
        self.asked: list[TurnContext] = []

    async def respond(self, context: TurnContext) -> AgentDecision | None:
        self.asked.append(context)
        return self.decision


class Streams:
    """Runs through given events; each `asyncio.Event` among them is waited for."""

    def __init__(self, *events: object) -> None:
        self.events = events
        self.asked: list[TurnContext] = []
        self.closed = False

    async def run(self, context: TurnContext) -> AsyncIterator[object]:
        self.asked.append(context)
        try:
            for event in self.events:
                if isinstance(event, asyncio.Event):
                    await event.wait()
                else:
                    yield event
        finally:
            self.closed = True


class Holds:
    """Responds when let go, whether or not it was told to stop."""

    def __init__(self, decision: AgentDecision | Exception) -> None:
        self.decision = decision
        self.let_go = asyncio.Event()
        self.signals: list[AbortSignal] = []

    async def respond(self, context: TurnContext) -> AgentDecision:
        self.signals.append(context.abort)
        await self.let_go.wait()
        if isinstance(self.decision, Exception):
            raise self.decision
        return self.decision


def says(text: str) -> AgentDecision:
    return AgentDecision((RoomUtterance(text),))


def room(*agents: tuple[AgentDescriptor, object], **options) -> RoomAgentRegistry:
    registry = RoomAgentRegistry(**options)
    registry.join(ANA)
    for agent, driver in agents:
        registry.register(agent, driver)
    return registry


async def code_of(awaitable) -> str:
    with pytest.raises(WaysideError) as refusal:
        await awaitable
    return refusal.value.code


async def events_of(registry: RoomAgentRegistry, agent: str, context: TurnContext) -> list[object]:
    return [event async for event in registry.run(agent, context)]


async def test_an_unbound_guide_answers_an_audience_member_without_an_action() -> None:
    """R1. Speech alone is a whole answer, and the driver gets everything it needs."""
    driver = Answers(says("To sign it."))
    registry = room()
    registry.register(GUIDE, driver, manifest=MANIFEST, game=("sherds", "1"))

    decision = await registry.respond("guide", turn(observation={"phase": "open"}))

    assert AgentDecision((RoomUtterance("To sign it.", ROOM),)) == decision
    seen = driver.asked[0]
    assert (GUIDE, said_by_ana(), {"phase": "open"}, MANIFEST) == (
        seen.agent,
        seen.input,
        seen.observation,
        seen.manifest,
    )


async def test_a_driver_sees_copies_of_everything() -> None:
    """R1. Agent, input, observation, manifest, memory and checkpoint are copies."""
    driver = Answers(None)
    registry = room()
    registry.register(GUIDE, driver, manifest=MANIFEST)
    observation = {"board": [["rim"]]}
    checkpoint = {"step": [1]}
    asked = said_by_ana(data={"touched": ["rim"]})

    await registry.respond("guide", turn(asked, observation=observation, checkpoint=checkpoint))
    seen = driver.asked[0]
    seen.observation["board"][0].append("foot")
    seen.checkpoint["step"].append(2)
    seen.input.data["touched"].append("foot")
    seen.manifest.knowledge["sherds"].clear()

    assert ({"board": [["rim"]]}, {"step": [1]}, ["rim"]) == (observation, checkpoint, asked.data["touched"])
    await registry.respond("guide", turn())
    assert ["rim", "foot"] == driver.asked[1].manifest.knowledge["sherds"]


async def test_agents_are_addressed_one_by_one_and_listed_as_they_came() -> None:
    """R2. Several agents live in one room, and only the one that is asked answers."""
    guide, potter = Answers(says("Guide.")), Answers(says("Potter."))
    registry = room((GUIDE, guide), (POTTER, potter))

    decision = await registry.respond("potter", turn())

    assert ["guide", "potter"] == [agent.id for agent in registry.list()]
    assert decision == says("Potter.")
    assert guide.asked == []


async def test_replacing_an_agent_keeps_its_place() -> None:
    """R2. The order is that of registration, however often a driver is exchanged."""
    registry = room((GUIDE, Answers(None)), (POTTER, Answers(None)))

    registry.register(replace(GUIDE, name="New"), Answers(None), replace_existing=True)

    assert ["New", "Exekias"] == [agent.name for agent in registry.list()]


async def test_an_agent_continues_an_exchange_among_agents() -> None:
    """R3, I7. Its drafts come back with the disclosure they inherited, and are sent by nobody."""
    envelope = create(
        "e-1",
        "room",
        "agents",
        Endpoint("agent", "potter"),
        InteractionDraft((Endpoint("agent", "guide"),), {"type": "message", "text": "Where?"}, NOBODY),
    )
    reply = InteractionDraft((Endpoint("agent", "potter"),), {"type": "message", "text": "In Athens."})
    registry = room((GUIDE, Answers(AgentDecision(interactions=(reply,)))), (POTTER, Answers(None)))

    decision = await registry.respond("guide", turn(input_of(envelope), interaction=envelope))

    assert decision is not None
    assert [(NOBODY, (Endpoint("agent", "potter"),))] == [(d.disclosure, d.targets) for d in decision.interactions]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_private_reply_stays_private_when_the_driver_asks_for_the_room(streams: bool) -> None:
    """R4. Neither the words nor the drafts of a private turn get out, however they are brought."""
    wish = AgentDecision(
        (RoomUtterance("Left.", ROOM),),
        (InteractionDraft((Endpoint("participant", "ana"),), {"type": "message", "text": "Left."}, ROOM),),
    )
    event = Decision(utterances=wish.utterances, interactions=wish.interactions)
    registry = room((GUIDE, Streams(event) if streams else Answers(wish)))

    decision = await registry.respond("guide", turn(said_by_ana(among(["ana"]))))

    assert decision is not None
    assert among(["ana"]) == decision.utterances[0].audience
    assert among(["ana"]) == decision.interactions[0].disclosure


@pytest.mark.parametrize(
    ("code", "spoof"),
    [
        ("room.source_spoofed", {"participant": Participant("ben")}),
        ("room.source_spoofed", {"participant": None}),
        ("room.source_spoofed", {"source": Endpoint("participant", "ben")}),
        ("room.source_spoofed", {"source": Endpoint("agent", "guide")}),
        ("room.source_spoofed", {"source": Endpoint("agent", "nobody"), "participant": None}),
        ("room.source_spoofed", {"source": Endpoint("service", "hints"), "participant": None}),
        ("room.source_spoofed", {"source": Endpoint("watcher", "rim"), "participant": None}),
    ],
)
@pytest.mark.parametrize("driver", [Answers, Streams])
async def test_a_spoofed_source_is_refused_before_the_driver_runs(code: str, spoof: dict, driver: type) -> None:
    """R5. Who is said to speak must be who does."""
    asked = driver(None)
    registry = room((GUIDE, asked))

    assert code == await code_of(registry.respond("guide", turn(said_by_ana(**spoof))))
    assert asked.asked == []


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("room.source_spoofed", {"id": "in-2"}),
        ("room.source_spoofed", {"channel": "public"}),
        ("room.source_spoofed", {"source": Endpoint("participant", "ben"), "participant": Participant("ben")}),
        ("room.disclosure_widened", {"disclosure": ROOM}),
    ],
)
async def test_a_routed_input_must_be_what_its_envelope_brought(code: str, changes: dict) -> None:
    """R5. The envelope, not the input, says who speaks, where and before whom."""
    envelope = create(
        "e-1",
        "room",
        "private",
        Endpoint("participant", "ana"),
        InteractionDraft((Endpoint("agent", "guide"),), {"type": "message", "text": "Hint?"}, among(["ana"])),
    )
    driver = Answers(None)
    registry = room((GUIDE, driver), (POTTER, driver))
    registry.join(Participant("ben"))
    honest = input_of(envelope, ANA)

    assert await registry.respond("guide", turn(honest, interaction=envelope)) is None
    assert code == await code_of(registry.respond("guide", turn(replace(honest, **changes), interaction=envelope)))
    refused = await code_of(registry.respond("potter", turn(honest, interaction=envelope)))
    assert refused == "room.unknown_target"
    assert len(driver.asked) == 1


async def test_a_known_service_may_be_a_source() -> None:
    """R5. What the host says is routed is not spoofed."""
    asked = said_by_ana(source=Endpoint("service", "hints"), participant=None)
    registry = room((GUIDE, Answers(says("Ah."))), routed=lambda source: source == Endpoint("service", "hints"))

    assert says("Ah.") == await registry.respond("guide", turn(asked))


async def test_what_a_driver_changes_is_not_seen_in_the_registry() -> None:
    """R6. Even a frozen descriptor that was forced open."""

    class Vandal:
        async def respond(self, context: TurnContext) -> None:
            object.__setattr__(context.agent, "name", "Vandal")
            object.__setattr__(context.agent.visibility, "room", False)
            object.__setattr__(context.input, "text", "vandalised")

    registry = room((GUIDE, Vandal()))
    context = turn()

    await registry.respond("guide", context)
    object.__setattr__(registry.require("guide"), "name", "Vandal")

    assert ("Guide", ROOM) == (registry.require("guide").name, registry.list()[0].visibility)
    assert context.input.text == "Why?"


async def test_what_a_host_changes_after_registering_is_not_seen_either() -> None:
    """R6. The registry keeps its own descriptor and manifest."""
    knowledge = {"sherds": ["rim"]}
    driver = Answers(None)
    registry = room()
    registry.register(GUIDE, driver, manifest=replace(MANIFEST, knowledge=knowledge))

    knowledge["sherds"].append("fake")
    await registry.respond("guide", turn())

    assert driver.asked[0].manifest.knowledge == {"sherds": ["rim"]}


async def test_an_actors_action_comes_back_as_a_proposal() -> None:
    """R7. It carries the binding's seat; the registry has nobody to submit it to."""
    registry = room((POTTER, Answers(AgentDecision(action=PLACE))))

    decision = await registry.respond("potter", turn())

    assert decision == AgentDecision(action=ActionProposal({"type": "place", "sherd": "rim"}, "south"))


@pytest.mark.parametrize("role", ["player", "audience", "moderator", "service"])
async def test_nobodys_presence_lets_an_unbound_agent_propose(role: str) -> None:
    """R8. A player's or a moderator's question gives the guide no seat."""
    registry = room((GUIDE, Answers(AgentDecision(action=PLACE))))
    registry.join(Participant("ana", role, "south"))

    assert await code_of(registry.respond("guide", turn())) == "room.action_unbound"
    assert await code_of(events_of(registry, "guide", turn())) == "room.action_unbound"


async def test_an_action_for_another_seat_is_refused() -> None:
    """R9. However it is brought."""
    wish = replace(PLACE, seat="north")
    registry = room((POTTER, Answers(AgentDecision(action=wish))))

    assert await code_of(registry.respond("potter", turn())) == "room.action_seat"
    registry.register(POTTER, Streams(Decision(action=wish)), replace_existing=True)
    assert await code_of(events_of(registry, "potter", turn())) == "room.action_seat"


async def test_an_absent_speaker_is_refused() -> None:
    """R10. Who left is not heard."""
    driver = Answers(says("Hello?"))
    registry = room((GUIDE, driver))

    registry.leave("ana")
    registry.leave("ana")

    assert await code_of(registry.respond("guide", turn())) == "room.speaker_absent"
    assert driver.asked == []


@pytest.mark.parametrize("late", [says("Stale."), OSError("stopped"), AgentDecision(action=PLACE)])
async def test_replacing_an_agent_aborts_and_discards_its_turn(late: AgentDecision | Exception) -> None:
    """R11. The signal is raised once with its reason; whatever still comes is dropped; the new driver answers."""
    old = Holds(late)
    registry = room((GUIDE, old))

    async with asyncio.TaskGroup() as group:
        stale = group.create_task(code_of(registry.respond("guide", turn())))
        while not old.signals:
            await asyncio.sleep(0)
        registry.register(GUIDE, Answers(says("Current.")), replace_existing=True)
        registry.unregister("guide")
        registry.register(GUIDE, Answers(says("Current.")))
        signal = old.signals[0]
        assert (True, "agent_replaced") == (signal.aborted, signal.reason)
        signal.abort("again")
        old.let_go.set()

    assert stale.result() == "room.agent_replaced"
    assert signal.reason == "agent_replaced"
    assert says("Current.") == await registry.respond("guide", turn())


async def test_unregistering_discards_what_a_stream_still_brings() -> None:
    """R11. Words that were out are out; nothing follows them."""
    more = asyncio.Event()
    driver = Streams(AssistantOutput("o", "First"), more, AssistantOutput("o", " second", final=True))
    registry = room((GUIDE, driver))
    context = turn()
    heard = []

    async def listen() -> None:
        async for event in registry.run("guide", context):
            heard.append(event)
            registry.unregister("guide")
            more.set()

    assert await code_of(listen()) == "room.agent_replaced"
    assert [AssistantOutput("o", "First", audience=ROOM)] == heard
    assert (True, True) == (context.abort.aborted, driver.closed)
    assert await code_of(registry.respond("guide", turn())) == "room.unknown_agent"


@pytest.mark.parametrize("late", [(), (Progress("late"),)])
async def test_a_stream_that_stops_or_goes_on_after_its_abort_is_discarded(late: tuple[object, ...]) -> None:
    """R11. Ending early is not completing, and a late event is not an event."""
    more, driver = asyncio.Event(), Streams()
    driver.events = (more, *late)
    registry = room((GUIDE, driver))
    heard: list[object] = []

    async def listen() -> None:
        heard.append(await anext(registry.run("guide", turn())))

    async with asyncio.TaskGroup() as group:
        listening = group.create_task(code_of(listen()))
        while not driver.asked:
            await asyncio.sleep(0)
        registry.register(GUIDE, Answers(None), replace_existing=True)
        more.set()

    assert ("room.agent_replaced", []) == (listening.result(), heard)


async def test_replacing_an_agent_aborts_only_its_own_turns_that_still_run() -> None:
    """R11. Neither another agent's turn nor one that is over."""
    potter, over = Holds(says("Clay.")), turn()
    registry = room((GUIDE, Answers(None)), (POTTER, potter))
    await registry.respond("guide", over)

    async with asyncio.TaskGroup() as group:
        asked = group.create_task(registry.respond("potter", turn()))
        while not potter.signals:
            await asyncio.sleep(0)
        registry.unregister("guide")
        potter.let_go.set()

    assert asked.result() == says("Clay.")
    assert [False, False] == [potter.signals[0].aborted, over.abort.aborted]


async def test_an_error_of_a_driver_is_raised_as_it_is() -> None:
    """R11. Only a late error is swallowed by the replacement."""
    driver = Holds(OSError("model gone"))
    driver.let_go.set()
    registry = room((GUIDE, driver))

    with pytest.raises(OSError, match="model gone"):
        await registry.respond("guide", turn())


async def test_a_responding_driver_runs_as_one_decision_and_completion() -> None:
    """D4. `respond()` is adapted; the engine makes outputs of the utterances."""
    registry = room((GUIDE, Answers(says("Yes."))), (POTTER, Answers(None)))

    assert [Decision(utterances=(RoomUtterance("Yes."),)), Completed()] == await events_of(registry, "guide", turn())
    assert [Completed()] == await events_of(registry, "potter", turn())


async def test_a_running_driver_responds_with_what_it_said_and_decided() -> None:
    """D4. Deltas become utterances, an unfinished one is dropped, a question ends the turn."""
    driver = Streams(
        Progress("digging", 1, 2),
        AssistantOutput("a", "Made in "),
        AssistantOutput("b", "never closed"),
        AssistantOutput("a", "Athens.", final=True, history="ephemeral", interruptible=False),
        Decision(utterances=(RoomUtterance("Look."),), action=PLACE),
        AssistantOutput("q", "Which one?", purpose="question", final=True),
        InputRequested("which", "token"),
        AssistantOutput("z", "after the question", final=True),
    )
    registry = room((POTTER, driver))

    decision = await registry.respond("potter", turn())

    said = (
        RoomUtterance("Made in Athens.", ROOM, interruptible=False, history="ephemeral"),
        RoomUtterance("Look."),
        RoomUtterance("Which one?"),
    )
    assert AgentDecision(said, action=replace(PLACE, seat="south")) == decision
    assert driver.closed


async def test_one_turn_proposes_one_action() -> None:
    """R7. A second action in one turn is malformed, not a second proposal."""
    registry = room((POTTER, Streams(Decision(action=PLACE), Decision(action=PLACE))))

    assert await code_of(registry.respond("potter", turn())) == "room.decision_malformed"


@pytest.mark.parametrize("game", [("sherds", "2"), ("pots", "1")])
def test_a_manifest_of_another_game_or_version_is_refused(game: tuple[str, str]) -> None:
    """R1. Id and version are checked when the agent is registered."""
    registry = room()

    for manifest in (MANIFEST, None):
        with pytest.raises(WaysideError) as refusal:
            registry.register(GUIDE, Answers(None), manifest=manifest, game=game)

        assert refusal.value.code == "room.manifest_mismatch"
    assert registry.list() == ()


def test_an_agent_is_replaced_on_purpose_only() -> None:
    """R11. A second registration of an id is refused, and so is a driver that can not answer."""
    registry = room((GUIDE, Answers(None)))

    with pytest.raises(WaysideError) as refusal:
        registry.register(GUIDE, Answers(None))
    assert refusal.value.code == "room.agent_exists"

    with pytest.raises(WaysideError) as refusal:
        registry.register(POTTER, object())
    assert refusal.value.code == "room.driver_missing"
    assert registry.get("potter") is None
    assert (ANA,) == registry.present()
