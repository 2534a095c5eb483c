"""The device link on null sinks: how fast it is quiet, heard from outside.

Onset and silence are read from recordings of the microphone's and the loudspeaker's monitors, each with the arrival
time of its samples; both recorders have the same delay, so it cancels in the onset measure. The onset is where the
question is found in the microphone's signal, echo and all. The flush measure includes the recorder's own delay of
about 5 ms.
"""

import asyncio
import os
import time
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray

from wayside import main as wiring
from wayside.adapters.audio.device import DeviceLink
from wayside.commands.null_sinks import RATE, AudioServer, Recording
from wayside.commands.room import spoken as spoken_by
from wayside.ports.audio_link import CAPTURE_RATE
from wayside.runtime.kiosk import Kiosk
from wayside.runtime.screen import ScreenEvent, Status, UtteranceFrame

HOLDS = 30
BARGE_INS = 20
LOUD = 200  # of 32767: far above the murmur, far below speech
ECHO_DB = -20.0
QUIET_S = 0.25  # the loudspeaker has fallen silent when it stays so for this long
QUESTION = "Wait, please. Who broke the Portland Vase?"


@asynccontextmanager
async def _server() -> AsyncIterator[AudioServer]:
    """A private audio server that this process and its audio child use while the block runs."""
    server = AudioServer()
    await asyncio.to_thread(server.start)
    kept = {key: os.environ.get(key) for key in server.environment}
    os.environ.update({k: v for k, v in server.environment.items() if k != "HOME"})
    try:
        yield server
    finally:
        for key, value in kept.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        await asyncio.to_thread(server.remove)


async def flush(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """Hold command to the last audible sample read from the loudspeaker's monitor."""
    del place, tell
    delays: list[float] = []
    async with _server() as server:
        link = DeviceLink(1)
        await link.start()
        recorder = server.record_loudspeaker()
        try:
            await recorder.ready()
            await asyncio.sleep(1)
            noise = np.random.default_rng(1).integers(-9000, 9000, RATE * 20).astype("<i2").tobytes()
            link.play(1, 1, noise, RATE)
            await asyncio.sleep(0.4)
            for number in range(HOLDS):
                await asyncio.sleep(0.1 + 0.0037 * number)
                held = time.monotonic()
                link.hold(1)
                await asyncio.sleep(0.2)
                delays.append(1000 * max(0.0, last_loud_at(recorder, held) - held))
                link.resume(1)
        finally:
            recorder.stop()
            await link.close()
    return {"flush_ms": delays}


async def onset(place: wiring.Place, tell: wiring.Tell) -> dict[str, list[float]]:
    """Speech onset in the microphone signal to silence in the loudspeaker signal, the whole kiosk running.

    The microphone hears the loudspeaker's echo, as in a room. A barge-in that falls into a pause between the guide's
    sentences, when there is nothing to silence, is not counted. The recogniser decodes while this goes on.
    """
    loaded = await asyncio.to_thread(wiring.content, place)
    speech = wiring.Speech(place.shelf())
    await speech.warm("en")
    delays: list[float] = []
    status: list[Status] = []
    speaking = asyncio.Event()

    def show(event: ScreenEvent) -> None:
        if isinstance(event, UtteranceFrame):
            speaking.set()
        elif isinstance(event, Status):
            status.append(event)

    async with _server() as server:
        spoken = await spoken_by(speech.voice, QUESTION, "en", 0)
        question = _wav(server.folder / "question.wav", spoken)
        at_recorder = soxr.resample(np.frombuffer(spoken, dtype="<i2"), CAPTURE_RATE, RATE)
        link = DeviceLink(2)
        kiosk = Kiosk(
            wiring.parts(link, loaded, speech), wiring.kiosk_settings(place), show=show, visit_changed=lambda _: None
        )
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kiosk.run())
            await asyncio.sleep(1)
            server.murmur()
            server.echo(ECHO_DB)
            for number in range(BARGE_INS):
                tell(f"  barge-in {number + 1} of {BARGE_INS}")
                speaking.clear()
                visit = await kiosk.start_visit("en")
                visit.listen("automatic")
                visit.say("What game are Achilles and Ajax playing?")
                async with asyncio.timeout(20):
                    await speaking.wait()
                await asyncio.sleep(1.2 + 0.07 * number)
                microphone, loudspeaker = server.record("mic.monitor"), server.record_loudspeaker()
                await microphone.ready()
                await loudspeaker.ready()
                await asyncio.sleep(0.2)
                await asyncio.to_thread(server.play_into_microphone, question)
                delay = onset_to_silence(microphone, loudspeaker, at_recorder)
                microphone.stop()
                loudspeaker.stop()
                if delay is not None:
                    delays.append(1000 * delay)
                await kiosk.reset("ended")
            kiosk.close()
            await running
    await speech.close()
    loaded.index.close()
    return {"onset_to_silence_ms": delays}


def onset_to_silence(microphone: Recording, loudspeaker: Recording, spoken: NDArray[np.int16]) -> float | None:
    """Seconds from the first loud sample of `spoken` in the one to the last before a pause of the other.

    None when the loudspeaker was not sounding just before.
    """
    onset_at = microphone.time_of(microphone.find(spoken) + int(np.flatnonzero(np.abs(spoken) > LOUD)[0]))
    sounding = np.flatnonzero(np.abs(loudspeaker.samples().astype(np.int32)) > LOUD)
    times = [loudspeaker.time_of(int(n)) for n in sounding[:: RATE // 1000]]
    after = [at for at in times if at >= onset_at]
    if not after or not any(onset_at - 0.1 <= at < onset_at for at in times):
        return None
    silent_at = after[0]
    for at, following in zip(after, [*after[1:], float("inf")], strict=True):
        silent_at = at
        if following - at > QUIET_S:
            break
    return silent_at - onset_at


def last_loud_at(recorder: Recording, since: float) -> float:
    """When the last loud sample so far was read; `since` when there was none after it."""
    loud = np.flatnonzero(np.abs(recorder.samples().astype(np.int32)) > LOUD)
    return max(since, recorder.time_of(int(loud[-1]))) if len(loud) else since


def _wav(path: Path, pcm: bytes) -> Path:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(CAPTURE_RATE)
        out.writeframes(pcm)
    return path
