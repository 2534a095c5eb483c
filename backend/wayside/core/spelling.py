"""Repairs words a recogniser wrote slightly wrong, against the words a pack and its questions are made of.

One letter missing, doubled, changed or swapped with its neighbour; never in a word shorter than four letters, and never
when two words are equally near. A repaired word is a guess about what was heard, so it only ever helps to find; what is
found still has to pass the evidence gate.
"""

from collections.abc import Callable, Iterable

SHORTEST = 4


class Spelling:
    """Known words, and the nearest of them to an unknown one. Words are folded: lower case, no accents.

    Words with the same `stem` count as one when they are equally near; `common` words come before all others.
    """

    def __init__(
        self, words: Iterable[str], stem: Callable[[str], str] = str, common: frozenset[str] = frozenset()
    ) -> None:
        self._known = common.union(words)
        self._common = common
        self._stem = stem
        self._near: dict[str, set[str]] = {}
        for word in self._known:
            if len(word) >= SHORTEST:
                for variant in (word, *_shorter(word)):
                    self._near.setdefault(variant, set()).add(word)

    def repaired(self, text: str, likely: frozenset[str] = frozenset()) -> str:
        """The folded text with each unknown word replaced by the one known word that is one slip away.

        Of several, the one whose stem is `likely` here is taken.
        """
        return " ".join(self._repair(word, likely) for word in text.split())

    def _repair(self, word: str, likely: frozenset[str]) -> str:
        if word in self._known or len(word) < SHORTEST or not word.isalpha():
            return word
        near = {known for variant in (word, *_shorter(word)) for known in self._near.get(variant, ())}
        # Of four letters, any change makes another word; only a lost letter is told apart.
        found = sorted(known for known in near if _one_slip(word, known) and len(word) + len(known) > 2 * SHORTEST)
        # Swapped letters are the likeliest slip; a wrong first letter ("weather", "feather") is another word.
        found = [known for known in found if known[0] == word[0] or sorted(known) == sorted(word)]
        found = [known for known in found if sorted(known) == sorted(word)] or found
        found = [known for known in found if known in self._common] or found
        found = [known for known in found if self._stem(known) in likely] or found
        return found[0] if len({self._stem(known) for known in found}) == 1 else word


def pairs(word: str) -> frozenset[str]:
    """A word's letter pairs, its beginning and end included."""
    padded = f"^{word}$"
    return frozenset(padded[n : n + 2] for n in range(len(padded) - 1))


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice coefficient of two words' pairs, 0..1: how alike they may sound, whatever the spelling."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


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
