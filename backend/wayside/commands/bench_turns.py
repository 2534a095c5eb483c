"""Turns in process: the embedded providers end to end, Wayside's own overhead on fakes, memory over many turns.

Overhead is everything between the parts that is not a part's own delay: STT final → dialogue request, sentence-end
token → voice request, first chunk → first rendered block's start.
"""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import psutil

from wayside import main as wiring
from wayside.adapters.audio.file import FileLink
from wayside.commands.room import spoken as spoken_by
from wayside.commands.say import stage_ms
from wayside.core.content import GUIDE
from wayside.core.runs.events import AssistantOutput, Completed, DriverEvent
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.audio_link import CAPTURE_RATE, AudioLink
from wayside.ports.clock import Clock
from wayside.ports.language_model import DialogueContext, LanguageModel
from wayside.ports.run_store import RunStores
from wayside.ports.run_store_memory import MemoryRunStores
from wayside.ports.speech_to_text import ScriptedSegment, ScriptedSpeechToText, SpeechToText
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, TextToSpeech, ToneTextToSpeech, Voice, VoiceStyle
from wayside.ports.voice_activity import ScriptedVoiceActivity
from wayside.runtime.answer import Answered
from wayside.runtime.guide import room_registry
from wayside.runtime.kiosk import Kiosk, KioskSettings
from wayside.runtime.parts import Generations, Parts
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.screen import ScreenEvent, UtteranceFrame
from wayside.runtime.visit import Visit

QUESTIONS = 10
OVERHEAD_TURNS = 24
MEMORY_TURNS = 200
TURN_LIMIT_S = 40.0
_TOKENS = (
    "The", " small", " portrait", " on", " the", " left", " was", " painted", " in", " Delft.", " Its", " oak",
    " frame", " was", " carved", " by", " hand", " some", " years", " later.",
)  # fmt: skip
_SENTENCE_END = 9
_STT_S, _FIRST_TOKEN_S, _TOKEN_S, _FIRST_AUDIO_S = 0.250, 0.300, 0.020, 0.150


