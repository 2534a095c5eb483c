"""An acting mind's experience in a real room: known at once by its persona, told rarely and in words of its own."""

import asyncio
from collections.abc import AsyncIterator

from virtual import LoopClock, run_virtual
from wayside.core.room.agents import AgentDescriptor, AgentInput, Endpoint, Participant
from wayside.core.room.disclosure import ROOM
from wayside.core.room.experience import ExperienceSnapshot, evidence
from wayside.core.room.routing import RoutingPolicy
from wayside.core.room.verdicts import Verdict, verdict
from wayside.core.runs.events import AssistantOutput, Completed, DriverEvent
from wayside.core.runs.request import RunRequest
from wayside.ports.room_agent import TurnContext
from wayside.ports.run_store_memory import MemoryRunStore
from wayside.runtime.room.narration import DELIVERY, SOURCE, Narrator
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import Reached, RoomSpeech
from wayside.runtime.runs.runtime import Hooks, RoomAgentRuntime

STEP = ExperienceSnapshot(thought="The handle fits the rim", observed="It clicked", objective="Mend the cup")


class Persona:
    """Says something of its own when it is asked to narrate; answers visitors with how much it remembers."""

    def __init__(self, words: str = "Ha, the handle holds!") -> None:
        self.words = words
        self.contexts: list[TurnContext] = []

    async def run(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        self.contexts.append(context)
        await asyncio.sleep(0.2)
        if self.words:
            yield AssistantOutput("a", self.words, final=True)
        yield Completed()


class Voice:
    """Speaks two seconds a reply."""

    def __init__(self) -> None:
        self.spoken: list[str] = []
        self.narrator: Narrator | None = None

    async def speak(self, request, feed, reached) -> None:
        text = ""
        while (delta := await feed.next()) is not None:
            text += delta
        await asyncio.sleep(2)
        self.spoken.append(text)
        reached(Reached(len(self.spoken), "voice", len(text), "timed", "finished"))

    def interrupt(self, run_id: str) -> None:
        pass

    def speech_started(self, request) -> None:
        self.narrator.speech_started(request)

    def speech_ended(self, request, last) -> None:
        self.narrator.speech_ended(request, last)

    def speech_suppressed(self, request, reason) -> None:
        pass


class Scene:
    def __init__(self, group: asyncio.TaskGroup, persona: Persona, *, enabled: bool = True) -> None:
        self.registry = RoomAgentRegistry(routed=lambda source: source == SOURCE)
        self.registry.join(Participant("visitor"))
        self.registry.register(AgentDescriptor("player", "Player"), persona)
        self.registry.register(AgentDescriptor("guide", "Guide"), Persona())
        store, clock = MemoryRunStore(), LoopClock()
        ids = iter(range(1000))
        self.voice = Voice()
        self.speech = RoomSpeech(self.voice, store, clock, group, self.voice)
        hooks = Hooks(
            remember=lambda record: self.narrator.remember(record),  # noqa: PLW0108 - made below
            lifecycle=lambda event: self.narrator.lifecycle(event),  # noqa: PLW0108
            on_entry=lambda record, entry: self.narrator.entry(record, entry),  # noqa: PLW0108
        )
        new_id = lambda: f"id{next(ids)}"  # noqa: E731
        policy = RoutingPolicy(fallback="guide")
        self.runtime = RoomAgentRuntime(
            "room", self.registry, store, clock, new_id, group, policy=policy, speech=self.speech, hooks=hooks
        )
        self.narrator = self.voice.narrator = Narrator("player", self.runtime, clock, new_id, enabled=enabled)
        self.running = group.create_task(self.narrator.seam.run())

    async def ask(self, agent: str, text: str) -> None:
        given = AgentInput(
            f"q-{text}", text, Endpoint("participant", "visitor"), "v", ROOM, Participant("visitor"), "en"
        )
        await self.runtime.handle_run_input(RunRequest(given, agents=(agent,)))

    def verdict(self, delivery_id: str | None) -> Verdict | None:
        return verdict(self.narrator.seam.audit, delivery_id or "")


def in_room(persona: Persona, *, enabled: bool = True):
    def decorate(test):
        def run() -> None:
            async def main() -> None:
                async with asyncio.TaskGroup() as group:
                    scene = Scene(group, persona, enabled=enabled)
                    await test(scene, persona)
                    scene.running.cancel()

            run_virtual(main())

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


@in_room(Persona())
async def test_what_is_only_known_is_remembered_and_not_told(scene: Scene, persona: Persona) -> None:
    """N3. Seeds only: no response, no receipt; but the persona knows it when it is asked."""
    receipt = scene.narrator.seam.report(STEP)
    await asyncio.sleep(20)

    assert None is receipt.delivery_id
    assert [] == scene.voice.spoken
    await scene.ask("player", "How is it going?")
    assert "The handle fits the rim" in persona.contexts[0].memory[0].text


@in_room(Persona())
async def test_what_is_wanted_is_told_in_the_personas_own_words(scene: Scene, persona: Persona) -> None:
    """N2, N7. One response is asked for; its delivery id is evidence of an attempt, and it is never said verbatim."""
    receipt = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(5)

    assert ["Ha, the handle holds!"] == scene.voice.spoken
    assert receipt.delivery_id == persona.contexts[0].input.data[DELIVERY]
    assert "" == persona.contexts[0].input.text
    assert (evidence(receipt.delivery_id or ""),) == persona.contexts[0].memory[-1].evidence
    assert Verdict.PLAYED is scene.verdict(receipt.delivery_id)


@in_room(Persona())
async def test_a_burst_is_known_whole_and_told_once(scene: Scene, persona: Persona) -> None:
    """N5. All are seeded, one is answered, the rest are suppressed with ids of their own."""
    receipts = [scene.narrator.seam.report(step, respond=True, about=str(n)) for n, step in enumerate([STEP] * 5)]
    await asyncio.sleep(8)

    assert 1 == len(scene.voice.spoken)
    assert 5 == len({receipt.delivery_id for receipt in receipts})
    verdicts = [scene.verdict(receipt.delivery_id) for receipt in receipts]
    assert [Verdict.PLAYED] + [Verdict.SUPPRESSED] * 4 == verdicts
    await scene.ask("player", "What happened?")
    known = [item for item in persona.contexts[-1].memory if item.text.startswith(persona.contexts[0].memory[0].text)]
    assert 5 == len(known)


@in_room(Persona())
async def test_it_waits_while_somebody_speaks_or_is_answered(scene: Scene, persona: Persona) -> None:
    """N6. Held while a response is pending or audio plays, with its reason."""
    del persona
    asking = asyncio.ensure_future(scene.ask("guide", "What is clay?"))
    await asyncio.sleep(0.05)
    pending = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(1)
    playing = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(3)
    await asking

    assert [Verdict.SUPPRESSED] * 2 == [scene.verdict(r.delivery_id) for r in (pending, playing)]
    assert 1 == len(scene.voice.spoken)


@in_room(Persona(words=""))
async def test_a_persona_may_have_nothing_to_say(scene: Scene, persona: Persona) -> None:
    del persona
    receipt = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(3)

    assert Verdict.MODEL_SILENT is scene.verdict(receipt.delivery_id)


@in_room(Persona())
async def test_another_agent_knows_nothing_of_it(scene: Scene, persona: Persona) -> None:
    """ADR 0123: one persona's experience, not the room's."""
    del persona
    scene.narrator.seam.report(STEP)
    await asyncio.sleep(1)
    guide = Persona()
    scene.registry.register(AgentDescriptor("guide", "Guide"), guide, replace_existing=True)
    await scene.ask("guide", "What happened?")

    assert () == guide.contexts[0].memory


@in_room(Persona(), enabled=False)
async def test_an_agent_whose_profile_does_not_allow_it_gets_none(scene: Scene, persona: Persona) -> None:
    receipt = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(3)

    assert "experience.not_enabled" == receipt.refusal
    assert [] == persona.contexts
    assert Verdict.REFUSED is scene.verdict(receipt.delivery_id)


@in_room(Persona())
async def test_the_acting_mind_goes_on_when_its_agent_has_left(scene: Scene, persona: Persona) -> None:
    """N1, N10. Refused when the room is away, and nothing is raised."""
    scene.registry.unregister("player")
    receipt = scene.narrator.seam.report(STEP, respond=True)
    await asyncio.sleep(3)

    assert "experience.not_in_room" == receipt.refusal
    assert [] == persona.contexts
