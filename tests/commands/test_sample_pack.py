"""The sample pack of a kiosk that was given no other."""

from pathlib import Path

from wayside import main as wiring


def test_an_upgrade_that_changes_the_sample_has_it_built_anew(tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "sample"
    (source / "exhibits").mkdir(parents=True)
    (source / "pack.yaml").write_text("id: pottery")
    monkeypatch.setattr(wiring, "sample_source", lambda: source)
    place = wiring.Place(None, None, tmp_path / "state")
    folders = []
    for text in ("one", "one", "two"):
        (source / "exhibits" / "vase.en.md").write_text(text)
        wiring._sample_id.cache_clear()
        folders.append(place.pack_folder)
    wiring._sample_id.cache_clear()

    assert folders[0] == folders[1] != folders[2]
