"""Scenario files: a conversation as YAML, and what must come of it.

```yaml
language: en
mode: automatic
steps:
  - hear: {speak: "Who broke the Portland Vase?"}
  - stop: true
    at: reply+800ms
expect:
  - silent_within_ms: 100
    absent: [audio_after_stop]
```

Steps run in order. `at` waits for an anchor: `start` (of the visit), `reply` (first audible sample of the reply being
spoken or, when none is, of the next), `reply_end`. It decides nothing about sound; every mistake in the file is told.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from wayside.core.errors import WaysideError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
_ANCHOR = re.compile(r"(start|reply_end|reply)(?:\+(\d+(?:\.\d+)?(?:ms|s)))?")
_KINDS = ("say", "hear", "press", "stop", "wait", "exhibit")


def seconds(text: str) -> float:
    """`400ms` or `2s`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration: write it like 400ms or 2s")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def anchor(text: str) -> tuple[str, float]:
    """`reply+400ms` as anchor and seconds after it."""
    match = _ANCHOR.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no moment: write start, reply or reply_end, then perhaps +400ms")
    return match[1], seconds(match[2]) if match[2] else 0.0


def _duration(text: str) -> str:
    seconds(text)
    return text


def _moment(text: str) -> str:
    anchor(text)
    return text


Duration = Annotated[str, AfterValidator(_duration)]
Moment = Annotated[str, AfterValidator(_moment)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Spoken(_Section):
    """Text that the embedded voice of the language says into the microphone."""

    speak: str = Field(min_length=1, max_length=500)


class Step(_Section):
    """One thing a visitor does."""

    say: str | None = Field(default=None, max_length=500, description="typed text")
    hear: str | Spoken | None = Field(default=None, description="a recording beside the scenario, or text to speak")
    press: Literal["down", "up"] | None = None
    stop: Literal[True] | None = None
    wait: Duration | None = None
    exhibit: str | None = None
    at: Moment | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(getattr(self, kind) is not None for kind in _KINDS) != 1:
            raise ValueError(f"a step is exactly one of {', '.join(_KINDS)}")
        return self


class Expect(_Section):
    """What must hold. `turn` counts from 1; without it the last turn is meant."""

    turn: int | None = Field(default=None, ge=1)
    answer_contains: str | None = Field(default=None, description="in what the guide answered")
    heard_contains: str | None = Field(default=None, description="in the words of it that were delivered")
    transcript_contains: str | None = Field(default=None, description="in what the recogniser understood")
    refused: bool | None = None
    source: str | None = Field(default=None, description="id of a source that was shown")
    finished: bool | None = Field(default=None, description="whether the reply was delivered to its end")
    turns: int | None = Field(default=None, ge=0, description="how many turns there were")
    silent_within_ms: int | None = Field(default=None, ge=0, description="from the last stop or overlapping speech")
    first_audio_within_ms: int | None = Field(default=None, ge=0, description="from the end of speech, or the text")
    absent: list[Literal["second_reply", "audio_after_stop"]] = Field(default_factory=list)


class Scenario(_Section):
    """A whole file."""

    language: str = Field(default="en", max_length=20)
    mode: Literal["button", "automatic"] = "automatic"
    exhibit: str | None = None
    out: str | None = Field(default=None, description="stereo wav to write: microphone left, loudspeaker right")
    steps: list[Step] = Field(min_length=1, max_length=100)
    expect: list[Expect] = Field(min_length=1, max_length=100)


def read_scenario(path: Path) -> Scenario:
    """Read one file; raises `scenario.invalid` with every fault, its place and what to do."""
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _invalid(path, "does not exist", "Give the path of a scenario file.") from None
    except (OSError, UnicodeDecodeError):
        raise _invalid(path, "can't be read", "Give a text file in UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise _invalid(path, f"{where}is not YAML", "Correct the indentation or the quotes there.") from None
    if not isinstance(raw, dict):
        raise _invalid(path, "is not a mapping", "Begin with language, mode, steps and expect.")
    try:
        return Scenario.model_validate(raw)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors())
        raise _invalid(path, faults, "Correct these fields.") from None


def _fault(item: Any) -> str:
    place = ".".join(str(part + 1) if isinstance(part, int) else part for part in item["loc"])
    return f"{place or 'the file'}: {item['msg'].removeprefix('Value error, ')}"


def _invalid(path: Path, what: str, remedy: str) -> WaysideError:
    return WaysideError("scenario.invalid", f"{path.name}: {what}.", remedy=remedy)
