"""Who is in a room: participants, agents and what agents say. Presence and roles are never authority (RFC-021 §5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wayside.core.plain_json import Json
from wayside.core.room.disclosure import ROOM, Disclosure

EndpointKind = Literal["participant", "agent", "service", "watcher"]
Role = Literal["player", "audience", "moderator", "service"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of an interaction."""

    kind: EndpointKind
    id: str


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody in the room, as the authenticated host describes them. `role` and `seat` authorise nothing."""

    id: str
    role: Role = "audience"
    seat: str | None = None


@dataclass(frozen=True, slots=True)
class ActorBinding:
    """The agent performs an actor, authorised by at most one seat."""

    actor_id: str
    seat: str | None = None


@dataclass(frozen=True, slots=True)
class SeatBinding:
    """The agent plays or referees a seat."""

    seat: str


Binding = ActorBinding | SeatBinding


@dataclass(frozen=True, slots=True)
class ManifestSection:
    """One authored section; `actions` are ids of the canonical actions it explains."""

    id: str
    title: str
    text: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GameAgentManifest:
    """What a product explains about its game. Explanation, never authority: the reducer wins (RFC-021 §4)."""

    game_id: str
    version: str
    rules: tuple[ManifestSection, ...]
    mechanisms: tuple[ManifestSection, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    knowledge: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentDescriptor:
    """A registered agent. Without a `binding` it may speak but propose nothing.

    `visibility` bounds who may ever hear it. `services` are the only ones it may call. `persona_id` is resolved
    privately by its driver; `voice` names a voice identity, not a provider.
    """

    id: str
    name: str
    persona_id: str = ""
    voice: str = ""
    binding: Binding | None = None
    visibility: Disclosure = ROOM
    services: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AgentInput:
    """One final input for an agent: text and who said it. `data` is the host's own plain JSON beside the words.

    `participant` is the speaker's description when a participant spoke; a routed source (agent, service, watcher)
    has none.
    """

    id: str
    text: str
    source: Endpoint
    channel: str
    disclosure: Disclosure
    participant: Participant | None = None
    language: str = ""
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoomUtterance:
    """Words of an agent and who may hear them; `history` says whether they become conversation memory."""

    text: str
    audience: Disclosure = ROOM
    interruptible: bool = True
    history: Literal["record", "ephemeral"] = "record"


@dataclass(frozen=True, slots=True)
class ActionProposal:
    """An action that an agent would like; untrusted until the game's host admits it (RFC-021 §2)."""

    action: Mapping[str, Json]
    seat: str | None = None


@dataclass(frozen=True, slots=True)
class InteractionDraft:
    """What a producer wants sent. The router alone gives ids and causation (RFC-021 §6).

    `payload` is one of the payload types of `core/room/envelope.py` as plain JSON with its `type`.
    """

    targets: tuple[Endpoint, ...]
    payload: Mapping[str, Json]
    disclosure: Disclosure = ROOM


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """Everything one turn of an agent may bring. An action is optional; speech alone is a whole answer."""

    utterances: tuple[RoomUtterance, ...] = ()
    interactions: tuple[InteractionDraft, ...] = ()
    action: ActionProposal | None = None
