"""What a visit talks to, put together in one place and handed to it."""

from collections.abc import Callable
from dataclasses import dataclass

from wayside.core.content import Pack
from wayside.ports.audio_link import AudioLink
from wayside.ports.clock import Clock
from wayside.ports.run_store import RunStores
from wayside.ports.speech_to_text import SpeechToText
from wayside.ports.text_to_speech import TextToSpeech
from wayside.ports.voice_activity import VoiceActivity
from wayside.runtime.room.registry import RoomAgentRegistry


class Generations:
    """Mints generation ids for the kiosk's lifetime; they only rise, across visits too."""

    def __init__(self) -> None:
        self.current = 0

    def start_after(self, generation: int) -> None:
        """Never mint what an earlier process minted for the same visit."""
        self.current = max(self.current, generation)

    def mint(self) -> int:
        """The next generation."""
        self.current += 1
        return self.current


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything outside that a visit talks to. The room is the kiosk's and outlasts visits; stores are one a visit."""

    link: AudioLink
    voice_activity: VoiceActivity
    speech_to_text: SpeechToText
    voice: TextToSpeech
    registry: RoomAgentRegistry
    stores: RunStores
    clock: Clock
    pack: Pack
    new_id: Callable[[], str]
    generations: Generations
