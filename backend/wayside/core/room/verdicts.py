"""Decides what became of each narration that an acting mind wanted: exactly one verdict, folded from facts.

Knows ids and outcomes only, never what was said. A fact can only raise a verdict, so facts may come twice and in any
order. The newest narrations are kept one by one, older ones as counts; facts about those come too late.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, assert_never

from wayside.core.room.experience import SuppressionReason

KEPT = 256


class Verdict(StrEnum):
    """What became of a wanted narration, from the weakest evidence to the strongest."""

    NO_ATTEMPT = "no_attempt"  # wanted, and never looked at
    ATTEMPTED_NO_RECEIPT = "attempted_no_receipt"  # asked for, and nobody said what came of it
    MODEL_SILENT = "model_silent"  # the persona chose to say nothing
    UNSPOKEN = "unspoken"  # there were words, and they were never heard
    FAILED = "failed"
    REFUSED = "refused"
    SUPPRESSED = "suppressed"
    PLAYED = "played"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A narration is wanted; its id is new."""

    delivery_id: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The seam did not take it; `code` is the refusal's."""

    delivery_id: str
    code: str


@dataclass(frozen=True, slots=True)
class Suppressed:
    """It was taken, and held back."""

    delivery_id: str
    reason: SuppressionReason


@dataclass(frozen=True, slots=True)
class Requested:
    """The persona was asked for words."""

    delivery_id: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The persona's response has ended."""

    delivery_id: str
    outcome: Literal["words", "silent", "failed"]


@dataclass(frozen=True, slots=True)
class Heard:
    """Sound of it has reached the room."""

    delivery_id: str


Fact = Wanted | Refused | Suppressed | Requested | Answered | Heard


@dataclass(frozen=True, slots=True)
class Audit:
    """Verdicts of the newest narrations, oldest first, and how many older ones ended in which."""

    recent: tuple[tuple[str, Verdict], ...] = ()
    older: tuple[tuple[Verdict, int], ...] = ()


def note(audit: Audit, fact: Fact) -> Audit:
    """Take one fact. A fact about a narration that nobody wanted, or that is no longer kept, changes nothing."""
    held = dict(audit.recent)
    if isinstance(fact, Wanted):
        if fact.delivery_id in held:
            return audit
        return _trimmed(replace(audit, recent=(*audit.recent, (fact.delivery_id, Verdict.NO_ATTEMPT))))
    if fact.delivery_id not in held:
        return audit
    held[fact.delivery_id] = max(held[fact.delivery_id], _evidence(fact), key=_ORDER.index)
    return replace(audit, recent=tuple(held.items()))


def verdict(audit: Audit, delivery_id: str) -> Verdict | None:
    """What became of this narration so far; None when it was never wanted or is no longer kept."""
    return dict(audit.recent).get(delivery_id)


def totals(audit: Audit) -> dict[Verdict, int]:
    """How many narrations ended how, of all that were ever wanted; every verdict is named."""
    older = dict(audit.older)
    kept = [entry[1] for entry in audit.recent]
    return {each: older.get(each, 0) + kept.count(each) for each in _ORDER}


def _evidence(fact: Refused | Suppressed | Requested | Answered | Heard) -> Verdict:
    match fact:
        case Refused():
            return Verdict.REFUSED
        case Suppressed():
            return Verdict.SUPPRESSED
        case Requested():
            return Verdict.ATTEMPTED_NO_RECEIPT
        case Answered(outcome=outcome):
            return _ANSWERS[outcome]
        case Heard():
            return Verdict.PLAYED
        case _:
            assert_never(fact)


def _trimmed(audit: Audit) -> Audit:
    gone, kept = audit.recent[:-KEPT], audit.recent[-KEPT:]
    older = dict(audit.older)
    for _, settled in gone:
        older[settled] = older.get(settled, 0) + 1
    return Audit(kept, tuple(older.items()))


_ORDER = tuple(Verdict)
_ANSWERS = {"words": Verdict.UNSPOKEN, "silent": Verdict.MODEL_SILENT, "failed": Verdict.FAILED}
