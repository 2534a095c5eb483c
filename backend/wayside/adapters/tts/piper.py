"""A Piper-format VITS voice on onnxruntime; phonemes come from eSpeak NG in a process of its own.

What is synthesised at once is a chunk of phrases (`clauses.chunks`): the first one short, so that sound starts early,
later ones whole sentences. A chunk is the unit: its end is the only place where text and samples are known to meet.
"""

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import soxr

from wayside.adapters.models import FoundVoice
from wayside.adapters.tts.cancelling import Cancellations, Watch
from wayside.adapters.tts.clauses import Clause, chunks
from wayside.adapters.tts.espeak_process import phonemes
from wayside.adapters.tts.level import Samples, gain, pcm, trimmed
from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import NEUTRAL, SpeechChunk, Voice, VoiceStyle

CHUNK_DEADLINE_S = 10.0
_PAUSE_S = {".": 0.35, "!": 0.35, "?": 0.35, ";": 0.25, ":": 0.25, ",": 0.18, "": 0.03}
# Of a sentence's duration, measured: the network rounds every sound up to a whole frame, which no scale shortens.
_FIXED = 0.27
_SWITCHED_LANGUAGE = re.compile(r"\([a-z]{2,3}(?:-[a-z0-9]+)*\)")
_WARM_TEXT = "Hello there, this is a test."


@dataclass(frozen=True, slots=True)
class _Config:
    """What of `<voice>.onnx.json` matters."""

    rate: int
    espeak_voice: str
    language: str
    ids: dict[str, list[int]]
    scales: tuple[float, float, float]  # noise, length, noise of durations
    speakers: int


