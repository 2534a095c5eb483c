"""One synthesiser out of several, chosen by language from an ordered list."""

from collections.abc import AsyncIterator, Sequence

from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, TextToSpeech, Voice, VoiceStyle


class VoiceByLanguage:
    """The first provider in the list with a voice for a tag (`en-GB`), or for its language (`en`), speaks it."""

    def __init__(self, providers: Sequence[TextToSpeech]) -> None:
        self._providers = tuple(providers)

    @property
    def voices(self) -> tuple[Voice, ...]:
        return tuple(voice for provider in self._providers for voice in provider.voices)

    def voice_for(self, language: str) -> Voice | None:
        """The voice that would speak it, so that the product can say when it is robotic."""
        found = self._find(language)
        return found[1] if found is not None else None

    def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        found = self._find(language)
        if found is None:
            raise WaysideError("tts.language", f"no voice for {language!r}", remedy="Install a voice for it.")
        return found[0].speak(text, language, generation, utterance, style)

    def cancel(self, generation: int) -> None:
        for provider in self._providers:
            provider.cancel(generation)

    async def drop(self, provider: TextToSpeech) -> None:
        """Do without a provider that cannot work; the next one speaks its languages."""
        self._providers = tuple(kept for kept in self._providers if kept is not provider)
        await provider.close()

    async def close(self) -> None:
        for provider in self._providers:
            await provider.close()

    def _find(self, language: str) -> tuple[TextToSpeech, Voice] | None:
        tag = language.lower()
        short = tag.split("-", 1)[0]
        for provider in self._providers:
            for voice in provider.voices:
                if any(known.lower() in {tag, short} for known in voice.languages):
                    return provider, voice
        return None
