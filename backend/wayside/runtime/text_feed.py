"""Text of one run on its way to a voice. Bounded by the reply's text limit, so it never blocks the driver."""

import asyncio
from collections import deque

from wayside.core.reply import MAX_REPLY_CHARS


class TextFeed:
    """Deltas in order. `truncated` says that text past the bound was dropped."""

    def __init__(self) -> None:
        self._deltas: deque[str] = deque()
        self._more = asyncio.Event()
        self._chars = 0
        self.ended = False
        self.aborted = False
        self.truncated = False

    def put(self, delta: str) -> None:
        """Add text; what is past the reply's bound is dropped here and told."""
        if self.ended:
            return
        room = MAX_REPLY_CHARS - self._chars
        if len(delta) > room:
            self.truncated = True
            delta = delta[:room]
        if delta:
            self._chars += len(delta)
            self._deltas.append(delta)
            self._more.set()

    def end(self, *, aborted: bool = False) -> None:
        """No more text; with `aborted` the rest is not to be spoken."""
        self.ended = True
        self.aborted = self.aborted or aborted
        self._more.set()

    async def next(self) -> str | None:
        """The next delta, or None at the end."""
        while not self._deltas:
            if self.ended:
                return None
            self._more.clear()
            await self._more.wait()
        return self._deltas.popleft()
