"""A process dies and another takes its runs up: nothing is said twice, nothing is lost, an exact retry is harmless."""

import asyncio
from dataclasses import replace

import pytest
from kit import virtually
from room.engine import DONE, PacedStore, Responds, Script, Voice, check_invariants, refusal, room, says
from wayside.core.room.agents import AgentDecision, RoomUtterance
from wayside.core.room.refusals import refuse
from wayside.core.runs.events import AssistantOutput, Checkpoint, Decision, InputRequested, JournalEntry, Progress
from wayside.core.runs.record import RunStatus, apply
from wayside.core.runs.request import InputPolicy, Supersession
from wayside.ports.run_store_memory import MemoryRunStore

HANGS = 3600


async def died(store: PacedStore, driver: object, name: str, when: str = "after", match=lambda *_: True, voice=None):
    """A process that dies at this operation of its store, with the request it was answering."""
    async with room(store=store, voice=voice, guide=driver, prefix="dead") as r:
        gate = store.gate(name, when, match)
        request = r.ask("How old?", input_id="in-x")
        r.begin(request)
        await gate.reached.wait()
        await asyncio.sleep(1)
        r.kill()
    return request


def event_is(kind: type, **fields):
    def match(entry: JournalEntry, _record) -> bool:
        wanted = all(getattr(entry.event, name) == value for name, value in fields.items())
        return isinstance(entry.event, kind) and wanted

    return match


@virtually
async def test_recovery_takes_the_next_attempt_with_the_last_checkpoint_and_the_same_deadline() -> None:
    """D7, D11. The driver is told that it is resumed; the clock has gone on."""
    store = PacedStore()
    await died(store, Script(Checkpoint({"n": 1}), Checkpoint({"n": 2}), HANGS), "commit_event", match=event_is(
        Checkpoint, state={"n": 2}))  # fmt: skip
    driver = Script(says("Of 540."), HANGS)
    async with room(store=store, guide=driver) as r:
        (left,) = await r.runtime.resume()
        await asyncio.sleep(10)
        result = await r.runtime.resume_run(left.id)
        again = await r.runtime.resume_run(left.id)
        context = driver.contexts[0]

        assert ("dead1", 2, True, {"n": 2}) == (context.run_id, context.attempt, context.resumed, context.checkpoint)
        assert ("deadline_exceeded", left.deadline_ms) == (result.code, int(r.lifecycle[-1].duration_ms) + 11_000 +
            left.deadline_ms - 20_000)  # fmt: skip
        assert (True, RunStatus.FAILED, 1) == (again.duplicate, again.status, len(driver.contexts))
        assert "run.unknown" == await refusal(r.runtime.resume_run("id99"))


@virtually
async def test_a_deadline_that_passed_while_nobody_worked_is_not_begun_again() -> None:
    """D11. The driver isn't entered."""
    store = PacedStore()
    await died(store, Script(HANGS), "admit")
    driver = Script(says("Late."))
    async with room(store=store, guide=driver) as r:
        await asyncio.sleep(30)
        result = await r.runtime.resume_run("dead1")

        assert ("deadline_exceeded", []) == (result.code, driver.contexts)
        await check_invariants(store)


@virtually
async def test_a_closed_message_that_missed_the_transcript_is_written_and_not_said() -> None:
    """D12. Before the driver is invoked; also for a run that has ended or waits meanwhile."""
    for ending, status in (((HANGS,), RunStatus.ACTIVE), ((), RunStatus.COMPLETED)):
        store, voice = PacedStore(), Voice()
        await died(store, Script(says("It is old."), *ending), "append_transcript", "before", voice=voice)
        first = dict(voice.spoken)
        if status is RunStatus.COMPLETED:
            record = await store.load("dead1")
            await store.commit_event(JournalEntry("dead1", 2, 1, DONE, "e", "in-x"), apply(record, DONE))
        written = []

        async def look(_context, kept=written, there=store) -> None:
            kept.extend(row.text for row in await there.load_transcript("hall") if row.role == "agent")

        async with room(store=store, guide=Script(look)) as r:
            await r.runtime.resume_run("dead1")
            await asyncio.sleep(5)

            assert ["It is old."] == await r.said()
            assert [["It is old."], []][status is RunStatus.COMPLETED] == written
            assert ({}, ["dead1/1"]) == (r.voice.spoken, list(first))


