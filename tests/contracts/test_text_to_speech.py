"""What every synthesiser must do, and what the voices of this machine do beyond it."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import numpy as np
import pytest
from speech import joined, resampled, shelf, words
from wayside.adapters.models import Whisper
from wayside.adapters.stt.whisper_decode import WhisperDecoder
from wayside.adapters.tts.by_language import VoiceByLanguage
from wayside.adapters.tts.espeak import EspeakTextToSpeech
from wayside.adapters.tts.piper import PiperTextToSpeech
from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, TextToSpeech, ToneTextToSpeech, VoiceStyle

TEXT = "This bowl was made in Athens. It shows two horses, and a man who holds them by the bridle."


def piper(tmp_path) -> PiperTextToSpeech:
    return PiperTextToSpeech(shelf(tmp_path).voice())


@pytest.fixture(
    params=[
        "tone",
        pytest.param("espeak", marks=pytest.mark.models),
        pytest.param("piper", marks=pytest.mark.models),
        pytest.param("by_language", marks=pytest.mark.models),
    ]
)
async def voice(request: pytest.FixtureRequest, tmp_path) -> AsyncIterator[TextToSpeech]:
    match request.param:
        case "tone":
            made: TextToSpeech = ToneTextToSpeech(("en",))
        case "espeak":
            made = EspeakTextToSpeech()
        case "piper":
            made = piper(tmp_path)
        case _:
            made = VoiceByLanguage([piper(tmp_path), EspeakTextToSpeech()])
    yield made
    await made.close()


async def spoken(
    voice: TextToSpeech, text: str = TEXT, language: str = "en", generation: int = 1, style: VoiceStyle = NEUTRAL
) -> list[SpeechChunk]:
    return [chunk async for chunk in voice.speak(text, language, generation, 1, style)]


def fundamental(chunks: list[SpeechChunk]) -> float:
    """The median pitch of the voiced parts in hertz, by autocorrelation between 55 and 400 Hz."""
    rate = chunks[0].rate
    samples = np.frombuffer(joined(chunks), dtype="<i2").astype(np.float64)
    size, shortest, longest = rate // 25, rate // 400, rate // 55
    loud = 0.3 * np.sqrt(np.square(samples).mean())
    found = []
    for start in range(0, samples.size - size - longest, size):
        block = samples[start : start + size] - samples[start : start + size].mean()
        if np.sqrt(np.square(block).mean()) < loud:
            continue
        later = np.lib.stride_tricks.sliding_window_view(samples[start + shortest : start + size + longest], size)
        alike = later @ block / (np.linalg.norm(later, axis=1) * np.linalg.norm(block) + 1e-9)
        best = int(np.argmax(alike > 0.98 * alike.max()))  # the first of equals, not its double
        if alike[best] > 0.8:
            found.append(rate / (shortest + best))
    assert len(found) >= 10
    return float(np.median(found))


async def pitch(voice: TextToSpeech, style: VoiceStyle) -> float:
    """Of a text said four times: a network never says it twice with the same intonation."""
    return fundamental([chunk for _ in range(4) for chunk in await spoken(voice, style=style)])


def seconds(chunks: list[SpeechChunk]) -> float:
    return len(joined(chunks)) / 2 / chunks[0].rate


async def test_chunks_are_sound_and_their_word_ends_rise_to_the_end(voice):
    chunks = await spoken(voice)
    ends = [end for chunk in chunks for end in chunk.words]
    samples = len(joined(chunks)) // 2

    assert len(chunks) > 1
    assert all(chunk.rate == voice.voices[0].rate and len(chunk.pcm) % 2 == 0 for chunk in chunks)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(ends))
    assert ends[-1][0] == len(TEXT)
    assert 0.8 * samples < ends[-1][1] <= samples


@pytest.mark.parametrize("style", [VoiceStyle(-6, 1.4), VoiceStyle(-3, 0.92), VoiceStyle(6, 0.7)])
async def test_a_style_keeps_the_rate_and_its_word_ends_inside_the_sound(voice, style):
    chunks = await spoken(voice, style=style)
    ends = [end for chunk in chunks for end in chunk.words]
    samples = len(joined(chunks)) // 2

    assert {chunk.rate for chunk in chunks} == {voice.voices[0].rate}
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(ends))
    assert ends[-1][0] == len(TEXT)
    assert 0.8 * samples < ends[-1][1] <= samples


async def test_a_style_changes_the_pitch_by_its_semitones(voice):
    low, neutral, high = [await pitch(voice, VoiceStyle(semitones)) for semitones in (-5.0, 0.0, 5.0)]

    assert low < neutral < high
    assert 12 * np.log2(high / low) == pytest.approx(10, abs=2.5)


@pytest.mark.parametrize("style", [VoiceStyle(-5.0), VoiceStyle(5.0)])
async def test_pitch_alone_leaves_the_duration(voice, style):
    assert seconds(await spoken(voice, style=style)) == pytest.approx(seconds(await spoken(voice)), rel=0.08)


@pytest.mark.parametrize("pace", [0.75, 1.3])
async def test_pace_changes_the_duration_and_not_the_pitch(voice, pace):
    neutral, styled = await spoken(voice), await spoken(voice, style=VoiceStyle(pace=pace))

    assert seconds(neutral) / seconds(styled) == pytest.approx(pace, rel=0.1)
    assert 12 * np.log2(await pitch(voice, VoiceStyle(pace=pace)) / await pitch(voice, NEUTRAL)) == (
        pytest.approx(0, abs=2.5)
    )


@pytest.mark.parametrize("style", [{"pitch_semitones": 6.5}, {"pitch_semitones": -7.0}, {"pace": 0.6}, {"pace": 1.5}])
def test_a_style_out_of_range_can_not_be_made(style):
    with pytest.raises(ValueError, match="out of its range"):
        VoiceStyle(**style)


async def test_a_word_ends_within_the_chunk_that_says_so(voice):
    before = 0
    for chunk in await spoken(voice):
        after = before + len(chunk.pcm) // 2
        assert all(before < sample <= after for _, sample in chunk.words)
        before = after


async def test_punctuation_alone_is_silence_and_no_error(voice):
    chunks = await spoken(voice, " … ")

    assert all(not chunk.words or chunk.words[-1][0] <= 3 for chunk in chunks)


async def test_nothing_follows_a_cancel(voice):
    chunks = []
    async for chunk in voice.speak(TEXT * 3, "en", 5, 1):
        chunks.append(chunk)
        voice.cancel(5)

    assert len(chunks) == 1
    assert await spoken(voice, generation=5) == []
    assert await spoken(voice, generation=4) == []
    assert await spoken(voice, generation=6) != []


async def test_cancelling_an_older_generation_leaves_the_newer_alone(voice):
    chunks = []
    async for chunk in voice.speak(TEXT, "en", 9, 1):
        chunks.append(chunk)
        voice.cancel(8)

    assert chunks[-1].words[-1][0] == len(TEXT)


async def test_breaking_off_stops_the_work(voice):
    stream = voice.speak(TEXT * 3, "en", 1, 1)
    await anext(stream)
    await stream.aclose()

    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_foreign_language_is_refused(voice):
    with pytest.raises(WaysideError) as refused:
        await spoken(voice, language="tlh")

    assert refused.value.code == "tts.language"


async def test_closing_twice_is_fine(voice):
    await voice.close()
    await voice.close()


@pytest.mark.models
async def test_a_cancel_does_not_wait_for_the_network(tmp_path):
    voice = piper(tmp_path)
    await voice.warm()
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        speaking = group.create_task(spoken(voice, "a long unbroken run of words " * 8, generation=3))
        await asyncio.sleep(0.06)
        voice.cancel(3)
        before = loop.time()
        await speaking
        took = loop.time() - before
    await voice.close()

    assert took < 0.25


@pytest.mark.models
async def test_level_is_even_and_never_clips(tmp_path):
    levels = []
    for voice in (piper(tmp_path), EspeakTextToSpeech()):
        samples = np.frombuffer(joined(await spoken(voice)), dtype="<i2").astype(np.float32) / 32768
        levels.append(20 * np.log10(np.sqrt(np.square(samples).mean())))
        assert np.abs(samples).max() <= 10 ** (-0.9 / 20)
        await voice.close()

    assert max(levels) - min(levels) < 4


@pytest.mark.models
async def test_text_is_never_an_argument_of_a_process(monkeypatch, tmp_path):
    seen: list[str] = []
    start = asyncio.create_subprocess_exec

    async def watched(*arguments, **options):
        seen.extend(arguments)
        return await start(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    voice = VoiceByLanguage([piper(tmp_path), EspeakTextToSpeech()])
    await spoken(voice, "Xylophone")
    await spoken(voice, "Xilófono", "es")
    await voice.close()

    assert seen
    assert not any("ylo" in argument.lower() or "xil" in argument.lower() for argument in seen)


@pytest.mark.models
async def test_robotic_voices_say_so(tmp_path):
    voice = VoiceByLanguage([piper(tmp_path), EspeakTextToSpeech()])
    english, spanish, klingon = (voice.voice_for(tag) for tag in ("en-GB", "es-MX", "tlh"))
    await voice.close()

    assert english is not None
    assert not english.robotic
    assert spanish is not None
    assert spanish.robotic
    assert klingon is None


@pytest.mark.models
async def test_what_piper_says_whisper_hears(tmp_path):
    voice = piper(tmp_path)
    heard = await _round_trip(voice, TEXT, "en", tmp_path)

    assert len(set(words(TEXT)) - set(heard)) <= 2


@pytest.mark.models
async def test_what_piper_says_lower_and_slower_whisper_still_hears(tmp_path):
    voice = piper(tmp_path)
    heard = await _round_trip(voice, TEXT, "en", tmp_path, VoiceStyle(-3.0, 0.92))

    assert len(set(words(TEXT)) - set(heard)) <= 2


@pytest.mark.models
@pytest.mark.parametrize("language", ["en", "en-US", "fr", "es"])
async def test_without_a_better_voice_espeak_speaks_a_language_by_its_short_name(language):
    voice = VoiceByLanguage([EspeakTextToSpeech()])

    assert await spoken(voice, "one", generation=1, language=language)


@pytest.mark.models
async def test_what_espeak_says_in_spanish_whisper_mostly_hears(tmp_path):
    heard = await _round_trip(EspeakTextToSpeech(), "Muchas gracias. La porcelana es azul y blanca.", "es", tmp_path)

    assert {"gracias", "porcelana"} & set(heard)


async def _round_trip(
    voice: TextToSpeech, text: str, language: str, tmp_path, style: VoiceStyle = NEUTRAL
) -> list[str]:
    chunks = await spoken(voice, text, language, style=style)
    await voice.close()
    pcm = resampled(joined(chunks), chunks[0].rate)
    decoder = WhisperDecoder(shelf(tmp_path).whisper(Whisper.BASE).path)
    return words(decoder.decode(np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768, language).text)
