"""Makes a dialogue provider a room agent's driver: what the room knows goes in as its context, its events come out.

An input that asks for the rest of an interrupted answer is answered here, with the text nobody has heard yet: it was
approved when it was generated, and no provider is asked again. A character that does not know hands the question to
the guide by a message of its own, which the room routes (RFC-021 §6).
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from wayside.core.content import GUIDE, Pack, Source
from wayside.core.plain_json import Json
from wayside.core.room.agents import AgentDescriptor, Endpoint, InteractionDraft
from wayside.core.runs.events import AssistantOutput, Completed, Decision, DriverEvent, ShowSources
from wayside.core.sentences import cut
from wayside.ports.language_model import DialogueContext, HistoryItem, LanguageModel
from wayside.ports.room_agent import TurnContext
from wayside.runtime.room.registry import RoomAgentRegistry

REST = "rest"


class GuideDriver:
    """Implements `RunningDriver` over a `LanguageModel`. `asks` is the agent to which unanswered questions go on."""

    def __init__(self, model: LanguageModel, *, asks: str | None = None) -> None:
        self._model = model
        self._asks = asks

    async def run(self, context: TurnContext) -> AsyncIterator[DriverEvent]:
        """Answer one input."""
        rest = context.input.data.get(REST)
        if isinstance(rest, dict):
            for event in _rest(rest):
                yield event
            return
        handed_on = context.input.source.kind == "agent"
        async for event in self._model.reply(_dialogue(context)):
            if isinstance(event, Decision) and event.refused:
                if handed_on:
                    # Somebody has said already that they do not know; saying it again helps nobody.
                    yield Completed()
                    return
                yield replace(event, interactions=(*event.interactions, *self._hand_on(context)))
            else:
                yield event

    def _hand_on(self, context: TurnContext) -> tuple[InteractionDraft, ...]:
        if self._asks is None or self._asks == context.agent.id:
            return ()
        given = context.input
        message: dict[str, Json] = {
            "type": "message",
            "text": given.text,
            "language": given.language,
            "data": dict(given.data),
        }
        return (InteractionDraft((Endpoint("agent", self._asks),), message),)


def room_registry(pack: Pack, providers: Mapping[str, LanguageModel]) -> RoomAgentRegistry:
    """The kiosk's room: every agent of the pack that has a provider, the guide first."""
    registry = RoomAgentRegistry()
    for agent in pack.agents:
        if agent.id in providers:
            descriptor = AgentDescriptor(
                agent.id, agent.name.get(pack.languages[0], agent.id), persona_id=agent.id, voice=agent.id
            )
            registry.register(descriptor, GuideDriver(providers[agent.id], asks=GUIDE))
    return registry


def rest_of_answer(text: str, sources: tuple[Source, ...], passages: tuple[str, ...]) -> dict[str, Json]:
    """The data of an input that asks for the rest."""
    listed: list[Json] = [[source.id, source.title, source.where] for source in sources]
    kept: list[Json] = list(passages)
    return {REST: {"text": text, "sources": listed, "passages": kept}}


def _rest(rest: Mapping[str, Json]) -> tuple[DriverEvent, ...]:
    listed, passages = rest.get("sources"), rest.get("passages")
    sources = tuple(
        Source(str(item[0]), str(item[1]), str(item[2]))
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, list) and len(item) == 3
    )
    ids = tuple(str(item) for item in passages) if isinstance(passages, list) else ()
    sentences, _ = cut(str(rest.get("text", "")), final=True)
    outputs = tuple(
        AssistantOutput("rest", sentence, final=number == len(sentences))
        for number, sentence in enumerate(sentences, start=1)
    )
    return (Decision((ShowSources(sources, ids),) if sources or ids else ()), *outputs, Completed())


def _dialogue(context: TurnContext) -> DialogueContext:
    given = context.input
    exhibit, variety = given.data.get("exhibit"), given.data.get("turn")
    return DialogueContext(
        context.run_id,
        given.language,
        given.text,
        exhibit if isinstance(exhibit, str) else None,
        tuple(
            HistoryItem("visitor" if item.role == "visitor" else "guide", item.text, item.evidence)
            for item in context.memory
        ),
        variety if isinstance(variety, int) else 0,
    )
