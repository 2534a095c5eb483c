"""Which generations may still be spoken: cancelling one cancels every older one, and those that start late."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Watch:
    """One utterance being synthesised. `on_cancel` is called once, when it is cancelled or left."""

    generation: int
    cancelled: bool = False
    on_cancel: list[Callable[[], None]] = field(default_factory=list)

    def cancel(self) -> None:
        self.cancelled = True
        callbacks, self.on_cancel = self.on_cancel, []
        for callback in callbacks:
            callback()


class Cancellations:
    """The watermark, and the utterances below which it may still rise."""

    def __init__(self) -> None:
        self._through = -1
        self._watches: list[Watch] = []

    @contextmanager
    def watch(self, generation: int) -> Iterator[Watch]:
        """Work that is stopped by `cancel`, and in any case when the block is left."""
        watch = Watch(generation, cancelled=generation <= self._through)
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)
            watch.cancel()

    def cancel(self, generation: int) -> None:
        self._through = max(self._through, generation)
        for watch in tuple(self._watches):
            if watch.generation <= generation:
                watch.cancel()

    def cancel_all(self) -> None:
        for watch in tuple(self._watches):
            watch.cancel()
