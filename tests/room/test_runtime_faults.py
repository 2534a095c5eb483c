"""Drivers, observers and stores that misbehave cost their own run at most, and tell nobody what they held."""

import asyncio
import logging

import pytest
import structlog
from kit import virtually
from room.engine import DONE, PacedStore, Script, Voice, check_invariants, refusal, room, says
from wayside.core.content import Source
from wayside.core.errors import WaysideError
from wayside.core.room.agents import (
    ActionProposal,
    AgentDescriptor,
    Endpoint,
    InteractionDraft,
    RoomUtterance,
    SeatBinding,
)
from wayside.core.room.disclosure import among
from wayside.core.room.refusals import refuse
from wayside.core.runs.driver_events import MAX_CHECKPOINT_CHARS, MAX_DELTA_CHARS, checked_event
from wayside.core.runs.events import (
    AssistantOutput,
    Checkpoint,
    Choice,
    Completed,
    Decision,
    InputRequested,
    OfferChoices,
    OutputOrigin,
    Progress,
    RunCanceled,
    ShowExhibit,
    ShowSources,
)
from wayside.core.runs.record import RunStatus
from wayside.core.runs.request import ContinuationRef
from wayside.runtime.runs.attempt import MAX_EVENTS
from wayside.runtime.runs.runtime import Hooks

HALF = "\ud800"
HUGE = 10**5000
DEEP: list = []
for _ in range(40):
    DEEP = [DEEP]

MALFORMED = [
    None,
    "text",
    {"type": "completed"},
    RunCanceled("forged"),
    Progress(""),
    Progress(HALF),
    Progress([]),
    Progress("a", -1),
    Progress("a", True),
    Progress("a", 1.5),
    Progress("a", 1, HUGE),
    AssistantOutput("", "a"),
    AssistantOutput("a", None),
    AssistantOutput("a", HALF),
    AssistantOutput("a", "x" * (MAX_DELTA_CHARS + 1)),
    AssistantOutput("a" * 201, "x"),
    AssistantOutput("a", "x", final=1),
    AssistantOutput("a", "x", purpose="joke"),
    AssistantOutput("a", "x", purpose=[]),
    AssistantOutput("a", "x", history={}),
    AssistantOutput("a", "x", audience="room"),
    AssistantOutput("a", "x", interruptible="no"),
    InputRequested("", "t"),
    InputRequested("r", ""),
    InputRequested("r", 7),
    InputRequested("r", HALF),
    Decision(screen=("picture",)),
    Decision(screen=[ShowExhibit("vase")]),
    Decision(screen=(ShowExhibit(7),)),
    Decision(screen=(ShowSources(("a",)),)),
    Decision(screen=(ShowSources((Source("a", 7),)),)),
    Decision(screen=(OfferChoices((Choice("a", None),)),)),
    Decision(screen=(OfferChoices(("a",)),)),
    Decision(refused="no"),
    Decision(utterances=("words",)),
    Decision(utterances=None),
    Decision(utterances=(RoomUtterance(7),)),
    Decision(utterances=(RoomUtterance(HALF),)),
    Decision(utterances=(RoomUtterance("x", history=[]),)),
    Decision(utterances=(RoomUtterance("x", interruptible=None),)),
    Decision(utterances=(RoomUtterance("x" * 15_000),) * 5),
    Decision(interactions=("draft",)),
    Decision(action="move"),
    Decision(action=ActionProposal({"n": HUGE})),
    Decision(action=ActionProposal({"n": HALF})),
]
BAD_CHECKPOINTS = [{1: "a"}, {"a": object()}, DEEP, float("nan"), "x" * MAX_CHECKPOINT_CHARS, HUGE, {HALF: 1}]


@pytest.mark.parametrize("event", MALFORMED, ids=range(len(MALFORMED)))
def test_an_event_that_is_none_is_refused(event: object) -> None:
    """D5. Whatever its type; by a code, and never with what it held."""
    with pytest.raises(WaysideError) as refused:
        checked_event(event)

    assert "room.decision_malformed" == refused.value.code
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("state", BAD_CHECKPOINTS, ids=range(len(BAD_CHECKPOINTS)))
def test_a_checkpoint_that_cannot_be_kept_is_refused(state: object) -> None:
    """D22. Plain JSON that a round trip does not change (RFC-022 §9.10)."""
    with pytest.raises(WaysideError) as refused:
        checked_event(Checkpoint(state))

    assert "run.checkpoint_malformed" == refused.value.code


