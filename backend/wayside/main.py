"""The only place where parts are put together."""

import asyncio
import hashlib
import importlib.metadata
import os
import resource
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from wayside.adapters.absent import AbsentSpeechToText, AbsentVoice, AbsentVoiceActivity
from wayside.adapters.llm.curator import Curator
from wayside.adapters.models import ModelShelf, Whisper
from wayside.adapters.stt.whisper import WhisperSpeechToText
from wayside.adapters.tts.by_language import VoiceByLanguage
from wayside.adapters.tts.espeak import EspeakTextToSpeech
from wayside.adapters.tts.piper import PiperTextToSpeech
from wayside.adapters.vad.silero import silero_streams
from wayside.core.content import Pack
from wayside.core.errors import WaysideError
from wayside.ports.audio_link import AudioLink
from wayside.ports.clock import Clock, SystemClock
from wayside.ports.passages import PassageIndex
from wayside.ports.run_store import RunStores
from wayside.ports.run_store_memory import MemoryRunStores
from wayside.ports.speech_to_text import SpeechToText
from wayside.ports.text_to_speech import TextToSpeech
from wayside.ports.voice_activity import VoiceActivity
from wayside.releases.build import build_pack
from wayside.releases.load import load_pack
from wayside.runtime.guide import room_registry
from wayside.runtime.kiosk import KioskSettings
from wayside.runtime.parts import Generations, Parts
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index
from wayside.stores.sqlite.visits import VisitFolder, in_ram, ram_folder, swaps_to_disk
from wayside.wire.site import Site, read_settings, read_site

T = TypeVar("T")
Tell = Callable[[str], None]
STATIC = Path(__file__).parent / "server" / "static"
SAMPLE_PACK = "pottery"
RECOGNISERS = {"en": Whisper.TINY_EN, "es": Whisper.BASE}

