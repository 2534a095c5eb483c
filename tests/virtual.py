"""An event loop whose time passes only when nothing is left to do, so that tests of seconds take milliseconds."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing is scheduled and nothing is ready: the test would wait for ever")
        ready = super().select(0)
        if not ready:
            self.passed += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 1000 s."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return 1000.0 + self._virtual.passed


class LoopClock:
    """`Clock` over the running loop."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def boottime_ms(self) -> int:
        return int(self.now() * 1000)


def run_virtual(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
