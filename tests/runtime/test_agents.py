"""Two agents in one visit: whom an input is for, who speaks, what each remembers, and how one hands a question on."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from kit import PACK, ScriptedDialogue, scene, virtually
from wayside.core.content import Agent, VoiceStyle
from wayside.core.runs.events import AssistantOutput, Completed, Decision, DriverEvent
from wayside.ports.language_model import DialogueContext
from wayside.runtime.screen import Focus, UtteranceFrame

GUIDE = Agent("guide", {"en": "Guide", "es": "Guía"})
EXEKIAS = Agent(
    "exekias",
    {"en": "Exekias", "es": "Exequias"},
    spellings={"en": ("ex e kias",)},
    voice=VoiceStyle(pitch_semitones=-3, pace=0.9),
)
TWO = replace(PACK, agents=(GUIDE, EXEKIAS))


class Declining(ScriptedDialogue):
    """Says that it does not know."""

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:
        self.contexts.append(context)
        yield Decision(refused=True)
        yield AssistantOutput("answer", "That was after my time.", final=True)
        yield Completed()


def two(guide: ScriptedDialogue | None = None, character: ScriptedDialogue | None = None) -> dict:
    return {
        "guide": guide or ScriptedDialogue("The guide speaks of clay."),
        "exekias": character or ScriptedDialogue("I signed it myself."),
    }


def speakers(scene) -> list[str]:
    return list(dict.fromkeys(frame.agent for frame in scene.of(UtteranceFrame)))


@virtually
async def test_a_name_turns_to_an_agent_and_stays_with_it() -> None:
    """T1. An explicit address goes before the focus, and becomes it."""
    agents = two()
    async with scene(pack=TWO, dialogues=agents) as s:
        s.visit.say("Exekias, did you make this?")
        await s.until(lambda: len(s.answered) == 1)
        s.visit.say("And where did you live?")
        await s.until(lambda: len(s.answered) == 2)

        assert 2 == len(agents["exekias"].contexts)
        assert [] == agents["guide"].contexts
        assert [Focus("exekias")] == s.of(Focus)
        assert ["exekias"] == speakers(s)
        assert "exekias" == s.visit.snapshot().lines[-1].agent


@virtually
async def test_touching_somebody_turns_to_them_and_stops_who_speaks() -> None:
    agents = two(guide=ScriptedDialogue("The guide speaks of clay. " * 20))
    async with scene(pack=TWO, dialogues=agents) as s:
        s.visit.say("What is this?")
        await s.until(lambda: s.of(UtteranceFrame))
        assert s.visit.address("exekias")
        await s.until(lambda: len(s.answered) == 1)
        s.visit.say("And you?")
        await s.until(lambda: len(s.answered) == 2)

        assert "interrupted" == s.answered[0].delivery.state
        assert "exekias" == s.visit.snapshot().agent
        assert ["guide", "exekias"] == speakers(s)
        assert not s.visit.address("nobody")


@virtually
async def test_each_agent_remembers_its_own_conversation_only() -> None:
    """RFC-021 §10.15: memory is partitioned by channel."""
    agents = two()
    async with scene(pack=TWO, dialogues=agents) as s:
        for count, question in enumerate(
            ["What is clay?", "Exekias, who taught you?", "Guide, what is slip?"], start=1
        ):
            s.visit.say(question)
            await s.until(lambda: len(s.answered) == count)  # noqa: B023 - awaited before the next round

        assert () == agents["exekias"].contexts[0].history
        remembered = [item.text for item in agents["guide"].contexts[1].history]
        assert ["What is clay?", "The guide speaks of clay."] == remembered


@virtually
async def test_each_agent_has_its_own_voice() -> None:
    async with scene(pack=TWO, dialogues=two()) as s:
        s.visit.say("What is this?")
        await s.until(lambda: len(s.answered) == 1)
        s.visit.say("Exekias, and you?")
        await s.until(lambda: len(s.answered) == 2)

        assert [VoiceStyle(), VoiceStyle(-3, 0.9)] == s.voice.styles


@virtually
async def test_a_character_that_does_not_know_hands_the_question_to_the_guide() -> None:
    """R3, RFC-021 §6: one agent writes to another; the disclosure is inherited and the router derives the rest."""
    agents = two(character=Declining())
    async with scene(pack=TWO, dialogues=agents) as s:
        s.visit.say("Exekias, what is the Portland Vase?")
        await s.until(lambda: len(s.answered) == 2)

        assert ["exekias", "guide"] == speakers(s)
        assert "Exekias, what is the Portland Vase?" == agents["guide"].contexts[0].question
        assert "exekias" == s.visit.snapshot().agent


@virtually
async def test_nobody_says_twice_that_they_do_not_know() -> None:
    agents = two(guide=Declining(), character=Declining())
    async with scene(pack=TWO, dialogues=agents) as s:
        s.visit.say("Exekias, what is the price?")
        await s.until(lambda: len(s.answered) == 2)

        assert ["exekias"] == speakers(s)


@virtually
async def test_what_waits_to_be_said_is_dropped_when_the_visitor_speaks() -> None:
    """The guide never talks over a visitor who has the floor, nor does anybody after it."""
    agents = two(character=Declining("x"))
    async with scene(pack=TWO, dialogues=agents) as s:
        s.visit.say("Exekias, what is the Portland Vase?")
        await s.until(s.sounding)
        await s.until(lambda: agents["guide"].contexts)
        s.visit.stop()
        await asyncio.sleep(8)

        assert ["exekias"] == speakers(s)
        assert not s.sounding(5)


@virtually
async def test_with_one_agent_a_name_is_just_a_word() -> None:
    async with scene() as s:
        s.visit.say("Exekias, who was he?")
        await s.until(lambda: s.answered)

        assert [] == s.of(Focus)
        assert ["guide"] == speakers(s)


@virtually
async def test_the_focus_survives_a_restart() -> None:
    """T9. Focus comes back with the visit."""
    from test_recovery import LeftStores, _copy  # noqa: PLC0415

    stores = LeftStores()
    async with scene(pack=TWO, dialogues=two(), stores=stores) as s:
        s.visit.address("exekias")
        await asyncio.sleep(0.1)
        await s.visit.keep()
        left, now = await _copy(stores.opened[0]), s.link.clock.now()
    async with scene(pack=TWO, dialogues=two(), stores=LeftStores(left), start=False, now=now + 2) as s:
        await s.until(lambda: s.kiosk.visit is not None)

        assert "exekias" == s.visit.snapshot().agent
