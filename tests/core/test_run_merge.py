"""Fragments of one question, joined (RFC-022 §6, append mode)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.runs.merge import merge_room_agent_input_fragments as merge

words = st.lists(st.sampled_from(["who", "made", "it", "the", "a", "…", "cup"]), max_size=6).map(" ".join)
texts = words | st.text(max_size=20)
bounds = st.none() | st.integers(1, 30)


@pytest.mark.parametrize(
    ("previous", "latest", "merged"),
    [
        ("  who \n made\tit ", " and  when ", "who made it and when"),
        ("who made it", "who made it", "who made it"),
        ("who made", "who made it", "who made it"),
        ("who made it", "made it", "who made it"),
        ("who  made it", " who made it when", "who made it when"),
        ("", "who made it", "who made it"),
        ("who made it", "   ", "who made it"),
        ("", "", ""),
        ("made it", "who made it", "made it who made it"),
        ("Who made it", "who made it when", "Who made it who made it when"),
        ("a b a", "a b", "a b a a b"),
    ],
)
def test_fragments_are_joined_and_restatements_said_once(previous: str, latest: str, merged: str) -> None:
    """D24. Trimmed, white space collapsed, restatements said once, otherwise one after the other (RFC-022 §6)."""
    assert merged == merge(previous, latest)


@pytest.mark.parametrize(
    ("bound", "merged"),
    [
        (21, "… l me of the big cup"),
        (22, "tell me of the big cup"),
        (None, "tell me of the big cup"),
        (12, "… he big cup"),
        (11, "… e big cup"),
        (10, "big cup"),
        (8, "big cup"),
        (7, "big cup"),
        (3, "cup"),
        (1, "p"),
    ],
)
def test_the_predecessor_is_shortened_first(bound: int | None, merged: str) -> None:
    """D24. A bound costs the predecessor its front, marked, and the newest fragment only then (RFC-022 §6)."""
    assert merged == merge("tell me of the", "big cup", bound)


def test_a_predecessor_that_ends_with_the_newest_words_is_marked_too() -> None:
    """D24. It is the predecessor that is shortened, whichever rule joined them."""
    assert "… big red cup" == merge("tell me about the big red cup", "red cup", 14)


def test_a_cut_that_leaves_only_the_newest_fragment_is_not_marked() -> None:
    assert "red cup" == merge("tell me about the red cup", "red cup", 9)


def test_a_newest_fragment_over_the_bound_keeps_its_end() -> None:
    assert "it then" == merge("who", "was it then", 7)


@pytest.mark.parametrize("bound", [0, -1, True, False, 2.5, "9", float("nan")])
def test_a_bound_that_is_no_positive_whole_number_is_refused(bound: object) -> None:
    """D24. `maxLength` is an optional positive integer (RFC-022 §6)."""
    with pytest.raises(WaysideError) as refusal:
        merge("a", "b", bound)  # type: ignore[arg-type]

    assert refusal.value.code == "run.merge_bound"


@given(texts, texts, bounds)
@example("a b", "b", 1)
@example("credit", "it", 5)
@example("…", "… a", 3)
def test_an_exact_retry_changes_nothing(previous: str, latest: str, bound: int | None) -> None:
    """D24. A retry reproduces the merge (RFC-022 §6)."""
    once = merge(previous, latest, bound)

    assert once == merge(once, latest, bound)


@given(texts, texts, st.integers(1, 30))
@example("abc", "", 1)
@example("a b", "b", 3)
def test_the_bound_holds(previous: str, latest: str, bound: int) -> None:
    assert len(merge(previous, latest, bound)) <= bound


@given(texts, texts, bounds)
def test_the_newest_fragment_is_kept(previous: str, latest: str, bound: int | None) -> None:
    """D24. As much of its end as the bound has room for (RFC-022 §6)."""
    newest = " ".join(latest.split())
    kept = newest if bound is None else newest[-bound:].lstrip()

    assert merge(previous, latest, bound).endswith(kept)


@given(texts, texts)
def test_without_a_bound_nothing_is_lost(previous: str, latest: str) -> None:
    merged = merge(previous, latest)

    assert merged.startswith(" ".join(previous.split()))
    assert merged == " ".join(merged.split())
