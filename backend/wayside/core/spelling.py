"""Repairs words a recogniser wrote slightly wrong, against the words a pack and its questions are made of.

One letter missing, doubled, changed or swapped with its neighbour; never in a word shorter than four letters, and never
when two words are equally near. A repaired word is a guess about what was heard, so it only ever helps to find; what is
found still has to pass the evidence gate.
"""

from collections.abc import Iterable

SHORTEST = 4


class Spelling:
    """Known words, and the nearest of them to an unknown one. Words are folded: lower case, no accents."""

    def __init__(self, words: Iterable[str]) -> None:
        self._known = frozenset(words)
        self._near: dict[str, set[str]] = {}
        for word in self._known:
            if len(word) >= SHORTEST:
                for variant in (word, *_shorter(word)):
                    self._near.setdefault(variant, set()).add(word)

    def repaired(self, text: str) -> str:
        """The folded text with each unknown word replaced by the one known word that is one slip away."""
        return " ".join(self._repair(word) for word in text.split())

    def _repair(self, word: str) -> str:
        if word in self._known or len(word) < SHORTEST or not word.isalpha():
            return word
        near = {known for variant in (word, *_shorter(word)) for known in self._near.get(variant, ())}
        found = [known for known in near if _one_slip(word, known)]
        if len(found) > 1:
            # People and recognisers rarely get the first letter wrong, and swap more often than they replace.
            found = [known for known in found if known[0] == word[0] and sorted(known) == sorted(word)] or found
            found = [known for known in found if known[0] == word[0]] or found
        return found[0] if len(found) == 1 else word


def _shorter(word: str) -> Iterable[str]:
    return (word[:n] + word[n + 1 :] for n in range(len(word)))


def _one_slip(one: str, other: str) -> bool:
    if len(one) > len(other):
        one, other = other, one
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    return one[start + 1 :] == other[start + 1 :] or (
        one[start : start + 2] == other[start : start + 2][::-1] and one[start + 2 :] == other[start + 2 :]
    )
