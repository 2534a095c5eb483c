"""The two streams every link gives out: capture frames and events, one consumer each."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from wayside.ports.audio_link import CaptureFrame, LinkEvent, Overflow

FRAMES_LIMIT = 500  # 5 s; past it the oldest frame is dropped and told as `Overflow`
EVENTS_LIMIT = 4096  # past it the oldest is dropped: counts are cumulative

T = TypeVar("T")


class _Pipe(Generic[T]):
    def __init__(self, limit: int) -> None:
        self.items: deque[T] = deque(maxlen=limit)
        self.ended = False
        self._news = asyncio.Event()

    def put(self, item: T) -> bool:
        """False when the oldest item was pushed out."""
        fits = len(self.items) < (self.items.maxlen or 0)
        self.items.append(item)
        self._news.set()
        return fits

    def end(self) -> None:
        self.ended = True
        self._news.set()

    async def read(self) -> AsyncIterator[T]:
        while True:
            while self.items:
                yield self.items.popleft()
            if self.ended:
                return
            self._news.clear()
            await self._news.wait()


class Outlet:
    """Bounded; both streams end with `end`, after what was already put."""

    def __init__(self) -> None:
        self._frames: _Pipe[CaptureFrame] = _Pipe(FRAMES_LIMIT)
        self._events: _Pipe[LinkEvent] = _Pipe(EVENTS_LIMIT)

    def frames(self) -> AsyncIterator[CaptureFrame]:
        return self._frames.read()

    def events(self) -> AsyncIterator[LinkEvent]:
        return self._events.read()

    def frame(self, frame: CaptureFrame) -> None:
        if not self._frames.put(frame):
            self.event(Overflow(len(frame.pcm) // 2))

    def event(self, event: LinkEvent) -> None:
        self._events.put(event)

    def drop_frames(self) -> None:
        """Frames nobody has read yet stay here: the microphone was closed."""
        self._frames.items.clear()

    def end(self) -> None:
        self._frames.end()
        self._events.end()
