"""Disclosure: who may see something. It only ever narrows (RFC-021 §6, §10.12)."""

from collections.abc import Iterable
from dataclasses import dataclass

from wayside.core.plain_json import Json
from wayside.core.room.refusals import refuse


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Everybody in the room, or exactly these participants. No participant at all means: among agents only."""

    room: bool = False
    participants: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.room and self.participants:
            raise refuse("room.disclosure_malformed")

    def intersect(self, other: "Disclosure") -> "Disclosure":
        """What both allow."""
        if self.room:
            return other
        if other.room:
            return self
        return Disclosure(participants=self.participants & other.participants)

    def covers(self, other: "Disclosure") -> bool:
        """Whether everybody who may see under `other` may see under this one."""
        return self.room or (not other.room and other.participants <= self.participants)

    def includes(self, participant: str) -> bool:
        """Whether this participant may see it."""
        return self.room or participant in self.participants

    def as_json(self) -> Json:
        """`"room"`, or the participants in order."""
        return "room" if self.room else list[Json](sorted(self.participants))


ROOM = Disclosure(room=True)
NOBODY = Disclosure()


def among(participants: Iterable[str]) -> Disclosure:
    """Visible to exactly these participants."""
    return Disclosure(participants=frozenset(participants))


def disclosure_from_json(value: Json) -> Disclosure:
    """The inverse of `Disclosure.as_json`; raises `room.disclosure_malformed`."""
    if value == "room":
        return ROOM
    if not isinstance(value, list):
        raise refuse("room.disclosure_malformed")
    names = [name for name in value if isinstance(name, str)]
    if len(names) != len(value):
        raise refuse("room.disclosure_malformed")
    return among(names)
