"""Decides which heard words count: acknowledgements, hesitations and complete-sounding sentences, per language.

Source: the usual backchannel lists; a language without a list has no acknowledgements, so any word interrupts.
"""

import re
import unicodedata

ACKNOWLEDGEMENTS: dict[str, frozenset[str]] = {
    "en": frozenset(
        [
            "mm",
            "hm",
            "mhm",
            "mmhm",
            "uh",
            "huh",
            "uhhuh",
            "hmm",
            "hm",
            "okay",
            "ok",
            "yeah",
            "yep",
            "yes",
            "right",
            "sure",
            "wow",
            "oh",
            "ah",
            "aha",
            "nice",
            "cool",
            "great",
            "good",
            "i",
            "see",
            "really",
            "interesting",
        ]
    ),
    "es": frozenset(
        [
            "mm",
            "hm",
            "mhm",
            "aja",
            "ajá",
            "ya",
            "sí",
            "si",
            "vale",
            "ok",
            "okay",
            "claro",
            "bueno",
            "oh",
            "ah",
            "vaya",
            "bien",
            "entiendo",
            "veo",
        ]
    ),
}
HESITATIONS: dict[str, frozenset[str]] = {
    "en": frozenset(
        [
            "um",
            "uh",
            "er",
            "erm",
            "and",
            "but",
            "so",
            "because",
            "the",
            "a",
            "of",
            "to",
            "what",
            "which",
            "who",
            "how",
            "is",
            "are",
            "was",
            "with",
        ]
    ),
    "es": frozenset(
        [
            "eh",
            "em",
            "este",
            "pues",
            "y",
            "pero",
            "porque",
            "el",
            "la",
            "los",
            "las",
            "un",
            "una",
            "de",
            "del",
            "a",
            "que",
            "qué",
            "con",
            "es",
            "son",
            "quién",
            "cómo",
        ]
    ),
}
# Whisper writes these for sounds without words.
_NOISE = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|♪+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def words(text: str) -> tuple[str, ...]:
    """Lower-case words without punctuation, stage directions or invisible characters."""
    visible = "".join(c for c in text if unicodedata.category(c) not in {"Cf", "Cc", "Co", "Cn"} or c.isspace())
    return tuple(_WORD.findall(_NOISE.sub(" ", visible).lower()))


def is_acknowledgement(text: str, language: str) -> bool:
    """True when every word is an acknowledgement; False for no words at all."""
    heard = words(text)
    known = ACKNOWLEDGEMENTS.get(language.split("-", maxsplit=1)[0], frozenset())
    return bool(heard) and len(heard) <= 4 and all(word in known for word in heard)


def trails_off(text: str, language: str) -> bool:
    """True when the last word announces more ("and", "the", "um") or the text ends in an ellipsis or a dash."""
    heard = words(text)
    if not heard:
        return False
    open_ended = HESITATIONS.get(language.split("-", maxsplit=1)[0], frozenset())
    # A comma at the end means nothing: recognisers like to write one there.
    return text.rstrip().endswith(("…", "...", "-")) or heard[-1] in open_ended


def reads_complete(text: str) -> bool:
    """True when an interim transcript ends like a finished sentence of at least three words."""
    return len(words(text)) >= 3 and text.rstrip().endswith((".", "?", "!"))


def visible_text(text: str, limit: int) -> str:
    """Text as a person typed it, without control and invisible formatting characters, at most `limit` characters."""
    kept = (c if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"} else " " for c in text)
    return " ".join("".join(kept).split())[:limit]
