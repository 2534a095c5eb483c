"""From the end of a question to the first audible sample of its answer, embedded models, in real time."""

import asyncio
from itertools import islice

from wayside import main as wiring
from wayside.commands.figures import Figure
from wayside.commands.room import Room, spoken, visit_in
from wayside.commands.say import stage_ms
from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.runtime.visit import Visit

QUESTIONS = 12
ANSWER_S = 15.0
PAUSE_S = 0.8
_NOTES = (
    "Questions spoken by the embedded voice; last audible microphone sample to first audible loudspeaker sample, "
    "automatic turns, endpointing included, device buffers not."
)


async def end_of_speech(
    place: wiring.Place, tell: wiring.Tell, language: str, name: str, count: int = QUESTIONS
) -> list[Figure]:
    """Ask suggested questions aloud. A question that got no answer is told in the notes, never left out silently."""
    loaded = await asyncio.to_thread(wiring.content, place)
    speech = wiring.Speech(place.shelf())
    try:
        if speech.missing:
            raise speech.missing[0]
        await speech.warm(language)
        questions = [
            (exhibit, text, await spoken(speech.voice, text, language))
            for exhibit, text in islice(_questions(loaded.pack, language), count)
        ]
        room = Room()
        parts = wiring.parts(room.link, loaded, speech, clock=room.link.clock)
        totals: list[float] = []
        stages: dict[str, list[float]] = {}
        async with visit_in(room, parts, wiring.kiosk_settings(place), language) as (_, visit):
            visit.listen("automatic")
            await asyncio.sleep(PAUSE_S)
            for number, (exhibit, text, pcm) in enumerate(questions, start=1):
                visit.look_at(exhibit)
                took = await _ask(room, visit, pcm, stages)
                tell(f"{name} {number}/{len(questions)}: {f'{took:.0f} ms' if took else 'no answer'} — {text}")
                if took is not None:
                    totals.append(took)
    finally:
        await speech.close()
        loaded.index.close()
    if not totals:
        raise WaysideError("bench.no_answer", "No question was answered.", remedy="Try `wayside doctor`.")
    unanswered = f" {len(questions) - len(totals)} of {len(questions)} questions got no answer aloud."
    return [Figure(name, tuple(totals), stages={k: tuple(v) for k, v in stages.items()}, notes=_NOTES + unanswered)]


async def _ask(room: Room, visit: Visit, pcm: bytes, stages: dict[str, list[float]]) -> float | None:
    turns = len(room.answered)
    _, ended = room.speak(pcm)
    await room.until(lambda: room.sound_from(ended), room.speaking_until - room.now + ANSWER_S)
    first = room.sound_from(ended)
    visit.stop()
    await room.until(lambda: not visit.busy, ANSWER_S)
    await asyncio.sleep(PAUSE_S)
    for turn in room.answered[turns : turns + 1]:
        for stage, value in stage_ms(turn.times).items():
            if stage != "total":
                stages.setdefault(stage, []).append(value)
    return None if first is None else 1000 * (first - ended)


def _questions(pack: Pack, language: str) -> list[tuple[str, str]]:
    """One of each exhibit, then the second of each, so that few questions are still varied."""
    longest = max((len(e.questions[language]) for e in pack.exhibits), default=0)
    return [
        (exhibit.id, exhibit.questions[language][row].text)
        for row in range(longest)
        for exhibit in pack.exhibits
        if row < len(exhibit.questions[language])
    ]