@pytest.mark.parametrize(
    "event",
    [
        Progress("a", 0, 3),
        AssistantOutput("a", "", final=True, audience=among(["ana"])),
        Checkpoint({"a": [1, None, "é", 1.5]}),
        InputRequested("r", "t"),
        Decision((ShowSources((Source("a", "b"),), ("p",)), ShowExhibit("v"), OfferChoices((Choice("a", "b"),)))),
        Decision(
            utterances=(RoomUtterance("Hm."),),
            interactions=(InteractionDraft((Endpoint("agent", "b"),), {"type": "message", "text": "x"}),),
            action=ActionProposal({"type": "place"}, "south"),
        ),
        Completed(),
    ],
)
def test_an_event_that_is_one_passes_unchanged(event) -> None:
    """D1."""
    assert event == checked_event(event)


def test_an_origin_is_the_runtimes_to_give() -> None:
    """D13. A driver can't pretend that a message was closed before."""
    with pytest.raises(WaysideError):
        checked_event(AssistantOutput("a", "x", origin=OutputOrigin("driver", 1, "in-1", "a")))


@pytest.mark.parametrize(
    "event", [*MALFORMED, *(Checkpoint(s) for s in BAD_CHECKPOINTS)], ids=range(len(MALFORMED) + len(BAD_CHECKPOINTS))
)
def test_a_malformed_event_ends_its_run_and_no_other(event: object) -> None:
    """D5. With the stable code; the words before it stay; the room goes on."""

    @virtually
    async def check() -> None:
        script = Script(says("Before. ", "1"), event, says("After.", "2"))
        async with room(potter=Script(says("Mine."))) as r:
            r.registry.register(AgentDescriptor("guide", "Guide", binding=SeatBinding("south")), script)
            bad = await r.answer()
            good = await r.answer(r.ask(channel="b", agents=("potter",)))

            assert (RunStatus.FAILED, "run_processing_failed") == (bad.status, bad.code)
            assert ["AssistantOutput", "RunFailed"] == await r.kinds(bad.run_id)
            assert (["Before. "], 1) == (await r.said("public"), script.closed)
            assert RunStatus.COMPLETED is good.status

    check()


@pytest.mark.parametrize(
    ("steps", "code", "kinds"),
    [
        ((3600,), "deadline_exceeded", []),
        ((says("a"), 3600), "deadline_exceeded", ["AssistantOutput"]),
        ((AssistantOutput("a", "Half"),), "run_processing_failed", ["AssistantOutput"]),
        ((AssistantOutput("a", "Half"), DONE), "run_processing_failed", ["AssistantOutput"]),
        ((AssistantOutput("a", "Half"), InputRequested("q", "t")), "run_processing_failed", ["AssistantOutput"]),
        ((says("a"), says("again")), "run_processing_failed", ["AssistantOutput"]),
        ((ValueError("secret"),), "run_processing_failed", []),
        ((refuse("store.full"),), "run_processing_failed", []),
    ],
)
def test_a_driver_that_ends_badly(steps: tuple, code: str, kinds: list[str]) -> None:
    """D5, D6. Never, half way, twice, or by raising what it likes."""

    @virtually
    async def check() -> None:
        async with room(guide=Script(*steps)) as r:
            result = await r.answer()

            assert (RunStatus.FAILED, code, [*kinds, "RunFailed"]) == (
                result.status,
                result.code,
                await r.kinds(result.run_id),
            )
            assert "secret" not in repr(await r.journal(result.run_id))
            await check_invariants(r.store)

    check()


class Floods:
    """Yields for ever without ever waiting."""

    def __init__(self, make) -> None:
        self.make = make

    async def run(self, _context):
        number = 0
        while True:
            number += 1
            yield self.make(number)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Progress("busy", n),
        lambda n: AssistantOutput("a", ""),
        lambda n: AssistantOutput("a", "x" * 9000),
        lambda n: says("x", str(n)),
        lambda n: Decision(utterances=(RoomUtterance("x"),) * 500),
    ],
)
def test_a_flood_is_bounded(make) -> None:
    """F6. Neither the journal nor the voice drowns."""

    @virtually
    async def check() -> None:
        async with room(guide=Floods(make)) as r:
            result = await r.answer()
            journal = await r.journal(result.run_id)

            assert "run_processing_failed" == result.code
            assert len(journal) <= MAX_EVENTS + 1
            assert sum(len(e.event.delta) for e in journal if isinstance(e.event, AssistantOutput)) < 60_000

    check()


@virtually
async def test_what_comes_after_completion_is_nothing() -> None:
    """D26. No event, no word; the driver is closed."""
    driver = Script(says("Yes."), DONE, says("And no.", "b"), 60)
    async with room(guide=driver) as r:
        result = await r.answer()
        await asyncio.sleep(5)

        assert (RunStatus.COMPLETED, ["Yes."], 1) == (result.status, await r.said(), driver.closed)


