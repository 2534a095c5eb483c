"""How the runtime treats code that is not its own: what that raises stops nobody else and is told to nobody."""

import asyncio
from collections.abc import Callable
from typing import Any

from wayside.runtime.logs import get_logger

log = get_logger()


def told(tell: Callable[[], None], failed: str = "run.observer_failed") -> None:
    """Tell whoever watches. `failed` is the event logged when they raise; what they raise may hold content."""
    try:
        tell()
    except Exception:  # noqa: BLE001 - an observer may raise anything
        log.warning(failed, code=failed)


def looked_at(work: "asyncio.Future[Any]") -> None:
    """A done callback: look at what became of work that nobody may wait for, so that the loop doesn't log it."""
    if not work.cancelled():
        work.exception()
