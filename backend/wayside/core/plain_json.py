"""Plain JSON: what may be persisted and compared. Refuses everything that a round trip would change."""

import hashlib
import json
import math
from collections.abc import Mapping

from typing_extensions import TypeAliasType

from wayside.core.errors import WaysideError

_NOT_PLAIN = (
    "A value that is kept must be plain JSON: objects with text keys, lists, text, finite numbers, booleans, null."
)
MAX_DEPTH = 32

# A named alias, so that recursive values can be described to validators.
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")


def plain(value: object, code: str = "json.not_plain") -> Json:
    """A deep copy of `value` as plain JSON; raises `code` when it is not."""
    return _copy(value, code, 0)


def canonical(value: object) -> str:
    """The one spelling of a plain JSON value: sorted keys, no spaces. Raises `json.not_plain`."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: object) -> str:
    """SHA-256 of the canonical spelling, in hex; equal for equal values only."""
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def _copy(value: object, code: str, depth: int) -> Json:
    if depth > MAX_DEPTH:
        raise WaysideError(code, f"A value that is kept may be nested at most {MAX_DEPTH} deep.")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise WaysideError(code, _NOT_PLAIN)
        return {key: _copy(item, code, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, code, depth + 1) for item in value]
    raise WaysideError(code, _NOT_PLAIN)
