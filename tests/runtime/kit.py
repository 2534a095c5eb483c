"""A whole kiosk on fakes in virtual time: what a visitor does goes in, what people see and hear comes out."""

import asyncio
import functools
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from virtual import run_virtual
from wayside.core.content import Exhibit, Pack, Passage, Source, SuggestedQuestion
from wayside.core.runs.events import AssistantOutput, Completed, Decision, DriverEvent, ShowSources
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.clock import ManualClock
from wayside.ports.language_model import DialogueContext
from wayside.ports.run_store import RunStores
from wayside.ports.run_store_memory import MemoryRunStores
from wayside.ports.speech_to_text import ScriptedSegment, ScriptedSpeechToText
from wayside.ports.text_to_speech import ToneTextToSpeech
from wayside.ports.voice_activity import ScriptedVoiceActivity
from wayside.runtime.answer import Answered
from wayside.runtime.guide import room_registry
from wayside.runtime.kiosk import Kiosk, KioskSettings
from wayside.runtime.parts import Generations, Parts
from wayside.runtime.visit import Visit

__all__ = ["Scene", "ScriptedDialogue", "loud", "quiet", "run_virtual", "scene"]

SOURCE = Source("abv", "Beazley, Attic Black-figure Vase-painters")
PACK = Pack(
    id="test",
    release="test-000000000000",
    title={"en": "Test", "es": "Prueba"},
    institution="Test",
    languages=("en", "es"),
    notice={"en": "AI", "es": "IA"},
    privacy={"en": "", "es": ""},
    staff_help={"en": "", "es": ""},
    wordings={},
    exhibits=(
        Exhibit(
            "amphora",
            "1",
            {"en": "Amphora", "es": "Ánfora"},
            {"en": "", "es": ""},
            "amphora.svg",
            {"en": "", "es": ""},
            {
                "en": (SuggestedQuestion("Who made it?", "amphora#maker"),),
                "es": (SuggestedQuestion("¿Quién la hizo?", "amphora#maker"),),
            },
        ),
    ),
    passages=(Passage("amphora#maker", "amphora", "en", "maker", "Exekias made it.", (SOURCE,)),),
    start_questions={
        "en": (SuggestedQuestion("Who made it?", "amphora#maker"),),
        "es": (SuggestedQuestion("¿Quién la hizo?", "amphora#maker"),),
    },
)
ANSWER = "Exekias made this amphora, and he painted it too. We know because he signed it twice. He worked in Athens."


class ScriptedDialogue:
    """Answers every question with the same text, a word every `gap_s`, the first after `delay_s`."""

    def __init__(self, text: str = ANSWER, *, delay_s: float = 0.0, gap_s: float = 0.0, fails: bool = False) -> None:
        self.text = text
        self.delay_s = delay_s
        self.gap_s = gap_s
        self.fails = fails
        self.contexts: list[DialogueContext] = []

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:
        self.contexts.append(context)
        await asyncio.sleep(self.delay_s)
        if self.fails:
            raise RuntimeError("secret words of the model")
        yield Decision((ShowSources((SOURCE,), ("amphora#maker",)),))
        *most, last = self.text.split(" ")
        for word in most:
            yield AssistantOutput("answer", word + " ")
            await asyncio.sleep(self.gap_s)
        yield AssistantOutput("answer", last, final=True)
        yield Completed()

    async def close(self) -> None:
        pass


@dataclass
class Scene:
    link: FakeAudioLink
    kiosk: Kiosk
    dialogue: ScriptedDialogue
    voice: ToneTextToSpeech
    stt: ScriptedSpeechToText
    shown: list = field(default_factory=list)
    resets: list = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)

    @property
    def visit(self) -> Visit:
        assert self.kiosk.visit is not None
        return self.kiosk.visit

    def of(self, kind: type) -> list:
        return [event for event in self.shown if isinstance(event, kind)]

    async def until(self, condition: Callable[[], object], limit_s: float = 60.0) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                await asyncio.sleep(0.005)

    def speak(self, seconds: float) -> None:
        self.link.speak(loud(seconds))

    def sounding(self, last_s: float = 0.05) -> bool:
        """Whether the loudspeaker sounded in the last moments."""
        recent = array("h", bytes(self.link.heard[-int(last_s * self.link.out_rate) * 2 :]))
        return any(abs(sample) > 50 for sample in recent)


def loud(seconds: float) -> bytes:
    return array("h", [8000, -8000] * int(seconds * 8000)).tobytes()


def quiet(seconds: float) -> bytes:
    return bytes(int(seconds * 16000) * 2)


@asynccontextmanager
async def scene(
    *heard: str | ScriptedSegment,
    dialogue: ScriptedDialogue | None = None,
    voice: ToneTextToSpeech | None = None,
    automatic: bool = False,
    missing: frozenset = frozenset(),
    settings: KioskSettings | None = None,
    language: str = "en",
    pack: Pack = PACK,
    dialogues: dict | None = None,
    stores: RunStores | None = None,
    start: bool = True,
    now: float = 1000.0,
) -> AsyncIterator[Scene]:
    """A visit that has begun (with `start`); the recogniser hears `heard`, one a segment."""
    link = FakeAudioLink(ManualClock(now), missing=missing)
    dialogue = dialogue or ScriptedDialogue()
    voice = voice or ToneTextToSpeech()
    stt = ScriptedSpeechToText([h if isinstance(h, ScriptedSegment) else ScriptedSegment(h, 0.2, (h,)) for h in heard])
    ids = iter(range(10_000))
    parts = Parts(
        link=link,
        voice_activity=ScriptedVoiceActivity(),
        speech_to_text=stt,
        voice=voice,
        registry=room_registry(pack, dialogues or {"guide": dialogue}),
        stores=stores or MemoryRunStores(frozenset()),
        clock=link.clock,
        pack=pack,
        new_id=lambda: f"id{next(ids)}",
        generations=Generations(),
    )
    shown: list = []
    resets: list = []
    answered: list[Answered] = []
    kiosk = Kiosk(
        parts,
        settings or KioskSettings(automatic=automatic),
        show=shown.append,
        visit_changed=resets.append,
        answered=answered.append,
    )
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kiosk.run())
        pump = group.create_task(_pump(link))
        await asyncio.sleep(0.05)
        if start:
            await kiosk.start_visit(language)
        try:
            yield Scene(link, kiosk, dialogue, voice, stt, shown, resets, answered)
        finally:
            kiosk.close()
            await running
            pump.cancel()


async def _pump(link: FakeAudioLink) -> None:
    while True:
        await asyncio.sleep(0.01)
        link.tick()


def virtually(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test in virtual time."""

    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        run_virtual(test(*args, **kwargs))

    return run
