"""Turns of a room: who answers, who hears it, who gives way to whom."""

import asyncio
from dataclasses import replace

from kit import virtually
from room.engine import PacedStore, Responds, Script, Voice, refusal, room, says
from wayside.core.room.agents import (
    AgentDecision,
    AgentDescriptor,
    Endpoint,
    InteractionDraft,
    Participant,
    RoomUtterance,
)
from wayside.core.room.disclosure import NOBODY, ROOM, among
from wayside.core.room.envelope import create
from wayside.core.room.routing import RoutingPolicy
from wayside.core.runs.events import AssistantOutput, Completed, Decision, InputRequested, Progress
from wayside.core.runs.record import RunStatus
from wayside.runtime.runs.runtime import Hooks

POLICY = RoutingPolicy({"quiz": ("referee",), "duet": ("guide", "potter")}, fallback="guide")


def decides(text: str, **changes) -> AgentDecision:
    return AgentDecision((RoomUtterance(text, **changes),))


@virtually
async def test_an_address_goes_before_focus_before_phase_before_fallback() -> None:
    """T1. The product's routing decides, in this order."""
    drivers = {name: Script(says(name)) for name in ("guide", "potter", "referee")}
    async with room(policy=POLICY, **drivers) as r:
        fallback = await r.answer(r.ask(agents=()))
        await r.runtime.set_phase("quiz")
        phase = await r.answer(r.ask(agents=()))
        await r.runtime.set_focus("ana", "potter")
        focus = await r.answer(r.ask(agents=()))
        address = await r.answer(r.ask(agents=("guide",)))
        unfocused = await r.answer(r.ask(agents=(), who="ben"))

    assert ["guide", "referee", "potter", "guide", "referee"] == [
        result.agent for result in (fallback, phase, focus, address, unfocused)
    ]


@virtually
async def test_a_retry_goes_to_who_was_asked_wherever_it_would_be_routed_now() -> None:
    """T1, T7. A retried input starts no second run with another agent."""
    potter = Script(says("potter"))
    async with room(policy=POLICY, guide=Script(says("guide")), potter=potter) as r:
        request = r.ask(agents=())
        first = await r.answer(request)
        await r.runtime.set_focus("ana", "potter")
        again = await r.answer(request)

    assert (first.run_id, "guide", True) == (again.run_id, again.agent, again.duplicate)
    assert potter.contexts == []


@virtually
async def test_a_phase_may_ask_several_agents_and_each_answers_once() -> None:
    """T1, T5. One input, a run for each; an exact retry adds none."""
    async with room(policy=POLICY, guide=Script(1, says("From the guide.")), potter=Script(says("From me."))) as r:
        await r.runtime.set_phase("duet")
        request = r.ask(agents=())
        both = await r.runtime.handle_run_input(request)
        again = await r.runtime.handle_run_input(request)
        await r.quiet()

        assert ["guide", "potter"] == [result.agent for result in both]
        assert [True, True] == [result.duplicate for result in again]
        assert ["Why?"] == await r.heard()
        assert ["From me.", "From the guide."] == list(r.voice.spoken.values())
        assert await refusal(r.runtime.handle_final_input(r.ask(agents=()))) == "room.several_targets"


@virtually
async def test_transcripts_are_exact_and_each_channels_own() -> None:
    """T2. What was asked and what was answered, channel by channel."""
    async with room(guide=Script(AssistantOutput("a", "It "), says("is black.", "a"))) as r:
        await r.answer(r.ask("What colour?"))
        await r.answer(r.ask("And this?", channel="phone", disclosure=among(["ana"])))

        assert (["What colour?"], ["It is black."]) == (await r.heard("public"), await r.said("public"))
        assert (["And this?"], ["It is black."]) == (await r.heard("phone"), await r.said("phone"))


@virtually
async def test_captions_begin_and_end_and_the_lifecycle_tells_durations_only() -> None:
    """T2. started → ended for each reply; nobody who operates reads a word."""
    async with room(guide=Script(2, says("Secret words of an answer."))) as r:
        result = await r.runtime.handle_final_input(r.ask("A visitor's secret"))

        assert [("started", f"{result.run_id}/1"), ("ended", f"{result.run_id}/1")] == r.voice.told
        started, over = r.lifecycle
    assert ("started", "completed", 2000.0) == (started.kind, over.kind, round(over.duration_ms))
    assert "ecret" not in repr(r.lifecycle)


