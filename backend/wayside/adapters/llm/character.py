"""Decides what one character may say and what it must leave to the guide. It finds and speaks nothing itself.

To the finder a character is a pack of its own: one exhibit, which is the character, with its passages and wordings.
What the visitor looks at is then no longer in it, so words that mean another exhibit are refused here.
"""

from dataclasses import replace

from wayside.core.content import GUIDE, Agent, Exhibit, Pack, Passage, Source
from wayside.core.questions import content_words, fold, short
from wayside.core.room.refusals import refuse
from wayside.ports.passages import PassageIndex

NAMED = 1.0  # likeness from which a question is about another exhibit: "black" is a word of many names
IMAGINED = "imagined"  # id of the source that says that there is none
# Words that mean what stands in front of the visitor, and words that mean who is asked.
_HERE = {
    "en": frozenset(["this", "that", "these", "those"]),
    "es": frozenset(["este", "esta", "esto", "estos", "estas", "ese", "esa", "eso", "esos", "esas"]),
}
_YOU = {
    "en": frozenset(["you", "your", "yours", "yourself"]),
    "es": frozenset(["usted", "su", "sus", "tu", "tus", "te", "le", "ti", "suyo", "suya"]),
}


def as_pack(pack: Pack, agent: Agent) -> Pack:
    """The pack that an agent speaks from; the guide's is the whole pack."""
    if agent.id == GUIDE:
        return replace(pack, wordings={**pack.wordings, **agent.wordings})
    itself = Exhibit(
        id=agent.id,
        number="",
        title=agent.name,
        subtitle={},
        picture="",
        alt={},
        questions=agent.questions,
        aliases=agent.spellings,
    )
    return replace(
        pack,
        wordings={**pack.wordings, **agent.wordings},
        exhibits=(itself,),
        passages=agent.passages,
        start_questions=agent.questions,
        agents=(agent,),
    )


def speaker(pack: Pack, name: str) -> Agent:
    """The agent of this id; raises `room.unknown_agent`."""
    found = pack.agent(name)
    if found.id != name:
        raise refuse("room.unknown_agent")
    return found


def only_called(agent: Agent, question: str, language: str) -> bool:
    """Whether nothing but the agent's name was said."""
    said = fold(question)
    return said in {fold(name) for name in _names(agent, language)}


def without_name(agent: Agent, question: str, language: str) -> str:
    """The question without the name it begins or ends with ("Exekias, how …")."""
    said = fold(question)
    for name in sorted((fold(name) for name in _names(agent, language)), key=len, reverse=True):
        for rest in (said.removeprefix(f"{name} "), said.removesuffix(f" {name}")):
            if rest != said and content_words(rest, language):
                return rest
    return question


def means_another(agent: Agent, question: str, language: str, exhibit: str | None, index: PassageIndex) -> bool:
    """Whether a question is about an exhibit that is not the character's own: by name, or by pointing at it."""
    named = [one.exhibit for one in index.exhibits(question, language) if one.likeness >= NAMED]
    if named:
        return not set(named) & set(agent.home)
    if exhibit is None or exhibit in agent.home:
        return False
    words = set(fold(question).split())
    key = short(language)
    return bool(words & _HERE.get(key, frozenset())) and not words & _YOU.get(key, frozenset())


def shown_sources(agent: Agent, passages: tuple[Passage, ...], language: str) -> tuple[Source, ...]:
    """What stands behind the passages; before it, that some of it is imagined."""
    imagined = [Source(IMAGINED, agent.performance[language])] if any(p.imagined for p in passages) else []
    known = {source.id: source for passage in passages for source in passage.sources}
    return (*imagined, *known.values())


def _names(agent: Agent, language: str) -> tuple[str, ...]:
    return (agent.name.get(language, ""), *agent.spellings.get(language, ()))
