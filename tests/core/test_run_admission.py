"""What one final input does: a duplicate, a fresh run, a continuation, or a cancellation first (RFC-022 §6)."""

from dataclasses import replace
from typing import Any

import pytest
from run_examples import BEN, a_record, an_input, disclosed
from wayside.core.errors import WaysideError
from wayside.core.room.agents import Participant
from wayside.core.room.disclosure import ROOM, Disclosure
from wayside.core.runs.admission import SUPERSEDED, Admit, CancelFirst, Duplicate, Known, Situation, decide
from wayside.core.runs.events import Checkpoint, Completed, InputRequested, RunCanceled, RunEvent, RunFailed
from wayside.core.runs.record import RunRecord, RunStatus, apply
from wayside.core.runs.request import (
    ContinuationRef,
    InputPolicy,
    RunRequest,
    Supersession,
    checked,
    request_fingerprint,
)

ASKED = InputRequested("which", "token")
NOW = 100_000
NEW = an_input("i2", "and when")


def decided(
    request: RunRequest,
    *,
    known: Known | None = None,
    open_run: RunRecord | None = None,
    named: RunRecord | None = None,
    visibility: Disclosure = ROOM,
    agent: str = "guide",
) -> Duplicate | CancelFirst | Admit:
    return decide(
        request,
        Situation(known, open_run, named),
        room="kiosk",
        agent=agent,
        visibility=visibility,
        new_run_id="r2",
        budget_ms=8_000,
        now_ms=NOW,
    )


def refused(request: RunRequest, **situation: Any) -> str:
    with pytest.raises(WaysideError) as refusal:
        decided(request, **situation)
    return refusal.value.code


def waiting(**changes: Any) -> RunRecord:
    return apply(apply(a_record(**changes), Checkpoint({"at": 1})), ASKED)


def over(event: RunEvent, **changes: Any) -> RunRecord:
    return apply(a_record(**changes), event)


REPLACE = InputPolicy()


def superseding(policy: InputPolicy = REPLACE, checkpoint: Any = None, run_id: str = "r1") -> RunRequest:
    return RunRequest(NEW, supersession=Supersession(run_id, checkpoint, policy))


def test_a_fresh_input_begins_a_run() -> None:
    """D1. Its own attempt, root input and deadline (RFC-022 §4, §7)."""
    assert Admit(
        a_record("r2", root_input_id="i2", input=NEW, budget_ms=8_000, deadline_ms=NOW + 8_000),
        request_fingerprint(RunRequest(NEW)),
    ) == decided(RunRequest(NEW))


def test_a_deadline_of_its_own_overrides_the_default() -> None:
    """D11. A per-input override (RFC-022 §7)."""
    admit = decided(RunRequest(NEW, deadline_ms=500))

    assert isinstance(admit, Admit)
    assert (500, NOW + 500) == (admit.record.budget_ms, admit.record.deadline_ms)


@pytest.mark.parametrize(("given", "bound", "run"), [("room", "ab", "ab"), ("ab", "bc", "b"), ("a", "room", "a")])
def test_nobody_sees_a_run_who_may_not_see_its_agent(given: str, bound: str, run: str) -> None:
    admit = decided(
        RunRequest(replace(NEW, disclosure=disclosed(given))),
        visibility=disclosed(bound),
    )

    assert isinstance(admit, Admit)
    assert disclosed(run) == admit.record.disclosure


def test_an_exact_retry_is_a_duplicate_whatever_is_open() -> None:
    """D16, D18. The admitted run answers (RFC-022 §4, §6)."""
    request = superseding()
    known = Known(request_fingerprint(request), "r9")

    assert Duplicate("r9") == decided(request, known=known, open_run=a_record("r9"), named=a_record())
    assert Duplicate("r9") == decided(request, known=known)


def test_a_retry_for_another_agent_is_no_duplicate() -> None:
    """One input id serves every agent it is addressed to."""
    request = RunRequest(NEW, agents=("guide", "potter"))

    assert isinstance(decided(request, known=Known(request_fingerprint(request))), Admit)