_SUGGESTIONS = {
    "audio.microphone_lost": "Reseat or choose the microphone; text and touch go on.",
    "audio.loudspeaker_lost": "Reseat or choose the loudspeaker; replies are shown instead.",
    "store.not_recoverable": "A crash ends visits: give the service a runtime directory in RAM (RuntimeDirectory).",
    "store.corrupt": "A visit's file was damaged and set aside; if it happens again, test the memory of this machine.",
    "store.newer": "A visit's file was written by a newer version; it is deleted at the next reset.",
    "store.full": "Make room in the runtime directory; visits go on in memory.",
    "store.locked": "Another process holds the visit's file; visits go on in memory.",
    "store.read_only": "Make the runtime directory writable for the kiosk's user; visits go on in memory.",
    "store.gone": "Something deletes or cuts files in the runtime directory; visits go on in memory.",
    "store.failed": "The visit's file does not work; visits go on in memory.",
    "model.missing": "Run `wayside doctor`: it names the package to install.",
    "tts.unavailable": "Run `wayside doctor`: it names the voice to install.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are: a built pack (None: the sample pack), `wayside.toml`, the state directory."""

    pack: Path | None
    config: Path | None
    state: Path
    verbose: bool = False

    @property
    def settings_file(self) -> Path:
        """What staff controls write."""
        return self.state / "settings.json"

    @property
    def pack_folder(self) -> Path:
        """The built pack in use."""
        return self.pack or self.state / "packs" / f"{SAMPLE_PACK}-{_sample_id()}"

    def site(self) -> tuple[Site, list[str]]:
        """The site's configuration and what is wrong with it."""
        return read_site(self.config)

    def shelf(self) -> ModelShelf:
        """Where models are found."""
        return ModelShelf(cache=self.state / "models", folder=self.site()[0].models.folder)


@dataclass(frozen=True, slots=True)
class Content:
    """A loaded pack with its index; `fallback` is the folder the page reads."""

    pack: Pack
    index: PassageIndex
    fallback: Path


class Speech:
    """The embedded speech providers. What could not be found is absent and told in `missing`."""

    def __init__(self, shelf: ModelShelf) -> None:
        self.missing: list[WaysideError] = []
        self._broken: set[str] = set()  # languages whose recogniser can't be loaded
        streams = self._try(lambda: silero_streams(shelf.silero().path))
        self._whisper = self._try(lambda: _whisper(shelf, streams, self.missing))
        self._piper = self._try(lambda: _piper(shelf))
        espeak = self._try(EspeakTextToSpeech)
        voices = [voice for voice in (self._piper, espeak) if voice is not None]
        self.speech_to_text: SpeechToText = self._whisper or AbsentSpeechToText()
        self.voice: TextToSpeech = VoiceByLanguage(voices) if voices else AbsentVoice()
        self.voice_activity: VoiceActivity = streams() if streams else AbsentVoiceActivity()

    @property
    def can_hear(self) -> bool:
        """Whether there is a recogniser that works."""
        return self._whisper is not None and not self._broken.issuperset(self._whisper.capabilities.languages)

    @property
    def can_speak(self) -> bool:
        """Whether there is a voice."""
        return bool(self.voice.voices)

    def robotic(self, languages: tuple[str, ...]) -> list[str]:
        """The languages that have only a robotic voice; people are told."""
        good = {lang for voice in self.voice.voices if not voice.robotic for lang in voice.languages}
        return [language for language in languages if language not in good]

    async def warm(self, language: str) -> None:
        """Load what a visit in `language` needs, the recogniser and the voice side by side.

        What can't be loaded is told in `missing` like what was never there; the rest works without it.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._warm_recogniser(language))
            group.create_task(self._warm_voice())

    async def close(self) -> None:
        """End executors and child processes."""
        await self.speech_to_text.close()
        await self.voice.close()

    async def _warm_recogniser(self, language: str) -> None:
        if self._whisper is None or language not in self._whisper.capabilities.languages:
            return
        try:
            await self._whisper.warm((language,))
        except WaysideError as error:
            self.missing.append(error)
            self._broken.add(language)

    async def _warm_voice(self) -> None:
        if self._piper is None:
            return
        try:
            await self._piper.warm()
        except WaysideError:
            self.missing.append(
                WaysideError(
                    "tts.model_broken", "The voice can not be loaded", remedy="`wayside doctor` says which was found."
                )
            )
            if isinstance(self.voice, VoiceByLanguage):
                await self.voice.drop(self._piper)
            self._piper = None

    def _try(self, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except WaysideError as error:
            self.missing.append(error)
            return None


def content(place: Place) -> Content:
    """Load the built pack; raises `pack.*` with what to do.

    Where no pack is named, the sample pack is built first, without recordings (some seconds, once for each state of its
    source). Call it outside an event loop.
    """
    folder = place.pack_folder
    try:
        return _load(folder)
    except WaysideError:
        if place.pack is not None:
            raise
    asyncio.run(build_pack(sample_source(), folder, build_index, open_index=SqlitePassageIndex))
    for older in folder.parent.glob(f"{SAMPLE_PACK}*"):
        if older != folder:
            shutil.rmtree(older, ignore_errors=True)
    return _load(folder)


def _load(folder: Path) -> Content:
    return Content(load_pack(folder), SqlitePassageIndex(folder / "index.sqlite"), folder / "fallback")


def parts(
    link: AudioLink,
    loaded: Content,
    speech: Speech,
    clock: Clock | None = None,
    generations: Generations | None = None,
    stores: RunStores | None = None,
) -> Parts:
    """Everything a visit talks to. `clock` must be the one the link's times are from.

    Without `stores` visits live in memory and end with the process.
    """
    pack = loaded.pack
    return Parts(
        link=link,
        voice_activity=speech.voice_activity,
        speech_to_text=speech.speech_to_text,
        voice=speech.voice,
        registry=room_registry(pack, {agent.id: Curator(pack, loaded.index, agent.id) for agent in pack.agents}),
        stores=stores or MemoryRunStores(),
        clock=clock or SystemClock(),
        pack=pack,
        new_id=lambda: secrets.token_urlsafe(12),
        generations=generations or Generations(),
    )


def visit_stores(runtime_dir: Path | None, port: int) -> VisitFolder:
    """Where visits are kept: a private folder in RAM, under `runtime_dir` when that is one, else where one is found.

    `port` is this process's alone, and so is the folder: nobody else's visit is taken up.
    """
    return VisitFolder(ram_folder(place / f"visits-{port}" for place in _runtime_places(runtime_dir)))


def privacy() -> dict[str, str]:
    """Where a visit lives on this machine, and whether it could reach a disk; for whoever sets it up."""
    ram = next((folder for folder in _runtime_places(None) if in_ram(folder)), None)
    swaps = swaps_to_disk()
    return {
        "visits": f"in RAM, under {ram}" if ram else "in memory alone: a crash ends them",
        "swap": f"on ({', '.join(swaps)}): turn it off or encrypt it, or a visit may reach the disk"
        if swaps
        else "off",
    }


def _runtime_places(runtime_dir: Path | None) -> list[Path]:
    session = os.environ.get("XDG_RUNTIME_DIR")
    own = Path("/dev/shm") / f"wayside-{os.getuid()}"  # noqa: S108 - made private before it is used
    return [place for place in (runtime_dir, Path(session) / "wayside" if session else None, own) if place is not None]


def kiosk_settings(place: Place) -> KioskSettings:
    """The site's choices, with what staff set on top."""
    site, _ = place.site()
    staff = read_settings(place.settings_file)
    return KioskSettings(
        idle_s=site.inactivity.idle_s,
        countdown_s=site.inactivity.countdown_s,
        automatic=site.audio.automatic,
        volume_db=site.audio.volume_db if staff.volume_db is None else staff.volume_db,
    )


def sample_source() -> Path:
    """The sample pack as curators wrote it: inside the wheel, or in the checkout."""
    inside = Path(__file__).parent / "assets" / "packs" / SAMPLE_PACK
    return inside if inside.is_dir() else Path(__file__).parents[2] / "assets" / "packs" / SAMPLE_PACK


@cache
def _sample_id() -> str:
    """Names the state of the sample's source, so that an upgrade brings its new words."""
    digest = hashlib.sha256()
    for file in sorted(path for path in sample_source().rglob("*") if path.is_file()):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def no_core_dumps() -> None:
    """A core would hold what visitors said."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def version() -> str:
    """The installed version."""
    try:
        return importlib.metadata.version("wayside")
    except importlib.metadata.PackageNotFoundError:
        return "0"


def build_id() -> str:
    """Names the page's build; the page reloads once when it differs from its own."""
    index = STATIC / "index.html"
    return hashlib.sha256(index.read_bytes()).hexdigest()[:12] if index.is_file() else "none"


def issue(code: str) -> dict[str, str]:
    """A typed issue with what to do about it."""
    return {"code": code, "suggestion": _SUGGESTIONS.get(code, "Run `wayside doctor`.")}


def _whisper(
    shelf: ModelShelf, streams: Callable[[], VoiceActivity] | None, missing: list[WaysideError]
) -> WhisperSpeechToText:
    folders: dict[str, Path] = {}
    for language, model in RECOGNISERS.items():
        try:
            folders[language] = shelf.whisper(model).path
        except WaysideError as error:
            missing.append(error)
    if not folders:
        raise WaysideError("stt.unavailable", "No recogniser was found", remedy="Install one of the above.")
    return WhisperSpeechToText(folders, activity=streams)


def _piper(shelf: ModelShelf) -> PiperTextToSpeech:
    return PiperTextToSpeech(shelf.voice())