class Deaf:
    """Ignores every cancellation for a while, then yields for as long as anybody asks."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.yielded = 0

    async def run(self, _context):
        loop = asyncio.get_running_loop()
        until = loop.time() + self.seconds
        while loop.time() < until:
            try:
                await asyncio.sleep(until - loop.time())
            except asyncio.CancelledError:
                continue
        for _ in range(50):
            self.yielded += 1
            yield says("Late.", str(self.yielded))


@virtually
async def test_a_driver_that_will_not_stop_is_left_behind() -> None:
    """D26. Its run ends on time, its late output is dropped, and it holds up nothing."""
    driver, loop = Deaf(30), asyncio.get_running_loop()
    async with room(guide=driver, deadline_ms=2000) as r:
        begun = loop.time()
        result = await r.answer()
        took = loop.time() - begun
        await asyncio.sleep(60)

        assert ("deadline_exceeded", [], 1) == (result.code, await r.said(), driver.yielded)
    assert took < 3
    assert [asyncio.current_task()] == list(asyncio.all_tasks())


@virtually
async def test_observers_that_raise_are_nobodys_concern() -> None:
    """D8. Callback, observer, lifecycle, admitted, captions: the run goes its way and says its words."""

    def raises(*_) -> None:
        raise ValueError("secret")

    class Captions:
        speech_started = speech_ended = speech_suppressed = staticmethod(raises)

    hooks = Hooks(on_entry=raises, lifecycle=raises)
    with structlog.testing.capture_logs() as logs:
        script = Script(says("Yes."), says("Not for all.", "b", audience=among([])))
        async with room(guide=script, hooks=hooks, observer=Captions()) as r:
            result = await r.answer(r.ask(), raises, raises)
            await r.quiet()
            second = await r.answer()
            await r.quiet()

    assert [RunStatus.COMPLETED] * 2 == [result.status, second.status]
    assert ["Yes.", "Yes."] == list(r.voice.spoken.values())
    assert {"run.observer_failed", "speech.observer_failed"} == {line["event"] for line in logs}
    assert "secret" not in repr(logs)


@pytest.mark.parametrize(
    "made",
    [RoomUtterance(7), "text", RoomUtterance(HALF), RoomUtterance("x", history="for ever"), ValueError("secret")],
)
def test_a_presenter_that_misbehaves_costs_its_line(made: object) -> None:
    """D11. And nothing else."""

    async def present(_record, _progress):
        if isinstance(made, Exception):
            raise made
        return made

    @virtually
    async def check() -> None:
        async with room(guide=Script(Progress("a"), says("Yes.")), hooks=Hooks(present=present)) as r:
            result = await r.answer()

            assert ["Progress", "AssistantOutput", "Completed"] == await r.kinds(result.run_id)

    check()


@virtually
async def test_a_progress_line_is_spoken_and_not_remembered() -> None:
    """D1, RFC-022 §5. The product's wording is ephemeral only when it says so."""

    async def present(_record, progress):
        return RoomUtterance(f"Looking at {progress.current}. ", history="ephemeral")

    async with room(guide=Script(Progress("a", 1), Progress("a", 2), says("Yes.")), hooks=Hooks(present=present)) as r:
        await r.answer()
        await r.quiet()

        assert ["Looking at 1. Looking at 2. Yes."] == list(r.voice.spoken.values())
        assert ["Yes."] == await r.said()


@virtually
async def test_a_slow_voice_holds_up_no_driver() -> None:
    """F6. The run is over long before its words are said, and its deadline is its own."""
    loop = asyncio.get_running_loop()
    text = "word " * 200
    async with room(guide=Script(says(text)), voice=Voice(rate=2), deadline_ms=3000) as r:
        begun = loop.time()
        result = await r.answer()
        took = loop.time() - begun
        await r.quiet()

    assert (RunStatus.COMPLETED, True) == (result.status, took < 1)
    assert [text] == list(r.voice.spoken.values())
    assert loop.time() - begun > 400


@virtually
async def test_an_end_that_comes_too_late_takes_the_end_that_is() -> None:
    """F1, F2, F3. Whoever is stale loads the truth; no caller sees an exception."""
    store = PacedStore()
    async with room(store=store, guide=Script(1, DONE), deadline_ms=60_000) as r:
        gate = store.gate("commit_event", "before", lambda entry, _: entry.event == DONE)
        task = r.begin()
        await gate.reached.wait()
        (active,) = await store.load_open("hall")
        async with room(store=store, guide=Script(), prefix="other") as other:
            # Another process, which knows nothing of the completion that is being written.
            canceled = await other.runtime.cancel_run(active.id, "elsewhere")
        gate.opened.set()
        result = await task
        again = await r.runtime.cancel_run(active.id)

    assert [RunStatus.CANCELED] * 3 == [canceled, result.status, again]
    assert ("elsewhere", None) == (result.code, result.error)


