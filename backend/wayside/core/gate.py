"""Decides from speech probabilities when speech starts and stops; knows nothing of turns.

Source: Silero VAD's recommended hysteresis (start 0.5, stop 0.35).
"""

from dataclasses import dataclass, replace

WINDOW_SAMPLES = 512  # 32 ms at 16 kHz


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Thresholds are probabilities; windows are of 32 ms."""

    start: float = 0.5
    stop: float = 0.35
    start_windows: int = (
        1  # minimum speech; holding is reversible and knocks stay below `start`, so early beats certain
    )
    stop_windows: int = 5


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Speech began at `sample` (start of the first window above the threshold)."""

    sample: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """Speech ended at `sample` (end of the last window above the lower threshold)."""

    sample: int


GateEvent = SpeechStarted | SpeechStopped


@dataclass(frozen=True, slots=True)
class SpeechGate:
    """Hysteresis over windows. `position` is the sample at which the next window begins."""

    settings: GateSettings = GateSettings()
    speaking: bool = False
    above: int = 0
    below: int = 0
    position: int = 0
    last_voice: int = 0

    def step(self, probability: float) -> tuple["SpeechGate", GateEvent | None]:
        """Take the next window's probability."""
        end = self.position + WINDOW_SAMPLES
        if not self.speaking:
            above = self.above + 1 if probability >= self.settings.start else 0
            if above < self.settings.start_windows:
                return replace(self, above=above, position=end), None
            started = SpeechStarted(end - above * WINDOW_SAMPLES)
            return replace(self, speaking=True, above=0, below=0, position=end, last_voice=end), started
        if probability >= self.settings.stop:
            return replace(self, below=0, position=end, last_voice=end), None
        below = self.below + 1
        if below < self.settings.stop_windows:
            return replace(self, below=below, position=end), None
        return replace(self, speaking=False, above=0, below=0, position=end), SpeechStopped(self.last_voice)
