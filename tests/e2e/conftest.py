"""Fixtures of the tests that run real processes."""

import asyncio
from pathlib import Path

import pytest

from wayside.releases.build import build_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index

PACK = Path(__file__).parents[2] / "assets" / "packs" / "pottery"


@pytest.fixture(scope="session")
def built_pack(tmp_path_factory) -> Path:
    """The sample pack, built without recordings."""
    target = tmp_path_factory.mktemp("pack") / "pottery"
    asyncio.run(build_pack(PACK, target, build_index, open_index=SqlitePassageIndex))
    return target