@virtually
async def test_everybody_who_watches_gets_the_clamped_audience() -> None:
    """T3. Journal, stream, observer, result and transcript agree on who may see it, progress lines included."""
    heard = []

    async def present(record, progress):
        return RoomUtterance("Looking.", ROOM, history="record")

    decision = Decision(utterances=(RoomUtterance("For all."),))
    script = Script(Progress("look"), says("Out loud.", audience=ROOM), decision)
    async with room(guide=script, hooks=Hooks(present=present)) as r:
        request = r.ask(disclosure=among(["ana"]))
        result = await r.answer(request, heard.append)
        seen = [*heard, *await r.journal(result.run_id), *(entry for _, entry in r.entries)]
        outputs = [entry.event for entry in seen if isinstance(entry.event, AssistantOutput)]
        rows = await r.store.load_transcript("hall")

    assert 9 == len(outputs)
    assert {among(["ana"])} == {output.audience for output in outputs}
    assert {among(["ana"])} == {row.disclosure for row in rows} | {u.audience for u in result.decision.utterances}
    assert r.voice.spoken == {}
    assert ("not_for_this_surface", f"{result.run_id}/1") in r.voice.told


@virtually
async def test_an_agents_own_visibility_narrows_too() -> None:
    """T3. Nobody hears of an agent who may not."""
    async with room(guide=Script(says("Psst.")), visibility=among(["ben"])) as r:
        result = await r.answer(r.ask(disclosure=among(["ana", "ben"])))
        (entry, *_) = await r.journal(result.run_id)

    assert among(["ben"]) == entry.event.audience


@virtually
async def test_an_input_must_say_who_may_see_it_and_a_retry_the_same() -> None:
    """T4. Missing is refused, a wider retry is refused, and neither leaves anything."""
    async with room(guide=Script(says("Yes."))) as r:
        missing = await refusal(r.answer(r.ask(disclosure=None)))
        nothing = await r.store.load_runs()
        await r.answer(r.ask(input_id="x", disclosure=among(["ana"])))
        wider = await refusal(r.answer(r.ask(input_id="x", disclosure=ROOM)))

        assert ("room.disclosure_missing", "run.input_mismatch") == (missing, wider)
        assert () == nothing
        assert 1 == len(await r.store.load_runs())
        assert ["Why?"] == await r.heard()


@virtually
async def test_agents_think_at_once_and_speak_in_turn() -> None:
    """T5. Provider work overlaps across channels; the loudspeaker is one for the room."""
    loop = asyncio.get_running_loop()
    async with room(guide=Script(3, says("A b c d e f g h.")), potter=Script(3, says("I j k l m n o p."))) as r:
        begun = loop.time()
        one = r.begin(r.ask(channel="a"))
        two = r.begin(r.ask(channel="b", agents=("potter",)))
        await asyncio.gather(one, two)
        thought = loop.time() - begun
        await r.quiet()

    assert 3.0 == round(thought, 3)
    assert ["guide", "potter"] == r.voice.order
    assert ["started", "ended", "started", "ended"] == [kind for kind, _ in r.voice.told]


@virtually
async def test_a_newer_input_stops_older_work_on_its_own_channel_only() -> None:
    """T6. Also another agent's, and the driver is told through its signal."""
    guide, potter, referee = (Script(60, says("Late.")) for _ in range(3))
    newer = Script(says("Now."))
    async with room(guide=guide, potter=potter, referee=referee, newer=newer) as r:
        stale = asyncio.ensure_future(r.runtime.handle_run_input(r.ask(agents=("guide", "potter"))))
        other = r.begin(r.ask(channel="b", agents=("referee",)))
        await asyncio.sleep(1)
        await r.answer(r.ask(agents=("newer",)))
        ended = [result.status for result in await stale]

        assert not other.done()
        await r.runtime.cancel_run((await r.store.load_open("hall"))[0].id)
        await other
    assert [RunStatus.CANCELED] * 2 == ended
    assert guide.contexts[0].abort.reason == potter.contexts[0].abort.reason == "superseded_by_new_input"
    assert ["Now."] == list(r.voice.spoken.values())


@virtually
async def test_who_asks_anew_is_not_talked_over_by_the_answer_before() -> None:
    """T6. A finished run's reply that still sounds is interrupted, on that channel, once the new input is in."""
    long = "word " * 100
    async with room(guide=Script(says(long), later=((says("Short."),),)), potter=Script(says("Aside."))) as r:
        first = await r.answer()
        await asyncio.sleep(3)
        await r.answer(r.ask(channel="other", agents=("potter",)))
        await asyncio.sleep(3)
        still = r.voice.now
        await refusal(r.answer(r.ask(supersession=None, agents=("nobody",))))
        await asyncio.sleep(1)
        unharmed = r.voice.now
        second = await r.answer()
        await r.quiet()

    assert first.run_id == still.run_id == unharmed.run_id
    assert 0 < len(r.voice.spoken[f"{first.run_id}/1"]) < 200
    assert "Short." == r.voice.spoken[f"{second.run_id}/1"]
    assert ["guide", "potter", "guide"] == r.voice.order


