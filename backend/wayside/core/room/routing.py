"""Decides which agent an input is for: explicit address, then focus, then phase policy, then the fallback guide.

There is no broadcast and no model in it (RFC-021 §7). A name in a text counts as an address only when the agent is
spoken to, not when it is spoken about.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

from wayside.core.questions import fold
from wayside.core.room.refusals import refuse

Reason = Literal["address", "focus", "phase", "fallback"]


@dataclass(frozen=True, slots=True)
class RoutingPolicy:
    """The product's choice: whom each phase gives its inputs to, and who answers when nobody else does."""

    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class Routed:
    """Who answers, in order, and what decided it."""

    agents: tuple[str, ...]
    by: Reason


def route(
    present: Collection[str],
    policy: RoutingPolicy,
    *,
    address: Sequence[str] = (),
    focus: str | None = None,
    phase: str | None = None,
) -> Routed:
    """The agents for one input. `present` are the ids of the registered agents.

    An addressed agent that is not there is refused (`room.unknown_target`); a focus or a phase that names one is
    passed over. With nobody left: `room.unroutable`.
    """
    if address:
        if not set(address) <= set(present):
            raise refuse("room.unknown_target")
        return Routed(tuple(dict.fromkeys(address)), "address")
    if focus is not None and focus in present:
        return Routed((focus,), "focus")
    chosen = policy.phases.get(phase, ()) if phase is not None else ()
    here = tuple(dict.fromkeys(agent for agent in chosen if agent in present))
    if here:
        return Routed(here, "phase")
    if policy.fallback is not None and policy.fallback in present:
        return Routed((policy.fallback,), "fallback")
    raise refuse("room.unroutable")


def mentioned(text: str, names: Mapping[str, Sequence[str]]) -> str | None:
    """The id of the agent that a text (English or Spanish, accents optional) speaks to by name, or None.

    "Exekias, why …", "hello Exekias …", "ask Exekias …", "pregunta a Exekias …" speak to it; "who was Exekias?" and
    "Exekias painted this" do not. A name that two agents share speaks to neither.
    """
    said = _read(text)
    owners: dict[tuple[str, ...], set[str]] = {}
    for agent, called in names.items():
        for name in called:
            spelled = tuple(fold(name).split())
            if spelled:
                owners.setdefault(spelled, set()).add(agent)
    for spelled in sorted(owners, key=len, reverse=True):
        if _spoken_to(said, spelled, owners.keys() - {spelled}):
            return next(iter(owners[spelled])) if len(owners[spelled]) == 1 else None
    return None


def _words(spaced: str) -> frozenset[str]:
    return frozenset(spaced.split())


_CLAUSE = re.compile(r"((?:\s*(?:[,;:.!?¡¿…\n–—]|\s-+\s))+)")
# An accent makes a Spanish question of a word that is else a relative, with or without its opening mark.
_INTERROGATIVE = re.compile(r"\b(?=(?:por qué|qué|quién|cuál|cómo|cuándo|dónde)\b)", re.IGNORECASE)
# Words before a name that still leave it at the beginning; the greetings alone make it an address.
_GREETING = _words("hey hi hello dear hola oye oiga querido querida")
_OPENING = _GREETING | _words("ok okay oh so well and please there good morning bueno buenos buenas dias tardes y")
# Words that, right after a name without a pause, make it an address.
_DIRECT = _words("why how please tell show explain say dime cuentame muestrame explicame explica di")
_ASKING = _words("what when where who which que cuando donde quien cual como")
_ASKED = _words("can could do did does are were will would have had should may")
# Words that, right after a name and a pause, may go on about it: "Exekias, the potter, …".
_ABOUT = _words("who whom whose which that the a an and or que quien cuyo cuya el la los las un una y e o u")
_WHO = _words("who whom whose which what")
_THIRD = _words("he she they it his her their")
_BE = _ASKED | _words("is was has")
_SECOND = _words(
    "you your yours yourself tu tus te ti contigo usted ustedes os vosotros eres estas tienes puedes podrias sabes "
    "quieres hiciste fuiste dime cuentame"
)
_SECOND_ENDING = re.compile(r"^(?!contraste|desgaste|triste|existe|consiste)\w{2,}(aste|iste)s?$")
_ASK = ("ask", "talk to", "speak to", "speak with", "pregunta a", "preguntale a", "preguntar a", "preguntarle a",
        "pregunte a", "preguntele a", "habla con", "hablar con")  # fmt: skip
# What may stand before "ask" in a wish; anything else ("did they ask …") tells of somebody else's question.
_WISH = _words(
    "please can could would will you i we want like d ll to let lets s me us may now and then ok okay hey so go "
    "por favor puedes puede podrias podria quiero quisiera queremos me gustaria y ahora oye"
)


@dataclass(frozen=True, slots=True)
class _Text:
    """Folded words, the numbers of those before a pause, and of those before a Spanish question; `asks` at its end."""

    words: tuple[str, ...]
    pauses: frozenset[int]
    questions: frozenset[int]
    asks: bool


def _read(text: str) -> _Text:
    marked = _INTERROGATIVE.sub("¿", unicodedata.normalize("NFC", text))
    words: list[str] = []
    pauses: set[int] = set()
    questions: set[int] = set()
    for clause, pause in zip_longest(*[iter(_CLAUSE.split(marked))] * 2, fillvalue=""):
        words += fold(clause).split()
        pauses.add(len(words) - 1)
        if "¿" in pause:
            questions.add(len(words) - 1)
    return _Text(tuple(words), frozenset(pauses), frozenset(questions), text.rstrip().endswith("?"))


def _spoken_to(text: _Text, name: tuple[str, ...], others: Collection[tuple[str, ...]]) -> bool:
    for start in range(len(text.words) - len(name) + 1):
        end = start + len(name)
        if text.words[start:end] != name or not text.pauses.isdisjoint(range(start, end - 1)):
            continue
        before, rest = text.words[:start], text.words[end:]
        if _asks_for(before):
            return True
        if set(before) <= _OPENING:
            greeted = bool(before) and before[-1] in _GREETING and start - 1 not in text.pauses
            asked = end - 1 in text.questions or _asked_outright(text, end)
            return greeted or asked or _opens(rest, others, paused=end - 1 in text.pauses)
    return False


def _asked_outright(text: _Text, end: int) -> bool:
    """Whether a whole question stands after the name: "Guide, who broke it?", but not "Exekias, who made it, was …"."""
    rest = text.words[end:]
    unbroken = text.pauses.isdisjoint(range(end, len(text.words) - 1))
    outright = end - 1 in text.pauses and text.asks and unbroken and _THIRD.isdisjoint(rest)
    return outright and bool(rest) and rest[0] in _WHO


def _asks_for(before: tuple[str, ...]) -> bool:
    said = " ".join(before)
    for asking in _ASK:
        if said == asking or said.endswith(f" {asking}"):
            return set(said[: len(said) - len(asking)].split()) <= _WISH
    return False


def _opens(rest: tuple[str, ...], others: Collection[tuple[str, ...]], *, paused: bool) -> bool:
    """Whether what follows a name at the beginning is said to it."""
    if not rest:
        return True
    addressed = any(word in _SECOND or _SECOND_ENDING.match(word) for word in rest)
    follower = rest[1] if len(rest) > 1 else ""
    if not paused:
        if rest[0] in _ASKED:
            return follower == "you"
        return rest[0] in _DIRECT or (rest[0] in _ASKING and addressed)
    if rest[0] in _BE and follower in _THIRD:
        return False
    listed = any(rest[: len(other)] == other for other in others)
    return addressed or not (listed or rest[0] in _ABOUT)
