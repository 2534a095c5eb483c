"""Decides what one final input does: nothing new, a fresh run, a continuation, or a cancellation that comes first.

The runtime loads what is asked for here, carries the decision out in the channel's lane, and asks again after a
cancellation. Nothing is admitted by this module itself (RFC-022 §6).
"""

from dataclasses import dataclass, replace

from wayside.core.plain_json import Json, plain
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.refusals import refuse
from wayside.core.runs.merge import merge_room_agent_input_fragments
from wayside.core.runs.record import RunRecord, RunStatus, continued
from wayside.core.runs.request import RunRequest, request_fingerprint

SUPERSEDED = "superseded_by_new_input"


@dataclass(frozen=True, slots=True)
class Known:
    """What the store has for this input id: the first request's fingerprint and, for this agent, its run."""

    fingerprint: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What is open where the input arrives. `named` is the run that its supersession names."""

    known: Known | None
    open_run: RunRecord | None
    named: RunRecord | None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The input was admitted before."""

    run_id: str


@dataclass(frozen=True, slots=True)
class CancelFirst:
    """This run must be cancelled durably before the input is looked at again."""

    run_id: str
    reason: str = SUPERSEDED


@dataclass(frozen=True, slots=True)
class Admit:
    """Write this record, the input's transcript row and its index in one transaction."""

    record: RunRecord
    fingerprint: str
    continued: bool = False


def decide(
    request: RunRequest,
    situation: Situation,
    *,
    room: str,
    agent: str,
    visibility: Disclosure,
    new_run_id: str,
    budget_ms: int,
    now_ms: int,
) -> Duplicate | CancelFirst | Admit:
    """What to do with the input for one agent. Refuses with `run.*` and touches nothing then."""
    mark = request_fingerprint(request)
    known = situation.known
    if known is not None:
        if known.fingerprint != mark:
            raise refuse("run.input_mismatch")
        if known.run_id is not None:
            return Duplicate(known.run_id)
    open_run = situation.open_run
    if request.continuation is not None:
        return _continue_named(request, open_run, mark, now_ms)
    checkpoint: Json = None
    text = request.input.text
    appended_to = ""
    disclosure = request.input.disclosure
    if request.supersession is not None:
        named = situation.named
        if named is None or (named.room, named.channel, named.agent) != (room, request.input.channel, agent):
            raise refuse("run.supersession_mismatch")
        if open_run is not None and open_run.id != named.id:
            raise refuse("run.supersession_mismatch")
        if open_run is not None and open_run.status is RunStatus.WAITING:
            # The question won the race: it is answered, with its own checkpoint and the new words alone.
            if not _same_speaker(open_run, request):
                raise refuse("run.supersession_mismatch")
            return _continue(open_run, request, mark, now_ms)
        if open_run is not None:
            return CancelFirst(open_run.id)
        if named.status is not RunStatus.CANCELED or named.code != SUPERSEDED:
            raise refuse("run.supersession_mismatch")
        checkpoint = plain(request.supersession.checkpoint, "run.checkpoint_malformed")
        policy = request.supersession.input_policy
        if policy.mode == "append":
            if not _same_speaker(named, request):
                raise refuse("run.supersession_mismatch")
            text = merge_room_agent_input_fragments(named.input.text, text, policy.max_length)
            appended_to = named.id
            # Its words go on in this input, so nobody hears them who could not before (RFC-021 §6).
            disclosure = disclosure.intersect(named.disclosure)
    elif open_run is not None:
        if open_run.status is RunStatus.WAITING and _same_speaker(open_run, request):
            return _continue(open_run, request, mark, now_ms)
        return CancelFirst(open_run.id)
    budget = request.deadline_ms if request.deadline_ms is not None else budget_ms
    record = RunRecord(
        id=new_run_id,
        room=room,
        channel=request.input.channel,
        agent=agent,
        root_input_id=request.input.id,
        input=replace(request.input, text=text, disclosure=disclosure),
        disclosure=disclosure.intersect(visibility),
        budget_ms=budget,
        deadline_ms=now_ms + budget,
        checkpoint=checkpoint,
        appended_to=appended_to,
    )
    return Admit(record, mark)


def _continue_named(request: RunRequest, open_run: RunRecord | None, mark: str, now_ms: int) -> Admit:
    wanted = request.continuation
    if (
        wanted is None
        or open_run is None
        or open_run.status is not RunStatus.WAITING
        or open_run.waiting is None
        or open_run.id != wanted.run_id
        or open_run.waiting.token != wanted.token
        or not _same_speaker(open_run, request)
    ):
        raise refuse("run.continuation_mismatch")
    return _continue(open_run, request, mark, now_ms)


def _continue(waiting: RunRecord, request: RunRequest, mark: str, now_ms: int) -> Admit:
    if request.deadline_ms is not None:
        waiting = replace(waiting, budget_ms=request.deadline_ms)
    return Admit(continued(waiting, request.input, now_ms), mark, continued=True)


def _same_speaker(record: RunRecord, request: RunRequest) -> bool:
    return record.input.source == request.input.source
