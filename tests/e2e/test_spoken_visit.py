"""A whole spoken visit: real processes, a real audio server, the real recogniser and voice; judged by the sound."""

import asyncio
import os
import signal
import time

import numpy as np
import psutil
import pytest
import soxr
from sidecars import TOKEN, sidecar
from wayside.adapters.models import ModelShelf, Whisper
from wayside.adapters.stt.whisper import WhisperSpeechToText
from wayside.core.questions import fold

pytest_plugins = ["spoken"]
pytestmark = [pytest.mark.device, pytest.mark.models, pytest.mark.timeout(240)]
RATE = 48_000


async def words_in(recording: np.ndarray, shelf: ModelShelf) -> set[str]:
    """What the real recogniser hears in a recording of the loudspeaker."""
    heard = WhisperSpeechToText({"en": shelf.whisper(Whisper.TINY_EN).path})
    stream = await heard.open("en", ())
    samples = soxr.resample(recording.astype(np.float32), RATE, 16_000)
    stream.push(np.clip(samples, -32768, 32767).astype("<i2").tobytes())
    final = await stream.finish()
    await heard.close()
    return set(fold(final.text).split())


def loud(samples: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.abs(samples.astype(np.int32)) > 300)


async def test_a_question_asked_aloud_is_answered_aloud_and_can_be_talked_over(
    audio_server, built_pack, tmp_path, question, shelf
):
    first = await question("Who broke the Portland Vase?")
    second = await question("What game are Achilles and Ajax playing?")
    async with sidecar(tmp_path / "s", built_pack) as running, running.page() as page:
        await page.until(lambda: page.of("welcome"))
        audio_server.murmur()
        await page.send("start", language="en")
        await page.send("listen", mode="automatic")
        await asyncio.sleep(0.5)
        recorder = audio_server.record_loudspeaker()
        await recorder.ready()
        await asyncio.to_thread(audio_server.play_into_microphone, first)

        await page.until(lambda: page.of("caption"))
        assert {"portland", "vase"} <= set(fold(page.of("transcript")[-1]["text"]).split())
        assert page.of("sources")[-1]["sources"]
        await page.until(lambda: len(page.of("utterance")) >= 3, 30)
        spoken = page.of("utterance")
        heard = await words_in(recorder.samples(), shelf)
        known = set(fold("".join(u["text"] for u in spoken[:2])).split())
        assert len(known & heard) >= 0.7 * len(known)

        await page.until(lambda: page.of("status")[-1]["status"]["speaking"])
        generation = spoken[-1]["generation"]
        playing = audio_server.record("mic.monitor")
        await playing.ready()
        await asyncio.to_thread(audio_server.play_into_microphone, second)
        await page.until(lambda: page.of("clear"))
        assert generation == page.of("clear")[-1]["generation"]
        cut = len(page.frames)
        await page.until(lambda: any(u["generation"] > generation for u in page.of("utterance")))
        playing.stop()

        late = [
            f for f in page.frames[cut:] if f["type"] in {"utterance", "level"} and f.get("generation") == generation
        ]
        assert [] == [f for f in late if f["type"] == "utterance"]
        answer = "".join(u["text"] for u in page.of("utterance") if u["generation"] > generation)
        assert "game" in answer
        await page.send("end")
        await page.until(lambda: page.of("reset"))
        await asyncio.sleep(0.2)
        before = len(recorder.samples())
        await asyncio.sleep(1)
        assert not len(loud(recorder.stop()[before:]))


async def test_press_and_hold_asks_too(audio_server, built_pack, tmp_path, question):
    wav = await question("What game are Achilles and Ajax playing?")
    async with sidecar(tmp_path / "s", built_pack) as running, running.page() as page:
        await page.send("start", language="en")
        await page.send("talk_down")
        await asyncio.to_thread(audio_server.play_into_microphone, wav)
        await page.send("talk_up")

        await page.until(lambda: page.of("caption"))
        assert "game" in page.said
        assert not page.of("status")[-1]["status"]["listening"]


