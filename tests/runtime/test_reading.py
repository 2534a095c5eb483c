"""Answers that are read, not heard: by choice, without a loudspeaker, or because the sound failed in the middle."""

import asyncio

import pytest
from kit import ANSWER, Scene, scene, virtually
from wayside.core.errors import WaysideError
from wayside.core.reply import ReplyState
from wayside.ports.text_to_speech import ToneTextToSpeech
from wayside.runtime.screen import SettingsFrame, UtteranceFrame


@virtually
async def test_a_voice_that_fails_is_replaced_by_the_screen():
    async with scene(voice=ToneTextToSpeech(error=WaysideError("tts.failed", "gone"))) as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.of(UtteranceFrame))
        await read_along(s)

        delivery = s.answered[0].delivery
        assert "screen" == delivery.medium
        assert ANSWER == delivery.heard.text
        assert "tts.failed" in s.visit.snapshot().status.degraded
        assert s.of(SettingsFrame)[-1].silent  # the page knows that it is to show and acknowledge


@virtually
async def test_without_a_loudspeaker_replies_are_read():
    async with scene(missing=frozenset({"loudspeaker"})) as s:
        s.visit.say("Who made it?")
        await read_along(s)

        assert ANSWER == s.answered[0].delivery.heard.text
        assert [] == s.voice.spoken
        assert s.visit.snapshot().silent


@virtually
async def test_a_loudspeaker_that_comes_back_is_used_again():
    async with scene(missing=frozenset({"loudspeaker"})) as s:
        s.link.find("loudspeaker")
        await asyncio.sleep(0.05)
        assert not s.visit.snapshot().silent

        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)
        assert "voice" == s.answered[0].delivery.medium


@virtually
async def test_a_loudspeaker_lost_in_the_middle_leaves_only_what_was_heard():
    async with scene() as s:
        await lose_sound_in_the_middle(s)
        await s.until(lambda: s.answered)

        delivery = s.answered[0].delivery
        assert ReplyState.FAILED is delivery.state
        assert 0 < len(delivery.heard.text) < len(ANSWER)
        assert "audio.loudspeaker_lost" in s.visit.snapshot().status.degraded


@virtually
async def test_after_a_loudspeaker_was_lost_the_rest_is_read():
    async with scene() as s:
        await lose_sound_in_the_middle(s)
        await asyncio.sleep(0.5)
        s.link.find("loudspeaker")
        await read_along(s)

        assert ReplyState.FINISHED is s.answered[0].delivery.state
        assert ANSWER == s.answered[0].delivery.heard.text
        assert [True, False] == steps([f.silent for f in s.of(SettingsFrame)])
        s.visit.say("Who made it?")
        await s.until(lambda: len(s.answered) == 2)
        assert "voice" == s.answered[1].delivery.medium


@virtually
@pytest.mark.parametrize("how", ["choice", "device"])
async def test_sound_that_comes_back_while_a_reply_is_read_waits_for_the_end_of_the_sentence(how):
    async with scene(missing=frozenset({"loudspeaker"} if how == "device" else ())) as s:
        s.visit.set_silent(silent=how == "choice")
        s.visit.say("Who made it?")
        await s.until(lambda: s.of(UtteranceFrame))
        s.visit.set_silent(silent=False)
        s.link.find("loudspeaker")
        await asyncio.sleep(0.5)
        assert s.visit.snapshot().silent

        frame = s.of(UtteranceFrame)[0]
        s.visit.shown(frame.generation, frame.utterance_id, len(frame.text))
        await s.until(lambda: s.answered)
        assert not s.visit.snapshot().silent
        assert ANSWER == s.answered[0].delivery.heard.text
        assert s.voice.spoken
        assert frame.text not in str(s.voice.spoken)


async def lose_sound_in_the_middle(s: Scene) -> None:
    s.visit.say("Who made it?")
    await s.until(s.sounding)
    await asyncio.sleep(1)
    s.shown.clear()
    s.link.lose("loudspeaker")


def steps(values: list) -> list:
    """Without repetitions."""
    return [value for at, value in enumerate(values) if at == 0 or value != values[at - 1]]


@virtually
async def test_in_silent_mode_only_what_the_page_acknowledges_is_delivered():
    async with scene() as s:
        s.visit.set_silent(silent=True)
        s.visit.say("Who made it?")
        await s.until(lambda: s.of(UtteranceFrame))
        frame = s.of(UtteranceFrame)[0]
        s.visit.shown(frame.generation, frame.utterance_id, 20)
        await s.until(lambda: s.answered, 120)

        assert ReplyState.FAILED is s.answered[0].delivery.state
        assert "Exekias made this" == s.answered[0].delivery.heard.text[:17]
        assert 20 >= len(s.answered[0].delivery.heard.text)
        assert [] == s.voice.spoken


async def read_along(s: Scene) -> None:
    seen: set = set()
    while not s.answered:
        await asyncio.sleep(0.05)
        for frame in s.of(UtteranceFrame):
            if frame.utterance_id not in seen:
                seen.add(frame.utterance_id)
                s.visit.shown(frame.generation, frame.utterance_id, len(frame.text))
