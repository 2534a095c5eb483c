"""Decides which agent is being spoken to, for how long, and when one may speak unasked.

A name called wakes, also when it is slightly mis-heard; a name merely mentioned takes nothing from anybody. Talk among
other people is overheard and keeps nobody awake. Refuses to open the floor from a timer: time only ever closes it.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from wayside.core.questions import fold
from wayside.core.words import words

HOUR_S = 3600.0

Cause = Literal["experience", "event", "timer"]
VolitionReason = Literal["timer", "held", "pending", "too_soon", "hourly_cap"]


# --- events -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transcript:
    """Somebody said this, whoever it was meant for. `speaker` is a participant's id."""

    at: float
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Offered:
    """An agent would like to speak unasked."""

    at: float
    agent: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Spoke:
    """An agent that was allowed to has begun to speak."""

    at: float
    agent: str


@dataclass(frozen=True, slots=True)
class Declined:
    """An agent that was allowed to has nothing to say after all."""

    at: float
    agent: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""

    at: float


FloorEvent = Transcript | Offered | Spoke | Declined | Tick


# --- commands -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Address:
    """The words are for this agent; `woke` when its name brought it the floor."""

    agent: str
    speaker: str
    woke: bool


@dataclass(frozen=True, slots=True)
class Overhear:
    """The agent that has the floor may know these words, and does not answer them."""

    agent: str


@dataclass(frozen=True, slots=True)
class Release:
    """Nobody has spoken to this agent for a while."""

    agent: str


@dataclass(frozen=True, slots=True)
class Allow:
    """The agent may speak unasked, now."""

    agent: str


@dataclass(frozen=True, slots=True)
class Withhold:
    """The agent may not speak unasked."""

    agent: str
    reason: VolitionReason


@dataclass(frozen=True, slots=True)
class Withdraw:
    """An agent that was allowed to speak, and has not begun, may not any more."""

    agent: str


FloorCommand = Address | Overhear | Release | Allow | Withhold | Withdraw
Commands = tuple[FloorCommand, ...]


# --- state --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentName:
    """Every spelling a recogniser may give an agent's name: the right ones and the known wrong ones."""

    agent: str
    spellings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FloorSettings:
    """Durations in seconds; `hourly_cap` counts every agent of the room together."""

    hold_s: float = 30.0
    allowed_s: float = 15.0
    unasked_interval_s: float = 120.0
    hourly_cap: int = 6


@dataclass(frozen=True, slots=True)
class Held:
    """Who is being spoken to, by whom and until when; no speaker yet means whoever answers."""

    agent: str
    speaker: str
    until: float


@dataclass(frozen=True, slots=True)
class Volition:
    """Speaking unasked; `spoken` are the times of the last hour.

    An allowed offer is neither taken nor suppressed until it is used, so these two together never pass `offered`.
    """

    allowed: tuple[str, float] | None = None
    spoken: tuple[float, ...] = ()
    offered: int = 0
    taken: int = 0
    suppressed: int = 0


@dataclass(frozen=True, slots=True)
class Floor:
    """Everything the floor remembers."""

    names: tuple[AgentName, ...] = ()
    settings: FloorSettings = FloorSettings()
    held: Held | None = None
    volition: Volition = Volition()


def step(state: Floor, event: FloorEvent) -> tuple[Floor, Commands]:
    """Take one event; return the new state and what to do, in order. What is over is released first."""
    state, released = _decayed(state, event.at)
    match event:
        case Transcript():
            state, commands = _heard(state, event)
        case Offered():
            state, commands = _offered(state, event)
        case Spoke(at=at, agent=agent):
            state, commands = _spoke(state, at, agent), ()
        case Declined(agent=agent):
            state, commands = _declined(state, agent), ()
        case Tick():
            commands = ()
        case _:
            assert_never(event)
    return state, released + commands


def called(text: str, names: tuple[AgentName, ...]) -> str | None:
    """The agent these words call by name, or None: a name in the middle of a sentence is only talked about."""
    for sentence in _SENTENCE.split(text):
        clauses = [fold(clause).split() for clause in _CLAUSE.split(sentence)]
        clauses = [clause for clause in clauses if clause]
        for place, clause in enumerate(clauses):
            greetings = next((n for n, word in enumerate(clause) if word not in _GREETINGS), len(clause))
            rest = clause[greetings:]
            if (found := _name(rest, names)) is None:
                continue
            agent, length = found
            # Names in a list ("was it Anna, Boris, and Clara") are talked about.
            listed = place > 0 and bool(clauses[place + 1 :]) and clauses[place + 1][0] in _AND
            alone = len(rest) == length and not listed
            if alone or (place == 0 and len(rest) > length and rest[length] not in _TALKED_ABOUT):
                return agent
    return None


# --- hearing ------------------------------------------------------------------------------------------------------


