"""Decides which approved passage answers a question, or that none does: the gate before anything is said as a fact.

Evidence is one of: the exact suggested question, a question very like one, the topic that is asked for, or most of the
question's own words in one passage. Words that no passage of the exhibit knows speak against all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import log

from wayside.core.content import GUIDE, Exhibit, Pack, Passage
from wayside.core.questions import (
    content_words,
    fold,
    inquires,
    known_words,
    likeness,
    points,
    shape,
    stem,
    stems,
    without_label,
)
from wayside.core.sentences import cut
from wayside.core.spelling import Spelling, alike, pairs
from wayside.core.topics import MEASURES, cue_words, cues, fillers, tells, topics
from wayside.ports.passages import PassageIndex

NAMED = 0.5  # likeness from which a question is taken to name an exhibit
SURELY_NAMED = 0.9  # the same when another exhibit stands in front of the visitor
LIKE_SUGGESTED = 0.72  # likeness to a suggested question that is evidence in itself
COVERED = 0.5  # share of the question's own words that must be known, or exceeded by one passage
COVERED_ALONE = 0.7  # the same when no exhibit is known
TOPIC = 1.5  # what a topic weighs beside the question's own words
DEFINITE_TOPIC = 2.1  # "how old is the stone vase" asks for the date, whatever else is said of stone
DEFINITE = frozenset(["date", "maker", "found", "today"])
ELSEWHERE = 4  # exhibits looked at when none is known


@dataclass(frozen=True, slots=True)
class _Words:
    """What one passage can be asked with: its text, the suggested questions it answers, and their shapes."""

    passage: Passage
    all: frozenset[str]
    text: frozenset[str]
    first: frozenset[str]  # its first sentence, which holds what it is about
    asked: frozenset[str]
    shapes: tuple[dict[str, float], ...]
    topic: str  # stem of its topic's name
    topics: frozenset[str]  # topics that its suggested questions ask for

    def holds(self, word: str) -> float:
        """1 for a word of its own, less for one that only describes the picture."""
        return 1.0 if word in self.text else 0.5 if word in self.all else 0.0


@dataclass(frozen=True, slots=True)
class _Fit:
    passage: Passage
    score: float


class PassageFinder:
    """Finds the passage for a question; knows nothing of visits. Safe from any thread that the index is safe from.

    `agent` is whose passages are searched; only the guide's exhibits have names that move a question elsewhere.
    """

    def __init__(self, pack: Pack, index: PassageIndex, agent: str = GUIDE) -> None:
        self._index = index
        self._agent = agent
        self._exhibits = {exhibit.id: exhibit for exhibit in pack.exhibits}
        self._passages = {(p.id, p.language): p for p in pack.passages}
        self._words: dict[tuple[str, str], list[_Words]] = {}
        for passage in pack.passages:
            key = (passage.exhibit, passage.language)
            self._words.setdefault(key, []).append(_of(passage, self._exhibits[passage.exhibit]))
        self._names = {
            (exhibit.id, language): frozenset(stems(" ".join(_names(exhibit, language)), language))
            for exhibit in pack.exhibits
            for language in pack.languages
        }
        self._suggested = dict(_suggested(pack))
        self._spelling = {
            language: Spelling(_vocabulary(pack, language), partial(stem, language=language), known_words(language))
            for language in pack.languages
        }
        self._known = {
            key: self._names[key].union(*(words.all for words in facts)) for key, facts in self._words.items()
        }

    def heard(self, question: str, language: str, place: str | None = None) -> str:
        """The question folded, and repaired where a word is one slip from a known one; `place` is its exhibit."""
        spelling = self._spelling.get(language)
        likely = self._known.get((place, language), frozenset()) if place is not None else frozenset()
        return spelling.repaired(fold(question), likely) if spelling else fold(question)

    def exact(self, question: str, language: str, exhibit: str | None) -> Passage | None:
        """The passage of a suggested question, asked in its own words."""
        asked = fold(question)
        for key in ((exhibit, asked, language), (None, asked, language)):
            if (passage := self._suggested.get(key)) is not None:
                return self._passages.get((passage, language))
        return None

    def find(self, question: str, language: str, exhibit: str | None, last: str | None) -> Passage | None:
        """The passage that answers. `exhibit` stands in front of the visitor; `last` was talked about before."""
        heard = self.heard(question, language, exhibit or last)
        if (exact := self.exact(heard, language, exhibit)) is not None:
            return exact
        about = self._named(question, heard, language, exhibit)
        if about is not None:
            fit = self._at(heard, language, about, named=True)
            return fit.passage if fit else None
        place = exhibit or last
        if place is not None:
            fit = self._at(heard, language, place)
            if fit is not None:
                return fit.passage
            if points(heard, language):
                return None
        return self._anywhere(heard, language)

    def like(self, question: str, language: str, exhibit: str) -> dict[str, float]:
        """How like a question each passage's suggested questions are, for offering neighbours of what was asked."""
        asked = shape(self.heard(question, language), language)
        words = self._words.get((exhibit, language), ())
        return {w.passage.id: max((likeness(asked, s) for s in w.shapes), default=0.0) for w in words}

    def _named(self, question: str, heard: str, language: str, exhibit: str | None) -> str | None:
        if self._agent != GUIDE:
            return None
        both = (*self._index.exhibits(question, language), *self._index.exhibits(heard, language))
        named = sorted(both, key=lambda one: -one.likeness)
        if not named or named[0].likeness < NAMED:
            return None
        if exhibit is None or any(one.exhibit == exhibit for one in named):
            # Several names, one of them in front of the visitor: that one is meant.
            return named[0].exhibit if exhibit is None else exhibit
        # "Those soldiers" are the ones in front of the visitor, whatever another exhibit is called.
        sure = named[0].likeness >= SURELY_NAMED and not (points(question, language) and named[0].likeness < 1.0)
        return named[0].exhibit if sure else None

    def _at(self, heard: str, language: str, exhibit: str, *, named: bool = False) -> _Fit | None:
        """The passage of one exhibit that answers best, or None when none has evidence."""
        facts = self._words.get((exhibit, language), [])
        names = self._names.get((exhibit, language), frozenset())
        content = content_words(without_label(heard, language), language)
        # What a character tells is not ordered by the facts of an object, so only its own words count.
        wanted = topics(heard, language) if self._agent == GUIDE else ()
        if named:
            content = tuple(word for word in content if not self._misheard(word, exhibit, language))
            bare = not wanted and not points(heard, language) and not inquires(heard, language)
            if bare and all(word in names for word in content):
                # Only a name was said: begin with what it is.
                return _first(facts)
        told = cues(language)
        own = [word for word in content if word not in names and word not in told]
        if self._agent != GUIDE:
            own = [word for word in content if word not in names]
        elif not wanted:
            # Then nothing explains words like "tall", and at the golden cup "gold" is all there is to go by.
            idle = fillers(language)
            own = [word for word in content if word not in names and word not in idle] or list(content)
        weight = {word: _weight(word, facts) for word in own}
        total = sum(weight.values())
        known = sum(1 for word in own if word in names or any(word in fact.all for fact in facts))
        # A character knows little, so that what it does not know at all is seldom meant for it.
        if own and known < (COVERED if self._agent == GUIDE else COVERED_ALONE) * len(own):
            return None
        # With an unknown word among them, half of the words are no evidence.
        needed = COVERED * len(own) + (0.1 if known < len(own) else 0.0)
        asked = shape(heard, language)
        hits = self._index.search(heard, language, exhibit, len(facts), agent=self._agent)
        ranks = {found.passage.id: found.score for found in hits}
        most = max(ranks.values(), default=0.0) or 1.0
        best: _Fit | None = None
        sure = False
        for fact in facts:
            holds = sum(1 for word in own if word in fact.all)
            covered = sum(w * fact.holds(word) for word, w in weight.items()) / total if total else 0.0
            suggested = sum(w for word, w in weight.items() if word in fact.asked) / total if total else 0.0
            like = max((likeness(asked, one) for one in fact.shapes), default=0.0)
            topic = _topic(fact, wanted, alone=not own)
            if not topic and MEASURES.keys() & wanted:
                # "How heavy?" is not answered by another heavy thing.
                continue
            if not (topic > 0 or like >= LIKE_SUGGESTED or (own and holds >= needed)):
                continue
            score = 1.4 * covered + 0.9 * suggested + 1.5 * like + topic
            score += 0.5 * sum(w for word, w in weight.items() if word in fact.first) / total if total else 0.0
            score += 0.7 if fact.topic in own else 0.0
            score += 0.4 * ranks.get(fact.passage.id, 0.0) / most
            score -= 0.3 if fact.passage.topic == "what" and not topic else 0.0
            if best is None or score > best.score:
                # One word in passing is chance.
                firm = topic or like >= LIKE_SUGGESTED or holds > 1 or any(w in fact.asked | fact.first for w in own)
                best, sure = _Fit(fact.passage, score), bool(firm)
        return best if sure else None

    def _misheard(self, word: str, exhibit: str, language: str) -> bool:
        """Whether a word that the exhibit does not know is one of its names, as a recogniser heard it."""
        if word in self._known.get((exhibit, language), frozenset()):
            return False
        heard = pairs(word)
        return any(alike(heard, pairs(name)) >= NAMED for name in self._names.get((exhibit, language), ()))

    def _anywhere(self, heard: str, language: str) -> Passage | None:
        """The best passage of the whole pack, when it holds most of what was asked."""
        told = cues(language)
        own = [word for word in content_words(heard, language) if word not in told]
        places: dict[str, None] = {}
        for found in self._index.search(heard, language, None, 12, agent=self._agent):
            places.setdefault(found.passage.exhibit, None)
        best: _Fit | None = None
        for place in list(places)[:ELSEWHERE]:
            fit = self._at(heard, language, place)
            if fit is None:
                continue
            words = next(w for w in self._words[place, language] if w.passage.id == fit.passage.id)
            names = self._names[place, language]
            # Words shared by chance say nothing about where a question belongs; those of a suggested question do.
            if not any(word in words.asked for word in own):
                continue
            covered = sum(1 for word in own if word in words.all or word in names) / len(own)
            if covered >= COVERED_ALONE and (best is None or fit.score + covered > best.score):
                best = _Fit(fit.passage, fit.score + covered)
        return best.passage if best else None


