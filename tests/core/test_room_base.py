"""Disclosure, plain JSON and refusals: what everything in a room leans on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.plain_json import canonical, fingerprint, plain
from wayside.core.room.disclosure import NOBODY, ROOM, Disclosure, among, disclosure_from_json
from wayside.core.room.refusals import REFUSALS, refuse

disclosures = st.one_of(st.just(ROOM), st.builds(among, st.frozensets(st.sampled_from("abcd"))))


@given(disclosures, disclosures)
def test_an_intersection_only_narrows(a: Disclosure, b: Disclosure) -> None:
    """RFC-021 §10.12: derived disclosure can only narrow."""
    both = a.intersect(b)

    assert a.covers(both)
    assert b.covers(both)
    assert both == b.intersect(a)


@given(disclosures, disclosures, st.sampled_from("abcd"))
def test_a_participant_sees_what_both_disclosures_let_them_see(a: Disclosure, b: Disclosure, who: str) -> None:
    assert (a.includes(who) and b.includes(who)) == a.intersect(b).includes(who)


@given(disclosures)
def test_a_disclosure_survives_being_written_down(a: Disclosure) -> None:
    assert a == disclosure_from_json(a.as_json())


@pytest.mark.parametrize("value", ["everyone", 3, None, ["a", 1], {"room": True}])
def test_a_malformed_disclosure_is_refused(value: object) -> None:
    with pytest.raises(WaysideError, match="disclosure") as refusal:
        disclosure_from_json(value)  # type: ignore[arg-type]

    assert refusal.value.code == "room.disclosure_malformed"


def test_the_room_with_a_list_is_refused() -> None:
    with pytest.raises(WaysideError):
        Disclosure(room=True, participants=frozenset({"a"}))


def test_agents_only_shows_nobody_anything() -> None:
    assert not NOBODY.includes("visitor")
    assert ROOM.covers(NOBODY)


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, {"a": {1, 2}}, object(), b"x"])
def test_what_json_can_not_carry_is_refused(value: object) -> None:
    with pytest.raises(WaysideError) as refusal:
        plain(value)

    assert refusal.value.code == "json.not_plain"


def test_too_deep_a_value_is_refused() -> None:
    value: object = 1
    for _ in range(40):
        value = [value]

    with pytest.raises(WaysideError):
        plain(value)


def test_a_plain_copy_shares_nothing() -> None:
    inner = [1]
    value = {"a": inner}
    copy = plain(value)
    inner.append(2)

    assert copy == {"a": [1]}


def test_fingerprints_do_not_depend_on_order() -> None:
    assert fingerprint({"a": 1, "b": [True, None]}) == fingerprint({"b": (True, None), "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})
    assert canonical({"b": 1, "a": "ñ"}) == '{"a":"ñ","b":1}'


@pytest.mark.parametrize("code", sorted(REFUSALS))
def test_every_refusal_says_something(code: str) -> None:
    error = refuse(code)

    assert error.code == code
    assert error.message.endswith(".")
