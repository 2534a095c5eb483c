"""The audit of narrations: one verdict for each that was wanted, whatever is known of it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.room.verdicts import (
    KEPT,
    Answered,
    Audit,
    Fact,
    Heard,
    Refused,
    Requested,
    Suppressed,
    Verdict,
    Wanted,
    note,
    totals,
    verdict,
)

FACTS: list[Fact] = [
    Refused("d", "experience.not_in_room"),
    Suppressed("d", "playing"),
    Requested("d"),
    Answered("d", "words"),
    Answered("d", "silent"),
    Answered("d", "failed"),
    Heard("d"),
]


def fold(*facts: Fact) -> Audit:
    audit = Audit()
    for fact in facts:
        audit = note(audit, fact)
    return audit


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([], "no_attempt"),
        ([Refused("d", "experience.not_in_room")], "refused"),
        ([Suppressed("d", "rate_limited")], "suppressed"),
        ([Requested("d")], "attempted_no_receipt"),
        ([Requested("d"), Answered("d", "silent")], "model_silent"),
        ([Requested("d"), Answered("d", "words")], "unspoken"),
        ([Requested("d"), Answered("d", "failed")], "failed"),
        ([Requested("d"), Heard("d")], "played"),
        ([Requested("d"), Heard("d"), Answered("d", "failed")], "played"),
        ([Requested("d"), Answered("d", "words"), Answered("d", "failed")], "failed"),
    ],
)
def test_facts_give_one_verdict(facts: list[Fact], expected: str) -> None:
    """N7. Each verdict has facts of its own; what was heard was played, whatever happened after it."""
    assert verdict(fold(Wanted("d"), *facts), "d") == expected


@given(st.lists(st.sampled_from(FACTS)), st.randoms(use_true_random=False))
def test_facts_may_come_twice_and_in_any_order(facts: list[Fact], random) -> None:
    """N7. A receipt that is late or repeated changes no verdict that stronger evidence gave."""
    shuffled = facts * 2
    random.shuffle(shuffled)

    assert fold(Wanted("d"), *facts) == fold(Wanted("d"), *shuffled)


@pytest.mark.parametrize("fact", FACTS)
def test_what_nobody_wanted_gets_no_verdict(fact: Fact) -> None:
    """N3. A fact alone makes no narration."""
    assert Audit() == fold(fact)


@given(st.lists(st.tuples(st.integers(0, KEPT + 40), st.sampled_from([Wanted, Requested, Heard])), max_size=60))
def test_every_wanted_narration_has_exactly_one_verdict(more: list[tuple[int, type[Fact]]]) -> None:
    """N7. However many there were, the verdicts add up to them, and only so many are kept one by one."""
    wanted = [Wanted(f"d{n}") for n in range(KEPT + 20)]
    fresh = [kind(f"d{n}") for n, kind in more if kind is not Wanted or 20 <= n < KEPT + 20]
    audit = fold(*wanted, *fresh)

    assert sum(totals(audit).values()) == KEPT + 20
    assert len(audit.recent) == KEPT
    assert set(totals(audit)) == set(Verdict)


def test_a_verdict_stays_counted_after_its_narration_is_forgotten() -> None:
    """N7. Forgetting one by one loses no count, and facts that come after it change none."""
    facts: list[Fact] = []
    for n in range(3):
        facts += [Wanted(f"old{n}"), Suppressed(f"old{n}", "playing")]
    audit = fold(*facts, *(Wanted(f"d{n}") for n in range(KEPT)), Heard("old1"))

    assert verdict(audit, "old1") is None
    assert Counter({Verdict.SUPPRESSED: 3, Verdict.NO_ATTEMPT: KEPT}) == +Counter(totals(audit))
