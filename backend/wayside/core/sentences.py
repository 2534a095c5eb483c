"""Cuts growing text into utterances a voice can speak, and utterances into caption phrases.

A sentence that is clearly finished is cut on its own last character, without waiting for the next one; "Mr." and "3."
are not clearly finished.
"""

import re

MAX_UTTERANCE_CHARS = 320
CAPTION_LINE = 42  # BBC subtitle guidance: at most 42 characters a line, two lines
CAPTION_CHARS = 2 * CAPTION_LINE

_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "dr",
        "st",
        "prof",
        "sr",
        "jr",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "c",
        "ca",
        "fig",
        "no",
        "vol",
        "pp",
        "p",
        "ed",
        "approx",
        "est",
        "sra",
        "dra",
        "srta",
        "d.c",
        "a.c",
        "b.c",
        "a.d",
        "cf",
        "inc",
    ]
)
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*|[。！？]+")
_CLAUSE = re.compile(r"[,;:—–]\s")


def cut(text: str, *, final: bool) -> tuple[tuple[str, ...], str]:
    """Split `text` into finished utterances and the rest. With `final` nothing is left over.

    Utterances keep their trailing white space so that joined together they are the text again.
    """
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end < len(text) and not text[end].isspace() and match.group()[0] not in "。！？":
            continue
        if not _finished(text[start : match.start()], match.group(), final or end < len(text)):
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        pieces.append(text[start:end])
        start = end
    rest = text[start:]
    while len(rest) > MAX_UTTERANCE_CHARS:
        at = _break(rest, MAX_UTTERANCE_CHARS)
        pieces.append(rest[:at])
        rest = rest[at:]
    if final and rest:
        if rest.strip():
            pieces.append(rest)
        elif pieces:
            pieces[-1] += rest
        rest = ""
    return tuple(pieces), rest


def spans(text: str, limit: int = CAPTION_CHARS) -> tuple[tuple[int, int], ...]:
    """Offsets [start, end) of caption phrases, each at most `limit` characters, cut at clauses or words.

    The phrases cover every visible character in order and do not overlap.
    """
    found: list[tuple[int, int]] = []
    start = len(text) - len(text.lstrip())
    stop = len(text.rstrip())
    while start < stop:
        end = stop if stop - start <= limit else start + _break(text[start:stop], limit)
        shown = start + len(text[start:end].rstrip())
        found.append((start, shown))
        start = end
        while start < stop and text[start].isspace():
            start += 1
    return tuple(found)


def _finished(before: str, mark: str, certain: bool) -> bool:
    word = before.rsplit(maxsplit=1)[-1] if before.split() else ""
    bare = word.lstrip("(\"'“‘«¿¡").lower()
    if not mark.startswith("."):
        return bool(word)
    if bare in _ABBREVIATIONS or (len(bare) == 1 and bare.isalpha() and bare != "i"):
        return False
    # "3." may be the start of "3.5" while text is still growing.
    return bool(bare) and (certain or not bare[-1].isdigit())


def _break(text: str, limit: int) -> int:
    """Where to cut `text` (longer than `limit`): after the last clause mark in its second half, else between words."""
    clauses = [m.end() for m in _CLAUSE.finditer(text[:limit]) if m.end() > limit // 2]
    if clauses:
        return clauses[-1]
    space = text.rfind(" ", 1, limit + 1)
    return space + 1 if 0 < space < limit else limit