@pytest.mark.parametrize(
    "changed",
    [
        RunRequest(replace(NEW, text="and who")),
        RunRequest(replace(NEW, source=BEN)),
        RunRequest(replace(NEW, disclosure=disclosed("a"))),
        RunRequest(replace(NEW, language="es")),
        RunRequest(replace(NEW, data={"touched": True})),
        RunRequest(replace(NEW, participant=Participant("ann"))),
        RunRequest(NEW, agents=("potter",)),
        RunRequest(NEW, deadline_ms=1),
        RunRequest(NEW, continuation=ContinuationRef("r1", "token")),
        superseding(),
        superseding(checkpoint={"seed": 1}),
        superseding(InputPolicy("append")),
        superseding(InputPolicy("append", 10)),
    ],
)
def test_a_changed_retry_is_refused(changed: RunRequest) -> None:
    """D16. A retry must reproduce everything exactly, disclosure included (RFC-022 §4, §9.11)."""
    first = Known(request_fingerprint(RunRequest(NEW)), "r1")

    assert "run.input_mismatch" == refused(changed, known=first)
    assert "run.input_mismatch" == refused(changed, known=replace(first, run_id=None))


def test_the_next_input_of_the_same_speaker_answers_the_question() -> None:
    """D2. Without any token (RFC-022 §6)."""
    admit = decided(RunRequest(NEW), open_run=waiting())

    assert isinstance(admit, Admit)
    assert admit.continued
    assert admit.record == replace(
        waiting(), input=NEW, status=RunStatus.ACTIVE, attempt=2, waiting=None, deadline_ms=NOW + 10_000
    )


def test_a_continuation_may_bring_a_deadline_of_its_own() -> None:
    """D2. The override is per input, a continuing one included (RFC-022 §7)."""
    admit = decided(RunRequest(NEW, deadline_ms=700), open_run=waiting())

    assert isinstance(admit, Admit)
    assert NOW + 700 == admit.record.deadline_ms


def test_an_echoed_token_continues_its_run() -> None:
    """D2."""
    admit = decided(RunRequest(NEW, continuation=ContinuationRef("r1", "token")), open_run=waiting())

    assert isinstance(admit, Admit)
    assert admit.continued and admit.record.attempt == 2


@pytest.mark.parametrize(
    ("request_", "open_run"),
    [
        (RunRequest(NEW, continuation=ContinuationRef("r1", "other")), waiting()),
        (RunRequest(NEW, continuation=ContinuationRef("r1", "which")), waiting()),
        (RunRequest(NEW, continuation=ContinuationRef("r7", "token")), waiting()),
        (RunRequest(replace(NEW, source=BEN), continuation=ContinuationRef("r1", "token")), waiting()),
        (RunRequest(NEW, continuation=ContinuationRef("r1", "token")), a_record()),
        (RunRequest(NEW, continuation=ContinuationRef("r1", "token")), None),
    ],
    ids=["token", "request id", "run", "speaker", "active", "nothing open"],
)
def test_a_continuation_that_does_not_fit_is_refused(request_: RunRequest, open_run: RunRecord | None) -> None:
    """D3. Run, token and speaker, before anything is admitted (RFC-022 §6, §9.9)."""
    assert "run.continuation_mismatch" == refused(request_, open_run=open_run)


@pytest.mark.parametrize(("before", "answer", "after"), [("ab", "room", "ab"), ("ab", "bc", "b")])
def test_a_continuation_exposes_nothing_private(before: str, answer: str, after: str) -> None:
    """D3. Wider disclosure continues, but the run stays narrow (RFC-022 §9.11)."""
    admit = decided(
        RunRequest(replace(NEW, disclosure=disclosed(answer))), open_run=waiting(disclosure=disclosed(before))
    )

    assert isinstance(admit, Admit)
    assert disclosed(after) == admit.record.disclosure


def test_an_ordinary_turn_replaces_what_is_active() -> None:
    """D20. Durably cancelled first, then asked again (RFC-022 §6)."""
    assert CancelFirst("r1", SUPERSEDED) == decided(RunRequest(NEW), open_run=a_record())


