"""What a visit talks to, put together in one place and handed to it."""

from collections.abc import Callable
from dataclasses import dataclass

from wayside.core.content import Pack
from wayside.ports.audio_link import AudioLink
from wayside.ports.clock import Clock
from wayside.ports.language_model import LanguageModel
from wayside.ports.speech_to_text import SpeechToText
from wayside.ports.text_to_speech import TextToSpeech
from wayside.ports.voice_activity import VoiceActivity


class Generations:
    """Mints generation ids for the kiosk's lifetime; they only rise, across visits too."""

    def __init__(self) -> None:
        self.current = 0

    def mint(self) -> int:
        """The next generation."""
        self.current += 1
        return self.current


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything outside that a visit talks to."""

    link: AudioLink
    voice_activity: VoiceActivity
    speech_to_text: SpeechToText
    voice: TextToSpeech
    dialogue: LanguageModel
    clock: Clock
    pack: Pack
    new_id: Callable[[], str]
    generations: Generations