@virtually
async def test_a_transport_retry_leaves_the_work_alone() -> None:
    """T7. The answer is a duplicate at once, and the run goes on to its end."""
    driver = Script(5, says("Done."))
    async with room(guide=driver) as r:
        request = r.ask()
        first = r.begin(request)
        await asyncio.sleep(1)
        again = await r.answer(request)
        result = await first

    assert (True, RunStatus.ACTIVE, result.run_id) == (again.duplicate, again.status, again.run_id)
    assert (RunStatus.COMPLETED, False, 1) == (result.status, result.duplicate, len(driver.contexts))


@virtually
async def test_what_may_not_be_interrupted_is_said_to_its_end_first() -> None:
    """T8. Whether its run is over, or is cancelled by the new input; then the replacement speaks."""
    warning = "Please do not touch this vase, it is old."
    for tail in ((), (60,)):
        async with room(guide=Script(says(warning, interruptible=False), *tail, later=((says("Sorry."),),))) as r:
            first = r.begin()
            await asyncio.sleep(0.5)
            second = await r.answer()
            await r.quiet()
            await first

        assert [warning, "Sorry."] == list(r.voice.spoken.values())
        assert f"{second.run_id}/1" == list(r.voice.spoken)[-1]


@virtually
async def test_resume_restores_the_room_and_says_nothing() -> None:
    """T9. Phase, focus, registrations and transcript; whoever left meanwhile is named."""
    async with room(policy=POLICY, guide=Script(says("Before.")), potter=Script()) as r:
        await r.runtime.set_phase("quiz")
        await r.runtime.set_focus("ana", "potter")
        await r.answer()
        r.kill()
    async with room(policy=POLICY, store=r.store, guide=Script(says("After."))) as again:
        opened = await again.runtime.resume()
        await asyncio.sleep(60)

        assert ("quiz", {"ana": "potter"}) == (again.runtime.phase, again.runtime.focus)
        assert ((), ("potter",)) == (opened, again.runtime.missing)
        assert ["Before."] == await again.said()
        assert {} == again.voice.spoken
        assert ("guide",) == again.runtime.route(again.ask(agents=()))


@virtually
async def test_an_interruption_is_for_the_whole_room() -> None:
    """T10. Work on every channel, what sounds and what waits; of a question the run goes on waiting."""
    asks = Script(says("Which one?"), InputRequested("which", "t"))
    async with room(
        guide=Script(says("word " * 50)), potter=Script(says("Then I.")), referee=Script(60), asker=asks
    ) as r:
        spoken = await r.answer(r.ask(channel="a"))
        waiting = await r.answer(r.ask(channel="b", agents=("potter",)))
        question = await r.answer(r.ask(channel="d", agents=("asker",)))
        working = r.begin(r.ask(channel="c", agents=("referee",)))
        await asyncio.sleep(1)
        await r.runtime.interrupt()
        await r.quiet()
        stopped = await working

        assert (RunStatus.CANCELED, "interrupted") == (stopped.status, stopped.code)
        assert RunStatus.WAITING is (await r.store.load(question.run_id)).status
    assert [f"{spoken.run_id}/1"] == list(r.voice.spoken)
    assert len(r.voice.spoken[f"{spoken.run_id}/1"]) < 50
    assert ("canceled", f"{waiting.run_id}/1") in r.voice.told


@virtually
async def test_what_waits_too_long_is_not_said() -> None:
    """T5. With its reason, and never afterwards."""
    async with room(guide=Script(says("word " * 200)), potter=Script(says("Me "), 40, says("too.", "b"))) as r:
        await r.answer(r.ask(channel="a"))
        late = await r.answer(r.ask(channel="b", agents=("potter",)))
        await r.quiet()

    assert [("expired", f"{late.run_id}/1")] == [told for told in r.voice.told if told[0] not in {"started", "ended"}]
    assert ["guide"] == r.voice.order


@virtually
async def test_a_reply_that_was_stopped_begins_no_second_time() -> None:
    """T6. Words that come after an interruption of the voice are kept, not said."""
    async with room(guide=Script(says("One two three. "), 5, says("Four five six.", "more"))) as r:
        task = r.begin()
        await asyncio.sleep(0.3)
        r.voice.interrupt(r.voice.now.run_id)
        result = await task
        await r.quiet()

        assert ["One two three. ", "Four five six."] == await r.said()
    assert [f"{result.run_id}/1"] == list(r.voice.spoken)
    assert len(r.voice.spoken[f"{result.run_id}/1"]) < 10


