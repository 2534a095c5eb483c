"""What Wayside itself adds on the road of one turn, on fakes with absolute schedules; and what turns leave behind.

The fakes, the answer and the definition are those with which other frameworks were measured: overhead = (recogniser's
final → request to the model) + (token that completes the sentence → request to the voice) + (voice's first audio →
first voiced block at the device).
"""

import asyncio
import gc
import itertools
from array import array
from collections.abc import AsyncIterator, Sequence
from time import perf_counter

import psutil

from wayside import main as wiring
from wayside.adapters.audio.file import FileLink
from wayside.commands.figures import Figure
from wayside.commands.room import kiosk_open
from wayside.core.errors import WaysideError
from wayside.core.runs.events import AssistantOutput, Completed, DriverEvent
from wayside.ports.audio_fake import FakeAudioLink
from wayside.ports.language_model import DialogueContext
from wayside.ports.speech_to_text import SpeechToTextCapabilities, Transcript
from wayside.ports.text_to_speech import SpeechChunk, ToneTextToSpeech, Voice
from wayside.ports.voice_activity import ScriptedVoiceActivity
from wayside.runtime.answer import Answered
from wayside.runtime.kiosk import KioskSettings
from wayside.runtime.visit import Generations, Parts, Visit

TOKENS = (
    "The| small| portrait| on| the| left| was| painted| in| Delft.| Its| oak| frame| was| carved| by| hand| some| years"
    "| later."
).split("|")  # noqa: SIM905 - one token a line says nothing
ANSWER = "".join(TOKENS)
FINAL_S, FIRST_TOKEN_S, TOKEN_S, FIRST_AUDIO_S = 0.250, 0.300, 0.020, 0.150
RATE = 24_000
SAMPLES_PER_CHAR = RATE * 65 // 1000
FRAME_BYTES = 2 * RATE // 50
WARM_UP = 2
PRESS_S = 0.6  # longer than a tap
TURNS, TURNS_A_VISIT, WARM_TURNS = 200, 20, 40


