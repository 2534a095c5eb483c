"""Spoken questions and the models that make and judge them, as fixtures (`pytest_plugins = ["spoken"]`)."""

import wave

import pytest
from wayside.adapters.models import ModelShelf
from wayside.adapters.tts.piper import PiperTextToSpeech


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    return ModelShelf(cache=tmp_path_factory.mktemp("models"))


@pytest.fixture
async def question(shelf, tmp_path):
    """Writes a spoken question as a wav file."""
    voice = PiperTextToSpeech(shelf.voice())

    async def speak(text: str):
        pcm, rate = bytearray(), 0
        async for chunk in voice.speak(text, "en", 0, 0):
            pcm.extend(chunk.pcm)
            rate = chunk.rate
        path = tmp_path / f"{abs(hash(text))}.wav"
        with wave.open(str(path), "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(rate)
            out.writeframes(bytes(pcm))
        return path

    yield speak
    await voice.close()
