"""Joins the fragments of one question that was committed too early (RFC-022 §6)."""

from wayside.core.room.refusals import refuse

_CUT = "… "


def merge_room_agent_input_fragments(previous: str, latest: str, max_length: int | None = None) -> str:
    """One input from two final fragments; exact and full restatements are said once.

    With `max_length` (characters, positive) the predecessor is shortened first, from its front and marked "… ", so
    that the newest fragment stays. Raises `run.merge_bound`.
    """
    check_bound(max_length)
    before, after = " ".join(previous.split()), " ".join(latest.split())
    if after.startswith(before):
        merged = after
    elif before.endswith(after):
        merged = before
    else:
        merged = f"{before} {after}"
    if max_length is None or len(merged) <= max_length:
        return merged
    room = max_length - len(_CUT)
    if merged != after and room > len(after):
        kept = merged[-room:].lstrip()
        if kept != after:
            return f"{_CUT}{kept}"
    return (after or before)[-max_length:].lstrip()


def check_bound(max_length: int | None) -> None:
    """Raises `run.merge_bound` unless the bound is a positive whole number or None."""
    if max_length is not None and (isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1):
        raise refuse("run.merge_bound")