def _topic(fact: _Words, wanted: tuple[str, ...], *, alone: bool) -> float:
    for rank, topic in enumerate(wanted):
        if topic == "what" and not alone:
            # "What are the patterns …?" is a question about patterns.
            continue
        if topic == fact.passage.topic or topic in fact.topics:
            return (DEFINITE_TOPIC if topic in DEFINITE and not rank else TOPIC) - 0.15 * rank
    return 1.4 if any(tells(topic, fact.passage.text) for topic in wanted) else 0.0


def _weight(word: str, facts: list[_Words]) -> float:
    """Rare words of the exhibit weigh most, and so do those it does not know at all."""
    return log(1 + len(facts) / max(1, sum(1 for fact in facts if word in fact.all)))


def _first(facts: list[_Words]) -> _Fit | None:
    what = [fact for fact in facts if fact.passage.topic == "what"] or facts
    return _Fit(what[0].passage, 1.0) if what else None


def _of(passage: Passage, exhibit: Exhibit) -> _Words:
    language = passage.language
    questions = [q.text for q in exhibit.questions.get(language, ()) if q.passage == passage.id]
    asked = frozenset(stems(" ".join((*questions, *passage.asked_with)), language))
    # The alternative text tells what people see, in their words.
    seen = exhibit.alt.get(language, "") if passage.topic == "scene" else ""
    text = asked | frozenset(stems(f"{passage.text} {passage.topic}", language))
    return _Words(
        passage,
        text | frozenset(stems(seen, language)),
        text,
        frozenset(stems(cut(passage.text, final=True)[0][0], language)),
        asked,
        tuple(shape(text, language) for text in questions),
        stem(passage.topic, language),
        frozenset(topic for text in questions for topic in topics(text, language)[:1]),
    )


