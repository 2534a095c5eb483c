"""A visit from end to end, on fakes, in virtual time."""

import asyncio

import pytest
from kit import ANSWER, Scene, ScriptedDialogue, scene, virtually
from wayside.core.errors import WaysideError
from wayside.core.reply import ReplyState
from wayside.core.runs.record import RunStatus
from wayside.ports.speech_to_text import ScriptedSegment
from wayside.ports.text_to_speech import ToneTextToSpeech
from wayside.runtime import kiosk as kiosk_module
from wayside.runtime.kiosk import KioskSettings
from wayside.runtime.screen import (
    Caption,
    Clear,
    Countdown,
    Notice,
    Sources,
    Status,
    TranscriptFrame,
    UtteranceFrame,
)


async def ask(s: Scene, seconds: float = 1.0) -> None:
    s.visit.talk(down=True)
    s.speak(seconds)
    await asyncio.sleep(seconds + 0.2)
    s.visit.talk(down=False)


@virtually
async def test_a_spoken_question_is_heard_answered_and_delivered():
    async with scene("Who made it?") as s:
        await ask(s)
        await s.until(lambda: s.answered)

        turn = s.answered[0]
        assert "Who made it?" == turn.transcript
        assert RunStatus.COMPLETED is turn.status
        assert ANSWER == turn.delivery.heard.text
        assert not turn.delivery.heard.interrupted
        assert "voice" == turn.delivery.medium
        assert ("abv",) == tuple(source.id for source in turn.sources)


@virtually
async def test_captions_never_run_ahead_of_rendered_samples():
    async with scene() as s:
        s.visit.say("Who made it?")
        rendered = 0
        while not s.answered:
            await asyncio.sleep(0.01)
            counts = [u.rendered for u in s.visit._speaker.reply.utterances] if s.visit._speaker.reply else []
            rendered = max(rendered, sum(counts))
            captions = s.of(Caption)
            if captions and counts:
                done = (len(u.text) for u in s.of(UtteranceFrame) if u.utterance_id < captions[-1].utterance_id)
                chars = sum(done) + captions[-1].rendered_chars
                # 60 ms a character at 22.05 kHz, and the space after a word
                assert chars <= rendered / 1323 + 2

        assert "finished" == s.of(Caption)[-1].state


@virtually
async def test_no_phrase_is_shown_before_its_first_rendered_sample():
    async with scene(voice=ToneTextToSpeech(first_delay_s=0.5)) as s:
        s.visit.say("Who made it?")
        await asyncio.sleep(0.45)

        assert [] == s.of(UtteranceFrame)


@virtually
async def test_talking_over_the_guide_is_silent_at_once_and_remembered_as_heard():
    async with scene(ScriptedSegment("Wait, who is Ajax?", 0.2, ("Wait,", "Wait, who is")), automatic=True) as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        await asyncio.sleep(2)
        s.speak(1.5)
        await asyncio.sleep(0.15)
        assert not s.sounding(0.03)

        await s.until(lambda: len(s.answered) == 2)

        first, second = s.answered
        assert ReplyState.INTERRUPTED is first.delivery.state
        assert first.delivery.heard.interrupted
        assert ANSWER.startswith(first.delivery.heard.text)
        assert 0 < len(first.delivery.heard.text) < len(ANSWER)
        assert "Wait, who is Ajax?" == second.transcript
        context = s.dialogue.contexts[1]
        assert [first.delivery.heard.text] == [h.text for h in context.history if h.role == "guide"]


@virtually
async def test_a_question_that_goes_on_after_a_breath_is_asked_once_and_whole():
    """D24. The unanswered input and its continuation are one; what was asked of the first run reaches nobody."""
    heard = [ScriptedSegment("Tell me about the", 0.1), ScriptedSegment("blue vase", 0.1, ("blue", "blue vase"))]
    async with scene(*heard, automatic=True, dialogue=ScriptedDialogue(delay_s=3)) as s:
        s.speak(1)
        await s.until(lambda: len(s.dialogue.contexts) == 1)
        s.speak(1)
        await s.until(lambda: len(s.answered) == 2)

        assert ["Tell me about the", "Tell me about the blue vase"] == [c.question for c in s.dialogue.contexts]
        assert () == s.dialogue.contexts[1].history
        assert "" == s.answered[0].answer
        assert ANSWER == s.answered[1].delivery.heard.text


@virtually
async def test_an_acknowledgement_holds_and_goes_on_with_the_very_next_sample():
    async with scene("mm-hm", automatic=True) as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        await asyncio.sleep(1)
        s.speak(0.3)
        await s.until(lambda: any(e.status.held for e in s.of(Status)))
        await s.until(lambda: s.answered)

        assert ANSWER == s.answered[0].delivery.heard.text
        assert 1 == len(s.answered)
        assert [] == s.of(Clear)


