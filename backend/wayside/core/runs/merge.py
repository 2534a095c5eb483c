"""Joins the fragments of one question that was committed too early (RFC-022 §6)."""

from wayside.core.room.refusals import refuse

_CUT = "… "


def merge_room_agent_input_fragments(previous: str, latest: str, max_length: int | None = None) -> str:
    """One input from two final fragments; exact and full restatements are said once.

    With `max_length` (characters, positive) the predecessor is shortened first, from its front and marked "… ", so
    that the newest fragment stays. Raises `run.merge_bound`.
    """
    if max_length is not None and (isinstance(max_length, bool) or max_length < 1):
        raise refuse("run.merge_bound")
    before, after = " ".join(previous.split()), " ".join(latest.split())
    if not before or after.startswith(before):
        merged, before = after, ""
    elif not after or before.endswith(after):
        merged, before, after = before, "", before
    else:
        merged = f"{before} {after}"
    if max_length is None or len(merged) <= max_length:
        return merged
    room = max_length - len(after) - len(_CUT) - 1
    if before and room > 0:
        return f"{_CUT}{before[-room:].lstrip()} {after}"
    return after[-max_length:].lstrip()