def test_somebody_else_does_not_answer_the_question() -> None:
    """D3. Another speaker's words never enter the waiting run."""
    assert CancelFirst("r1") == decided(RunRequest(replace(NEW, source=BEN)), open_run=waiting())


def test_the_named_active_run_is_cancelled_first() -> None:
    """D17, D22. Cancellation commits before the replacement is admitted (RFC-022 §6)."""
    assert CancelFirst("r1", "superseded_by_new_input") == decided(superseding(), open_run=a_record(), named=a_record())


def test_after_the_cancellation_the_replacement_carries_the_seed() -> None:
    """D17, D22. Also when the process died in between (RFC-022 §6)."""
    admit = decided(superseding(checkpoint={"stage": "threshold"}), named=over(RunCanceled(SUPERSEDED)))

    assert isinstance(admit, Admit)
    assert not admit.continued
    assert admit.record == a_record(
        "r2",
        root_input_id="i2",
        input=NEW,
        budget_ms=8_000,
        deadline_ms=NOW + 8_000,
        checkpoint={"stage": "threshold"},
    )


def test_the_seed_is_copied() -> None:
    """D22. What the host changes afterwards changes nothing here (RFC-022 §6)."""
    seed = {"observations": [1]}
    admit = decided(superseding(checkpoint=seed), named=over(RunCanceled(SUPERSEDED)))
    seed["observations"].append(2)

    assert isinstance(admit, Admit)
    assert admit.record.checkpoint == {"observations": [1]}


@pytest.mark.parametrize(
    "named",
    [
        over(Completed()),
        over(RunFailed("superseded_by_new_input")),
        over(RunCanceled("visitor")),
        over(RunCanceled("superseded_by_new_input ")),
        over(RunCanceled("")),
    ],
)
def test_no_other_end_is_a_crash_boundary(named: RunRecord) -> None:
    """D17. Exactly a cancellation with exactly that reason (RFC-022 §6)."""
    assert "run.supersession_mismatch" == refused(superseding(), named=named)


@pytest.mark.parametrize("end", [None, RunCanceled(SUPERSEDED)])
@pytest.mark.parametrize("place", [{"room": "other"}, {"channel": "other"}, {"agent": "other"}])
def test_a_run_of_another_place_is_not_replaced(place: dict[str, str], end: RunEvent | None) -> None:
    """D10, D22. Same room, channel and agent (RFC-022 §6, §9.12)."""
    named = a_record(**place) if end is None else over(end, **place)

    assert "run.supersession_mismatch" == refused(superseding(), named=named)
    assert "run.supersession_mismatch" == refused(superseding(), named=named, open_run=a_record("r3"))


@pytest.mark.parametrize("named", [None, over(RunCanceled(SUPERSEDED)), over(Completed())])
@pytest.mark.parametrize("open_run", [a_record("r3"), waiting(id="r3")])
def test_only_the_current_open_run_is_replaced(named: RunRecord | None, open_run: RunRecord) -> None:
    """D22. Unknown, or not the one that is open: nothing is cancelled (RFC-022 §6)."""
    assert "run.supersession_mismatch" == refused(superseding(), named=named, open_run=open_run)


def test_an_unknown_run_is_not_replaced() -> None:
    assert "run.supersession_mismatch" == refused(superseding(run_id="r7"))


def test_a_question_that_won_the_race_is_answered() -> None:
    """D23. Its own checkpoint stays; seed and append are ignored (RFC-022 §6, §9.13)."""
    admit = decided(
        superseding(InputPolicy("append", 5), checkpoint={"seed": True}), open_run=waiting(), named=waiting()
    )

    assert isinstance(admit, Admit)
    assert admit.continued
    assert (admit.record.id, admit.record.attempt) == ("r1", 2)
    assert (admit.record.checkpoint, admit.record.input, admit.record.appended_to) == ({"at": 1}, NEW, "")


def test_a_question_that_won_the_race_is_not_answered_by_somebody_else() -> None:
    """D3, D23."""
    request = RunRequest(replace(NEW, source=BEN), supersession=Supersession("r1"))

    assert "run.supersession_mismatch" == refused(request, open_run=waiting(), named=waiting())


