"""What `pack check` tells of a folder `agents/`, and what a build keeps of it."""

import json
from pathlib import Path

import pytest
from releases.packs import replace, write_agents, write_pack
from wayside.core.content import GUIDE, Agent, VoiceStyle
from wayside.releases.build import build_pack
from wayside.releases.check import Report, check_pack
from wayside.releases.load import load_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return write_pack(tmp_path / "kettles")


@pytest.fixture
def agents(pack: Path) -> Path:
    return write_agents(pack)


def check(folder: Path) -> Report:
    return check_pack(folder, build_index, SqlitePassageIndex)


def test_pack_without_agents_has_the_guide_alone(pack: Path) -> None:
    report = check(pack)

    assert report.pack is not None
    assert (Agent(),) == report.pack.agents
    assert GUIDE == report.pack.agent("nobody").id


def test_sound_agents_have_no_problems_and_keep_their_words(pack: Path, agents: Path) -> None:
    report = check(pack)

    assert "" == str(report)
    assert report.pack is not None
    guide, harker = report.pack.agents
    assert (GUIDE, ()) == (guide.id, guide.passages)
    assert VoiceStyle(2.0, 0.9) == harker.voice
    assert ("own help",) == harker.wordings["help"]["en"]
    assert [("harker#trade", False), ("harker#shop", False), ("harker#dream", True)] == [
        (p.id, p.imagined) for p in harker.passages if p.language == "en"
    ]
    assert "harker#trade" == harker.questions["en"][0].passage
    assert not [p for p in report.pack.passages if p.exhibit == "harker"]


def test_without_a_guides_file_the_guide_is_there_and_first(pack: Path, agents: Path) -> None:
    (agents / "guide.yaml").unlink()
    report = check(pack)

    assert report.pack is not None
    assert [GUIDE, "harker"] == [agent.id for agent in report.pack.agents]


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("harker.yaml", "id: harker", "id: ann", "agents/harker.yaml:1: id: ann does not match the file name"),
        ("harker.yaml", "es: El harker}", "}", "agents/harker.yaml:2: name: has no es"),
        ("harker.yaml", "name:", "nmae:", "agents/harker.yaml:1: name: is missing"),
        ("harker.yaml", "picture: harker.svg", "picture: ann.svg", "4: picture: there is no media/ann.svg"),
        ("harker.yaml", "pitch: 2", "pitch: 9", "agents/harker.yaml:8: voice.pitch: is too large → use at most 6"),
        ("harker.yaml", "pace: 0.9", "pace: slow", "agents/harker.yaml:8: voice.pace: is not a number"),
        ("harker.yaml", "home: [copper", "home: [tin", "9: home[1]: there is no exhibit tin-kettle"),
        ("harker.yaml", "performance:", "performing:", "performance: is missing, though some passages are imagined"),
        ("harker.yaml", "  unknown:", "  unknwon:", "wordings.unknown: is missing: a character says this"),
        ("harker.yaml", "  unknown:", "  unknwon:", "wordings.unknwon: is not a wording Wayside says"),
        ("harker.yaml", "es: [propio help]", "es: []", "wordings.help.es: has no variant"),
        ("harker.yaml", "[Ann Harker, harper]", "[the guide]", "'the guide' is already a name of guide"),
        (
            "harker.en.md",
            "## trade {sources: [ledger]}",
            "## trade {}",
            "agents/harker.en.md:9: trade: names no source",
        ),
        ("harker.en.md", "[ledger]}", "[ledgr]}", "agents/harker.en.md:9: trade: the source ledgr is not declared"),
        ("harker.en.md", "passage: trade}", "passage: craft}", "5: questions[1].passage: there is no passage craft"),
        (
            "harker.en.md",
            "imagined: yes",
            "imagined: perhaps",
            "agents/harker.en.md:13: imagined: is not one of the possible values",
        ),
        ("harker.es.md", "imagined: yes", "sources: [ledger]", "dream: the passage dream is imagined in one language"),
        ("harker.es.md", "## shop", "## store", "agents/harker.es.md: shop: has no passage shop, which"),
        ("harker.es.md", "language: es", "language: en", "3: language: en does not match the file name"),
    ],
)
def test_each_fault_is_told_with_its_file_line_and_field(
    pack: Path, agents: Path, file: str, old: str, new: str, told: str
) -> None:
    replace(agents / file, old, new)

    assert told in str(check(pack))


def test_faults_of_all_files_are_told_at_once(pack: Path, agents: Path) -> None:
    replace(agents / "harker.yaml", "persona: Somebody.\n", "")
    replace(agents / "guide.yaml", "en: A face, ", "")
    replace(agents / "harker.es.md", "passage: shop}", "passage: store}")

    assert {("agents/harker.yaml", 1, "persona"), ("agents/guide.yaml", 5, "alt")} | {
        ("agents/harker.es.md", 6, "questions[2].passage")
    } <= {(p.file, p.line, p.field) for p in check(pack).errors}


def test_character_that_is_silent_in_a_language_is_an_error(pack: Path, agents: Path) -> None:
    (agents / "harker.es.md").unlink()

    assert "agents/harker.yaml: says nothing in es → add `agents/harker.es.md`" in str(check(pack))


def test_texts_of_nobody_and_texts_of_the_guide_are_errors(pack: Path, agents: Path) -> None:
    text = (agents / "harker.en.md").read_text(encoding="utf-8")
    (agents / "guide.en.md").write_text(text.replace("id: harker", "id: guide"), encoding="utf-8")
    (agents / "baker.en.md").write_text(text.replace("id: harker", "id: baker"), encoding="utf-8")
    told = str(check(pack))

    assert "agents/guide.en.md: is not spoken → the guide speaks the passages of `exhibits/`" in told
    assert "agents/baker.en.md: there is no agent baker" in told


def test_agent_may_not_be_called_like_an_exhibit(pack: Path, agents: Path) -> None:
    for path in agents.glob("harker*"):
        path.write_text(path.read_text(encoding="utf-8").replace("id: harker", "id: copper-kettle"), encoding="utf-8")
        path.rename(agents / path.name.replace("harker", "copper-kettle"))

    assert "agents/copper-kettle.yaml:1: id: copper-kettle is an exhibit" in str(check(pack))


@pytest.mark.parametrize("name", ["guide.yaml", "harker.yaml", "harker.en.md"])
@pytest.mark.parametrize("content", ["", "[]", "just words", "a: b", "- a", "---\n---\n## what\n"])
def test_wrong_shapes_are_problems_and_never_crashes(pack: Path, agents: Path, name: str, content: str) -> None:
    (agents / name).write_text(content, encoding="utf-8")

    assert [p for p in check(pack).errors if p.file == f"agents/{name}"]


async def test_build_keeps_agents_with_their_pictures_and_loads_them_again(
    pack: Path, agents: Path, tmp_path: Path
) -> None:
    await build_pack(pack, tmp_path / "built", build_index)
    checked, loaded = check(pack).pack, load_pack(tmp_path / "built")

    assert checked is not None
    assert checked.agents == loaded.agents
    assert (tmp_path / "built" / "fallback" / "media" / "harker.svg").is_file()


async def test_build_of_a_version_without_agents_still_opens_with_the_guide_alone(pack: Path, tmp_path: Path) -> None:
    target = tmp_path / "built"
    await build_pack(pack, target, build_index)
    built = json.loads((target / "pack.json").read_text(encoding="utf-8"))
    del built["agents"]
    (target / "pack.json").write_text(json.dumps(built), encoding="utf-8")

    assert (Agent(),) == load_pack(target).agents
