"""A run from its first event to its end: streamed, asked back, continued, replaced, cancelled, late."""

import asyncio
from dataclasses import replace

import pytest
from kit import virtually
from room.engine import DONE, PacedStore, Responds, Script, check_invariants, refusal, room, says
from wayside.core.room.agents import (
    ActionProposal,
    AgentDecision,
    AgentDescriptor,
    Endpoint,
    InteractionDraft,
    RoomUtterance,
    SeatBinding,
)
from wayside.core.room.disclosure import ROOM, among
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Decision,
    InputRequested,
    Progress,
    RunCanceled,
    RunFailed,
)
from wayside.core.runs.record import RunStatus
from wayside.core.runs.request import ContinuationRef, InputPolicy, Supersession
from wayside.runtime.runs.runtime import Hooks

ASK = InputRequested("which", "token-1")
APPEND = InputPolicy("append")


def replaces(run_id: str, checkpoint=None, policy: InputPolicy | None = None) -> Supersession:
    return Supersession(run_id, checkpoint, policy or InputPolicy())


@virtually
async def test_words_arrive_before_the_result_and_filler_is_no_history() -> None:
    """D1. Each event is live as it comes; sequences are contiguous; the ephemeral is not in the transcript."""
    loop = asyncio.get_running_loop()
    arrived = []
    steps = (
        Progress("search", 1, 2), 1, says("Hm.", "filler", history="ephemeral"), 1, AssistantOutput("a", "It is "), 1,
        says("black.", "a"), 1, DONE,
    )  # fmt: skip
    async with room(guide=Script(*steps)) as r:
        begun = loop.time()
        result = await r.answer(r.ask(), lambda entry: arrived.append((round(loop.time() - begun), entry.sequence)))

        assert [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)] == arrived
        assert ["It is black."] == await r.said()
        assert RunStatus.COMPLETED is result.status
        await check_invariants(r.store)


@virtually
async def test_a_stream_is_a_view_over_the_journal() -> None:
    """D1, D8. start_run returns at once; its events are the journal's; a reader may come late or leave."""
    async with room(guide=Script(says("One.", "1"), 1, says("Two.", "2"), 1)) as r:
        running = r.runtime.start_run(r.ask())
        left = r.runtime.start_run(r.ask(channel="b"))
        async for _ in left.events:
            break
        live = [entry async for entry in running.events]
        result = await running.result
        late = [entry async for entry in running.events]

        assert live == list(await r.journal(result.run_id))
        assert list(live[1:]) == list(await r.runtime.replay_run(result.run_id, after=1))
        assert [] == late
        assert RunStatus.COMPLETED is (await left.result).status


@virtually
async def test_a_stream_of_what_is_not_begun_ends() -> None:
    """D1. A duplicate has no events of its own; a refusal is told by stream and result."""
    async with room(guide=Script(says("Yes."))) as r:
        request = r.ask()
        first = await r.runtime.start_run(request).result
        again = r.runtime.start_run(request)
        assert [] == [entry async for entry in again.events]
        assert (True, first.run_id) == ((await again.result).duplicate, (await again.result).run_id)
        refused = r.runtime.start_run(r.ask(agents=("nobody",)))
        assert "room.unknown_target" == await refusal(anext(refused.events))
        assert "room.unknown_target" == await refusal(refused.result)


@virtually
async def test_a_stream_of_a_continuation_repeats_nothing() -> None:
    """D2. Its events begin after the question that was answered."""
    async with room(guide=Script(says("Which?"), ASK, later=((says("That one."), ASK),))) as r:
        await r.answer()
        second = r.runtime.start_run(r.ask())
        texts = [e.event.delta async for e in second.events if isinstance(e.event, AssistantOutput)]
        await second.result

    assert ["That one."] == texts


