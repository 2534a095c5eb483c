"""The status people see, derived from separate facts and never stored as one word."""

from dataclasses import dataclass

from wayside.core.turns import Turns


@dataclass(frozen=True, slots=True)
class Status:
    """What is true right now; several may be true at once. `degraded` holds stable codes."""

    listening: bool = False
    hearing: bool = False
    thinking: bool = False
    speaking: bool = False
    held: bool = False
    degraded: tuple[str, ...] = ()


def derive(turns: Turns, degraded: frozenset[str]) -> Status:
    """Derive the status from turn taking and the codes of what does not work."""
    playing = turns.playing
    live = playing is not None and not playing.accepted
    return Status(
        listening=turns.automatic or turns.segment is not None,
        hearing=turns.segment is not None and turns.segment.voiced,
        thinking=(turns.closing is not None or turns.run_id is not None) and not live,
        speaking=live and playing is not None and playing.held_since is None,
        held=live and playing is not None and playing.held_since is not None,
        degraded=tuple(sorted(degraded)),
    )