def _names(exhibit: Exhibit, language: str) -> tuple[str, ...]:
    """What only names: the title and aliases of one word. Longer ones describe ("the green and red cup")."""
    called = _called(exhibit, language)
    return (called[0], *(alias for alias in called[1:] if " " not in alias))


def _called(exhibit: Exhibit, language: str) -> tuple[str, ...]:
    return (exhibit.title.get(language, ""), *exhibit.aliases.get(language, ()))


def _suggested(pack: Pack) -> Iterable[tuple[tuple[str | None, str, str], str]]:
    for language in pack.languages:
        for exhibit in pack.exhibits:
            # "Who made this?" belongs to the exhibit it stands at.
            for question in exhibit.questions.get(language, ()):
                yield (exhibit.id, fold(question.text), language), question.passage
        for question in pack.start_questions.get(language, ()):
            yield (None, fold(question.text), language), question.passage


def _vocabulary(pack: Pack, language: str) -> Iterable[str]:
    yield from cue_words(language)
    for passage in pack.passages:
        if passage.language == language:
            yield from fold(" ".join((passage.text, *passage.asked_with))).split()
    for exhibit in pack.exhibits:
        texts = (*_called(exhibit, language), exhibit.subtitle.get(language, ""), exhibit.alt.get(language, ""))
        for text in (*texts, *(q.text for q in exhibit.questions.get(language, ()))):
            yield from fold(text).split()
