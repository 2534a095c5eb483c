"""Audience votes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.room.votes import Ballot, VoteResult, resolve_room_vote

OPTIONS = ("amphora", "kylix", "krater")
VOTERS = ("ana", "ben", "caro", "dai", "eva")

honest = st.dictionaries(st.sampled_from(VOTERS), st.sampled_from(OPTIONS)).map(
    lambda cast: [Ballot(who, option) for who, option in cast.items()]
)
any_ballots = st.lists(
    st.builds(Ballot, st.sampled_from([*VOTERS, "stranger"]), st.sampled_from([*OPTIONS, "vase"])), max_size=6
)


def _outcome(ballots: list[Ballot]) -> VoteResult | str:
    try:
        return resolve_room_vote(OPTIONS, VOTERS, ballots, OPTIONS)
    except WaysideError as refusal:
        return refusal.code


def test_most_votes_win() -> None:
    """V1. A tally of eligible ballots."""
    ballots = [Ballot("ana", "kylix"), Ballot("ben", "kylix"), Ballot("caro", "amphora")]

    expected = VoteResult("kylix", (("amphora", 1), ("kylix", 2), ("krater", 0)))

    assert expected == resolve_room_vote(OPTIONS, VOTERS, ballots, OPTIONS)


def test_the_tie_order_decides_among_equals_only() -> None:
    """V1. The tie order is explicit."""
    ballots = [Ballot("ana", "amphora"), Ballot("ben", "krater")]

    result = resolve_room_vote(OPTIONS, VOTERS, ballots, ("kylix", "krater", "amphora"))

    assert ("krater", ("krater", "amphora")) == (result.winner, result.tied)


def test_nobody_voting_has_no_winner() -> None:
    """V1. A tie order breaks ties between votes; it does not vote."""
    assert resolve_room_vote(OPTIONS, VOTERS, [], OPTIONS).winner is None


@given(honest, st.randoms(), st.permutations(OPTIONS))
def test_the_order_of_ballots_options_and_voters_changes_nothing(ballots, random, options) -> None:
    """V1. The tally is independent of order."""
    shuffled = random.sample(ballots, len(ballots))

    expected = resolve_room_vote(OPTIONS, VOTERS, ballots, OPTIONS)

    assert expected == resolve_room_vote(options, VOTERS[::-1], shuffled, OPTIONS)
    assert len(ballots) == sum(votes for _option, votes in expected.tally)


@given(any_ballots, st.randoms())
def test_a_refusal_is_independent_of_order_too(ballots, random) -> None:
    """V1, V2. Bad ballots are refused with the same code in any order."""
    assert _outcome(ballots) == _outcome(random.sample(ballots, len(ballots)))


@pytest.mark.parametrize(
    ("code", "ballots"),
    [
        ("room.vote_ineligible", [Ballot("stranger", "kylix")]),
        ("room.vote_duplicate", [Ballot("ana", "kylix"), Ballot("ana", "kylix")]),
        ("room.vote_duplicate", [Ballot("ana", "kylix"), Ballot("ana", "krater")]),
        ("room.vote_unknown_option", [Ballot("ana", "vase")]),
    ],
)
def test_a_bad_ballot_is_refused(code: str, ballots: list[Ballot]) -> None:
    """V2. Ineligible, duplicate and unknown option are refused."""
    assert code == _outcome(ballots)


@pytest.mark.parametrize(
    "tie_order",
    [(), ("amphora", "kylix"), (*OPTIONS, "kylix"), ("amphora", "kylix", "vase"), ("kylix", "kylix", "krater")],
)
def test_a_tie_order_names_each_option_exactly_once(tie_order: tuple[str, ...]) -> None:
    """V3. Any other tie order is refused before a ballot is read."""
    with pytest.raises(WaysideError) as refusal:
        resolve_room_vote(OPTIONS, VOTERS, [Ballot("stranger", "kylix")], tie_order)

    assert refusal.value.code == "room.vote_tie_order"


def test_an_option_is_up_once() -> None:
    """V3. Options that can not be told apart are no options, and neither are none."""
    for options in (("kylix", "kylix"), ()):
        with pytest.raises(WaysideError) as refusal:
            resolve_room_vote(options, VOTERS, [], options)

        assert refusal.value.code == "room.vote_tie_order"


def test_a_result_is_plain_data_for_an_event() -> None:
    """V1. What an agent may narrate."""
    result = resolve_room_vote(OPTIONS, VOTERS, [Ballot("ana", "kylix")], OPTIONS)

    assert {"winner": "kylix", "tally": {"amphora": 0, "kylix": 1, "krater": 0}, "tied": []} == result.as_json()
