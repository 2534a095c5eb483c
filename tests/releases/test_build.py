import json
from pathlib import Path

import pytest
from releases.packs import replace, write_pack
from wayside.core.errors import WaysideError
from wayside.ports.text_to_speech import ToneTextToSpeech
from wayside.releases.build import BuildProgress, PackRejected, build_pack
from wayside.releases.check import check_pack
from wayside.releases.load import load_pack
from wayside.releases.speech import narrator
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "kettles")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "built" / "kettles"


def tone(**options: object) -> ToneTextToSpeech:
    return ToneTextToSpeech(ms_per_char=5.0, **options)  # type: ignore[arg-type]


async def test_built_pack_loads_as_the_checked_one(pack: Path, target: Path) -> None:
    built = await build_pack(pack, target, build_index)
    checked = check_pack(pack, build_index).pack
    loaded = load_pack(target)

    assert checked is not None
    assert loaded.release == built.release
    assert (loaded.passages, loaded.exhibits, loaded.wordings) == (checked.passages, checked.exhibits, checked.wordings)


async def test_same_content_has_the_same_release_id_and_other_content_another(pack: Path, tmp_path: Path) -> None:
    first = await build_pack(pack, tmp_path / "a", build_index, by=narrator(tone(), ("en", "es")))
    second = await build_pack(pack, tmp_path / "b", build_index, by=narrator(tone(), ("en", "es")))
    replace(pack / "wordings.yaml", "one help", "some help")
    third = await build_pack(pack, tmp_path / "c", build_index, by=narrator(tone(), ("en", "es")))

    assert first.release == second.release != third.release
    assert first.release.startswith("kettles-")
    assert len(first.release) == len("kettles-") + 12


async def test_manifest_has_what_the_page_reads(pack: Path, target: Path) -> None:
    built = await build_pack(pack, target, build_index, by=narrator(tone(), ("en",)))
    manifest = json.loads((target / "fallback" / "manifest.json").read_text(encoding="utf-8"))
    exhibit = manifest["exhibits"][0]

    assert manifest["schema"] == 1
    assert manifest["release"] == built.release
    assert exhibit["picture"] == "media/copper-kettle.svg"
    assert exhibit["passages"]["en"][0] == {
        "id": "copper-kettle#what",
        "text": "This is a copper kettle from Whitby. It holds two litres of water.",
        "speech": "media/copper-kettle.what.en.ogg",
        "sources": ["The ledger"],
    }
    assert [p["speech"] for p in exhibit["passages"]["es"]] == [None, None, None]
    assert (target / "fallback" / "media" / "copper-kettle.what.en.ogg").read_bytes().startswith(b"OggS")


async def test_first_two_topics_are_spoken_unless_all_are_wanted(pack: Path, target: Path) -> None:
    first = await build_pack(pack, target, build_index, by=narrator(tone(), ("en", "es")))
    everything = await build_pack(pack, target, build_index, by=narrator(tone(), ("en", "es")), spoken="all")

    assert (first.spoken, everything.spoken) == (4, 6)


async def test_unchanged_text_is_spoken_once(pack: Path, target: Path, tmp_path: Path) -> None:
    await build_pack(pack, target, build_index, by=narrator(tone(), ("en",)), cache=tmp_path / "cache")
    voice = tone()
    replace(pack / "exhibits" / "copper-kettle.en.md", "Ann Harker made the kettle.", "Ann Harker made this kettle.")
    await build_pack(pack, target, build_index, by=narrator(voice, ("en",)), cache=tmp_path / "cache")

    assert [text for text, *_ in voice.spoken] == [
        "Ann Harker made this kettle.",
        "She worked as a coppersmith in Whitby.",
    ]


async def test_passage_that_cannot_be_spoken_stays_silent_and_is_told(pack: Path, target: Path) -> None:
    failing = tone(error=WaysideError("tts.failed", "no"), fails_at=0)
    built = await build_pack(pack, target, build_index, by=narrator(failing, ("en",)))

    assert built.silent == (("copper-kettle#what", "en", "tts.failed"), ("copper-kettle#maker", "en", "tts.failed"))
    assert load_pack(target).release == built.release


