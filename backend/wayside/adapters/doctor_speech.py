"""What speech costs on this machine, for `wayside doctor`: first sound, speed, a decode, and whether the words return.

The voice speaks a sentence and the recogniser hears it: no recording is needed, and nobody's words are involved.
"""

import re
import time
from dataclasses import dataclass

import numpy as np
import soxr

from wayside.ports.speech_to_text import SpeechToText
from wayside.ports.text_to_speech import TextToSpeech

_RATE = 16_000
_GENERATION = 0
_SENTENCES = {
    "en": "This bowl was made by hand, and painted with a small brush.",
    "es": "La porcelana es azul y blanca. Muchas gracias por su visita.",
}


@dataclass(frozen=True, slots=True)
class SpeechMeasure:
    """Figures of one language. Loading is 0 where it was loaded before; `speed` is time spent per time of sound.

    `decode_ms` is from the end of the sound to the final transcript, nothing decoded beforehand. `words` is the share
    of the words spoken that came back, 0..1.
    """

    language: str
    voice_load_ms: int
    first_sound_ms: int
    speed: float
    recogniser_load_ms: int
    decode_ms: int
    words: float


async def measure_speech(voice: TextToSpeech, recogniser: SpeechToText, language: str) -> SpeechMeasure:
    """Speak and hear one sentence in `language` (`en` or `es`), twice: the first time also loads.

    Raises the providers' own `WaysideError`. Uses generation 0, which is never a visitor's.
    """
    sentence = _SENTENCES[language]
    cold_first, _, _ = await _speak(voice, sentence, language)
    first, speed, sound = await _speak(voice, sentence, language)
    cold_decode, _ = await _hear(recogniser, sound, language)
    decode, heard = await _hear(recogniser, sound, language)
    expected = _words(sentence)
    return SpeechMeasure(
        language=language,
        voice_load_ms=_ms(max(0.0, cold_first - first)),
        first_sound_ms=_ms(first),
        speed=round(speed, 3),
        recogniser_load_ms=_ms(max(0.0, cold_decode - decode)),
        decode_ms=_ms(decode),
        words=round(len(expected & _words(heard)) / len(expected), 2),
    )


async def _speak(voice: TextToSpeech, sentence: str, language: str) -> tuple[float, float, bytes]:
    """Seconds to the first sound, time per time of sound, and the sound at 16 kHz."""
    began = time.perf_counter()
    first = 0.0
    rate = _RATE
    sound = bytearray()
    async for chunk in voice.speak(sentence, language, _GENERATION, 0):
        first = first or time.perf_counter() - began
        rate = chunk.rate
        sound += chunk.pcm
    took = time.perf_counter() - began
    samples = np.frombuffer(sound, dtype="<i2").astype(np.float32)
    heard = soxr.resample(samples, rate, _RATE).clip(-32768, 32767).astype("<i2").tobytes()
    return first, took / max(samples.size / rate, 0.001), heard


async def _hear(recogniser: SpeechToText, sound: bytes, language: str) -> tuple[float, str]:
    """Seconds to the final transcript, and its words."""
    stream = await recogniser.open(language, ())
    try:
        stream.push(sound)
        began = time.perf_counter()
        heard = await stream.finish()
        return time.perf_counter() - began, heard.text
    finally:
        await stream.close()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
