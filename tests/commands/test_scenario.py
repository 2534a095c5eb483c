"""`wayside scenario`: shipped scenarios run, broken files are told."""

from pathlib import Path

import pytest
from wayside.commands.scenario import run_files
from wayside.core.errors import WaysideError
from wayside.main import Place

SCENARIOS = Path(__file__).parents[1] / "scenarios"


@pytest.mark.models
@pytest.mark.parametrize("name", ["clear-question", "barge-in", "silence"])
async def test_shipped_scenarios_pass(name, built_pack, tmp_path):
    place = Place(pack=built_pack, config=None, state=tmp_path)

    report = await run_files([SCENARIOS / f"{name}.yaml"], place, repeat=1, tell=lambda _line: None)

    assert report["ok"], report


async def test_a_broken_scenario_is_told_with_its_file(built_pack, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("language: en\nsteps:\n  - shout: loud\n", encoding="utf-8")

    with pytest.raises(WaysideError) as told:
        await run_files(
            [broken], Place(pack=built_pack, config=None, state=tmp_path), repeat=1, tell=lambda _line: None
        )

    assert "broken.yaml" in f"{told.value.message} {told.value.remedy}"
