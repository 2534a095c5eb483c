"""End of speech to final transcript, in real time, with a 500 ms endpoint; and what the voices cost.

`python tests/bench/speech_latency.py STATE_FOLDER [base]` (`base` recognises English with the multilingual model).
The questions are spoken by the voices themselves, so word errors are comparable only between runs of this file.
"""

import asyncio
import statistics
import sys
import time
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from speech import blocks, joined, noise, recording, resampled, words
from wayside.adapters.doctor_speech import measure_speech
from wayside.adapters.models import ModelShelf, Whisper
from wayside.adapters.stt.whisper import WhisperSpeechToText
from wayside.adapters.tts.by_language import VoiceByLanguage
from wayside.adapters.tts.espeak import EspeakTextToSpeech
from wayside.adapters.tts.piper import PiperTextToSpeech
from wayside.adapters.vad.silero import silero_streams

ENDPOINT_S = 0.5
PAUSE_S = 0.25
HINTS = {"en": ("Portland Vase", "amphora", "porcelain", "glaze"), "es": ("ánfora", "porcelana", "jarrón", "alfarera")}
QUESTIONS = {
    "en": (
        "Who made this vase?",
        "Why is there a crack in the handle?",
        "Tell me about the blue and white porcelain.",
        "I would like to know how they painted the horses on the amphora.",
    ),
    "es": (
        "¿Quién hizo este jarrón?",
        "Háblame de la porcelana azul y blanca.",
        "Muchas gracias, ha sido muy interesante.",
        "Me gustaría saber cómo pintaron los caballos en el ánfora.",
    ),
}


async def main(state: Path, *, english: Whisper) -> None:
    shelf = ModelShelf(state)
    activity = silero_streams(shelf.silero().path)
    folders = {"en": shelf.whisper(english).path, "es": shelf.whisper(Whisper.BASE).path}
    recogniser = WhisperSpeechToText(folders, activity=activity)
    voice = VoiceByLanguage([PiperTextToSpeech(shelf.voice()), EspeakTextToSpeech()])
    await recogniser.warm()
    for language, questions in QUESTIONS.items():
        sys.stdout.write(f"{await measure_speech(voice, recogniser, language)}\n")
        clips = [(text, await _say(voice, text, language)) for text in questions]
        if language == "en":
            clips.append(("What is the weather in Paris?", recording("weather-question.wav")))
            clips.append(("has never been surpassed", recording("lj001-0008.wav")))
        took, wrong, total = [], 0, 0
        for text, pcm in clips:
            seconds, heard = await _ask(recogniser, activity(), pcm, language)
            took.append(seconds * 1000)
            wrong += _errors(words(text), words(heard))
            total += len(words(text))
        sys.stdout.write(
            f"{language}: {len(took)} questions, end point to final ms p50 {statistics.median(took):.0f} "
            f"max {max(took):.0f}, word errors {wrong}/{total}\n"
        )
    await recogniser.close()
    await voice.close()


async def _say(voice, text, language) -> bytes:
    chunks = [chunk async for chunk in voice.speak(text, language, 1, 1)]
    return resampled(joined(chunks), chunks[0].rate)


async def _ask(recogniser, activity, pcm: bytes, language: str) -> tuple[float, str]:
    """Seconds from the end point to the final transcript, and its words."""
    sound = blocks(pcm + noise(1.0, 0.001))
    windows = blocks(b"".join(sound), 32)
    spoken = [i for i, window in enumerate(windows) if len(window) == 1024 and activity.probability(window) >= 0.5]
    end_s = (spoken[-1] + 1) * 0.032
    stream = await recogniser.open(language, HINTS[language])
    began = time.perf_counter()
    for number, block in enumerate(sound[: int((end_s + ENDPOINT_S) * 100)]):
        await asyncio.sleep(max(0.0, began + (number + 1) / 100 - time.perf_counter()))
        stream.push(block)
        if number == int((end_s + PAUSE_S) * 100):
            stream.pause()
    ended = time.perf_counter()
    heard = await stream.finish()
    return time.perf_counter() - ended, heard.text


def _errors(expected: list[str], heard: list[str]) -> int:
    """Words substituted, lost or added."""
    steps = SequenceMatcher(None, expected, heard, autojunk=False).get_opcodes()
    return int(np.sum([max(b - a, d - c) for kind, a, b, c, d in steps if kind != "equal"]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), english=Whisper.BASE if "base" in sys.argv[2:] else Whisper.TINY_EN))