@virtually
async def test_an_answer_continues_the_run_that_asked() -> None:
    """D2. Same run, next attempt, checkpoint and question passed on, a new message under the same logical id."""
    driver = Script(Checkpoint({"step": 1}), says("Which vase?"), ASK, later=((says("That one."), DONE),))
    async with room(guide=driver, deadline_ms=5000) as r:
        asked = await r.answer("Tell me of the vase")
        waiting = await r.store.load(asked.run_id)
        await asyncio.sleep(3600)
        answered = await r.answer("The left one")
        journal = await r.journal(asked.run_id)

        assert (RunStatus.WAITING, None) == (asked.status, waiting.deadline_ms)
        assert (asked.run_id, 2, RunStatus.COMPLETED) == (answered.run_id, answered.attempt, answered.status)
        context = driver.contexts[1]
        assert ({"step": 1}, "which", "token-1", "The left one", True) == (
            context.checkpoint,
            context.continuation.request_id,
            context.continuation.token,
            context.input.text,
            context.resumed,
        )
        ids = [e.event.output_id for e in journal if isinstance(e.event, AssistantOutput)]
        assert 2 == len(set(ids))
        assert ["Which vase?", "That one."] == await r.said()
        assert [1, 1, 1, 2, 2] == [e.attempt for e in journal]


@virtually
async def test_a_retried_answer_is_a_duplicate() -> None:
    """D2, T7. The continuing input is admitted once, too."""
    async with room(guide=Script(ASK, later=((says("That one."),),))) as r:
        await r.answer()
        request = r.ask()
        first = await r.answer(request)
        again = await r.answer(request)

        assert (first.run_id, True, 2) == (again.run_id, again.duplicate, again.attempt)
        assert ["Why?", "Why?"] == await r.heard()


@pytest.mark.parametrize(
    ("who", "run", "token"), [("ben", True, "token-1"), ("ana", True, "other"), ("ana", False, "token-1")]
)
def test_a_wrong_answer_is_refused_before_admission(who: str, run: bool, token: str) -> None:
    """D3. Speaker, token and run; the question goes on waiting, the store is as it was."""

    @virtually
    async def check() -> None:
        driver = Script(ASK)
        async with room(guide=driver) as r:
            asked = await r.answer()
            before = (await r.store.load_runs(), await r.heard())
            given = r.ask(who=who, continuation=ContinuationRef(asked.run_id if run else "id99", token))
            code = await refusal(r.answer(given))

            assert ("run.continuation_mismatch", before) == (code, (await r.store.load_runs(), await r.heard()))
            assert 1 == len(driver.contexts)

    check()


@virtually
async def test_a_wider_answer_continues_narrowly() -> None:
    """D3. What was private stays private (RFC-022 §6)."""
    async with room(guide=Script(ASK, later=((says("Between us."),),))) as r:
        asked = await r.answer(r.ask(disclosure=among(["ana"])))
        await r.answer(r.ask(disclosure=ROOM))
        output = (await r.journal(asked.run_id))[1].event

        assert among(["ana"]) == output.audience
        assert {} == r.voice.spoken
        assert [among(["ana"])] == [x.disclosure for x in await r.store.load_transcript("hall") if x.role == "agent"]


@virtually
async def test_somebody_elses_turn_ends_the_question() -> None:
    """D3. One open run in a place: another speaker's input replaces the run that waits."""
    async with room(guide=Script(ASK, later=((says("For Ben."),),))) as r:
        asked = await r.answer()
        other = await r.answer(r.ask(who="ben"))

        assert other.run_id != asked.run_id
        assert RunStatus.CANCELED is (await r.store.load(asked.run_id)).status


@virtually
async def test_respond_becomes_decision_output_and_completion() -> None:
    """D4. Speech, drafts and an action of a single decision; None is a silent success."""
    draft = InteractionDraft(
        (Endpoint("agent", "potter"),), {"type": "message", "text": "Your turn.", "language": "", "data": {}}
    )
    action = ActionProposal({"type": "place"})
    made = AgentDecision((RoomUtterance("One."), RoomUtterance("Two.")), (draft,), action)
    driver = Responds(made, None)
    async with room() as r:
        r.registry.register(AgentDescriptor("guide", "Guide", binding=SeatBinding("south")), driver)
        result = await r.answer()
        await r.quiet()
        silent = await r.answer()

        assert ["Decision", "AssistantOutput", "AssistantOutput", "Completed"] == await r.kinds(result.run_id)
        assert (("One.", "Two."), (draft,), replace(action, seat="south")) == (
            tuple(said.text for said in result.decision.utterances),
            result.decision.interactions,
            result.decision.action,
        )
        assert ["One.", "Two."] == await r.said()
        assert ["Completed"] == await r.kinds(silent.run_id)
    assert ["One.Two."] == list(r.voice.spoken.values())


