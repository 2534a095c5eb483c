"""Fixtures every suite may ask for."""

import asyncio
from pathlib import Path

import pytest
from audio_server import audio_server, shared_audio_server
from wayside.releases.build import build_pack
from wayside.stores.sqlite.passages import SqlitePassageIndex, build_index

__all__ = ["audio_server", "built_pack", "shared_audio_server"]
PACK = Path(__file__).parents[1] / "assets" / "packs" / "pottery"


@pytest.fixture(scope="session")
def built_pack(tmp_path_factory) -> Path:
    """The sample pack, built without recordings."""
    target = tmp_path_factory.mktemp("pack") / "pottery"
    asyncio.run(build_pack(PACK, target, build_index, open_index=SqlitePassageIndex))
    return target
