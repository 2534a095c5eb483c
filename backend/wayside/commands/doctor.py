"""`wayside doctor`: what is here, what is missing, how to get it, and what it costs."""

import asyncio
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

from wayside import main as wiring
from wayside.adapters.audio.device import DeviceLink, DeviceSettings
from wayside.adapters.doctor_speech import measure_speech
from wayside.adapters.models import FoundModel, FoundVoice
from wayside.core.errors import WaysideError
from wayside.ports.audio_link import DeviceFound, DeviceLost

DEVICES_S = 4.0


async def doctor(place: wiring.Place, *, measure: bool) -> dict[str, Any]:
    """Look at everything; `ok` says whether a spoken visit is possible."""
    site, problems = place.site()
    speech = wiring.Speech(place.shelf())
    report: dict[str, Any] = {
        "version": wiring.version(),
        "configuration": problems or ["in order"],
        "pack": await _pack(place),
        "page": "built" if (wiring.STATIC / "index.html").is_file() else "not built: run `make page`",
        "programs": {name: shutil.which(name) or _PROGRAMS[name] for name in _PROGRAMS},
        "models": _models(place),
        "missing": [{"code": e.code, "what": e.message, "remedy": e.remedy} for e in speech.missing],
        "devices": await _devices(DeviceSettings(site.audio.microphone, site.audio.loudspeaker)),
        "privacy": wiring.privacy(),
        "timings": {},
    }
    try:
        if measure and speech.can_hear and speech.can_speak:
            for language in ("en", "es"):
                report["timings"][language] = await _measure(speech, language)
    finally:
        await speech.close()
    found = all(state == _FOUND for state in report["devices"].values())
    measured = not any("failed" in times for times in report["timings"].values())
    report["ok"] = not report["missing"] and not problems and report["pack"]["ok"] and found and measured
    return report


def doctor_lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    lines = [f"Wayside {report['version']}"]
    lines += [f"  configuration  {line}" for line in report["configuration"]]
    lines.append(f"  pack           {report['pack']['what']}")
    lines.append(f"  page           {report['page']}")
    lines += [f"  program        {name}: {where}" for name, where in report["programs"].items()]
    lines += [f"  model          {name}: {where}" for name, where in report["models"].items()]
    lines += [f"  device         {name}: {state}" for name, state in report["devices"].items()]
    lines += [f"  {name:<14} {state}" for name, state in report["privacy"].items()]
    for language, times in report["timings"].items():
        shown = ", ".join(f"{name} {value}" for name, value in times.items() if name != "language")
        lines.append(f"  timing         {language}: {shown}")
    lines += [f"  missing        {item['what']} → {item['remedy']}" for item in report["missing"]]
    lines.append("Everything for a spoken visit is here." if report["ok"] else "Something is missing; see above.")
    return lines


_FOUND = "found"
_PROGRAMS = {"espeak-ng": "missing: apt install espeak-ng"}


async def _pack(place: wiring.Place) -> dict[str, Any]:
    try:
        loaded = await asyncio.to_thread(wiring.content, place)
    except WaysideError as error:
        return {"ok": False, "what": error.advice}
    loaded.index.close()
    return {"ok": True, "what": f"{loaded.pack.release} with {len(loaded.pack.exhibits)} exhibits"}


def _models(place: wiring.Place) -> dict[str, str]:
    shelf = place.shelf()
    finders: dict[str, Callable[[], FoundModel | FoundVoice]] = {
        **{f"recogniser {language}": partial(shelf.whisper, model) for language, model in wiring.RECOGNISERS.items()},
        "voice": shelf.voice,
        "voice activity": shelf.silero,
    }
    found: dict[str, str] = {}
    for name, find in finders.items():
        try:
            model = find()
            found[name] = f"{model.name} ({model.origin}: {model.carrier})"
        except WaysideError as error:
            found[name] = f"missing: {error.remedy}"
    return found


async def _devices(settings: DeviceSettings) -> dict[str, str]:
    """Ask the audio child what it finds."""
    link = DeviceLink(1, settings)
    found = {"microphone": "no answer from the audio process", "loudspeaker": "no answer from the audio process"}

    async def watch() -> None:
        seen: set[str] = set()
        async for event in link.events:
            match event:
                case DeviceFound(kind=kind):
                    found[kind] = _FOUND
                    seen.add(kind)
                case DeviceLost(kind=kind, reason=reason):
                    found[kind] = f"missing ({reason}); text and touch work without it"
                    seen.add(kind)
                case _:
                    pass
            if len(seen) == len(found) and all(state == _FOUND for state in found.values()):
                return

    try:
        await link.start()
        async with asyncio.timeout(DEVICES_S):
            await watch()
    except (TimeoutError, WaysideError):
        pass
    finally:
        await link.close()
    return found


async def _measure(speech: wiring.Speech, language: str) -> dict[str, Any]:
    try:
        got = await measure_speech(speech.voice, speech.speech_to_text, language)
    except WaysideError as error:
        return {"failed": error.code}
    return {
        "voice_load_ms": got.voice_load_ms,
        "first_sound_ms": got.first_sound_ms,
        "voice_time_per_time": got.speed,
        "recogniser_load_ms": got.recogniser_load_ms,
        "decode_ms": got.decode_ms,
        "words_understood": got.words,
    }
