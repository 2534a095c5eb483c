"""Decides what may cross a room: the envelope, its payloads, how one interaction derives from another, who has it.

Targets are always explicit, disclosure only narrows, and a payload can not speak for another source (RFC-021 §6).
Ids are given to it; nothing here delivers.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

from wayside.core.plain_json import Json, fingerprint, plain
from wayside.core.room.agents import AgentInput, Endpoint, EndpointKind, InteractionDraft, Participant
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.refusals import refuse

HOP_LIMIT = 8
EMISSION_BUDGET = 32
ROOTS_COUNTED = 256
SEEN_BOUND = 1024


@dataclass(frozen=True, slots=True)
class Message:
    """Words of a participant or an agent."""

    text: str
    language: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoomEvent:
    """A typed fact from a watcher or a service, for example a vote's result."""

    name: str
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """An agent's call of a service; `call_id` makes a retry harmless."""

    service: str
    call_id: str
    input: Json = None


@dataclass(frozen=True, slots=True)
class ServiceResult:
    """What a service answered to a call: `output`, or a stable `error` code."""

    service: str
    call_id: str
    output: Json = None
    error: str = ""


Payload = Message | RoomEvent | ServiceRequest | ServiceResult


@dataclass(frozen=True, slots=True)
class RoomInteractionEnvelope:
    """One interaction. A root has hop 0, its own id as `root_id` and no parent."""

    id: str
    room: str
    channel: str
    source: Endpoint
    targets: tuple[Endpoint, ...]
    payload: Payload
    disclosure: Disclosure
    root_id: str
    parent_id: str | None = None
    hop: int = 0


@dataclass(frozen=True, slots=True)
class Emissions:
    """How many interactions each root has brought forth; the oldest of `ROOTS_COUNTED` roots is forgotten first."""

    spent: Mapping[str, int] = field(default_factory=dict)
    budget: int = EMISSION_BUDGET

    def spend(self, root_id: str) -> "Emissions":
        """Count one more derived interaction; raises `room.emission_budget`."""
        count = self.spent.get(root_id, 0) + 1
        if count > self.budget:
            raise refuse("room.emission_budget")
        kept = {**self.spent, root_id: count}
        if len(kept) > ROOTS_COUNTED:
            kept.pop(next(iter(kept)))
        return replace(self, spent=kept)


@dataclass(frozen=True, slots=True)
class SeenEnvelope:
    """An envelope's fingerprint and who has received it."""

    fingerprint: str
    delivered: frozenset[Endpoint] = frozenset()


@dataclass(frozen=True, slots=True)
class Seen:
    """The last `bound` envelopes, oldest first. What fell out is delivered again; what still waits never falls out."""

    envelopes: Mapping[str, SeenEnvelope] = field(default_factory=dict)
    bound: int = SEEN_BOUND

    def get(self, envelope_id: str) -> SeenEnvelope | None:
        """What is known of an envelope."""
        return self.envelopes.get(envelope_id)

    def admit(self, envelope_id: str, print_: str, waiting: Collection[str] = ()) -> "Seen":
        """Know an envelope before its delivery; `waiting` are the ids that may not be forgotten yet."""
        if envelope_id in self.envelopes:
            return self
        kept = {**self.envelopes, envelope_id: SeenEnvelope(print_)}
        old = [known for known in kept if known != envelope_id and known not in waiting]
        for known in old[: max(0, len(kept) - self.bound)]:
            del kept[known]
        return replace(self, envelopes=kept)

    def deliver(self, envelope_id: str, target: Endpoint) -> "Seen":
        """Note that a target has received it."""
        known = self.envelopes[envelope_id]
        marked = replace(known, delivered=known.delivered | {target})
        return replace(self, envelopes={**self.envelopes, envelope_id: marked})

    def as_json(self) -> Json:
        """Plain JSON for `restored`."""
        return [
            [
                envelope_id,
                known.fingerprint,
                [list[Json](end) for end in sorted((e.kind, e.id) for e in known.delivered)],
            ]
            for envelope_id, known in self.envelopes.items()
        ]

    def restored(self, value: Json) -> "Seen":
        """The inverse of `as_json`, the newest within this one's bound; raises `room.state_malformed`."""
        if not isinstance(value, list):
            raise refuse("room.state_malformed")
        read = [_seen(entry) for entry in value]
        return replace(self, envelopes=dict(read[-self.bound :]))