async def test_broken_pack_leaves_the_earlier_build_alone(pack: Path, target: Path) -> None:
    before = await build_pack(pack, target, build_index)
    replace(pack / "exhibits" / "copper-kettle.en.md", "title: The Copper Kettle\n", "")
    with pytest.raises(PackRejected) as caught:
        await build_pack(pack, target, build_index)

    assert caught.value.code == "pack.broken"
    assert "copper-kettle.en.md:2: title: is missing" in caught.value.remedy
    assert load_pack(target).release == before.release
    assert [p.name for p in target.parent.iterdir()] == ["kettles"]


async def test_failure_while_writing_leaves_the_earlier_build_alone(pack: Path, target: Path) -> None:
    before = await build_pack(pack, target, build_index)

    calls = 0

    def full(place: Path, *_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first one is the trial index of the check
            raise OSError(28, "No space left on device")
        place.touch()

    with pytest.raises(WaysideError, match="No space left") as caught:
        await build_pack(pack, target, full)

    assert caught.value.code == "pack.unwritable"
    assert load_pack(target).release == before.release
    assert [p.name for p in target.parent.iterdir()] == ["kettles"]


async def test_no_room_for_the_trial_index_is_told_with_a_remedy(pack: Path, target: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(WaysideError, match="No trial index") as caught:
        await build_pack(pack, target, full)

    assert caught.value.code == "pack.unwritable"
    assert "TMPDIR" in caught.value.remedy
    assert not target.exists()


async def test_only_an_earlier_build_is_replaced(pack: Path, target: Path) -> None:
    target.mkdir(parents=True)
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(WaysideError) as refused:
        await build_pack(pack, target, build_index)

    assert "pack.target" == refused.value.code
    assert "years of work" == (target / "thesis.txt").read_text()


async def test_later_build_replaces_the_earlier_one(pack: Path, target: Path) -> None:
    await build_pack(pack, target, build_index)
    replace(pack / "wordings.yaml", "one help", "some help")
    later = await build_pack(pack, target, build_index)

    assert load_pack(target).release == later.release
    assert [p.name for p in target.parent.iterdir()] == ["kettles"]


async def test_progress_counts_up_to_the_end(pack: Path, target: Path) -> None:
    seen: list[BuildProgress] = []
    await build_pack(pack, target, build_index, by=narrator(tone(), ("en",)), progress=seen.append)

    assert [(p.stage, p.current, p.total) for p in seen] == [
        ("check", 0, 0),
        ("speech", 0, 2),
        ("speech", 1, 2),
        ("write", 0, 0),
        ("done", 2, 2),
    ]


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (lambda folder: (folder / "pack.json").unlink(), "pack.missing"),
        (lambda folder: (folder / "pack.json").write_text("{"), "pack.corrupt"),
        (lambda folder: (folder / "pack.json").write_text("[]"), "pack.corrupt"),
        (lambda folder: (folder / "pack.json").write_text('{"schema": 1}'), "pack.corrupt"),
        (lambda folder: (folder / "pack.json").write_text('{"schema": 2}'), "pack.version"),
        (lambda folder: (folder / "index.sqlite").unlink(), "pack.missing"),
        (lambda folder: (folder / "index.sqlite").write_bytes(b"half"), "pack.corrupt"),
        (lambda folder: (folder / "fallback" / "media" / "copper-kettle.svg").unlink(), "pack.missing"),
        (lambda folder: replace(folder / "pack.json", '"fallback/media/', '"../media/'), "pack.corrupt"),
    ],
)
async def test_damaged_build_is_told_with_a_remedy(pack: Path, target: Path, harm: object, code: str) -> None:
    await build_pack(pack, target, build_index)
    harm(target)  # type: ignore[operator]
    with pytest.raises(WaysideError) as caught:
        load_pack(target)

    assert caught.value.code == code
    assert "wayside pack build" in caught.value.remedy


def test_index_that_is_missing_or_no_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.sqlite").write_bytes(b"no database at all")
    for name, code in (("none.sqlite", "pack.missing"), ("bad.sqlite", "pack.corrupt")):
        with pytest.raises(WaysideError) as caught:
            SqlitePassageIndex(tmp_path / name)

        assert caught.value.code == code
