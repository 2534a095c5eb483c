"""Stand-ins for speech parts whose files are missing: they refuse with the reason, and the visit goes on in text."""

from collections.abc import AsyncIterator, Sequence

from wayside.core.errors import WaysideError
from wayside.ports.speech_to_text import SpeechStream, SpeechToTextCapabilities
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, Voice, VoiceStyle


class AbsentSpeechToText:
    """No recogniser: every segment fails with `stt.unavailable`, and people are offered touch and typing."""

    @property
    def capabilities(self) -> SpeechToTextCapabilities:
        return SpeechToTextCapabilities(languages=(), interim=False)

    async def open(self, language: str, hints: Sequence[str]) -> SpeechStream:
        del language, hints
        raise WaysideError(
            "stt.unavailable", "No recogniser is installed.", remedy="`wayside doctor` says how to get one."
        )

    async def close(self) -> None:
        """Nothing is open."""


class AbsentVoice:
    """No voice: replies are shown instead of spoken."""

    @property
    def voices(self) -> tuple[Voice, ...]:
        return ()

    async def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        del text, language, generation, utterance, style
        raise WaysideError("tts.unavailable", "No voice is installed.", remedy="`wayside doctor` says how to get one.")
        yield  # makes this an async generator, as the port wants

    def cancel(self, generation: int) -> None:
        """Nothing is running."""

    async def close(self) -> None:
        """Nothing is open."""


class AbsentVoiceActivity:
    """No voice activity model: nothing is ever taken for speech; the talk button still opens and closes segments."""

    def probability(self, window: bytes) -> float:
        del window
        return 0.0

    def reset(self) -> None:
        """Nothing is carried."""