def create(
    envelope_id: str, room: str, channel: str, source: Endpoint, draft: InteractionDraft
) -> RoomInteractionEnvelope:
    """A root interaction from a source that the host has authenticated."""
    return checked(
        RoomInteractionEnvelope(
            id=envelope_id,
            room=room,
            channel=channel,
            source=source,
            targets=explicit(draft.targets),
            payload=payload_from_json(draft.payload),
            disclosure=draft.disclosure,
            root_id=envelope_id,
        )
    )


def derive(
    parent: RoomInteractionEnvelope,
    envelope_id: str,
    source: Endpoint,
    draft: InteractionDraft,
    *,
    delivered: Collection[Endpoint],
    hop_limit: int = HOP_LIMIT,
) -> RoomInteractionEnvelope:
    """What `source` sends on after it received `parent`: same channel, same root, one hop on, never wider.

    `delivered` are the parent's targets that did receive it.
    """
    if source not in parent.targets or source not in delivered:
        raise refuse("room.source_spoofed")
    if parent.hop + 1 > hop_limit:
        raise refuse("room.too_many_hops")
    targets = explicit(draft.targets)
    if not parent.disclosure.room:
        known = {parent.source, *parent.targets}
        if any(target.kind in {"agent", "watcher"} and target not in known for target in targets):
            raise refuse("room.private_chain")
    return checked(
        replace(
            parent,
            id=envelope_id,
            source=source,
            targets=targets,
            payload=payload_from_json(draft.payload),
            disclosure=parent.disclosure.intersect(draft.disclosure),
            parent_id=parent.id,
            hop=parent.hop + 1,
        )
    )


def checked(envelope: RoomInteractionEnvelope) -> RoomInteractionEnvelope:
    """The envelope itself, when its source may send this payload and each target may see it."""
    source, payload = envelope.source, envelope.payload
    if explicit(envelope.targets) != envelope.targets:
        raise refuse("room.no_target")
    if source.kind not in _SENDERS[type(payload)]:
        raise refuse("room.source_spoofed")
    if isinstance(payload, ServiceResult) and source.id != payload.service:
        raise refuse("room.source_spoofed")
    if isinstance(payload, ServiceRequest) and envelope.targets != (Endpoint("service", payload.service),):
        raise refuse("room.payload_malformed")
    for target in envelope.targets:
        if target.kind == "participant" and not envelope.disclosure.includes(target.id):
            raise refuse("room.undisclosed_target")
    return envelope


def explicit(targets: object) -> tuple[Endpoint, ...]:
    """The targets, each once and in order; naming nobody is refused, for there is no broadcast (RFC-021 §10.11)."""
    if not isinstance(targets, list | tuple) or not targets:
        raise refuse("room.no_target")
    if not all(isinstance(target, Endpoint) and target.id and target.kind in _KINDS for target in targets):
        raise refuse("room.unknown_target")
    return tuple(dict.fromkeys(targets))


def payload_from_json(value: object) -> Payload:
    """The payload that a draft carries; raises `room.payload_malformed` for anything but plain JSON of a known type."""
    bare = plain(value, _MALFORMED)
    if not isinstance(bare, dict):
        raise refuse(_MALFORMED)
    read = _READERS.get(str(bare.pop("type", None)))
    if read is None:
        raise refuse(_MALFORMED)
    payload = read(bare)
    if bare:
        raise refuse(_MALFORMED)
    return payload


