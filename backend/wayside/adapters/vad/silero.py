"""Silero's voice activity model on onnxruntime: no torch, one thread, about 0.2 ms a window."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from wayside.core.errors import WaysideError
from wayside.ports.voice_activity import WINDOW_SAMPLES, VoiceActivity

_CONTEXT_SAMPLES = 64
_RATE = np.array(16_000, dtype=np.int64)


class SileroVoiceActivity:
    """One stream of windows. Carries the network's state `[2, 1, 128]` and the last 64 samples from window to window.

    `session` may be shared by any number of streams (`silero_streams`): running it keeps nothing.
    """

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._input = np.zeros((1, _CONTEXT_SAMPLES + WINDOW_SAMPLES), dtype=np.float32)
        self._state: NDArray[np.float32] = np.zeros((2, 1, 128), dtype=np.float32)

    def probability(self, window: bytes) -> float:
        samples = np.frombuffer(window, dtype="<i2")
        if samples.size != WINDOW_SAMPLES:
            raise ValueError(f"a window has {WINDOW_SAMPLES} samples, not {samples.size}")
        self._input[0, :_CONTEXT_SAMPLES] = self._input[0, -_CONTEXT_SAMPLES:].copy()
        np.multiply(samples, np.float32(1 / 32768), out=self._input[0, _CONTEXT_SAMPLES:])
        out, self._state = self._session.run(None, {"input": self._input, "state": self._state, "sr": _RATE})
        return float(out[0, 0])

    def reset(self) -> None:
        self._input[:] = 0
        self._state = np.zeros((2, 1, 128), dtype=np.float32)


def silero_streams(model: Path) -> Callable[[], VoiceActivity]:
    """Load the model once (20–80 ms); each call of the result starts a stream of its own.

    Raises `vad.model_broken` when it can't be loaded.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions share no base class
        raise WaysideError(
            "vad.model_broken",
            f"The voice activity model in {model} can not be loaded: {type(error).__name__}",
            remedy="Install the wheel `silero-vad` again, or put an intact model into the configured folder.",
        ) from error
    return lambda: SileroVoiceActivity(session)
