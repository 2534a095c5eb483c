"""What a host asks of the run engine: one final input and what it is to do to runs that are open (RFC-022 §6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wayside.core.plain_json import Json, canonical, fingerprint, plain
from wayside.core.room.agents import AgentInput
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.envelope import RoomInteractionEnvelope
from wayside.core.room.refusals import refuse
from wayside.core.runs.merge import check_bound


@dataclass(frozen=True, slots=True)
class ContinuationRef:
    """Echoes the token of the run that waits. Correlates, does not authenticate (RFC-022 §9.9)."""

    run_id: str
    token: str


@dataclass(frozen=True, slots=True)
class InputPolicy:
    """What becomes of the replaced run's input: dropped, or continued by the new text within `max_length`."""

    mode: Literal["replace", "append"] = "replace"
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """Replaces one named active run; `checkpoint` seeds the replacement's recovery state."""

    run_id: str
    checkpoint: Json = None
    input_policy: InputPolicy = InputPolicy()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One final input. `agents` are those it is explicitly addressed to; empty leaves it to routing.

    `deadline_ms` overrides the budget of an attempt. `input.id` makes a retry harmless: an exact retry gets the first
    outcome, a changed one is refused. `interaction` is the envelope that brought the input; it is for the attempt that
    starts now and is not kept: an attempt after a crash goes by its input.
    """

    input: AgentInput
    agents: tuple[str, ...] = ()
    continuation: ContinuationRef | None = None
    supersession: Supersession | None = None
    deadline_ms: int | None = None
    interaction: RoomInteractionEnvelope | None = None


def checked(request: RunRequest) -> RunRequest:
    """The request, refused when it can't be admitted whatever is open."""
    if not isinstance(request.input.disclosure, Disclosure):
        # Callers without types reach this too: who may see is said, never assumed (RFC-021 §10.16).
        raise refuse("room.disclosure_missing")
    if request.continuation is not None and request.supersession is not None:
        raise refuse("run.supersession_and_continuation")
    _check_text(request)
    if request.supersession is not None:
        check_bound(request.supersession.input_policy.max_length)
    return request


def request_fingerprint(request: RunRequest) -> str:
    """Equal for exact retries only."""
    given = request.input
    value: dict[str, Json] = {
        "text": given.text,
        "source": [given.source.kind, given.source.id],
        "channel": given.channel,
        "disclosure": given.disclosure.as_json(),
        "language": given.language,
        "data": _object(given.data),
        "agents": list[Json](request.agents),
        "deadline_ms": request.deadline_ms,
    }
    if given.participant is not None:
        value["participant"] = [given.participant.id, given.participant.role, given.participant.seat]
    if request.continuation is not None:
        value["continuation"] = [request.continuation.run_id, request.continuation.token]
    if request.supersession is not None:
        replaced = request.supersession
        value["supersession"] = [
            replaced.run_id,
            plain(replaced.checkpoint, "run.checkpoint_malformed"),
            replaced.input_policy.mode,
            replaced.input_policy.max_length,
        ]
    return fingerprint(value)


def _check_text(request: RunRequest) -> None:
    given = request.input
    texts = [given.id, given.text, given.channel, given.language, given.source.id, canonical(dict(given.data))]
    if request.supersession is not None:
        texts.append(canonical(plain(request.supersession.checkpoint, "run.checkpoint_malformed")))
    if any("\ud800" <= character <= "\udfff" for text in texts for character in text):
        # Half a surrogate pair: JSON carries it in, no database or socket carries it out.
        raise refuse("run.input_malformed")


def _object(data: Mapping[str, Json]) -> Json:
    return plain(dict(data))
