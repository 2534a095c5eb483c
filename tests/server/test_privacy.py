"""What the log may carry."""

import json
import logging

import pytest
import structlog
from wayside.runtime.logs import ALLOWED_KEYS, allow_list, configure, get_logger

CANARY = "xylophonecanary"


@pytest.fixture
def log(capsys):
    """Reads what was written since, anywhere that is not a file."""
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    configure()
    yield lambda: "".join(capsys.readouterr())
    root.handlers, root.level = before[0], before[1]
    structlog.reset_defaults()


@pytest.mark.parametrize(
    "key", ["text", "transcript", "prompt", "error", "exception", "exc_info", "name", "path", "query"]
)
def test_a_key_that_is_not_listed_is_dropped(log, key):
    get_logger().info("turn.answered", duration_ms=5, **{key: CANARY})
    lines = log().splitlines()

    assert 1 == len(lines)
    assert {"event", "level", "timestamp", "duration_ms"} == set(json.loads(lines[0]))


@pytest.mark.parametrize("value", [[CANARY], {"a": CANARY}, (CANARY,), ValueError(CANARY), CANARY.encode(), CANARY * 9])
def test_a_listed_key_carries_no_more_than_a_short_scalar(value):
    assert {"event": "x"} == allow_list(None, "info", {"event": "x", "code": value})


def test_no_key_that_could_hold_words_is_listed():
    assert not ALLOWED_KEYS & {"text", "transcript", "question", "answer", "message", "error", "exc_info", "exception"}


def test_the_text_of_an_exception_is_never_logged(log):
    try:
        int(CANARY)
    except ValueError as error:
        get_logger().exception("turn.failed", code="turn.failed", error=str(error))

    written = log()
    assert "turn.failed" in written
    assert CANARY not in written


@pytest.mark.parametrize("name", ["aiohttp.server", "asyncio", "faster_whisper", "a.library"])
def test_other_loggers_are_reduced_to_their_names(log, name):
    logger = logging.getLogger(name)
    try:
        int(CANARY)
    except ValueError:
        logger.exception("it said %s", CANARY)
    logger.info("quiet %s", CANARY)
    written = log()

    assert CANARY not in written
    assert ["library.message"] == [json.loads(line)["event"] for line in written.splitlines()]
