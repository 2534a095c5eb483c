"""`wayside say`: one whole turn through the real pipeline on a file link, in real time.

A recording is spoken into the microphone and must end by the local endpointing rules, exactly as in the gallery; text
enters where a typed message would.
"""

import asyncio
from pathlib import Path
from typing import Any

from wayside import main as wiring
from wayside.adapters.audio.file import FileLink
from wayside.adapters.audio.files import read_audio
from wayside.core.errors import WaysideError
from wayside.ports.audio_link import CAPTURE_RATE
from wayside.runtime.answer import Answered, TurnTimes
from wayside.runtime.kiosk import Kiosk
from wayside.runtime.logs import configure
from wayside.runtime.screen import Notice, ScreenEvent, UtteranceFrame
from wayside.runtime.visit import Visit

LEADING_SILENCE_S = 0.3
TRAILING_SILENCE_S = 2.0  # so that the end of the turn is found by listening, not by the end of the file
AFTER_SPEECH_S = 12.0  # a turn that has not been committed by then will not be
ANSWER_S = 180.0

_AUDIO = {".wav", ".flac", ".ogg", ".mp3"}


async def say(
    question: str, *, place: wiring.Place, language: str, exhibit: str | None, out: Path | None, tell: wiring.Tell
) -> dict[str, Any]:
    """Ask once; returns the command's JSON. Raises `audio.bad_file`, `pack.*`, `say.language`, `say.exhibit`."""
    configure(verbose=place.verbose)
    wiring.no_core_dumps()
    spoken = _recording(question)
    loaded = await asyncio.to_thread(wiring.content, place)
    if language not in loaded.pack.languages:
        known = ", ".join(loaded.pack.languages)
        raise WaysideError("say.language", f"The pack has no {language!r}.", remedy=f"Choose one of: {known}.")
    if exhibit is not None and all(known.id != exhibit for known in loaded.pack.exhibits):
        raise WaysideError("say.exhibit", f"The pack has no exhibit {exhibit!r}.", remedy="See exhibits/ in the pack.")
    speech = wiring.Speech(place.shelf())
    source = b"" if spoken is None else _silence(LEADING_SILENCE_S) + spoken + _silence(TRAILING_SILENCE_S)
    link = FileLink(source, out, mode="real")
    watch = _Watch()
    kiosk = Kiosk(
        wiring.parts(link, loaded, speech, clock=link.clock),
        wiring.kiosk_settings(place),
        show=watch.show,
        visit_changed=lambda _reason: None,
        answered=watch.answered,
    )
    try:
        tell("Loading models …")
        await speech.warm(language)
        for line in (*place.site()[1], *(error.advice for error in speech.missing)):
            tell(line)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kiosk.run())
            await asyncio.sleep(0)
            visit = await kiosk.start_visit(language)
            if exhibit is not None:
                visit.look_at(exhibit)
            tell("Listening …" if spoken is not None else "Asking …")
            await _turn(visit, question, spoken, watch)
            kiosk.close()
            await running
    except* WaysideError as group_error:
        raise group_error.exceptions[0] from None
    finally:
        await speech.close()
        loaded.index.close()
    return watch.result()


def say_lines(result: dict[str, Any]) -> list[str]:
    """The result for people."""
    if not result["transcript"]:
        return [f"Nothing was understood ({result['notice'] or 'no speech was heard'}). Try a clearer recording."]
    lines = [f"Heard     {result['transcript']}", f"Answer    {result['answer']}"]
    lines += [f"Source    {source['title']}" for source in result["sources"]]
    if result["heard"] != result["answer"].strip():
        lines.append(f"Delivered {result['heard'] or '(nothing)'}")
    stages = ", ".join(f"{name} {value} ms" for name, value in result["timings_ms"].items())
    return [*lines, f"Timings   {stages}"]


async def _turn(visit: Visit, question: str, spoken: bytes | None, watch: "_Watch") -> None:
    if spoken is None:
        visit.say(question)
        await watch.done(ANSWER_S)
        return
    visit.listen("automatic")
    # While the recording plays and just after it a turn must be committed; then the answer has its own time.
    await watch.committed(len(spoken) / 2 / CAPTURE_RATE + AFTER_SPEECH_S, visit)
    if visit.busy or watch.turn is None:
        await watch.done(ANSWER_S if visit.busy else 1.0)


class _Watch:
    """Sees what the visit shows and what came of its turn."""

    def __init__(self) -> None:
        self.turn: Answered | None = None
        self._event = asyncio.Event()
        self._notice = ""
        self._speaking = False

    def show(self, event: ScreenEvent) -> None:
        match event:
            case Notice(code=code):
                self._notice = code
            case UtteranceFrame():
                self._speaking = True
            case _:
                pass

    def answered(self, turn: Answered) -> None:
        if self.turn is None:
            self.turn = turn
            self._event.set()

    async def committed(self, limit_s: float, visit: Visit) -> None:
        waited = 0.0
        while waited < limit_s and self.turn is None and not self._speaking:
            if self._notice and not visit.busy:
                return
            await asyncio.sleep(0.05)
            waited += 0.05

    async def done(self, limit_s: float) -> None:
        try:
            async with asyncio.timeout(limit_s):
                await self._event.wait()
        except TimeoutError:
            return

    def result(self) -> dict[str, Any]:
        turn = self.turn
        if turn is None:
            return {
                "transcript": "", "answer": "", "sources": [], "heard": "", "refused": False, "timings_ms": {},
                "notice": self._notice,
            }  # fmt: skip
        heard = turn.delivery.heard.text if turn.delivery else ""
        return {
            "transcript": turn.transcript,
            "answer": turn.answer.strip(),
            "sources": [{"id": source.id, "title": source.title} for source in turn.sources],
            "heard": heard,
            "refused": turn.refused,
            "timings_ms": stage_ms(turn.times),
            "notice": self._notice,
        }


def stage_ms(times: TurnTimes) -> dict[str, int]:
    """Each stage's own milliseconds, and the total from the end of speech (or the commit) to the first sample."""
    stages = {
        "endpointing": (times.end_of_speech, times.closed),
        "recognition": (times.closed, times.committed),
        "dialogue": (times.committed, times.first_text),
        "synthesis": (times.first_text, times.first_audio),
        "playout": (times.first_audio, times.first_rendered),
        "total": (times.end_of_speech if times.end_of_speech is not None else times.committed, times.first_rendered),
    }
    return {
        name: round(1000 * (end - start))
        for name, (start, end) in stages.items()
        if start is not None and end is not None
    }


def _silence(seconds: float) -> bytes:
    return bytes(2 * int(CAPTURE_RATE * seconds))


def _recording(question: str) -> bytes | None:
    """The samples when `question` is a file; text otherwise. A path that does not exist is an error, not a question."""
    path = Path(question) if len(question) < 1000 else None
    if path is not None and len(question) < 250 and path.is_dir():
        raise WaysideError("audio.bad_file", f"{path} is a folder.", remedy="Give a recording in it, or a text.")
    looks_like_a_file = path is not None and path.suffix.lower() in _AUDIO
    if path is None or not (looks_like_a_file or (len(question) < 250 and path.is_file())):
        if not question.strip():
            raise WaysideError("say.empty", "There is no question.", remedy="Give a text or a recording.")
        return None
    return read_audio(path)