async def embedded(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """End of speech to first audible sample, endpointing included, with each stage's share."""
    loaded = await asyncio.to_thread(wiring.content, place)
    speech = wiring.Speech(place.shelf())
    found: dict[str, list[float]] = {}
    # A voice never speaks a generation again that was stopped: questions and answers share one counter.
    generations = Generations()
    try:
        for language, suffix in (("en", ""), ("es", "_es")):
            await speech.warm(language)
            asked = [q.text for exhibit in loaded.pack.exhibits for q in exhibit.questions[language][:2]][:QUESTIONS]
            for number, question in enumerate(asked, start=1):
                tell(f"  {language} question {number} of {len(asked)}")
                spoken = await spoken_by(speech.voice, question, language, generations.mint())
                turn = await _ask(place, loaded, speech, language, spoken, generations)
                if turn is None:
                    tell("  not understood as a question; not counted")
                    continue
                stages = stage_ms(turn.times)
                if "total" in stages and "endpointing" in stages:
                    found.setdefault(f"end_of_speech_to_first_audio{suffix}_ms", []).append(stages.pop("total"))
                    for name, value in stages.items():
                        found.setdefault(f"{language}/{name}_ms", []).append(value)
    finally:
        await speech.close()
        loaded.index.close()
    return found


async def _ask(
    place: wiring.Place,
    loaded: wiring.Content,
    speech: wiring.Speech,
    language: str,
    spoken: bytes,
    generations: Generations,
) -> Answered | None:
    silence = bytes(2 * CAPTURE_RATE)
    link = FileLink(silence[: CAPTURE_RATE // 2] + spoken + silence + silence, mode="real")
    parts = wiring.parts(link, loaded, speech, link.clock, generations)
    async with _kiosk(parts, wiring.kiosk_settings(place), language) as (visit, answered, audible):
        visit.listen("automatic")
        try:
            async with asyncio.timeout(TURN_LIMIT_S):
                await audible.wait()
                visit.stop()
                return await answered.get()
        except TimeoutError:
            return None


@asynccontextmanager
async def _kiosk(
    parts: Parts, settings: KioskSettings, language: str
) -> AsyncIterator[tuple[Visit, "asyncio.Queue[Answered]", asyncio.Event]]:
    answered: asyncio.Queue[Answered] = asyncio.Queue(1000)
    audible = asyncio.Event()

    def show(event: ScreenEvent) -> None:
        if isinstance(event, UtteranceFrame):
            audible.set()

    kiosk = Kiosk(parts, settings, show=show, visit_changed=lambda _reason: None, answered=answered.put_nowait)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kiosk.run())
        await asyncio.sleep(0.02)
        try:
            yield await kiosk.start_visit(language), answered, audible
        finally:
            kiosk.close()
            await running


# --- overhead -------------------------------------------------------------------------------------------------------


class _Clocked(LanguageModel):
    """Twenty tokens of two sentences on an absolute schedule; notes when it was asked and when a sentence ended."""

    def __init__(self) -> None:
        self.requested = 0.0
        self.sentence_ended = 0.0

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:
        del context
        self.requested = time.perf_counter()
        for number, token in enumerate(_TOKENS):
            due = self.requested + _FIRST_TOKEN_S + number * _TOKEN_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if number == _SENTENCE_END:
                self.sentence_ended = time.perf_counter()
            yield AssistantOutput("answer", token, final=number == len(_TOKENS) - 1)
        yield Completed()

    async def close(self) -> None:
        """Nothing is open."""


class _ClockedVoice(ToneTextToSpeech):
    """First audio 150 ms after the request; notes both."""

    def __init__(self) -> None:
        super().__init__(ms_per_char=65)
        self.requested = 0.0
        self.first_audio = 0.0

    @property
    def voices(self) -> tuple[Voice, ...]:
        return super().voices

    async def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        if utterance == 1:
            self.requested = time.perf_counter()
        await asyncio.sleep(_FIRST_AUDIO_S)
        first = True
        async for chunk in super().speak(text, language, generation, utterance, style):
            if first and utterance == 1:
                self.first_audio = time.perf_counter()
            first = False
            yield chunk


async def overhead(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """Milliseconds of Wayside's own, per turn, on parts with fixed delays."""
    del tell
    loaded = await asyncio.to_thread(wiring.content, place)
    dialogue, voice = _Clocked(), _ClockedVoice()
    stt = ScriptedSpeechToText([ScriptedSegment("what is the small painting on the left", _STT_S)] * OVERHEAD_TURNS)
    played: list[float] = []

    def on_block(block: bytes) -> None:
        if any(block):
            played.append(time.perf_counter())

    microphone = np.random.default_rng(1).normal(0, 3000, CAPTURE_RATE * 600).astype("<i2").tobytes()
    link = FileLink(microphone, mode="real", on_block=on_block)
    registry = room_registry(loaded.pack, {GUIDE: dialogue})
    # As a kiosk keeps its visits, in a folder of this run's own.
    stores = wiring.visit_stores(None, os.getpid())
    parts = _parts(link, loaded, stt, voice, registry, link.clock, stores)
    found: dict[str, list[float]] = {}
    async with _kiosk(parts, KioskSettings(idle_s=600), "en") as (visit, answered, audible):
        for turn in range(OVERHEAD_TURNS):
            audible.clear()
            played.clear()
            visit.talk(down=True)
            # At every place in the block of 10 ms alike: else the wait for the next block says more about the bench.
            await asyncio.sleep(0.5 + turn * 0.0037 % 0.01)
            visit.talk(down=False)
            released = time.perf_counter()
            async with asyncio.timeout(TURN_LIMIT_S):
                await audible.wait()
            visit.stop()
            await answered.get()
            if turn < 2:
                continue  # warm-up
            gaps = (
                dialogue.requested - released - _STT_S,
                voice.requested - dialogue.sentence_ended,
                played[0] - voice.first_audio,
            )
            found.setdefault("overhead_ms", []).append(1000 * sum(gaps))
            for name, gap in zip(("final_to_request", "sentence_to_voice", "audio_to_block"), gaps, strict=True):
                found.setdefault(f"overhead/{name}_ms", []).append(1000 * gap)
    loaded.index.close()
    return found


def _parts(
    link: AudioLink,
    loaded: wiring.Content,
    stt: SpeechToText,
    voice: TextToSpeech,
    registry: RoomAgentRegistry,
    clock: Clock,
    stores: RunStores,
) -> Parts:
    ids = iter(range(10**9))
    return Parts(
        link=link,
        voice_activity=ScriptedVoiceActivity(),
        speech_to_text=stt,
        voice=voice,
        registry=registry,
        stores=stores,
        clock=clock,
        pack=loaded.pack,
        new_id=lambda: str(next(ids)),
        generations=Generations(),
    )


# --- memory ---------------------------------------------------------------------------------------------------------


async def memory(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """Resident memory gained over 200 spoken turns of the real dialogue on a fake link, after a warm-up of 50."""
    del tell
    loaded = await asyncio.to_thread(wiring.content, place)
    questions = [q.text for exhibit in loaded.pack.exhibits for q in exhibit.questions["en"]]
    stt = ScriptedSpeechToText([])
    link = FakeAudioLink()
    voice = ToneTextToSpeech(ms_per_char=1)
    registry = wiring.parts(link, loaded, wiring.Speech(place.shelf())).registry
    # The link's clock runs ahead of the machine's, so nothing here may wait for a thread.
    parts = _parts(link, loaded, stt, voice, registry, link.clock, MemoryRunStores())
    process = psutil.Process()
    before = 0.0
    async with (
        _kiosk(parts, KioskSettings(idle_s=600), "en") as (visit, answered, _audible),
        asyncio.TaskGroup() as group,
    ):
        pump = group.create_task(_pump(link))
        for turn in range(50 + MEMORY_TURNS):
            if turn == 50:
                gc.collect()
                before = process.memory_info().rss
            visit.say(questions[turn % len(questions)])
            async with asyncio.timeout(TURN_LIMIT_S):
                await answered.get()
        gc.collect()
        after = process.memory_info().rss
        pump.cancel()
    loaded.index.close()
    return {"memory_growth_mb": [(after - before) / 2**20]}


async def _pump(link: FakeAudioLink) -> None:
    while True:
        link.tick(5)
        link.heard.clear()
        await asyncio.sleep(0)
