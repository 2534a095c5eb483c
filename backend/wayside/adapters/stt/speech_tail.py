"""Where a segment's speech ends so far: a decode from behind that point holds every word."""

from collections.abc import Callable

import numpy as np

from wayside.ports.voice_activity import WINDOW_SAMPLES, VoiceActivity

_SPEECH = 0.35  # below the turn taking's threshold: a quiet last syllable is still speech
_FLOOR = 10 ** (-50 / 20) * 32768
_BELOW_LOUDEST = 10 ** (-26 / 20)
_WINDOW_BYTES = WINDOW_SAMPLES * 2


class SpeechTail:
    """Counts samples (mono s16le, 16 kHz) and remembers the end of the last window with speech in it.

    Without `activity`, speech is what is less than 26 dB quieter than the loudest window of the segment.
    """

    def __init__(self, activity: VoiceActivity | None) -> None:
        self._is_speech: Callable[[bytes], bool] = (
            self._is_loud if activity is None else lambda window: activity.probability(window) >= _SPEECH
        )
        self._rest = bytearray()
        self._loudest = 0.0
        self.samples = 0
        self.last_speech = 0

    def feed(self, pcm: bytes) -> None:
        """About 0.2 ms per 32 ms of audio."""
        self._rest += pcm
        before = self.samples + len(pcm) // 2 - len(self._rest) // 2
        self.samples += len(pcm) // 2
        whole = len(self._rest) // _WINDOW_BYTES * _WINDOW_BYTES
        for start in range(0, whole, _WINDOW_BYTES):
            if self._is_speech(bytes(self._rest[start : start + _WINDOW_BYTES])):
                self.last_speech = before + (start + _WINDOW_BYTES) // 2
        del self._rest[:whole]

    def _is_loud(self, window: bytes) -> bool:
        level = float(np.sqrt(np.square(np.frombuffer(window, dtype="<i2").astype(np.float32)).mean()))
        self._loudest = max(self._loudest, level)
        return level > max(_FLOOR, self._loudest * _BELOW_LOUDEST)