@virtually
async def test_each_decision_of_an_attempt_may_speak() -> None:
    """D4. Utterances are numbered through the attempt."""
    decisions = [Decision(utterances=(RoomUtterance(text),)) for text in ("One.", "Two.")]
    async with room(guide=Script(*decisions)) as r:
        result = await r.answer()

        assert RunStatus.COMPLETED is result.status
        assert ["One.", "Two."] == await r.said()


@virtually
async def test_an_end_without_a_word_is_a_completion_and_a_fault_has_a_code() -> None:
    """D5. The journal says `run_processing_failed`; what was raised is the caller's alone."""
    fault = ValueError("secret of a provider")
    async with room(guide=Script(later=((fault,),))) as r:
        silent = await r.answer()
        failed = await r.answer()

        assert (RunStatus.COMPLETED, ["Completed"]) == (silent.status, await r.kinds(silent.run_id))
        assert (RunStatus.FAILED, "run_processing_failed", fault) == (failed.status, failed.code, failed.error)
        assert [RunFailed("run_processing_failed")] == [entry.event for entry in await r.journal(failed.run_id)]
        assert "secret" not in repr((failed, r.lifecycle, await r.store.load_runs()))


@virtually
async def test_cancellation_and_deadline_are_ends_that_can_be_replayed() -> None:
    """D6. The last event and the status agree."""
    async with room(guide=Script(60), deadline_ms=7000) as r:
        task = r.begin()
        await asyncio.sleep(1)
        (active,) = await r.store.load_open("hall")
        status = await r.runtime.cancel_run(active.id, "enough")
        canceled = await task
        again = await r.runtime.cancel_run(active.id, "later")
        late = await r.answer()

        assert [RunStatus.CANCELED] * 3 == [status, canceled.status, again]
        assert RunCanceled("enough") == (await r.runtime.replay_run(active.id))[-1].event
        assert (RunStatus.FAILED, "deadline_exceeded") == (late.status, late.code)
        assert RunFailed("deadline_exceeded") == (await r.runtime.replay_run(late.run_id))[-1].event
        assert "run.unknown" == await refusal(r.runtime.cancel_run("id99"))
        await check_invariants(r.store)


@virtually
async def test_an_input_may_bring_its_own_deadline() -> None:
    """D6. An override for its attempt."""
    loop = asyncio.get_running_loop()
    async with room(guide=Script(60)) as r:
        begun = loop.time()
        late = await r.answer(r.ask(deadline_ms=1500))

    assert ("deadline_exceeded", 1.5) == (late.code, round(loop.time() - begun, 2))


@virtually
async def test_nobody_sees_an_event_before_it_can_be_loaded() -> None:
    """D8. Observer, callback, stream, voice and lifecycle come after the commit, at every event."""
    store = PacedStore()
    missing = []

    def look(record, entry) -> None:
        stored = store._runs[record.id]
        if entry not in store._journals[record.id] or stored.sequence < entry.sequence or stored != record:
            missing.append(entry)

    steps = (Progress("a"), Checkpoint({"a": 1}), AssistantOutput("x", "a "), says("b", "x"), Decision(), ASK)
    async with room(store=store, guide=Script(*steps), hooks=Hooks(on_entry=look)) as r:
        gate = store.gate("commit_event", "before", lambda entry, _: isinstance(entry.event, AssistantOutput))
        seen = []
        task = asyncio.ensure_future(r.answer(r.ask(), seen.append))
        await gate.reached.wait()
        await asyncio.sleep(1)
        before = (len(seen), dict(r.voice.spoken))
        gate.opened.set()
        await task

    assert ([], (2, {}), 6) == (missing, before, len(seen))


