"""What may cross a room, and how one interaction derives from another."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.room.agents import AgentInput, Endpoint, InteractionDraft, Participant
from wayside.core.room.disclosure import NOBODY, ROOM, Disclosure, among
from wayside.core.room.envelope import (
    HOP_LIMIT,
    Emissions,
    Message,
    RoomEvent,
    RoomInteractionEnvelope,
    Seen,
    ServiceRequest,
    ServiceResult,
    create,
    derive,
    input_of,
    payload_as_json,
    payload_from_json,
)

ANA = Endpoint("participant", "ana")
BEN = Endpoint("participant", "ben")
GUIDE = Endpoint("agent", "guide")
POTTER = Endpoint("agent", "potter")
HINTS = Endpoint("service", "hints")
RIM = Endpoint("watcher", "rim")
MESSAGE = {"type": "message", "text": "hm"}

disclosures = st.one_of(st.just(ROOM), st.builds(among, st.frozensets(st.sampled_from(["ana", "ben", "caro"]))))
endpoints = st.sampled_from([ANA, BEN, GUIDE, POTTER, HINTS, RIM])
PAYLOADS = {
    "participant": MESSAGE,
    "agent": MESSAGE,
    "service": {"type": "event", "name": "vote.result"},
    "watcher": {"type": "event", "name": "rim.found"},
}


def to(*targets: Endpoint, disclosure: Disclosure = ROOM, payload: dict | None = None) -> InteractionDraft:
    return InteractionDraft(targets, payload or MESSAGE, disclosure)


def asks(*targets: Endpoint, disclosure: Disclosure = ROOM) -> RoomInteractionEnvelope:
    return create("e-0", "room", "public", ANA, to(*targets, disclosure=disclosure))


def code_of(call, *args, **options) -> str:
    with pytest.raises(WaysideError) as refusal:
        call(*args, **options)
    return refusal.value.code


@pytest.mark.parametrize("targets", [(), []])
def test_an_interaction_names_whom_it_is_for(targets) -> None:
    """I1. There is no implicit broadcast."""
    assert code_of(create, "e", "room", "public", ANA, InteractionDraft(targets, MESSAGE)) == "room.no_target"


def test_a_target_that_is_no_endpoint_is_refused_and_a_repeated_one_counts_once() -> None:
    """I1. Targets are explicit endpoints."""
    everybody = InteractionDraft((Endpoint("everybody", "*"),), MESSAGE)

    assert code_of(create, "e", "room", "public", ANA, everybody) == "room.unknown_target"
    assert (GUIDE, POTTER) == asks(GUIDE, POTTER, GUIDE).targets


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "hello",
        {},
        {"text": "hm"},
        {"type": "shout", "text": "hm"},
        {"type": ["message"], "text": "hm"},
        {"type": "message"},
        {"type": "message", "text": "  "},
        {"type": "message", "text": 3},
        {"type": "message", "text": "hm", "data": [1]},
        {"type": "message", "text": "hm", "data": {"at": {1, 2}}},
        {"type": "message", "text": "hm", "data": {"at": float("nan")}},
        {"type": "message", "text": "hm", "data": {3: "a"}},
        {"type": "message", "text": "hm", "source": "ben"},
        {"type": "event"},
        {"type": "service_request", "service": "hints"},
        {"type": "service_result", "service": "hints", "call_id": "c", "output": object()},
    ],
)
def test_a_payload_that_is_not_plain_json_of_a_known_type_is_refused(payload: object) -> None:
    """I3. At creation, before anybody could receive it."""
    draft = InteractionDraft((GUIDE,), payload)

    assert code_of(create, "e", "room", "public", ANA, draft) == "room.payload_malformed"


@pytest.mark.parametrize(
    "payload",
    [
        Message("hm", "en", {"seen": ["rim"]}),
        RoomEvent("vote.result", {"winner": "kylix"}),
        ServiceRequest("hints", "c-1", {"level": 1}),
        ServiceResult("hints", "c-1", ["left"], "room.service_failed"),
    ],
)
def test_a_payload_survives_being_written_down(payload) -> None:
    """I3. The four types are plain JSON."""
    assert payload == payload_from_json(payload_as_json(payload))


@pytest.mark.parametrize(
    ("source", "payload"),
    [
        (ANA, {"type": "event", "name": "vote.result"}),
        (ANA, {"type": "service_result", "service": "hints", "call_id": "c"}),
        (ANA, {"type": "service_request", "service": "hints", "call_id": "c"}),
        (GUIDE, {"type": "event", "name": "vote.result"}),
        (GUIDE, {"type": "service_result", "service": "hints", "call_id": "c"}),
        (RIM, MESSAGE),
        (HINTS, MESSAGE),
        (HINTS, {"type": "service_result", "service": "scores", "call_id": "c"}),
    ],
)
def test_a_payload_can_not_speak_for_another_kind_of_endpoint(source: Endpoint, payload: dict) -> None:
    """S2. Neither a participant nor a service is impersonated by what is said."""
    assert code_of(create, "e", "room", "public", source, to(GUIDE, payload=payload)) == "room.source_spoofed"


def test_a_service_request_goes_to_that_service_alone() -> None:
    """S2. A request can not be shown to others in passing."""
    request = {"type": "service_request", "service": "hints", "call_id": "c"}

    assert (HINTS,) == create("e", "room", "public", GUIDE, to(HINTS, payload=request)).targets
    for targets in ((POTTER,), (HINTS, POTTER), (Endpoint("service", "scores"),)):
        assert code_of(create, "e", "room", "public", GUIDE, to(*targets, payload=request)) == "room.payload_malformed"


def test_a_derived_interaction_keeps_its_channel_and_root_and_narrows() -> None:
    """I4. Root, parent and hop tell where it comes from."""
    parent = asks(GUIDE, disclosure=among(["ana", "ben"]))

    child = derive(parent, "e-1", GUIDE, to(ANA, disclosure=among(["ana", "caro"])), delivered=[GUIDE])
    grandchild = derive(child, "e-2", ANA, to(GUIDE), delivered=[ANA])

    assert ("room", "public", "e-0", "e-0", 1) == (child.room, child.channel, child.root_id, child.parent_id, child.hop)
    assert ("e-0", "e-1", 2) == (grandchild.root_id, grandchild.parent_id, grandchild.hop)
    assert [among(["ana"])] * 2 == [child.disclosure, grandchild.disclosure]


def test_a_chain_ends_after_eight_hops() -> None:
    """I4. The hop limit is eight by default."""
    link = asks(GUIDE)
    speakers = itertools.cycle([(GUIDE, POTTER), (POTTER, GUIDE)])
    for hop in range(1, HOP_LIMIT + 1):
        speaker, listener = next(speakers)
        link = derive(link, f"e-{hop}", speaker, to(listener), delivered=[speaker])
    speaker, listener = next(speakers)

    assert link.hop == 8
    assert code_of(derive, link, "e-9", speaker, to(listener), delivered=[speaker]) == "room.too_many_hops"


@given(
    disclosures, st.lists(st.tuples(endpoints, st.lists(endpoints, min_size=1, max_size=3), disclosures), max_size=12)
)
def test_a_chain_only_ever_narrows(first: Disclosure, steps) -> None:
    """I4, I5. Whatever is derived from whatever: disclosure narrows, participants may see it, hops stay bounded."""
    link = create("e-0", "room", "public", ANA, to(GUIDE, disclosure=first))
    for number, (source, targets, disclosure) in enumerate(steps, 1):
        draft = to(*targets, disclosure=disclosure, payload=PAYLOADS[source.kind])
        try:
            child = derive(link, f"e-{number}", source, draft, delivered=link.targets)
        except WaysideError:
            continue
        assert link.disclosure.covers(child.disclosure)
        assert disclosure.covers(child.disclosure)
        assert (link.channel, link.root_id, link.id) == (child.channel, child.root_id, child.parent_id)
        assert link.hop + 1 == child.hop <= HOP_LIMIT
        assert child.source in link.targets
        assert all(child.disclosure.includes(end.id) for end in child.targets if end.kind == "participant")
        if not link.disclosure.room:
            agents = {end for end in child.targets if end.kind in {"agent", "watcher"}}
            assert agents <= {link.source, *link.targets}
        link = child


def test_a_source_that_did_not_receive_the_parent_is_refused() -> None:
    """I5. Neither a stranger nor a target whose delivery failed may answer."""
    parent = asks(GUIDE, POTTER)

    assert code_of(derive, parent, "e-1", HINTS, to(ANA), delivered=[GUIDE, HINTS]) == "room.source_spoofed"
    stranger = Endpoint("agent", "stranger")
    assert code_of(derive, parent, "e-1", stranger, to(ANA), delivered=[stranger]) == "room.source_spoofed"
    assert code_of(derive, parent, "e-1", ANA, to(GUIDE), delivered=[GUIDE]) == "room.source_spoofed"
    assert code_of(derive, parent, "e-1", POTTER, to(ANA), delivered=[GUIDE]) == "room.source_spoofed"


@pytest.mark.parametrize("private", [among(["ana"]), NOBODY])
@pytest.mark.parametrize("newcomer", [POTTER, RIM])
def test_a_private_exchange_takes_in_no_new_agent_or_watcher(private: Disclosure, newcomer: Endpoint) -> None:
    """I5. A new root must be authorised for that; in public anybody may be asked."""
    parent = asks(GUIDE, disclosure=private)

    assert code_of(derive, parent, "e-1", GUIDE, to(newcomer), delivered=[GUIDE]) == "room.private_chain"
    assert code_of(derive, parent, "e-1", GUIDE, to(GUIDE, newcomer), delivered=[GUIDE]) == "room.private_chain"
    assert (newcomer,) == derive(asks(GUIDE), "e-1", GUIDE, to(newcomer), delivered=[GUIDE]).targets


def test_those_who_are_in_a_private_exchange_stay_in_it() -> None:
    """I5. Agents may answer each other, and call a service of theirs."""
    parent = create("e-0", "room", "agents", POTTER, to(GUIDE, disclosure=NOBODY))
    request = {"type": "service_request", "service": "hints", "call_id": "c"}

    assert (POTTER,) == derive(parent, "e-1", GUIDE, to(POTTER), delivered=[GUIDE]).targets
    assert (HINTS,) == derive(parent, "e-1", GUIDE, to(HINTS, payload=request), delivered=[GUIDE]).targets


def test_a_target_that_may_not_see_it_is_refused() -> None:
    """I5. At the root and further on."""
    private = asks(GUIDE, disclosure=among(["ana"]))

    assert code_of(create, "e", "room", "c", GUIDE, to(BEN, disclosure=among(["ana"]))) == "room.undisclosed_target"
    assert code_of(derive, private, "e-1", GUIDE, to(ANA, BEN), delivered=[GUIDE]) == "room.undisclosed_target"
    narrowed = to(ANA, disclosure=NOBODY)
    assert code_of(derive, asks(GUIDE), "e-1", GUIDE, narrowed, delivered=[GUIDE]) == "room.undisclosed_target"


def test_a_root_brings_forth_a_bounded_number_of_interactions() -> None:
    """I4. A per-root budget, and roots themselves are not counted for ever."""
    emissions = Emissions(budget=2).spend("a").spend("a").spend("b")

    assert code_of(emissions.spend, "a") == "room.emission_budget"
    for number in range(300):
        emissions = emissions.spend(f"root-{number}")
    assert len(emissions.spent) == 256


def test_an_envelope_among_agents_becomes_an_input() -> None:
    """I7. Words, source, channel and disclosure as they are."""
    envelope = create(
        "e-7",
        "room",
        "agents",
        POTTER,
        to(GUIDE, disclosure=NOBODY, payload={"type": "message", "text": "Where?", "language": "en"}),
    )

    assert AgentInput("e-7", "Where?", POTTER, "agents", NOBODY, language="en") == input_of(envelope)


def test_an_event_becomes_an_input_without_words() -> None:
    """I7. An agent may narrate a vote's result; the data is not speech."""
    event = create("e", "room", "public", HINTS, to(GUIDE, payload={"type": "event", "name": "vote", "data": {"w": 1}}))

    asked = input_of(event)

    assert ("", {"type": "event", "name": "vote", "data": {"w": 1}}) == (asked.text, asked.data)


@pytest.mark.parametrize(
    ("source", "participant"), [(POTTER, Participant("ana")), (ANA, None), (ANA, Participant("ben"))]
)
def test_an_input_can_not_be_given_another_speaker(source: Endpoint, participant: Participant | None) -> None:
    """S2. The envelope says who speaks."""
    envelope = create("e", "room", "public", source, to(GUIDE))

    assert code_of(input_of, envelope, participant) == "room.source_spoofed"


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40),
    st.frozensets(st.integers(0, 9), max_size=3),
)
def test_what_waits_is_never_forgotten(steps, waiting) -> None:
    """I9. The bound holds for everything else, and a copy on paper says the same."""
    seen = Seen(bound=4)
    held = {f"e-{number}" for number in waiting}
    admitted = set()
    for number, delivered in steps:
        seen = seen.admit(f"e-{number}", "print", held)
        admitted.add(f"e-{number}")
        if delivered:
            seen = seen.deliver(f"e-{number}", GUIDE)

    assert held & admitted <= seen.envelopes.keys()
    assert len(seen.envelopes) <= max(4, len(held) + 1)
    assert len(seen.envelopes) > 4 or seen == Seen(bound=4).restored(seen.as_json())