@virtually
async def test_a_private_reply_is_spoken_on_a_private_surface() -> None:
    """T3. And words for fewer than the reply is for are told once to be kept back."""
    aside = [AssistantOutput("b", piece, audience=NOBODY) for piece in "abc"]
    script = Script(says("For you.", "a"), *aside, says("", "b", audience=NOBODY))
    async with room(guide=script, surface=among(["ana"])) as r:
        result = await r.answer(r.ask(disclosure=among(["ana"])))
        await r.quiet()

    assert ["For you."] == list(r.voice.spoken.values())
    assert 1 == r.voice.told.count(("not_for_this_surface", f"{result.run_id}/1"))


@virtually
async def test_replacing_an_agent_stops_its_turn_and_its_voice() -> None:
    """R11. The run ends, the new driver answers the next input."""
    async with room(guide=Script(says("Old word " * 20, "a"), 60)) as r:
        old = r.begin()
        await asyncio.sleep(1)
        r.registry.register(AgentDescriptor("guide", "Guide"), Script(says("New.")), replace_existing=True)
        ended = await old
        await asyncio.sleep(0.2)
        silent = r.voice.now is None
        await r.answer()
        await r.quiet()

    assert (RunStatus.CANCELED, "agent_replaced", True) == (ended.status, ended.code, silent)
    assert "New." == list(r.voice.spoken.values())[-1]


@virtually
async def test_a_voice_that_fails_costs_its_reply_only() -> None:
    """F6. The run is complete, and the next reply is spoken."""
    voice = Voice()
    voice.fails = OSError("secret")
    async with room(voice=voice, guide=Script(says("One."), Completed())) as r:
        first = await r.answer()
        await r.quiet()
        voice.fails = None
        await r.answer()
        await r.quiet()

    assert RunStatus.COMPLETED is first.status
    assert ["started", "ended"] * 2 == [kind for kind, _ in voice.told]


@virtually
async def test_a_turn_of_rfc_021_is_answered_whole() -> None:
    """D4, T2. handle_final_input returns when the answer has been said."""
    async with room(guide=Responds(decides("To sign it."))) as r:
        result = await r.runtime.handle_final_input(r.ask())

        assert "To sign it." == r.voice.spoken[f"{result.run_id}/1"]
    assert "To sign it." == result.decision.utterances[0].text


@virtually
async def test_an_agent_sees_the_interaction_that_brought_its_input() -> None:
    """RFC-021 §6: with the chain that led to it; one that was for somebody else does not reach the driver."""
    guide = Responds(decides("To sign it."))
    async with room(guide=guide) as r:
        asked = r.ask()
        draft = InteractionDraft((Endpoint("agent", "guide"),), {"type": "message", "text": asked.input.text}, ROOM)
        brought = create(asked.input.id, "kiosk", "public", asked.input.source, draft)
        result = await r.answer(replace(asked, interaction=brought))
        other = r.ask()
        astray = await r.answer(replace(other, interaction=brought))

    assert RunStatus.COMPLETED is result.status
    assert [brought] == [context.interaction for context in guide.contexts]
    assert "room.source_spoofed" == astray.error.code


@virtually
async def test_each_word_is_kept_soon_after_it_was_heard() -> None:
    """RFC-022 §4: what a crash leaves unsaved would be offered, and said, a second time."""
    text = "Exekias signed the vase twice, as potter and as painter, which hardly anybody did."
    async with room(guide=Script(says(text), Completed())) as r:
        result = await r.answer()
        name, compared = f"{result.run_id}/1", 0
        while r.voice.spoken.get(name, "") != text:
            heard = len(r.voice.spoken.get(name, ""))
            await asyncio.sleep(0.06)
            kept = await r.store.load_deliveries((result.run_id,))
            assert heard <= sum(row.delivered_chars for row in kept)
            compared += heard > 0

    assert compared > 10


@virtually
async def test_who_has_left_is_not_answered() -> None:
    """R10. The registry is asked in every run; the refusal is in the caller's result and nowhere else."""
    async with room(guide=Script(says("No."))) as r:
        r.registry.leave("ana")
        result = await r.answer()
        r.registry.join(Participant("ana"))

    assert ("run_processing_failed", "room.speaker_absent") == (result.code, result.error.code)


@virtually
async def test_inputs_of_a_channel_are_let_in_one_after_the_other() -> None:
    """D20. The next is not even looked at while one is being written."""
    store = PacedStore()
    async with room(store=store, guide=Script(says("Yes."))) as r:
        gate = store.gate("admit")
        first = r.begin()
        await gate.reached.wait()
        second = r.begin()
        await asyncio.sleep(1)
        looked = store.calls.count("load_by_input")
        gate.opened.set()
        await asyncio.gather(first, second)

    assert 1 == looked