def payload_as_json(payload: Payload) -> dict[str, Json]:
    """The inverse of `payload_from_json`; a copy."""
    match payload:
        case Message(text=text, language=language, data=data):
            return {"type": "message", "text": text, "language": language, "data": plain(data, _MALFORMED)}
        case RoomEvent(name=name, data=data):
            return {"type": "event", "name": name, "data": plain(data, _MALFORMED)}
        case ServiceRequest(service=service, call_id=call_id, input=asked):
            return {
                "type": "service_request",
                "service": service,
                "call_id": call_id,
                "input": plain(asked, _MALFORMED),
            }
        case ServiceResult(service=service, call_id=call_id, output=output, error=error):
            return {
                "type": "service_result",
                "service": service,
                "call_id": call_id,
                "output": plain(output, _MALFORMED),
                "error": error,
            }


def copied(envelope: RoomInteractionEnvelope) -> RoomInteractionEnvelope:
    """The same envelope with a payload of its own, so that a receiver can change nobody else's."""
    return replace(envelope, payload=payload_from_json(payload_as_json(envelope.payload)))


def envelope_fingerprint(envelope: RoomInteractionEnvelope) -> str:
    """Equal for envelopes that say the same, in hex."""
    return fingerprint(
        {
            "id": envelope.id,
            "room": envelope.room,
            "channel": envelope.channel,
            "source": [envelope.source.kind, envelope.source.id],
            "targets": [[target.kind, target.id] for target in envelope.targets],
            "payload": payload_as_json(envelope.payload),
            "disclosure": envelope.disclosure.as_json(),
            "root": envelope.root_id,
            "parent": envelope.parent_id,
            "hop": envelope.hop,
        }
    )


def input_of(envelope: RoomInteractionEnvelope, participant: Participant | None = None) -> AgentInput:
    """What an agent is asked when this envelope reaches it. `participant` describes a participant's source.

    Anything but a message comes without words; `data` holds the payload.
    """
    described = participant.id if participant is not None else None
    if described != (envelope.source.id if envelope.source.kind == "participant" else None):
        raise refuse("room.source_spoofed")
    payload = copied(envelope).payload
    if isinstance(payload, ServiceRequest):
        raise refuse(_MALFORMED)
    said = payload if isinstance(payload, Message) else None
    return AgentInput(
        id=envelope.id,
        text=said.text if said else "",
        source=envelope.source,
        channel=envelope.channel,
        disclosure=envelope.disclosure,
        participant=participant,
        language=said.language if said else "",
        data=said.data if said else payload_as_json(payload),
    )


_MALFORMED = "room.payload_malformed"
_KINDS: tuple[EndpointKind, ...] = get_args(EndpointKind)
_SENDERS: dict[type[Payload], frozenset[EndpointKind]] = {
    Message: frozenset(["participant", "agent"]),
    RoomEvent: frozenset(["watcher", "service"]),
    ServiceRequest: frozenset(["agent"]),
    ServiceResult: frozenset(["service"]),
}


def _text(fields: dict[str, Json], key: str, *, needed: bool = True) -> str:
    value = fields.pop(key, None if needed else "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise refuse(_MALFORMED)
    return value


def _object(fields: dict[str, Json], key: str) -> dict[str, Json]:
    value = fields.pop(key, {})
    if not isinstance(value, dict):
        raise refuse(_MALFORMED)
    return value


_READERS: dict[str, Callable[[dict[str, Json]], Payload]] = {
    "message": lambda f: Message(_text(f, "text"), _text(f, "language", needed=False), _object(f, "data")),
    "event": lambda f: RoomEvent(_text(f, "name"), _object(f, "data")),
    "service_request": lambda f: ServiceRequest(_text(f, "service"), _text(f, "call_id"), f.pop("input", None)),
    "service_result": lambda f: ServiceResult(
        _text(f, "service"), _text(f, "call_id"), f.pop("output", None), _text(f, "error", needed=False)
    ),
}


def _seen(entry: Json) -> tuple[str, SeenEnvelope]:
    match entry:
        case [str(envelope_id), str(print_), list(ends)]:
            return envelope_id, SeenEnvelope(print_, frozenset(_endpoint(end) for end in ends))
        case _:
            raise refuse("room.state_malformed")


def _endpoint(end: Json) -> Endpoint:
    match end:
        case [str(kind), str(name)]:
            for known in _KINDS:
                if kind == known:
                    return Endpoint(known, name)
    raise refuse("room.state_malformed")