@virtually
async def test_a_restart_completes_the_transcript_of_all_runs() -> None:
    """D12, T9. Also of one that nobody resumes."""
    store = PacedStore()
    await died(store, Script(says("Which one?"), InputRequested("q", "t")), "append_transcript", "before")
    record = await store.load("dead1")
    asked = InputRequested("q", "t")
    await store.commit_event(JournalEntry("dead1", 2, 1, asked, "e", "in-x"), apply(record, asked))
    async with room(store=store, guide=Script()) as r:
        (waiting,) = await r.runtime.resume()

        assert RunStatus.WAITING is waiting.status
        await check_invariants(store, (r.voice,))


@virtually
async def test_a_message_that_was_closed_is_suppressed_when_it_comes_again() -> None:
    """D13. In journal, stream, transcript and voice; what is new is delivered."""
    store, voice = PacedStore(), Voice()
    first = Script(says("Part one. ", "1"), AssistantOutput("2", "Part t"), HANGS)
    await died(store, first, "commit_event", match=event_is(AssistantOutput, delta="Part t"), voice=voice)
    second = Script(says("Part one, again. ", "1"), says("Part two. ", "2"), says("Part three.", "3"))
    seen = []
    async with room(store=store, guide=second) as r:
        result = await r.runtime.resume_run("dead1", seen.append)
        await r.quiet()

        outputs = [entry.event.delta for entry in seen if isinstance(entry.event, AssistantOutput)]
        assert (RunStatus.COMPLETED, ["Part two. ", "Part three."]) == (result.status, outputs)
        assert ["Part one. ", "Part two. ", "Part three."] == await r.said()
        assert {"dead1/2": "Part two. Part three."} == r.voice.spoken
        await check_invariants(store, (voice, r.voice))


@virtually
async def test_a_decision_that_was_said_is_not_said_again() -> None:
    """D13. A driver with respond alone decides anew; what of it was closed stays as it was."""
    store = PacedStore()
    said = AgentDecision((RoomUtterance("It is old."),))
    await died(store, Responds(said), "commit_event", "before", lambda entry, _: entry.event == DONE)
    async with room(store=store, guide=Responds(AgentDecision((RoomUtterance("Very old."),)))) as r:
        result = await r.runtime.resume_run("dead1")
        await r.quiet()

        assert (RunStatus.COMPLETED, ["It is old."], {}) == (result.status, await r.said(), r.voice.spoken)


@virtually
async def test_a_decision_after_the_checkpoint_is_no_repetition_of_one_before() -> None:
    """D13. A driver that goes on from its checkpoint loses no words."""
    decisions = [Decision(utterances=(RoomUtterance(text),)) for text in ("One. ", "Two. ", "Three.")]
    one, two, three = decisions
    store = PacedStore()
    await died(
        store, Script(one, Checkpoint(1), two, HANGS), "append_transcript", match=lambda row: row.text == "Two. "
    )
    async with room(store=store, guide=Script(two, three)) as r:
        await r.runtime.resume_run("dead1")

        assert ["One. ", "Two. ", "Three."] == await r.said()


@virtually
async def test_rows_without_metadata_are_replayed_and_never_suppressed() -> None:
    """D14. Ids that an old journal holds are escaped."""
    store = MemoryRunStore()
    async with room(guide=Script(Progress("x"), HANGS)) as r:
        r.begin(r.ask(input_id="in-x"))
        await asyncio.sleep(1)
        (record,) = await r.store.load_open("hall")
        r.kill()
    old = AssistantOutput("2.driver.answer", "Old words. ", final=True)
    entry = JournalEntry(record.id, 1, 1, old, "e1", "in-x")
    await store.create(replace(record, sequence=1), (entry,))
    async with room(store=store, guide=Script(says("New words."))) as again:
        await again.runtime.resume_run(record.id)
        ids = [e.event.output_id for e in await again.journal(record.id) if isinstance(e.event, AssistantOutput)]

        assert ["Old words. ", "New words."] == await again.said()
        assert ["2.driver.answer", "2.driver.answer+"] == ids


@virtually
async def test_half_a_message_of_a_dead_attempt_is_evidence_and_nothing_else() -> None:
    """D15. It begins nothing, blocks no completion and is in no transcript."""
    store = PacedStore()
    await died(store, Script(AssistantOutput("a", "Half a "), HANGS), "commit_event", match=event_is(AssistantOutput))
    async with room(store=store, guide=Script(AssistantOutput("a", "The "), says("whole.", "a"), DONE)) as r:
        result = await r.runtime.resume_run("dead1")
        await r.quiet()

        texts = [e.event.delta for e in await r.journal("dead1") if isinstance(e.event, AssistantOutput)]
        assert (RunStatus.COMPLETED, ["Half a ", "The ", "whole."]) == (result.status, texts)
        assert (["The whole."], ["The whole."]) == (await r.said(), list(r.voice.spoken.values()))