@virtually
async def test_a_cancellation_stops_its_run_only() -> None:
    """D9. Work and interruptible speech of that run, and nothing of another."""
    guide, potter = Script(says("word " * 40), 60), Script(5, says("Mine."))
    async with room(guide=guide, potter=potter) as r:
        one, two = r.begin(r.ask(channel="a")), r.begin(r.ask(channel="b", agents=("potter",)))
        await asyncio.sleep(1)
        await r.runtime.cancel_run(r.voice.now.run_id)
        results = await asyncio.gather(one, two)
        await r.quiet()

    assert [RunStatus.CANCELED, RunStatus.COMPLETED] == [result.status for result in results]
    assert [True, False] == [driver.contexts[0].abort.aborted for driver in (guide, potter)]
    assert "Mine." == list(r.voice.spoken.values())[-1]


@virtually
async def test_channels_run_side_by_side() -> None:
    """D10. The same agent on two channels: two open runs that know nothing of each other."""
    async with room(guide=Script(2, says("Yes."))) as r:
        tasks = [r.begin(r.ask(channel=name)) for name in "ab"]
        await asyncio.sleep(1)
        opened = await r.store.load_open("hall")
        results = await asyncio.gather(*tasks)

    assert 2 == len(opened)
    assert [RunStatus.COMPLETED] * 2 == [result.status for result in results]


@pytest.mark.parametrize("place", ["observe", "present"])
def test_a_deadline_holds_whatever_the_hooks_do(place: str) -> None:
    """D11. A context source or a presenter that raises or hangs moves no deadline."""

    @virtually
    async def check() -> None:
        loop = asyncio.get_running_loop()

        async def raises(*_):
            raise ValueError("secret")

        async def hangs(*_):
            while True:
                try:
                    return await asyncio.sleep(5)
                except asyncio.CancelledError:
                    continue

        for hook in (raises, hangs):
            async with room(guide=Script(Progress("a"), 60), deadline_ms=3000, hooks=Hooks(**{place: hook})) as r:
                begun = loop.time()
                result = await r.answer()
                took = loop.time() - begun
                stored = await r.store.load(result.run_id)
                assert stored.status is RunStatus.FAILED
            if (place, hook) == ("observe", raises):
                assert ("run_processing_failed", 0) == (result.code, round(took))
            else:
                assert "deadline_exceeded" == result.code
                assert 3.0 <= took < 3.6

    check()


@virtually
async def test_admission_is_serialised_and_a_replaced_run_never_begins() -> None:
    """D20. Of a burst on one channel only the last driver call happens; one run is open at a time."""
    store = PacedStore()
    driver = Script(says("Yes."))
    async with room(store=store, guide=driver) as r:
        gate = store.gate("load_transcript")  # the first run gathers its memory
        tasks = [r.begin(r.ask(f"Question {number}")) for number in range(5)]
        await gate.reached.wait()
        await asyncio.sleep(1)
        gate.opened.set()
        results = await asyncio.gather(*tasks)

        assert [RunStatus.CANCELED] * 4 + [RunStatus.COMPLETED] == [result.status for result in results]
        assert ["Question 4"] == [context.input.text for context in driver.contexts]
        await check_invariants(store)


@virtually
async def test_the_lane_is_free_while_a_driver_works() -> None:
    """D20, F4. And a slow store call on one channel delays no other."""
    loop = asyncio.get_running_loop()
    store = PacedStore()
    async with room(store=store, guide=Script(9, says("Slow.")), potter=Script(says("Quick."))) as r:
        working = r.begin(r.ask(channel="a"))
        await asyncio.sleep(1)
        gate = store.gate("admit", "before", lambda admission: admission.record.channel == "b")
        held = r.begin(r.ask(channel="b"))
        await gate.reached.wait()
        begun = loop.time()
        await r.answer(r.ask(channel="c", agents=("potter",)))
        took = loop.time() - begun
        newer = r.begin(r.ask(channel="a", agents=("potter",)))
        first = await working
        gate.opened.set()
        await asyncio.gather(held, newer)

    assert (0.0, RunStatus.CANCELED) == (round(took, 2), first.status)