def test_append_joins_the_inputs() -> None:
    """D24. Merged once, before admission; the root is the new input (RFC-022 §6)."""
    admit = decided(superseding(InputPolicy("append")), named=over(RunCanceled(SUPERSEDED)))

    assert isinstance(admit, Admit)
    assert admit.record.input == replace(NEW, text="who made it and when")
    assert (admit.record.root_input_id, admit.record.appended_to) == ("i2", "r1")


def test_append_keeps_to_its_bound_and_a_retry_reproduces_it() -> None:
    """D24. From the run's latest input, a continuation's for example (RFC-022 §6)."""
    named = over(RunCanceled(SUPERSEDED), input=an_input("i9", "the red one"))
    request = superseding(InputPolicy("append", 16))
    first = decided(request, named=named)

    assert isinstance(first, Admit)
    assert first.record.input.text == "… d one and when"
    assert first == decided(request, named=named)


def test_replace_takes_the_new_words_as_they_are() -> None:
    """D24. The default policy joins nothing (RFC-022 §6)."""
    admit = decided(
        RunRequest(replace(NEW, text="  and  when "), supersession=Supersession("r1")),
        named=over(RunCanceled(SUPERSEDED)),
    )

    assert isinstance(admit, Admit)
    assert (admit.record.input.text, admit.record.appended_to) == ("  and  when ", "")


def test_words_that_were_private_stay_private_when_they_are_continued() -> None:
    """D24. Append carries the predecessor's words, so its disclosure goes with them (RFC-021 §6, RFC-022 §9.11)."""
    admit = decided(superseding(InputPolicy("append")), named=over(RunCanceled(SUPERSEDED), disclosure=disclosed("ab")))

    assert isinstance(admit, Admit)
    assert disclosed("ab") == admit.record.disclosure == admit.record.input.disclosure


def test_replacing_a_private_run_does_not_narrow_the_new_one() -> None:
    admit = decided(superseding(), named=over(RunCanceled(SUPERSEDED), disclosure=disclosed("ab")))

    assert isinstance(admit, Admit)
    assert ROOM == admit.record.disclosure


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (
            RunRequest(NEW, continuation=ContinuationRef("r1", "t"), supersession=Supersession("r1")),
            "run.supersession_and_continuation",
        ),
        (superseding(checkpoint={"f": float("nan")}), "run.checkpoint_malformed"),
        (superseding(checkpoint={1: 2}), "run.checkpoint_malformed"),
        (superseding(checkpoint=[object()]), "run.checkpoint_malformed"),
        (superseding(InputPolicy("append", 0)), "run.merge_bound"),
        (superseding(InputPolicy("append", True)), "run.merge_bound"),
        (superseding(InputPolicy("append", 2.5)), "run.merge_bound"),  # type: ignore[arg-type]
        (RunRequest(replace(NEW, disclosure=None)), "room.disclosure_missing"),  # type: ignore[arg-type]
        (RunRequest(replace(NEW, data={"x": object()})), "json.not_plain"),  # type: ignore[dict-item]
        (RunRequest(replace(NEW, text="\ud800")), "run.input_malformed"),
        (RunRequest(replace(NEW, id="\udfff")), "run.input_malformed"),
        (RunRequest(replace(NEW, data={"x": ["\ud83d"]})), "run.input_malformed"),
        (superseding(checkpoint=["\udc00"]), "run.input_malformed"),
    ],
)
def test_what_can_never_be_admitted_is_refused_first(request_: RunRequest, code: str) -> None:
    """D22, D25. Before anything is looked up or cancelled (RFC-022 §6)."""
    with pytest.raises(WaysideError) as refusal:
        checked(request_)

    assert code == refusal.value.code


@pytest.mark.parametrize(
    "request_",
    [
        RunRequest(NEW),
        RunRequest(replace(NEW, text="¿Quién? 😀", data={"a": [1, None]})),
        superseding(InputPolicy("append", 1), checkpoint={"a": [1, 2.5, None]}),
        RunRequest(NEW, continuation=ContinuationRef("r1", "t")),
    ],
)
def test_what_can_be_admitted_is_not_changed(request_: RunRequest) -> None:
    assert request_ is checked(request_)