POINTS = [
    ("admit", "before", None),
    ("admit", "after", None),
    ("commit_event", "before", Progress),
    ("commit_event", "after", Progress),
    ("commit_event", "before", AssistantOutput),
    ("commit_event", "after", AssistantOutput),
    ("append_transcript", "before", None),
    ("append_transcript", "after", None),
    ("commit_event", "before", type(DONE)),
    ("commit_event", "after", type(DONE)),
    ("save_delivery", "before", None),
    ("save_delivery", "after", None),
]


@pytest.mark.parametrize(("name", "when", "kind"), POINTS)
def test_wherever_a_process_dies_an_exact_retry_and_a_resume_make_it_whole(name: str, when: str, kind) -> None:
    """D16. One run, one transcript row of the input, one of the answer; a changed retry is refused."""

    @virtually
    async def check() -> None:
        store, voice = PacedStore(), Voice()
        steps = (Progress("look"), says("It is two and a half thousand years old."), 2)
        match = (lambda *_: True) if kind is None else event_is(kind)
        request = await died(store, Script(*steps), name, when, match, voice)
        async with room(store=store, guide=Script(*steps), prefix="new") as r:
            opened = await r.runtime.resume()
            retried = await r.answer(request)
            result = await r.runtime.resume_run(retried.run_id)
            changed = replace(request, input=replace(request.input, text="How new?"))
            refused = await refusal(r.answer(changed))
            await r.quiet()

            assert ((name, when) != ("admit", "before")) is retried.duplicate
            assert (RunStatus.COMPLETED, "run.input_mismatch") == (result.status, refused)
            assert [record.id for record in opened] in ([], [retried.run_id])
            assert 1 == len(await store.load_runs())
            assert (["How old?"], 1) == (await r.heard(), len(await r.said()))
            await check_invariants(store, (voice, r.voice))

    check()


@pytest.mark.parametrize(
    ("name", "when", "match"),
    [
        ("commit_event", "before", lambda entry, _: entry.attempt == 1),  # before the cancellation
        ("commit_event", "after", lambda entry, _: entry.attempt == 1),  # between cancellation and replacement
        ("admit", "before", lambda *_: True),
        ("admit", "after", lambda *_: True),  # after the replacement
    ],
)
def test_a_replacement_crosses_the_death_of_its_process_once(name: str, when: str, match) -> None:
    """D17, D18. Never two open runs; the exact retry is admitted once, with its seed and its joined words."""

    @virtually
    async def check() -> None:
        store = PacedStore()
        async with room(store=store, guide=Script(HANGS), prefix="dead") as r:
            r.begin(r.ask("How old is"))
            await asyncio.sleep(1)
            gate = store.gate(name, when, match)
            policy = InputPolicy("append")
            request = r.ask("this vase?", input_id="in-y", supersession=Supersession("dead1", {"s": 1}, policy))
            r.begin(request)
            await gate.reached.wait()
            assert len(await store.load_open("hall")) <= 1
            r.kill()
        driver = Script(says("Old."))
        async with room(store=store, guide=driver, prefix="new") as again:
            await again.runtime.resume()
            retried = await again.answer(request)
            result = await again.runtime.resume_run(retried.run_id)
            repeated = await again.answer(request)

            assert (RunStatus.COMPLETED, RunStatus.CANCELED) == (result.status, (await store.load("dead1")).status)
            assert (True, retried.run_id) == (repeated.duplicate, repeated.run_id)
            assert (["How old is", "this vase?"], ["Old."]) == (await again.heard(), await again.said())
            assert ("How old is this vase?", {"s": 1}) == (
                driver.contexts[0].input.text,
                driver.contexts[0].checkpoint,
            )
            await check_invariants(store)

    check()


@pytest.mark.parametrize("reason", ["canceled", "interrupted"])
def test_no_other_end_may_be_crossed(reason: str) -> None:
    """D17. Exactly a cancellation by exactly this reason."""

    @virtually
    async def check() -> None:
        async with room(guide=Script(HANGS)) as r:
            task = r.begin()
            await asyncio.sleep(1)
            (active,) = await r.store.load_open("hall")
            await r.runtime.cancel_run(active.id, reason)
            await task
            code = await refusal(r.answer(r.ask(supersession=Supersession(active.id))))

            assert "run.supersession_mismatch" == code
            assert 1 == len(await r.store.load_runs())

    check()


