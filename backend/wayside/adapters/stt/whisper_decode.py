"""One Whisper decode: audio in, words and how sure they are out. Synchronous; knows no streams, threads or deadlines.

Whisper pads everything to 30 s, and most of a decode is spent encoding that silence. The encoder takes shorter windows:
the audio and 8 s of silence give the same words in a third of the time. With less silence the decoder starts to say its
sentence twice, so a transcript that repeats itself or runs into its token bound is decoded again with 16 s of it. What
is no speech at all, or is the catalogue's prompt said back, comes out as empty text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.tokenizer import Tokenizer
from numpy.typing import NDArray

RATE = 16_000
PAD_S = 8.0
_RETRY_PAD_S = 16.0
_FULL_S = 30.0
NOISY = -1.0  # mean log-probability below which a decode is noise (ports.speech_to_text.Transcript)
_PIECE_S = 28.0  # longer audio is cut at its quietest place before this
_NO_SPEECH = 0.6
_SILENT = 10 ** (-60 / 20)  # of full scale, RMS of the loudest 100 ms
_PROMPT_TOKENS = 120
_ECHO_WORDS = 2
_STUTTER = re.compile(r"\b(\w{1,3})(?:-\1){3,}", re.IGNORECASE)  # what noise sounds like to it: f-f-f-f
_HOP = 160  # samples a mel frame
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SOUND = re.compile(r"[\[(*♪][^\])*♪]*[\])*♪]")  # [BLANK_AUDIO], (applause), *music*

Audio = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Decoded:
    """`confidence` is the mean log-probability of a token (≤ 0), `no_speech` the probability that nobody spoke.

    `runaway` marks a decode that repeats itself or found no end, and was not tried again.
    """

    text: str
    confidence: float
    no_speech: float
    runaway: bool = False


_NOTHING = Decoded("", NOISY * 2, 1.0)


class WhisperDecoder:
    """A loaded model. Not thread-safe: one decode at a time, always from the same thread.

    Loading takes 0.2–1.9 s. Weights and arithmetic are int8. `threads` beyond 1 gain nothing on short windows.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._model = WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True
        )
        self._tokenizers: dict[str, Tokenizer] = {}

    def decode(self, audio: Audio, language: str, hints: Sequence[str] = (), *, careful: bool = True) -> Decoded:
        """Words in `audio` (mono, 16 kHz, −1..1), in `language` (a Whisper code: `en`). `hints` are words to expect.

        A careful decode gets a second try when it runs away.
        """
        found = [self._piece(piece, language, hints, careful=careful) for piece in _pieces(audio)]
        heard = [piece for piece in found if piece.text]
        if not heard:
            return found[-1]
        return Decoded(
            " ".join(piece.text for piece in heard),
            min(piece.confidence for piece in heard),
            max(piece.no_speech for piece in heard),
            any(piece.runaway for piece in heard),
        )

    def _piece(self, audio: Audio, language: str, hints: Sequence[str], *, careful: bool) -> Decoded:
        if _loudest(audio) < _SILENT:
            return _NOTHING
        prompt = ", ".join(hints)
        found = self._robust(audio, language, prompt, careful=careful)
        if prompt and _is_echo(found.text, hints):
            # Either the visitor names an exhibit, or the model says its prompt: only the first works without one.
            plain = self._robust(audio, language, "", careful=careful)
            alike = SequenceMatcher(None, found.text.lower(), plain.text.lower()).ratio() >= 0.5
            found = found if alike and plain.confidence >= NOISY else plain
        noise = (found.no_speech >= _NO_SPEECH and found.confidence < NOISY / 2) or found.confidence < 2 * NOISY
        noise = noise or not _WORD.search(_STUTTER.sub("", _SOUND.sub("", found.text)))
        text = "" if noise else found.text
        return replace(found, text=text)

    def _robust(self, audio: Audio, language: str, prompt: str, *, careful: bool) -> Decoded:
        found, repeats, endless = self._once(audio, language, prompt, PAD_S)
        if (repeats or endless) and not careful:
            return replace(found, runaway=True)
        if (repeats or endless) and found.no_speech < _NO_SPEECH:
            found, repeats, endless = self._once(audio, language, prompt, _RETRY_PAD_S)
        text = _without_repeats(found.text) if repeats else found.text
        # Who says it twice is still heard once, surely; who never ends was not heard.
        return replace(
            found, text=text, confidence=min(found.confidence, NOISY - 0.01) if endless else found.confidence
        )

    def _once(self, audio: Audio, language: str, prompt: str, pad_s: float) -> tuple[Decoded, bool, bool]:
        """One pass, followed by `pad_s` of silence; also whether it repeats itself and whether it found no end."""
        tokenizer = self._tokenizer(language)
        samples = int(min(audio.size / RATE + pad_s, _FULL_S) * RATE) // (2 * _HOP) * (2 * _HOP)
        padded = np.zeros(samples, dtype=np.float32)
        padded[: audio.size] = audio[:samples]
        mel = self._model.feature_extractor(padded, padding=0)[..., : samples // _HOP]
        tokens: list[int] = []
        if prompt:
            tokens = [tokenizer.sot_prev, *tokenizer.encode(f" {prompt}")[:_PROMPT_TOKENS]]
        tokens += [*tokenizer.sot_sequence, tokenizer.no_timestamps]
        bound = 16 + int(audio.size / RATE * 10)
        result = self._model.model.generate(
            ctranslate2.StorageView.from_array(np.ascontiguousarray(mel[None])),
            [tokens],
            beam_size=1,
            max_length=min(self._model.max_length, len(tokens) + bound),
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        said: list[int] = result.sequences_ids[0]
        text = tokenizer.decode(said).strip()
        # CTranslate2 divides by the words alone, Whisper counts the end of text too.
        confidence = result.scores[0] * len(said) / (len(said) + 1)
        repeats = _without_repeats(text) != text
        return Decoded(text, confidence, result.no_speech_prob), repeats, len(said) >= bound

    def _tokenizer(self, language: str) -> Tokenizer:
        found = self._tokenizers.get(language)
        if found is None:
            found = Tokenizer(
                self._model.hf_tokenizer, self._model.model.is_multilingual, task="transcribe", language=language
            )
            self._tokenizers[language] = found
        return found


def words(text: str) -> list[str]:
    """Words without case and punctuation, for comparing."""
    return _WORD.findall(text.lower())


def _is_echo(text: str, hints: Sequence[str]) -> bool:
    """Whether the text is a stretch of the prompt, word for word."""
    said, prompt = words(text), words(" ".join(hints))
    if len(said) < _ECHO_WORDS:
        return False
    return any(prompt[i : i + len(said)] == said for i in range(len(prompt) - len(said) + 1))


def _without_repeats(text: str) -> str:
    """The text up to where it starts to say again what it just said (3 words or more, or one word five times)."""
    tokens = text.split()
    bare = [re.sub(r"\W", "", token.lower()) for token in tokens]
    for start in range(len(bare)):
        if len(set(bare[start : start + 5])) == 1 and len(bare) - start >= 5:
            return " ".join(tokens[: start + 1])
        for length in range(3, (len(bare) - start) // 2 + 1):
            if bare[start : start + length] == bare[start + length : start + 2 * length]:
                return " ".join(tokens[: start + length])
    # A sentence begun again and cut off by the token bound.
    for start in range(1, len(bare) - 2):
        tail = bare[start:]
        if len(tail) >= 3 and tail == bare[: len(tail)] and start >= len(tail):
            return " ".join(tokens[:start])
    return text


def _loudest(audio: Audio) -> float:
    """RMS of the loudest 100 ms."""
    block = RATE // 10
    whole = audio.size // block * block
    if whole == 0:
        return 0.0
    return float(np.sqrt(np.square(audio[:whole].reshape(-1, block)).mean(axis=1).max()))


def _pieces(audio: Audio) -> list[Audio]:
    """Audio in pieces that fit the window, each cut at the quietest 100 ms of its last 8 s."""
    longest, block = int(_PIECE_S * RATE), RATE // 10
    pieces = []
    while audio.size > longest:
        end = audio[longest - 8 * RATE : longest].reshape(-1, block)
        cut = longest - 8 * RATE + (int(np.square(end).mean(axis=1).argmin()) * 2 + 1) * block // 2
        pieces.append(audio[:cut])
        audio = audio[cut:]
    return [*pieces, audio]
