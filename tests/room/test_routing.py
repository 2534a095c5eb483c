"""Who an input is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.core.room.routing import Routed, RoutingPolicy, mentioned, route

PRESENT = ("guide", "exekias", "lydos")
POLICY = RoutingPolicy(phases={"quiz": ("referee", "lydos"), "feast": ("exekias", "lydos")}, fallback="guide")
NAMES = {"exekias": ("Exekias",), "lydos": ("Lydos", "the Lydian"), "lucia": ("Lucía",)}


def test_an_explicit_address_comes_before_everything_else() -> None:
    """T1. The routing order begins with the explicit address."""
    assert Routed(("lydos",), "address") == route(PRESENT, POLICY, address=["lydos"], focus="exekias", phase="feast")


def test_focus_comes_before_the_phase() -> None:
    """T1. Participant focus is asked before phase policy."""
    assert Routed(("exekias",), "focus") == route(PRESENT, POLICY, focus="exekias", phase="quiz")


def test_the_phase_comes_before_the_fallback_and_passes_over_who_is_not_there() -> None:
    """T1. Phase policy is asked before the fallback."""
    assert Routed(("lydos",), "phase") == route(PRESENT, POLICY, focus="gone", phase="quiz")


def test_the_fallback_answers_when_nobody_else_does() -> None:
    """T1. The fallback guide is the last."""
    assert Routed(("guide",), "fallback") == route(PRESENT, POLICY, phase="closing")


@pytest.mark.parametrize("address", [["nobody"], ["exekias", "nobody"]])
def test_an_address_that_is_not_there_is_refused_rather_than_answered_by_another(address: list[str]) -> None:
    """I1. An explicit target that is unknown is refused."""
    with pytest.raises(WaysideError) as refusal:
        route(PRESENT, POLICY, address=address)

    assert refusal.value.code == "room.unknown_target"


def test_an_empty_room_can_route_nothing() -> None:
    """I1. There is no implicit broadcast: with nobody chosen, nobody answers."""
    with pytest.raises(WaysideError) as refusal:
        route(PRESENT, RoutingPolicy(), phase="feast")

    assert refusal.value.code == "room.unroutable"


@given(
    st.frozensets(st.sampled_from(PRESENT)),
    st.sampled_from([None, *PRESENT]),
    st.sampled_from([None, "quiz", "feast"]),
)
def test_only_agents_who_are_there_are_ever_chosen(present: frozenset[str], focus: str | None, phase: str) -> None:
    """T1. Whatever decides, it chooses from the registered agents, each once."""
    routed = route(present | {"guide"}, POLICY, focus=focus, phase=phase)

    assert set(routed.agents) <= present | {"guide"}
    assert len(set(routed.agents)) == len(routed.agents) > 0


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("Exekias, why did you sign this?", "exekias"),
        ("exekias why is it black", "exekias"),
        ("EXEKIAS: tell me more", "exekias"),
        ("Exekias, what is this?", "exekias"),
        ("Exekias, did Achilles love her?", "exekias"),
        ("Exekias, who taught you?", "exekias"),
        ("Exekias, which hero is this?", "exekias"),
        ("Lydos, who broke the Portland Vase?", "lydos"),
        ("Exekias can you hear me", "exekias"),
        ("Exekias?", "exekias"),
        ("Hello Exekias who are you", "exekias"),
        ("Okay, Exekias, where is your workshop?", "exekias"),
        ("Hey Lydos!", "lydos"),
        ("Ask Exekias why it is black", "exekias"),
        ("Can you ask Exekias about the ships?", "exekias"),
        ("I'd like to ask Exekias something", "exekias"),
        ("Let's talk to the Lydian", "lydos"),
        ("Exekias, ¿qué es esto?", "exekias"),
        ("Exekias qué es esto", "exekias"),
        ("Exekias, por qué es negro", "exekias"),
        ("Exekias cómo pintaste esto", "exekias"),
        ("Pregunta a Exekias por los barcos", "exekias"),
        ("Pregúntale a Lucia", "lucia"),
        ("Quiero preguntar a Lucía por qué", "lucia"),
        ("Hola, Lucía, ¿quién eres?", "lucia"),
        ("lucia dime una cosa", "lucia"),
    ],
)
def test_an_agent_is_spoken_to_by_name(text: str, agent: str) -> None:
    """T1. A mention at the beginning, or after "ask", is an explicit address."""
    assert agent == mentioned(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "Who was Exekias?",
        "Who was Exekias, and why did he sign?",
        "Exekias painted this, didn't he?",
        "Exekias was a potter, right?",
        "Exekias's amphora is black",
        "Exekias, the potter, signed it where?",
        "Exekias, who signed this amphora, lived where?",
        "Exekias, did he paint this?",
        "Exekias and Lydos were rivals",
        "Exekias, Lydos: who was the better one?",
        "Exekias could paint ships",
        "Did they ask Exekias to paint it?",
        "Why did nobody ask Exekias about it?",
        "Ask about Exekias",
        "Tell me about Exekias, please",
        "When did Exekias live? Why is it black?",
        "¿Quién era Exekias?",
        "Exekias, que pintó este ánfora, era rico",
        "Exekias pintó esto",
        "Exekias como pintor",
        "La vida de Lucía, por favor",
        "Exekiasis, why?",
        "",
        "?!",
    ],
)
def test_an_agent_that_is_only_a_topic_is_not_spoken_to(text: str) -> None:
    """T1. A name that is spoken about addresses nobody."""
    assert mentioned(text, NAMES) is None


def test_a_name_that_two_agents_share_speaks_to_neither() -> None:
    """T1. An address must be explicit."""
    assert mentioned("Exekias, why?", {"young": ("Exekias",), "old": ("Exekias", "Ex")}) is None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    """T1. Reading a mention never fails and never invents an agent."""
    assert mentioned(text, NAMES) in {None, *NAMES}
