"""Cutting an utterance into what is spoken in one go: the first piece short, so that sound starts early (pure)."""

import re
from dataclasses import dataclass

FIRST_WORDS = 6
LATER_WORDS = 30
_SHORTEST_FIRST = 3
_MARK = re.compile(r"[.!?…;:,—–]+[\"'”’»)\]]*(?=\s|$)|\n+")
_SENTENCE_END = re.compile(r"[.!?…\n]")
_ABBREVIATION = re.compile(r"(?:^|\W)(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|Sr|Sra|Dra|ca|c|cf|vs|approx|etc)\.$")
_CONNECTIVE = re.compile(
    r"\s(?=(?:and|but|or|which|that|who|because|with|from|in|on|of|for|to|y|que|pero|con|de|en|para)\s)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """`text[start:end]` of the utterance. `mark` is the punctuation that ends it: one of `. , ; : ! ?` or empty."""

    text: str
    start: int
    end: int
    mark: str


def phrases(text: str) -> tuple[Clause, ...]:
    """The text cut at every punctuation mark. Nothing is lost but white space between phrases."""
    found = []
    start = 0
    for match in _MARK.finditer(text):
        if match[0].startswith(".") and _ABBREVIATION.search(text[max(0, start - 1) : match.start() + 1]):
            continue
        found.append(_clause(text, start, match.end()))
        start = match.end()
    found.append(_clause(text, start, len(text)))
    return tuple(clause for clause in found if re.search(r"\w", clause.text))


def chunks(text: str) -> tuple[tuple[Clause, ...], ...]:
    """Phrases grouped into what is synthesised at once: a first chunk of about 6 words, then whole sentences."""
    parts = [piece for phrase in phrases(text) for piece in _bounded(phrase, LATER_WORDS)]
    if parts and _count(parts[0]) > FIRST_WORDS + 2:
        parts[:1] = _split(parts[0], FIRST_WORDS)
    groups: list[tuple[Clause, ...]] = []
    current: list[Clause] = []
    for part in parts:
        if current and sum(map(_count, current)) + _count(part) > LATER_WORDS:
            groups.append(tuple(current))
            current = []
        current.append(part)
        first = not groups and sum(map(_count, current)) >= _SHORTEST_FIRST
        if first or part.mark in {".", "!", "?"}:
            groups.append(tuple(current))
            current = []
    if current:
        groups.append(tuple(current))
    return tuple(groups)


def sentences(text: str) -> tuple[Clause, ...]:
    """The text cut at the ends of sentences, longer ones also elsewhere."""
    return tuple(
        Clause(text[group[0].start : group[-1].end], group[0].start, group[-1].end, group[-1].mark)
        for group in chunks(text)
    )


def _clause(text: str, start: int, end: int) -> Clause:
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip())
    end -= len(raw) - len(raw.rstrip())
    ending = re.search(r"[.!?…;:,—–\n][^\w]*$", text[start : end + 1])
    mark = ending[0][0] if ending is not None else ""
    return Clause(text[start:end], start, max(start, end), {"…": ".", "—": ",", "–": ",", "\n": "."}.get(mark, mark))


def _bounded(clause: Clause, words: int) -> list[Clause]:
    if _count(clause) <= words:
        return [clause]
    head, *tail = _split(clause, words)
    return [head, *(piece for rest in tail for piece in _bounded(rest, words))]


def _split(clause: Clause, words: int) -> list[Clause]:
    """Two pieces: before a connective near `words`, else right behind that many words."""
    gaps = [match.start() for match in re.finditer(r"\s+", clause.text)]
    if len(gaps) < words:
        return [clause]
    joints = [match.start() for match in _CONNECTIVE.finditer(clause.text)]
    near = [joint for joint in joints if gaps[_SHORTEST_FIRST - 1] <= joint <= gaps[words - 1]]
    cut = near[-1] if near else gaps[words - 1]
    head = Clause(clause.text[:cut], clause.start, clause.start + cut, "")
    rest = clause.text[cut:]
    lead = len(rest) - len(rest.lstrip())
    return [head, Clause(rest.lstrip(), head.end + lead, clause.end, clause.mark)]


def _count(clause: Clause) -> int:
    return len(clause.text.split())
