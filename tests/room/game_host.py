"""A small deterministic host of a sherd-placing game, for tests: two players, a referee and a crowd share one table.

It decides what becomes of a proposal. Registrations, roles, votes and services mean nothing to it (RFC-021 §10.2-6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from wayside.core.plain_json import Json, canonical, fingerprint
from wayside.core.room.agents import ActionProposal, GameAgentManifest, ManifestSection

GAME_ID = "sherd-table"
VERSION = "1"
PLAYERS = ("south", "east")
SEATS = (*PLAYERS, "referee", "crowd")
# Which sherd belongs where; hidden from everybody until it lies there or the referee scores.
PLAN = {"rim": "top", "shoulder": "upper", "belly": "middle", "foot": "bottom"}
HANDS = {"south": ("rim", "belly"), "east": ("shoulder", "foot")}

MANIFEST = GameAgentManifest(
    GAME_ID,
    VERSION,
    (ManifestSection("turn", "A turn", "On your turn, place one sherd of yours in a free cell."),),
    (ManifestSection("score", "Scoring", "The referee scores when all sherds lie.", ("score",)),),
    glossary={"sherd": "A broken piece of a pot."},
)

Refusal = Literal[
    "not_seated",
    "not_participating",
    "stale_epoch",
    "unknown_command",
    "malformed",
    "wrong_seat",
    "not_your_turn",
    "illegal",
    "operation_mismatch",
]


@dataclass(frozen=True, slots=True)
class Table:
    """The whole state; only the host sees it."""

    placed: Mapping[str, str] = field(default_factory=dict)  # cell -> sherd
    turn: int = 0
    hint: str | None = None
    scores: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, Json]:
        scores: Json = None if self.scores is None else dict(self.scores)
        return {"placed": dict(self.placed), "turn": self.turn, "hint": self.hint, "scores": scores}


@dataclass(frozen=True, slots=True)
class Credential:
    """What the host gave to whoever controls a seat; a new controller's epoch makes the old one's void."""

    seat: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Accepted:
    revision: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    code: Refusal


Verdict = Accepted | Refused


def step(table: Table, seat: str, command: Mapping[str, Json]) -> Table | Refused:
    """The reducer: the next table, or why not."""
    match dict(command):
        case {"type": "place", "sherd": str(sherd), "cell": str(cell), **rest} if not rest.keys() - {"seat"}:
            return _place(table, seat, sherd, cell)
        case {"type": "score", **rest} if not rest.keys() - {"seat"}:
            if seat != "referee":
                return Refused("wrong_seat")
            if len(table.placed) < len(PLAN) or table.scores is not None:
                return Refused("illegal")
            return replace(table, scores=_scores(table))
        case {"type": "crowd_hint", "cell": str(cell), **rest} if not rest.keys() - {"seat"}:
            if seat != "crowd":
                return Refused("wrong_seat")
            if cell not in PLAN.values() or cell in table.placed:
                return Refused("illegal")
            return replace(table, hint=cell)
        case {"type": "place" | "score" | "crowd_hint"}:
            return Refused("malformed")
        case {"type": str()}:
            return Refused("unknown_command")
        case _:
            return Refused("malformed")


def replay(commands: list[tuple[str, Mapping[str, Json]]]) -> Table:
    """The table after accepted commands; they are all that it takes."""
    table = Table()
    for seat, command in commands:
        after = step(table, seat, command)
        assert isinstance(after, Table)
        table = after
    return table


class SherdTable:
    """The host: seats and their controllers, one table, the accepted commands."""

    def __init__(self, *, participating: tuple[str, ...] = SEATS) -> None:
        self._table = Table()
        self._epochs = dict.fromkeys(SEATS, 0)
        self._participating = set(participating)
        self._operations: dict[str, tuple[str, Accepted]] = {}
        self.accepted: list[tuple[str, Mapping[str, Json]]] = []

    @property
    def revision(self) -> int:
        return len(self.accepted)

    def take_control(self, seat: str) -> Credential:
        """Seat a controller; whoever controlled it before does no more."""
        self._epochs[seat] += 1
        return Credential(seat, self._epochs[seat])

    def withdraw(self, seat: str) -> None:
        """The seat takes no part any more."""
        self._participating.discard(seat)

    def submit(self, operation: str, credential: Credential | None, command: object) -> Verdict:
        """Admit a command, or refuse it and change nothing. The same operation with the same command is a repeat."""
        if credential is None or self._epochs.get(credential.seat, 0) == 0:
            return Refused("not_seated")
        if credential.epoch != self._epochs[credential.seat]:
            return Refused("stale_epoch")
        if credential.seat not in self._participating:
            return Refused("not_participating")
        if not isinstance(command, Mapping):
            return Refused("malformed")
        if command.get("seat", credential.seat) != credential.seat:
            return Refused("wrong_seat")
        print_ = fingerprint([credential.seat, command])
        known = self._operations.get(operation)
        if known is not None:
            return replace(known[1], repeated=True) if known[0] == print_ else Refused("operation_mismatch")
        after = step(self._table, credential.seat, command)
        if isinstance(after, Refused):
            return after
        self._table = after
        self.accepted.append((credential.seat, dict(command)))
        verdict = Accepted(self.revision)
        self._operations[operation] = (print_, verdict)
        return verdict

    def admit(self, operation: str, credential: Credential | None, proposal: ActionProposal) -> Verdict:
        """Admit an agent's proposal by its controller's credential; a seat that the proposal names must agree."""
        if credential is not None and proposal.seat not in {None, credential.seat}:
            return Refused("wrong_seat")
        return self.submit(operation, credential, proposal.action)

    def public_view(self) -> dict[str, Json]:
        """What the whole room may know."""
        table = self._table
        return {
            "revision": self.revision,
            "placed": dict(table.placed),
            "turn": PLAYERS[table.turn % 2],
            "hint": table.hint,
            "scores": None if table.scores is None else dict(table.scores),
        }

    def view_for(self, seat: str) -> dict[str, Json]:
        """The public view and the seat's own hand."""
        lying = set(self._table.placed.values())
        return {**self.public_view(), "hand": [sherd for sherd in HANDS.get(seat, ()) if sherd not in lying]}

    def legal(self, seat: str) -> list[dict[str, Json]]:
        """Every command that the seat could have accepted now."""
        places: list[dict[str, Json]] = [
            {"type": "place", "sherd": sherd, "cell": cell} for sherd in HANDS.get(seat, ()) for cell in PLAN.values()
        ]
        hints: list[dict[str, Json]] = [{"type": "crowd_hint", "cell": cell} for cell in PLAN.values()]
        every: list[dict[str, Json]] = [*places, *hints, {"type": "score"}]
        return [command for command in every if isinstance(step(self._table, seat, command), Table)]

    def table(self) -> str:
        """The whole state in one spelling, to compare."""
        return canonical(self._table.as_json())


def _place(table: Table, seat: str, sherd: str, cell: str) -> Table | Refused:
    if seat not in PLAYERS:
        return Refused("wrong_seat")
    if seat != PLAYERS[table.turn % 2]:
        return Refused("not_your_turn")
    if sherd not in HANDS[seat] or sherd in table.placed.values() or cell not in PLAN.values() or cell in table.placed:
        return Refused("illegal")
    return replace(table, placed={**table.placed, cell: sherd}, turn=table.turn + 1, hint=None)


def _scores(table: Table) -> dict[str, int]:
    return {seat: sum(1 for sherd in HANDS[seat] if table.placed.get(PLAN[sherd]) == sherd) for seat in PLAYERS}