@virtually
async def test_a_press_while_it_speaks_interrupts_at_once():
    async with scene("Who is Ajax?") as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        await asyncio.sleep(1)
        s.visit.talk(down=True)
        await asyncio.sleep(0.03)
        assert not s.sounding(0.01)

        s.speak(1)
        await asyncio.sleep(1.2)
        s.visit.talk(down=False)
        await s.until(lambda: len(s.answered) == 2)
        assert ReplyState.INTERRUPTED is s.answered[0].delivery.state


@virtually
async def test_stop_stops_everything_and_nothing_follows():
    async with scene(dialogue=ScriptedDialogue(gap_s=0.1)) as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        s.visit.stop()
        await asyncio.sleep(0.03)
        assert not s.sounding(0.01)

        await asyncio.sleep(20)
        assert not s.sounding(19)
        assert RunStatus.CANCELED is s.answered[0].status


@virtually
async def test_a_new_question_supersedes_the_answer_still_being_thought_of():
    async with scene(dialogue=ScriptedDialogue(delay_s=3)) as s:
        s.visit.say("Who made it?")
        await asyncio.sleep(1)
        s.visit.say("Who is Ajax?")
        await s.until(lambda: len(s.answered) == 2)

        first, second = s.answered
        assert RunStatus.CANCELED is first.status
        assert first.delivery is None
        assert RunStatus.COMPLETED is second.status
        assert 1 == len(s.voice.spoken) or all(g == 1 for _, _, g, _ in s.voice.spoken)


@virtually
async def test_a_question_without_words_says_that_nothing_was_heard():
    async with scene("...") as s:
        await ask(s)
        await s.until(lambda: s.of(Notice))

        assert "not_heard" == s.of(Notice)[0].code
        assert [] == s.answered
        assert not s.visit.busy


@virtually
async def test_a_recogniser_that_fails_is_told_and_the_next_question_works():
    broken = ScriptedSegment("", error=WaysideError("stt.failed", "gone"))
    async with scene(broken, "Who made it?") as s:
        await ask(s)
        await s.until(lambda: s.of(Notice))
        assert "stt_failed" == s.of(Notice)[0].code

        await ask(s)
        await s.until(lambda: s.answered)
        assert "Who made it?" == s.answered[0].transcript


@virtually
async def test_a_driver_that_raises_ends_with_a_notice_and_tells_nothing_of_why():
    async with scene(dialogue=ScriptedDialogue(fails=True)) as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)

        assert RunStatus.FAILED is s.answered[0].status
        assert ["answer_failed"] == [n.code for n in s.of(Notice)]
        assert "secret" not in repr(s.shown)


@virtually
async def test_a_driver_that_never_answers_is_ended_by_its_deadline():
    async with scene(dialogue=ScriptedDialogue(delay_s=10_000)) as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)

        assert "deadline_exceeded" != s.answered[0].transcript
        assert RunStatus.FAILED is s.answered[0].status
        assert not s.visit.busy


@virtually
async def test_an_abandoned_visit_is_asked_and_then_reset():
    async with scene() as s:
        await asyncio.sleep(46)
        assert s.of(Countdown)[-1].ends_in_s == pytest.approx(20, abs=1)

        s.visit.activity()
        assert s.of(Countdown)[-1].ends_in_s is None
        await s.until(lambda: s.kiosk.visit is None, 70)
        assert "inactive" == s.resets[-1]


@virtually
async def test_noise_alone_never_keeps_a_visit_alive():
    async with scene(settings=KioskSettings(automatic=True)) as s:
        for _ in range(200):
            if s.kiosk.visit is None:
                break
            s.speak(0.5)
            await asyncio.sleep(1.5)

        assert s.kiosk.visit is None
        assert [] == s.answered


@virtually
async def test_reset_in_the_middle_of_an_answer_is_silent_and_leaves_nothing():
    async with scene() as s:
        s.visit.say("Who made it?")
        await s.until(s.sounding)
        before = asyncio.get_running_loop().time()
        await s.kiosk.reset("staff")
        assert 1 >= asyncio.get_running_loop().time() - before

        await asyncio.sleep(0.02)
        marker = len(s.link.heard)
        await asyncio.sleep(5)
        assert not any(s.link.heard[marker:])
        assert s.kiosk.visit is None
        assert not s.link.listening
        assert {"visit"} & {t.get_name() for t in asyncio.all_tasks()} == set()