@virtually
async def test_a_cancellation_that_wins_against_a_recovery() -> None:
    """D21. The compare-and-set says no: reported as canceled, the driver isn't called."""
    store = PacedStore()
    await died(store, Script(HANGS), "admit")
    driver = Script(says("No."))
    async with room(store=store, guide=driver) as r:
        gate = store.gate("save")
        task = asyncio.ensure_future(r.runtime.resume_run("dead1"))
        await gate.reached.wait()
        await r.runtime.cancel_run("dead1")
        gate.opened.set()
        result = await task

        assert (RunStatus.CANCELED, []) == (result.status, driver.contexts)


@virtually
async def test_a_cancellation_that_loses_against_a_recovery_stops_it() -> None:
    """D21, F1. It began while the recovery was saved: the newer attempt is ended and its driver told."""
    store = PacedStore()
    await died(store, Script(HANGS), "admit")
    driver = Script(HANGS)
    async with room(store=store, guide=driver, deadline_ms=HANGS * 2000) as r:
        gate = store.gate("commit_event")
        cancelling = asyncio.ensure_future(r.runtime.cancel_run("dead1"))
        await gate.reached.wait()
        task = asyncio.ensure_future(r.runtime.resume_run("dead1"))
        await asyncio.sleep(1)
        gate.opened.set()
        result = await asyncio.wait_for(task, 5)

        assert [RunStatus.CANCELED] * 2 == [await cancelling, result.status]
        assert driver.contexts[0].abort.aborted
        await check_invariants(store)


@virtually
async def test_a_later_recovery_shuts_an_earlier_one_out() -> None:
    """D21, D26. Two in one process are one; of two processes the newer attempt alone is heard."""
    store = PacedStore()
    await died(store, Script(HANGS), "admit")
    driver, other = Script(1, says("Twice.")), Script(2, says("Once."))
    async with room(store=store, guide=driver) as r, room(store=store, guide=other, prefix="o") as late:
        calls = (r.runtime, r.runtime, late.runtime)
        results = await asyncio.gather(*(runtime.resume_run("dead1") for runtime in calls))
        await late.quiet()

        assert (["Once."], {}, {"dead1/3": "Once."}) == (await r.said(), r.voice.spoken, late.voice.spoken)
        assert (1, 1) == (len(driver.contexts), len(other.contexts))
        await check_invariants(store)
    assert results[0] == results[1]
    assert (RunStatus.COMPLETED, 3) == (results[2].status, results[2].attempt)


@virtually
async def test_what_is_taken_up_silently_is_not_said() -> None:
    """D12. The words are in the transcript, and nobody is spoken to out of the blue."""
    store = PacedStore()
    await died(store, Script(HANGS), "admit")
    async with room(store=store, guide=Script(says("Old."))) as r:
        await r.runtime.resume_run("dead1", present=False)

        assert (["Old."], {}) == (await r.said(), r.voice.spoken)


@virtually
async def test_a_store_that_fails_while_a_run_is_taken_up_leaves_nothing_behind() -> None:
    """F1. The caller learns the code, and a later recovery works."""
    store = PacedStore()
    await died(store, Script(says("Part."), HANGS), "append_transcript", "before")
    async with room(store=store, guide=Script(says("Rest.", "b"))) as r:
        store.faults["append_transcript"] = refuse("store.full")
        failed = await r.runtime.resume_run("dead1")
        del store.faults["append_transcript"]
        result = await r.runtime.resume_run("dead1")

        assert ("store.full", RunStatus.COMPLETED) == (failed.code, result.status)
        assert ["Part.", "Rest."] == await r.said()


@virtually
async def test_a_caller_who_leaves_cancels_nothing() -> None:
    """D16. Not even while its input is being admitted."""
    store = PacedStore()
    async with room(store=store, guide=Script(1, says("Yes."))) as r:
        gate = store.gate("admit", "after")
        task = r.begin()
        await gate.reached.wait()
        task.cancel()
        await asyncio.wait({task})
        gate.opened.set()
        await asyncio.sleep(5)

        assert task.cancelled()
        assert ["Yes."] == await r.said()
        await check_invariants(store)