def _heard(state: Floor, event: Transcript) -> tuple[Floor, Commands]:
    if not words(event.text):
        return state, ()
    held, until = state.held, event.at + state.settings.hold_s
    agent = called(event.text, state.names)
    if agent is None and held is not None and held.speaker in {"", event.speaker}:
        agent = held.agent
    if agent is None:
        return state, () if held is None else (Overhear(held.agent),)
    woke = held is None or held.agent != agent
    state, withdrawn = _withdrawn(replace(state, held=Held(agent, event.speaker, until)))
    return state, (*withdrawn, Address(agent, event.speaker, woke))


def _decayed(state: Floor, at: float) -> tuple[Floor, Commands]:
    commands: Commands = ()
    if state.held is not None and at >= state.held.until:
        commands = (Release(state.held.agent),)
        state = replace(state, held=None)
    if state.volition.allowed is not None and at >= state.volition.allowed[1]:
        state, withdrawn = _withdrawn(state)
        commands += withdrawn
    spoken = tuple(time for time in state.volition.spoken if at - time < HOUR_S)
    return replace(state, volition=replace(state.volition, spoken=spoken)), commands


# --- speaking unasked ---------------------------------------------------------------------------------------------


def _offered(state: Floor, event: Offered) -> tuple[Floor, Commands]:
    volition = replace(state.volition, offered=state.volition.offered + 1)
    reason = _withheld(state, event)
    if reason is not None:
        volition = replace(volition, suppressed=volition.suppressed + 1)
        return replace(state, volition=volition), (Withhold(event.agent, reason),)
    allowed = (event.agent, event.at + state.settings.allowed_s)
    return replace(state, volition=replace(volition, allowed=allowed)), (Allow(event.agent),)


def _withheld(state: Floor, event: Offered) -> VolitionReason | None:
    spoken, settings = state.volition.spoken, state.settings
    if event.cause == "timer":
        return "timer"
    if state.held is not None and state.held.agent != event.agent:
        return "held"
    if state.volition.allowed is not None:
        return "pending"
    if spoken and event.at - spoken[-1] < settings.unasked_interval_s:
        return "too_soon"
    return "hourly_cap" if len(spoken) >= settings.hourly_cap else None


def _spoke(state: Floor, at: float, agent: str) -> Floor:
    volition = state.volition
    if volition.allowed is None or volition.allowed[0] != agent:
        return state
    volition = replace(volition, allowed=None, taken=volition.taken + 1, spoken=(*volition.spoken, at))
    # Whoever answers now is answering the agent; a conversation that is already going on keeps its speaker.
    speaker = state.held.speaker if state.held is not None else ""
    return replace(state, volition=volition, held=Held(agent, speaker, at + state.settings.hold_s))


def _declined(state: Floor, agent: str) -> Floor:
    allowed = state.volition.allowed
    return state if allowed is None or allowed[0] != agent else _withdrawn(state)[0]


def _withdrawn(state: Floor) -> tuple[Floor, Commands]:
    allowed = state.volition.allowed
    if allowed is None:
        return state, ()
    return replace(state, volition=replace(state.volition, allowed=None)), (Withdraw(allowed[0]),)


# --- names --------------------------------------------------------------------------------------------------------


def _name(heard: list[str], names: tuple[AgentName, ...]) -> tuple[str, int] | None:
    """The agent whose name these words begin with and how many words it takes; None when two are equally near."""
    found = [
        (slips, size, name.agent)
        for name in names
        for spelling in name.spellings
        for size in _sizes(spelling, heard)
        if (slips := _slips("".join(heard[:size]), "".join(fold(spelling).split()))) is not None
    ]
    if not found:
        return None
    slips, size, agent = min(found)
    return (agent, size) if {other for n, _, other in found if n == slips} == {agent} else None


def _sizes(spelling: str, heard: list[str]) -> range:
    # Recognisers tear a name apart or run it together.
    size = len(fold(spelling).split())
    return range(max(1, size - 1), min(len(heard), size + 1) + 1) if size else range(0)


def _slips(heard: str, name: str) -> int | None:
    """How many letters are wrong, or None when too many are. Short names must be right, and so must a first letter."""
    if heard == name:
        return 0
    most = 0 if len(name) < 5 else 1 if len(name) < 8 else 2
    if not most or heard[0] != name[0] or abs(len(heard) - len(name)) > most:
        return None
    distance = _distance(heard, name)
    return distance if distance <= most else None


def _distance(one: str, other: str) -> int:
    """Letters to add, drop, change or swap with their neighbour (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_SENTENCE = re.compile(r"[.!?¡¿…]+")
_CLAUSE = re.compile(r"[,;،、]+")
_GREETINGS = _set("hey hi hello ok okay so well please excuse me dear oye hola eh ey a ver perdona buenas")
_AND = _set("and or y e o u")
# A third person after a name: somebody is telling somebody else.
_TALKED_ABOUT = _AND | _set(
    "s is was has had says said does did will would looks seems es era fue ha esta estaba tiene dice dijo parece va"
)
