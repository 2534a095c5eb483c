"""Logs never stand in the way of what they report."""

import io
import logging
import sys

import pytest
import structlog
from wayside.runtime.logs import configure, get_logger


class Full(io.StringIO):
    """A disk without room; Python tells when it writes out."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.fixture(autouse=True)
def _as_before():
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.reset_defaults()
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


@pytest.mark.parametrize("stream", [Full, closed])
def test_a_log_that_can_not_be_written_costs_the_line_alone(stream, monkeypatch) -> None:
    configure()
    monkeypatch.setattr(sys, "stderr", stream())
    get_logger().error("store.given_up", code="store.full")


def test_a_line_goes_to_where_standard_error_is_now(monkeypatch) -> None:
    configure()
    there = io.StringIO()
    monkeypatch.setattr(sys, "stderr", there)
    get_logger().error("store.given_up", code="store.full", text="what a visitor said")

    assert '"code": "store.full"' in there.getvalue()
    assert "visitor" not in there.getvalue()