@virtually
async def test_of_starts_at_the_same_moment_the_last_has_the_floor_and_none_is_orphaned():
    async with scene() as s:
        visits = await asyncio.gather(*(s.kiosk.start_visit("en") for _ in range(3)))

        assert s.kiosk.visit is visits[-1]
        assert 1 == sum(task.get_name() == "visit" for task in asyncio.all_tasks())
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)


@virtually
async def test_a_reset_in_the_moment_of_a_start_leaves_no_visit():
    async with scene() as s:
        await s.kiosk.reset("ended")
        starting = asyncio.create_task(s.kiosk.start_visit("en"))
        while not any(task.get_name() == "visit" for task in asyncio.all_tasks()):
            await asyncio.sleep(0)
        await s.kiosk.reset("staff")

        with pytest.raises(WaysideError) as refused:
            await starting
        assert "visit.fault" == refused.value.code
        assert s.kiosk.visit is None
        assert await s.kiosk.start_visit("en") is s.kiosk.visit


@virtually
async def test_a_visit_that_can_not_begin_is_refused_and_the_next_one_begins(monkeypatch):
    async with scene() as s:
        with monkeypatch.context() as broken:
            broken.setattr(kiosk_module, "Visit", lambda *_, **__: 1 / 0)
            with pytest.raises(WaysideError) as refused:
                await s.kiosk.start_visit("en")
        assert "visit.fault" == refused.value.code
        assert s.kiosk.visit is None

        await s.kiosk.start_visit("en")
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)


@virtually
async def test_two_hundred_visits_leave_no_task_behind():
    async with scene() as s:
        await asyncio.sleep(1)
        before = len(asyncio.all_tasks())
        for _ in range(200):
            await s.kiosk.start_visit("en")
            s.visit.say("Who made it?")
            await asyncio.sleep(0.5)

        await s.kiosk.start_visit("en")
        await asyncio.sleep(1)
        assert before == len(asyncio.all_tasks())


@virtually
async def test_a_page_that_comes_back_sees_the_whole_conversation():
    async with scene("Who made it?") as s:
        await ask(s)
        await s.until(lambda: s.answered)

        snapshot = s.visit.snapshot()
        assert [("visitor", "Who made it?", "finished"), ("guide", ANSWER, "finished")] == [
            (line.role, line.text, line.state) for line in snapshot.lines
        ]
        assert ("abv",) == tuple(source.id for source in snapshot.lines[1].sources)
        assert s.of(Sources)


@virtually
async def test_interim_words_are_replaced_by_the_final_ones():
    async with scene(ScriptedSegment("Who made it?", 0.2, ("who", "who made"))) as s:
        await ask(s, 1.2)
        await s.until(lambda: s.answered)

        texts = [(t.text, t.final) for t in s.of(TranscriptFrame)]
        assert ("who", False) in texts
        assert ("Who made it?", True) == texts[-1]


@virtually
async def test_switching_the_language_keeps_the_conversation():
    async with scene() as s:
        s.visit.say("Who made it?")
        await s.until(lambda: s.answered)
        s.visit.set_language("es")
        s.visit.say("¿Quién la hizo?")
        await s.until(lambda: len(s.answered) == 2)

        assert "es" == s.dialogue.contexts[1].language
        assert 2 == len(s.dialogue.contexts[1].history)
        assert "¿Quién la hizo?" == s.visit.snapshot().choices[0].text


@virtually
async def test_the_microphone_is_open_only_while_it_is_shown():
    async with scene("Who made it?") as s:
        assert not s.link.listening
        s.visit.talk(down=True)
        assert s.link.listening
        assert s.visit.snapshot().status.listening
        await asyncio.sleep(1)
        s.visit.talk(down=False)
        assert not s.link.listening
        assert not s.visit.snapshot().status.listening


@virtually
async def test_a_very_long_answer_is_bounded_and_still_delivered():
    async with scene(dialogue=ScriptedDialogue("Clay is patient. " * 600)) as s:
        s.visit.say("Tell me everything.")
        await s.until(lambda: s.answered, 600)

        assert ReplyState.FINISHED is s.answered[0].delivery.state
        assert 4000 >= len(s.answered[0].delivery.heard.text) > 3900
        assert ["answer_shortened"] == [notice.code for notice in s.of(Notice)]


@virtually
async def test_a_final_that_never_comes_is_answered_from_the_interim_words_and_let_go():
    async with scene(ScriptedSegment("too late", 100, ("Who made", "Who made it?"))) as s:
        await ask(s, 1.2)
        await s.until(lambda: s.answered)

        assert "Who made it?" == s.answered[0].transcript
        assert not any(task.get_name().startswith("segment.") for task in asyncio.all_tasks())
        await asyncio.sleep(20)
        assert ["Who made it?"] == [line.text for line in s.visit.snapshot().lines if line.role == "visitor"]
