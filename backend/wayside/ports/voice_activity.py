"""Voice activity."""

from typing import Protocol

WINDOW_SAMPLES = 512


class VoiceActivity(Protocol):
    """Speech probability per window of 512 samples, mono s16le at 16 kHz. State is carried from window to window."""

    def probability(self, window: bytes) -> float: ...

    def reset(self) -> None: ...


class ScriptedVoiceActivity:
    """Says speech where the window is loud; for tests."""

    def __init__(self, threshold: int = 1000) -> None:
        self._threshold = threshold

    def probability(self, window: bytes) -> float:
        samples = memoryview(window).cast("h")
        return 0.95 if max(samples, default=0) >= self._threshold else 0.02

    def reset(self) -> None:
        """Nothing is carried."""