@virtually
async def test_a_supersession_seeds_its_replacement() -> None:
    """D22. The named run is cancelled first; the checkpoint is copied; D24: its words go on in the new input."""
    seed = {"stage": "threshold", "seen": []}
    driver = Script(60, later=((says("Both."),),))
    async with room(guide=driver) as r:
        first = r.begin("How old is")
        await asyncio.sleep(1)
        (active,) = await r.store.load_open("hall")
        request = r.ask("this vase?", supersession=replaces(active.id, seed, APPEND))
        second = await r.answer(request)
        again = await r.answer(request)
        seed["seen"].append("changed")
        replaced = await first

        assert (RunStatus.CANCELED, "superseded_by_new_input") == (replaced.status, replaced.code)
        assert {"stage": "threshold", "seen": []} == driver.contexts[1].checkpoint
        assert {"stage": "threshold", "seen": []} == (await r.store.load(second.run_id)).checkpoint
        assert "How old is this vase?" == driver.contexts[1].input.text
        assert "How old is this vase?" == (await r.store.load(second.run_id)).input.text
        assert (True, second.run_id) == (again.duplicate, again.run_id)
        assert ["How old is", "this vase?"] == await r.heard()
        await check_invariants(r.store)


@virtually
async def test_a_question_that_wins_the_race_is_answered() -> None:
    """D23. It is being written while the replacement arrives: its run goes on, seed and append are ignored."""
    store = PacedStore()
    driver = Script(Checkpoint({"own": True}), ASK, later=((says("Thanks."),),))
    async with room(store=store, guide=driver) as r:
        gate = store.gate("commit_event", "before", lambda entry, _: entry.event == ASK)
        first = r.begin("How old is")
        await gate.reached.wait()
        (active,) = await r.store.load_open("hall")
        second = r.begin(r.ask("the left one", supersession=replaces(active.id, {"seed": 1}, APPEND)))
        await asyncio.sleep(0.1)
        gate.opened.set()
        results = await asyncio.gather(first, second)

        assert [active.id] * 2 == [result.run_id for result in results]
        assert [RunStatus.WAITING, RunStatus.COMPLETED] == [result.status for result in results]
        assert ({"own": True}, "the left one") == (driver.contexts[1].checkpoint, driver.contexts[1].input.text)
        await check_invariants(store)


@virtually
async def test_what_continues_or_replaces_a_run_is_for_one_agent() -> None:
    """D25. Both at once is refused, and so is either for several agents; nothing is cancelled."""
    async with room(guide=Script(60), potter=Script(60)) as r:
        task = r.begin()
        await asyncio.sleep(1)
        (active,) = await r.store.load_open("hall")
        replacing, going_on = replaces(active.id), ContinuationRef(active.id, "t")
        codes = [
            await refusal(r.answer(r.ask(supersession=replacing, continuation=going_on))),
            await refusal(r.runtime.handle_run_input(r.ask(agents=("guide", "potter"), supersession=replacing))),
            await refusal(r.answer(r.ask(supersession=replaces("id99")))),
            await refusal(r.answer(r.ask(channel="b", supersession=replacing))),
            await refusal(r.answer(r.ask(supersession=replaces(active.id, {"a": object()})))),
        ]
        still = await r.store.load_open("hall")
        await r.runtime.cancel_run(active.id)
        await task

    assert [
        "run.supersession_and_continuation",
        "room.several_targets",
        "run.supersession_mismatch",
        "run.supersession_mismatch",
        "run.checkpoint_malformed",
    ] == codes
    assert [active.id] == [record.id for record in still]


@virtually
async def test_late_output_of_a_replaced_run_reaches_nothing() -> None:
    """D26. A driver that won't stop: no journal, no transcript, no voice, no result of the replacement."""

    async def deaf(_context) -> None:
        until = asyncio.get_running_loop().time() + 5
        while (left := until - asyncio.get_running_loop().time()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                continue

    async with room(guide=Script(deaf, says("Late."), DONE, later=((6, says("New.")),))) as r:
        first = r.begin()
        await asyncio.sleep(1)
        second = await r.answer()
        old = await first
        await r.quiet()

        assert RunStatus.CANCELED is old.status
        assert ["RunCanceled"] == await r.kinds(old.run_id)
        assert (["New."], ["New."]) == (await r.said(), list(r.voice.spoken.values()))
        assert [second.run_id] == [entry.run_id for _, entry in r.entries if isinstance(entry.event, AssistantOutput)]
