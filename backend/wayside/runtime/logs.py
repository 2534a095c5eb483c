"""Structured logs that cannot carry content: constant event names, values only under allow-listed keys.

A transcript, an answer, a prompt, a name or an exception's text has no key to travel under.
"""

import contextlib
import logging
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO, cast

import structlog

ALLOWED_KEYS = frozenset({
    "event", "level", "timestamp",
    "code", "component", "state", "reason", "kind", "mode", "language", "count", "port", "pid", "epoch", "release",
    "duration_ms", "turn", "run_status", "generation", "end_of_speech_to_first_audio_ms", "endpoint_ms", "final_ms",
    "first_text_ms", "first_audio_ms", "refused", "rss_mb", "status", "method", "route", "restarts", "exit_code",
    "attempt",
})  # fmt: skip
MAX_VALUE_CHARS = 60


def allow_list(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop every key that is not on the list and every value that is not a short scalar."""
    return {
        key: value
        for key, value in entry.items()
        if key in ALLOWED_KEYS
        and (
            value is None
            or isinstance(value, int | float)
            or (isinstance(value, str) and len(value) <= MAX_VALUE_CHARS)
        )
    }


def configure(*, verbose: bool = False) -> None:
    """Write JSON lines to standard error; silence every other logger below warning and strip what it says."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            allow_list,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.addHandler(_Silent())
    root.setLevel(logging.WARNING)


def get_logger() -> Any:
    """A logger; event names are constants like `turn.committed`."""
    return structlog.get_logger()


class _StandardError:
    """Standard error as it is at the time; a full disk or a reader that has left costs the line, never a visit."""

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


class _Silent(logging.Handler):
    """Third-party loggers are reduced to their name and level: their messages may quote what visitors said."""

    def emit(self, record: logging.LogRecord) -> None:
        structlog.get_logger().warning("library.message", component=record.name[:MAX_VALUE_CHARS])