class PiperTextToSpeech:
    """One voice. Inference runs on one named thread; a run in flight is told to end when its generation is cancelled.

    `pace` stretches time (1.1 is 10 % slower), before any style. A higher pitch is speech made slower and played
    faster, a lower one the other way round, so that the pace is the style's own. Loads at `warm` or at first use.
    Output is levelled to −20 dBFS with peaks at or below −1 dBFS.
    """

    def __init__(self, voice: FoundVoice, *, threads: int = 1, pace: float = 1.0) -> None:
        self._model = voice.model
        self._config = _read(voice.config)
        self._threads = threads
        self._pace = pace
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="piper")
        self._session: onnxruntime.InferenceSession | None = None
        self._cancellations = Cancellations()
        self._closed = False
        tag = self._config.language.replace("_", "-")
        languages = tuple(dict.fromkeys((tag, tag.split("-", 1)[0])))
        self._voices = (Voice(voice.name, languages, self._config.rate),)

    @property
    def voices(self) -> tuple[Voice, ...]:
        return self._voices

    async def warm(self) -> None:
        """Load the model and speak a sentence to nobody: the first run allocates."""
        async for _ in self.speak(_WARM_TEXT, self._voices[0].languages[0], 0, 0):
            pass

    async def speak(
        self, text: str, language: str, generation: int, utterance: int, style: VoiceStyle = NEUTRAL
    ) -> AsyncIterator[SpeechChunk]:
        del utterance
        if language.split("-", 1)[0].lower() != self._voices[0].languages[-1]:
            raise WaysideError("tts.language", f"this voice does not speak {language!r}")
        if self._closed:
            raise WaysideError("tts.failed", "the voice is closed")
        rate, samples = self._config.rate, 0
        with self._cancellations.watch(generation) as watch:
            for chunk in chunks(text):
                spoken = None if watch.cancelled else await self._chunk(chunk, style, watch)
                if watch.cancelled or spoken is None:
                    return
                pause = np.zeros(int(_PAUSE_S[chunk[-1].mark] / style.pace * rate), dtype=np.float32)
                end = samples + spoken.size
                samples = end + pause.size
                yield SpeechChunk(pcm(np.concatenate([spoken, pause])), rate, ((chunk[-1].end, end),))

    def cancel(self, generation: int) -> None:
        self._cancellations.cancel(generation)

    async def close(self) -> None:
        """Stop everything. A run in flight ends within a layer of the network."""
        self._closed = True
        self._cancellations.cancel_all()
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
        self._session = None

    async def _chunk(self, chunk: Sequence[Clause], style: VoiceStyle, watch: Watch) -> Samples | None:
        """The samples of a chunk, or None when it was cancelled."""
        options = onnxruntime.RunOptions()
        try:
            async with asyncio.timeout(CHUNK_DEADLINE_S):
                ipa = await self._phonemes(chunk)
                if watch.cancelled:
                    return None
                work = asyncio.get_running_loop().run_in_executor(self._executor, self._run, ipa, style, options)
                watch.on_cancel.append(lambda: setattr(options, "terminate", True))
                return await work
        except TimeoutError:
            options.terminate = True
            raise WaysideError("tts.timeout", f"no sound within {CHUNK_DEADLINE_S:g} s", retryable=True) from None
        except WaysideError:
            raise
        except Exception:  # noqa: BLE001 -- onnxruntime raises its own kinds, and RuntimeError when told to end
            if watch.cancelled:
                return None
            # From None: what the vendor says could quote the text.
            raise WaysideError("tts.failed", "the voice failed", retryable=True) from None

    async def _phonemes(self, chunk: Sequence[Clause]) -> str:
        voice = self._config.espeak_voice
        spoken = [_SWITCHED_LANGUAGE.sub("", await phonemes(_bare(clause), voice)) + clause.mark for clause in chunk]
        return " ".join(spoken)

    def _run(self, ipa: str, style: VoiceStyle, options: onnxruntime.RunOptions) -> Samples:
        """In the voice's thread."""
        if self._session is None:
            self._session = self._load()
        ids = _phoneme_ids(ipa, self._config.ids)
        noise, length, noise_w = self._config.scales
        higher = 2 ** (style.pitch_semitones / 12)
        feed: dict[str, Any] = {
            "input": np.array([ids], dtype=np.int64),
            "input_lengths": np.array([len(ids)], dtype=np.int64),
            "scales": np.array([noise, length * self._pace * _stretch(higher / style.pace), noise_w], dtype=np.float32),
        }
        if self._config.speakers > 1:
            feed["sid"] = np.array([0], dtype=np.int64)
        samples: Samples = self._session.run(None, feed, options)[0].reshape(-1)
        if higher != 1.0:
            samples = soxr.resample(samples, self._config.rate * higher, self._config.rate)
        return trimmed(samples * np.float32(gain(samples, self._config.rate)), self._config.rate)

    def _load(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])


def _stretch(wanted: float) -> float:
    """The length scale that makes speech `wanted` times as long."""
    return (wanted - _FIXED) / (1 - _FIXED)


def _phoneme_ids(ipa: str, ids: dict[str, list[int]]) -> list[int]:
    """Piper's convention: `^`, then every code point, then `$`, with a pad `_` behind each but the last."""
    pad = ids["_"]
    found = [*ids["^"], *pad]
    for symbol in unicodedata.normalize("NFD", ipa):
        if symbol in ids:
            found += [*ids[symbol], *pad]
    return [*found, *ids["$"]]


def _bare(clause: Clause) -> str:
    """Without the mark that ends it, so that eSpeak NG says one line for one phrase."""
    return clause.text.rstrip(" .,;:!?…—–\n")


def _read(path: Path) -> _Config:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        inference = raw.get("inference", {})
        return _Config(
            rate=int(raw["audio"]["sample_rate"]),
            espeak_voice=str(raw["espeak"]["voice"]),
            language=str(raw.get("language", {}).get("code", raw["espeak"]["voice"])),
            ids={str(symbol): [int(i) for i in to] for symbol, to in raw["phoneme_id_map"].items()},
            scales=(
                float(inference.get("noise_scale", 0.667)),
                float(inference.get("length_scale", 1.0)),
                float(inference.get("noise_w", 0.8)),
            ),
            speakers=int(raw.get("num_speakers", 1)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WaysideError(
            "model.damaged", f"{path.name} is not a Piper voice's description", remedy="Replace the voice's files."
        ) from error