@virtually
async def test_a_run_whose_store_fails_ends_with_its_code() -> None:
    """F4. The caller learns which; the run stays as it was committed, and the next input works again."""
    store = PacedStore()
    driver = Script(says("One. ", "1"), 2, says("Two.", "2"), later=((says("Again."),),))
    async with room(store=store, guide=driver) as r:
        task = r.begin()
        await asyncio.sleep(1)
        store.faults["commit_event"] = refuse("store.full")
        result = await task
        del store.faults["commit_event"]
        stored = await store.load(result.run_id)
        after = await r.answer()

        assert ("store.full", RunStatus.ACTIVE, RunStatus.COMPLETED) == (result.code, stored.status, after.status)
        await check_invariants(store)


REFUSED = [
    ("room.unknown_target", lambda r: r.ask(agents=("nobody",))),
    ("room.unroutable", lambda r: r.ask(agents=())),
    ("room.disclosure_missing", lambda r: r.ask(disclosure=None)),
    ("run.input_malformed", lambda r: r.ask(HALF)),
    ("run.input_mismatch", lambda r: r.ask("Changed", input_id="first", agents=("potter",))),
    ("run.continuation_mismatch", lambda r: r.ask(continuation=ContinuationRef("id1", "t"), agents=("potter",))),
]


@pytest.mark.parametrize(("code", "make"), REFUSED, ids=[code for code, _ in REFUSED])
def test_a_refusal_has_its_code_and_leaves_everything_as_it_was(code: str, make) -> None:
    """D3, T4. Runs, transcript, what is open and what sounds."""

    @virtually
    async def check() -> None:
        async with room(potter=Script(says("word " * 30), 60)) as r:
            working = r.begin(r.ask(input_id="first", agents=("potter",)))
            await asyncio.sleep(1)
            before = (await r.store.load_runs(), await r.store.load_transcript("hall"), r.voice.now)
            refused = [await refusal(r.runtime.handle_run_input(make(r)))]
            refused.append(await refusal(r.runtime.start_run(make(r)).result))
            after = (await r.store.load_runs(), await r.store.load_transcript("hall"), r.voice.now)
            await r.runtime.interrupt()
            await working

        assert ([code] * 2, before) == (refused, after)

    check()


@virtually
async def test_a_room_that_closes_leaves_nobody_waiting() -> None:
    """F3. Whoever asked at the last moment, or after it, is refused."""
    async with room(guide=Script(60)) as r:
        last = r.begin()
        await asyncio.sleep(0)
        r.kill()

    assert "room.closed" == await refusal(last)
    assert "room.closed" == await refusal(r.answer())
    assert () == await r.store.load_runs()


@virtually
async def test_no_word_leaves_the_store_and_the_voice() -> None:
    """Canary. Logs, lifecycle, captions and errors hold nothing that was said, whatever goes wrong."""
    canary = "zanzibar"

    class Log(logging.Handler):
        def emit(self, record) -> None:
            kept.append(record.getMessage() + repr(record.exc_info))

    kept: list[str] = []
    handler = Log()
    logging.getLogger().addHandler(handler)

    async def observe(_record):
        raise ValueError(canary)

    scripts = {
        "guide": Script(
            Progress("look"), Checkpoint({"text": canary}), says(f"{canary} is far."), InputRequested("q", "t")
        ),
        "fails": Script(AssistantOutput("a", canary), ValueError(canary)),
        "odd": Script(says(canary), AssistantOutput("b", canary, purpose=canary)),
        "slow": Script(3600),
        "deaf": Deaf(5),
    }
    try:
        with structlog.testing.capture_logs() as logs:
            for hooks in (Hooks(), Hooks(observe=observe)):
                async with room(**scripts, hooks=hooks, deadline_ms=2000) as r:
                    for number, agent in enumerate(scripts):
                        await r.answer(r.ask(f"{canary} {number}", agents=(agent,), channel=agent))
                    r.voice.fails = ValueError(canary)
                    await r.answer(r.ask(canary, channel="guide"))
                    await asyncio.sleep(60)
                    told = repr((r.lifecycle, r.voice.told))
                    kept.append(told)
                    stored = repr(await r.store.load_transcript("hall"))
    finally:
        logging.getLogger().removeHandler(handler)

    assert canary in stored
    assert logs
    assert canary not in repr((logs, kept))
