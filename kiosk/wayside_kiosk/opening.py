"""How often to try the page's address before giving up. Pure.

It is always the intended address that is tried again, never what an error left behind.
"""

from dataclasses import dataclass, replace

WAITS_S = (0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0)


@dataclass(frozen=True, slots=True)
class Opening:
    """`tries` is how many waits were used since the page was last there."""

    tries: int = 0


def finished(state: Opening, *, ok: bool) -> tuple[Opening, float | None]:
    """After a load: the wait before the next try in seconds, None when there is no next try (`gave_up` tells)."""
    if ok:
        return Opening(), None
    if state.tries >= len(WAITS_S):
        return replace(state, tries=state.tries + 1), None
    return replace(state, tries=state.tries + 1), WAITS_S[state.tries]


def gave_up(state: Opening) -> bool:
    """All tries are used."""
    return state.tries > len(WAITS_S)
