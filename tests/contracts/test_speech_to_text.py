"""What every recogniser must do, and what Whisper does beyond it."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from speech import blocks, noise, recording, shelf, silence, words
from wayside.adapters.models import Whisper
from wayside.adapters.stt.whisper import WhisperSpeechToText
from wayside.adapters.stt.whisper_decode import WhisperDecoder
from wayside.adapters.vad.silero import silero_streams
from wayside.core.errors import WaysideError
from wayside.ports.speech_to_text import ScriptedSegment, ScriptedSpeechToText, SpeechToText

QUESTION = "What is the weather in Paris?"
SPEECH = recording("weather-question.wav")


async def whisper(cache: Path) -> WhisperSpeechToText:
    found = shelf(cache)
    recogniser = WhisperSpeechToText(
        {"en": found.whisper(Whisper.TINY_EN).path}, activity=silero_streams(found.silero().path)
    )
    await recogniser.warm()
    return recogniser


@pytest.fixture(params=["scripted", pytest.param("whisper", marks=pytest.mark.models)])
async def recogniser(request: pytest.FixtureRequest, tmp_path) -> AsyncIterator[SpeechToText]:
    if request.param == "scripted":
        made: SpeechToText = ScriptedSpeechToText([ScriptedSegment(QUESTION, 0.01, (QUESTION,))], ("en",))
    else:
        made = await whisper(tmp_path)
    yield made
    await made.close()


async def test_words_come_back(recogniser):
    stream = await recogniser.open("en-US", ["Paris"])
    for block in blocks(SPEECH):
        stream.push(block)
    heard = await stream.finish()

    assert words(QUESTION) == words(heard.text)
    assert heard.final
    assert heard.language == "en"
    assert heard.confidence > -1


async def test_an_interim_comes_before_the_end(recogniser):
    stream = await recogniser.open("en", [])
    for block in blocks(SPEECH):
        stream.push(block)
    async with asyncio.timeout(10):
        heard = await stream.interim()

    assert heard is not None
    assert not heard.final
    await stream.close()


async def test_nothing_pushed_is_nothing_said(recogniser):
    stream = await recogniser.open("en", [])

    assert (await stream.finish()).text == ""


async def test_a_foreign_language_is_refused(recogniser):
    with pytest.raises(WaysideError) as refused:
        await recogniser.open("tlh", [])

    assert refused.value.code == "stt.language"


async def test_closing_ends_interims_and_is_idempotent(recogniser):
    stream = await recogniser.open("en", [])
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(stream.interim())
        await asyncio.sleep(0)
        await stream.close()
        await stream.close()

    assert waiting.result() is None
    stream.push(SPEECH)
    assert await stream.interim() is None


async def test_finishing_ends_interims(recogniser):
    stream = await recogniser.open("en", [])
    stream.push(SPEECH)
    await stream.finish()

    assert await stream.interim() is None


@pytest.mark.models
async def test_a_pause_that_was_the_end_leaves_nothing_to_wait_for(tmp_path):
    recogniser = await whisper(tmp_path)
    stream = await recogniser.open("en", [])
    for block in blocks(SPEECH + silence(0.3)):
        stream.push(block)
    stream.pause()
    while stream._latest is None or not stream._is_last(stream._latest) or not stream._latest.result.done():
        await asyncio.sleep(0.01)
    for block in blocks(noise(0.3, 0.001)):
        stream.push(block)
    before = time.perf_counter()
    heard = await stream.finish()
    took = time.perf_counter() - before
    await recogniser.close()

    assert words(QUESTION) == words(heard.text)
    assert took < 0.02


@pytest.mark.models
async def test_speech_after_a_pause_is_not_lost(tmp_path):
    recogniser = await whisper(tmp_path)
    stream = await recogniser.open("en", [])
    for block in blocks(SPEECH + silence(0.5)):
        stream.push(block)
    stream.pause()
    for block in blocks(recording("lj001-0008.wav")):
        stream.push(block)
    heard = await stream.finish()
    await recogniser.close()

    assert words("weather in Paris") == [word for word in words(heard.text) if word in {"weather", "in", "paris"}]
    assert words(heard.text)[-1] == "surpassed"


@pytest.mark.models
async def test_noise_has_no_words(tmp_path):
    recogniser = await whisper(tmp_path)
    texts = []
    for hints in ((), ("Portland Vase", "Moon jar", "amphora")):
        for sound in (noise(2.0), noise(2.0, 0.002), silence(2.0)):
            stream = await recogniser.open("en", hints)
            stream.push(sound)
            heard = await stream.finish()
            texts.append(heard.text if heard.confidence >= -1 else "")
    await recogniser.close()

    assert texts == [""] * 6


@pytest.mark.models
async def test_a_deadline_ends_the_wait(tmp_path):
    found = shelf(tmp_path)
    recogniser = WhisperSpeechToText({"en": found.whisper(Whisper.TINY_EN).path}, finish_deadline_s=0.001)
    stream = await recogniser.open("en", [])
    stream.push(SPEECH)
    with pytest.raises(WaysideError) as late:
        await stream.finish()
    await recogniser.close()

    assert late.value.code == "stt.timeout"
    assert late.value.retryable


async def test_a_model_that_cannot_be_loaded_is_a_failure_without_the_vendor_s_words(tmp_path):
    recogniser = WhisperSpeechToText({"en": tmp_path})
    stream = await recogniser.open("en", [])
    stream.push(SPEECH)
    with pytest.raises(WaysideError) as failed:
        await stream.finish()
    await recogniser.close()

    assert failed.value.code == "stt.failed"
    assert failed.value.__cause__ is None


async def test_a_recogniser_closed_under_a_segment_fails_it_and_pushing_goes_on(tmp_path):
    recogniser = WhisperSpeechToText({"en": tmp_path})
    stream = await recogniser.open("en", [])
    await recogniser.close()
    for block in blocks(SPEECH):
        stream.push(block)
    with pytest.raises(WaysideError) as failed:
        await stream.finish()

    assert failed.value.code == "stt.failed"


async def test_more_than_a_segment_holds_is_said_not_cut(tmp_path):
    recogniser = WhisperSpeechToText({"en": tmp_path})
    stream = await recogniser.open("en", [])
    for _ in range(10):
        stream.push(silence(10.0))
    with pytest.raises(WaysideError) as refused:
        await stream.finish()
    await recogniser.close()

    assert refused.value.code == "stt.too_long"


@pytest.mark.models
def test_audio_longer_than_the_window_is_heard_whole(tmp_path):
    decoder = WhisperDecoder(shelf(tmp_path).whisper(Whisper.TINY_EN).path)
    pcm = SPEECH + silence(27.0) + recording("lj001-0008.wav")
    heard = words(decoder.decode(np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768, "en").text)

    assert "paris" in heard
    assert "surpassed" in heard
