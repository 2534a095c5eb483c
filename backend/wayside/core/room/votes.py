"""Decides an audience vote: a tally of eligible ballots and an explicit tie-break. It grants no authority (RFC-021 §5).

The same ballots give the same result, or the same refusal, in whatever order they come.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from wayside.core.plain_json import Json
from wayside.core.room.refusals import refuse


@dataclass(frozen=True, slots=True)
class Ballot:
    """One participant's choice."""

    participant: str
    option: str


@dataclass(frozen=True, slots=True)
class VoteResult:
    """`winner` is None when nobody voted. `tally` has every option with its votes, in tie order."""

    winner: str | None
    tally: tuple[tuple[str, int], ...]
    tied: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """The data of a result event."""
        return {"winner": self.winner, "tally": dict(self.tally), "tied": list(self.tied)}


def resolve_room_vote(
    options: Sequence[str], eligible: Collection[str], ballots: Iterable[Ballot], tie_order: Sequence[str]
) -> VoteResult:
    """Tally `ballots`; among equals the first in `tie_order` wins, and `tied` names them.

    Refuses `room.vote_tie_order`, `room.vote_ineligible`, `room.vote_duplicate`, `room.vote_unknown_option`, in this
    order.
    """
    if not options or len(set(options)) != len(options) or sorted(options) != sorted(tie_order):
        raise refuse("room.vote_tie_order")
    cast = list(ballots)
    voters = Counter(ballot.participant for ballot in cast)
    if not voters.keys() <= set(eligible):
        raise refuse("room.vote_ineligible")
    if any(count > 1 for count in voters.values()):
        raise refuse("room.vote_duplicate")
    votes = Counter(ballot.option for ballot in cast)
    if not votes.keys() <= set(options):
        raise refuse("room.vote_unknown_option")
    tally = tuple((option, votes[option]) for option in tie_order)
    if not cast:
        return VoteResult(None, tally)
    most = max(votes.values())
    first = tuple(option for option, count in tally if count == most)
    return VoteResult(first[0], tally, first if len(first) > 1 else ())