async def test_a_dead_audio_child_is_told_and_replaced(audio_server, built_pack, tmp_path):
    async with sidecar(tmp_path / "s", built_pack) as running, running.page() as page:
        await page.send("start", language="en")
        await page.until(lambda: page.of("snapshot")[-1]["phase"] == "visit")
        await page.until(lambda: not page.of("snapshot")[-1]["status"]["degraded"])
        await page.send("say", text="Who broke the Portland Vase?")
        await page.until(lambda: page.of("caption"))
        child = next(c for c in psutil.Process(running.process.pid).children() if "child" in " ".join(c.cmdline()))
        os.kill(child.pid, signal.SIGKILL)
        await page.until(lambda: "audio.loudspeaker_lost" in page.of("status")[-1]["status"]["degraded"])
        await page.until(lambda: page.of("status")[-1]["status"]["degraded"] == [])

        seen = len(page.of("caption"))
        await page.send("say", text="What game are Achilles and Ajax playing?")
        await page.until(lambda: len(page.of("caption")) > seen + 3)
        assert (await running.get("/live"))[0] == 200


async def test_it_ends_soon_and_leaves_no_process(audio_server, built_pack, tmp_path):
    async with sidecar(tmp_path / "s", built_pack) as running, running.page() as page:
        await page.send("start", language="en")
        await page.send("say", text="Who broke the Portland Vase?")
        await page.until(lambda: page.of("caption"))
        children = psutil.Process(running.process.pid).children(recursive=True)
        began = time.monotonic()
        running.process.terminate()
        await running.process.wait()

        assert 4 >= time.monotonic() - began
        await asyncio.sleep(0.3)
        assert [] == [c for c in children if c.is_running() and c.status() != psutil.STATUS_ZOMBIE]


async def test_without_any_sound_text_is_answered_and_read(built_pack, tmp_path):
    nowhere = {"PULSE_SERVER": "unix:/nonexistent", "XDG_RUNTIME_DIR": str(tmp_path)}
    async with sidecar(tmp_path / "s", built_pack, environment=nowhere) as running, running.page() as page:
        await page.send("start", language="en")
        await page.until(lambda: page.of("snapshot")[-1]["phase"] == "visit")
        assert page.of("snapshot")[-1]["silent"]
        await page.send("say", text="Who broke the Portland Vase?")
        await page.until(lambda: page.of("utterance"))
        first = page.of("utterance")[0]
        await page.send(
            "shown", generation=first["generation"], utterance_id=first["utterance_id"], chars=len(first["text"])
        )

        await page.until(lambda: len(page.of("utterance")) == 2)
        assert TOKEN not in (running.folder / "output.log").read_text().replace(f"#token={TOKEN}", "")


async def test_with_broken_models_the_rest_goes_on(audio_server, built_pack, tmp_path, shelf):
    folder = tmp_path / "models"
    for name in ("tiny.en", "base"):
        (folder / f"whisper-{name}").mkdir(parents=True)
        for file in ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt"):
            (folder / f"whisper-{name}" / file).write_bytes(b"{}")
    for file in ("broken.onnx", "silero_vad_16k_op15.onnx"):
        (folder / file).write_bytes(b"{}")
    (folder / "broken.onnx.json").write_bytes(shelf.voice().config.read_bytes())
    config = tmp_path / "wayside.toml"
    config.write_text(f'[models]\nfolder = "{folder}"\n')
    environment = {"WAYSIDE_CONFIG": str(config)}
    async with sidecar(tmp_path / "s", built_pack, environment=environment) as running, running.page() as page:
        recorder = audio_server.record_loudspeaker()
        await recorder.ready()
        await page.send("start", language="en")
        await page.until(lambda: page.of("snapshot")[-1]["phase"] == "visit")
        await page.send("say", text="Who broke the Portland Vase?")
        await page.until(lambda: page.of("caption"))
        _, ready = await running.get("/ready")

        assert not page.of("welcome")[-1]["features"]["speech_in"]
        assert {"stt.model_broken", "tts.model_broken", "vad.model_broken"} <= set(ready["degraded"])
        await page.until(lambda: loud(recorder.samples()).size > RATE)  # the voice of last resort is heard
        recorder.stop()