class _Marks:
    """Times of one turn, by `perf_counter`."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.tokens: list[float] = []

    def first(self, name: str) -> None:
        self.at.setdefault(name, perf_counter())


class _Fakes:
    """Recogniser, model, voice and loudspeaker of one run; `marks` is the turn being measured."""

    def __init__(self) -> None:
        self.marks = _Marks()

    def on_block(self, block: bytes) -> None:
        if "audio" in self.marks.at and any(memoryview(block).cast("h")):
            self.marks.first("device")


class _Stream:
    def __init__(self, fakes: _Fakes) -> None:
        self._fakes = fakes
        self._ended = asyncio.Event()

    def push(self, pcm: bytes) -> None:
        """What is said does not matter."""

    def pause(self) -> None:
        """Nothing is decoded early."""

    async def interim(self) -> Transcript | None:
        await self._ended.wait()
        return None

    async def finish(self) -> Transcript:
        await _sleep_until(perf_counter() + FINAL_S)
        self._fakes.marks.first("final")
        self._ended.set()
        return Transcript("what is the small painting on the left", "en", final=True)

    async def close(self) -> None:
        self._ended.set()


class _Recogniser:
    def __init__(self, fakes: _Fakes) -> None:
        self._fakes = fakes

    @property
    def capabilities(self) -> SpeechToTextCapabilities:
        return SpeechToTextCapabilities(("en",))

    async def open(self, language: str, hints: Sequence[str]) -> _Stream:  # noqa: ARG002 - the port's signature
        return _Stream(self._fakes)

    async def close(self) -> None:
        """Nothing is open."""


class _Model:
    def __init__(self, fakes: _Fakes) -> None:
        self._fakes = fakes

    async def reply(self, context: DialogueContext) -> AsyncIterator[DriverEvent]:  # noqa: ARG002 - the port's signature
        requested = perf_counter()
        self._fakes.marks.first("request")
        for number, token in enumerate(TOKENS):
            await _sleep_until(requested + FIRST_TOKEN_S + number * TOKEN_S)
            self._fakes.marks.tokens.append(perf_counter())
            yield AssistantOutput("answer", token)
        yield Completed()

    async def close(self) -> None:
        """Nothing is open."""


class _Voice:
    """Every sample's value says which character it voices."""

    def __init__(self, fakes: _Fakes) -> None:
        self._fakes = fakes

    @property
    def voices(self) -> tuple[Voice, ...]:
        return (Voice("fake", ("en",), RATE),)

    async def speak(
        self,
        text: str,
        language: str,  # noqa: ARG002 - the port's signature
        generation: int,  # noqa: ARG002 - the port's signature
        utterance: int,  # noqa: ARG002 - the port's signature
    ) -> AsyncIterator[SpeechChunk]:
        requested = perf_counter()
        marks = self._fakes.marks
        start = ANSWER.find(text.strip())
        if "voice" not in marks.at:
            marks.at["voice"] = requested
            marks.at["sentence"] = marks.tokens[_completes(start + len(text.strip()))]
        pcm = array("h", [(start + n + 1) * 100 for n in range(len(text.strip())) for _ in range(SAMPLES_PER_CHAR)])
        data = pcm.tobytes()
        await _sleep_until(requested + FIRST_AUDIO_S)
        marks.first("audio")
        for number, at in enumerate(range(0, len(data), FRAME_BYTES)):
            await _sleep_until(requested + FIRST_AUDIO_S + number // 5 * 0.010)
            yield SpeechChunk(data[at : at + FRAME_BYTES], RATE)

    def cancel(self, generation: int) -> None:
        """The iteration is broken off."""

    async def close(self) -> None:
        """Nothing is open."""


async def overhead(place: wiring.Place, tell: wiring.Tell, count: int = 24) -> list[Figure]:
    """Turns by the button through the real runtime on a file link in real time."""
    loaded = await asyncio.to_thread(wiring.content, place)
    loaded.index.close()
    fakes = _Fakes()
    link = FileLink(None, mode="real", out_rate=RATE, on_block=fakes.on_block)
    ids = itertools.count()
    parts = Parts(
        link, ScriptedVoiceActivity(), _Recogniser(fakes), _Voice(fakes), _Model(fakes), link.clock, loaded.pack,
        lambda: f"id{next(ids)}", Generations(),
    )  # fmt: skip
    rows: list[dict[str, float]] = []
    async with kiosk_open(parts, KioskSettings(), lambda _event: None, lambda _turn: None) as kiosk:
        visit = await kiosk.start_visit("en")
        for number in range(WARM_UP + count):
            row = await _turn(fakes, visit)
            if number >= WARM_UP:
                rows.append(row)
        tell(f"overhead_ms: {len(rows)} turns")
    stages = {name: tuple(row[name] for row in rows) for name in rows[0]}
    notes = "To the first voiced 10 ms block of the loudspeaker; the wait for that block is part of it."
    return [Figure("overhead_ms", stages.pop("overhead"), stages=stages, notes=notes)]


async def _turn(fakes: _Fakes, visit: Visit) -> dict[str, float]:
    fakes.marks = marks = _Marks()
    visit.talk(down=True)
    await asyncio.sleep(PRESS_S)
    released = perf_counter()
    visit.talk(down=False)
    async with asyncio.timeout(5):
        while "device" not in marks.at:  # noqa: ASYNC110 - marks are set from the audio callback
            await asyncio.sleep(0.005)
    visit.stop()
    async with asyncio.timeout(5):
        while visit.busy:  # noqa: ASYNC110 - a visit tells its end to the screen, not here
            await asyncio.sleep(0.01)
    at = marks.at
    gaps = {
        "final_to_model": 1000 * (at["request"] - at["final"]),
        "sentence_to_voice": 1000 * (at["voice"] - at["sentence"]),
        "audio_to_device": 1000 * (at["device"] - at["audio"]),
    }
    return {"overhead": sum(gaps.values()), **gaps, "release_to_sound": 1000 * (at["device"] - released)}


def _completes(chars: int) -> int:
    """Index of the token with which the answer has so many characters."""
    return next(n for n, total in enumerate(itertools.accumulate(map(len, TOKENS))) if total >= chars)


async def _sleep_until(at: float) -> None:
    await asyncio.sleep(max(0.0, at - perf_counter()))


async def memory_growth(place: wiring.Place, tell: wiring.Tell, turns: int = TURNS) -> list[Figure]:
    """Text turns through the real curator with a quick voice, in visits of twenty, faster than real time."""
    loaded = await asyncio.to_thread(wiring.content, place)
    speech = wiring.Speech(place.shelf())
    link = FakeAudioLink(out_rate=8000)
    parts = wiring.parts(link, loaded, speech, clock=link.clock)
    parts = Parts(
        link, ScriptedVoiceActivity(), parts.speech_to_text, ToneTextToSpeech(loaded.pack.languages, ms_per_char=2),
        parts.dialogue, link.clock, loaded.pack, parts.new_id, parts.generations,
    )  # fmt: skip
    language = loaded.pack.languages[0]
    questions = itertools.cycle([q.text for e in loaded.pack.exhibits for q in e.questions[language]])
    process = psutil.Process()
    before = 0
    done: list[Answered] = []
    try:
        async with kiosk_open(parts, KioskSettings(), lambda _event: None, done.append) as kiosk:
            pump = asyncio.create_task(_fast(link))
            try:
                for number in range(WARM_TURNS + turns):
                    if number == WARM_TURNS:
                        gc.collect()
                        before = process.memory_info().rss
                    if number % TURNS_A_VISIT == 0:
                        visit = await kiosk.start_visit(language)
                    done.clear()
                    visit.say(next(questions))
                    async with asyncio.timeout(20):
                        while not done:  # noqa: ASYNC110 - polled, so that nothing else is measured
                            await asyncio.sleep(0.002)
            finally:
                pump.cancel()
        gc.collect()
        grown = (process.memory_info().rss - before) / 2**20
    except TimeoutError:
        raise WaysideError("bench.no_answer", "A text turn was not answered.") from None
    finally:
        await speech.close()
        loaded.index.close()
    tell(f"memory_growth_mb: {turns} turns")
    notes = f"Resident memory of this process over {turns} text turns after {WARM_TURNS} to warm up."
    return [Figure("memory_growth_mb", (grown,), "MB", notes=notes)]


async def _fast(link: FakeAudioLink) -> None:
    while True:
        await asyncio.sleep(0.001)
        link.tick(4)
