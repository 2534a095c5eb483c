"""The built page from the real sidecar, in Debian's Chromium, touched like a visitor touches it."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest
from sidecars import TOKEN, sidecar
from wayside.core.questions import fold
from wayside.main import STATIC

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
WEBUI = Path(__file__).parents[2] / "webui"
NOWHERE = {"PULSE_SERVER": "unix:/nonexistent"}


@pytest.fixture
def pictures(tmp_path) -> Path:
    """Where pictures go; name a folder in WAYSIDE_SHOTS to keep them."""
    folder = Path(os.environ.get("WAYSIDE_SHOTS") or tmp_path / "pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js drives the browser; `make test` brings it")
@pytest.mark.skipif(
    not (WEBUI / "node_modules" / "playwright-core").is_dir(),
    reason="needs the page's packages; `make test` installs them",
)
@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="needs the built page; `make test` builds it")
@pytest.mark.parametrize(("width", "height"), [(1080, 1920), (1920, 1080)])
async def test_a_visit_by_touch(built_pack, tmp_path, pictures, width, height):
    async with sidecar(tmp_path / "s", built_pack, environment=NOWHERE) as running:
        driver = await asyncio.create_subprocess_exec(
            *["node", str(Path(__file__).with_name("page.mjs")), str(WEBUI / "node_modules")],
            *[f"{running.url}/#token={TOKEN}", str(pictures), str(width), str(height)],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await driver.communicate()
    assert driver.returncode == 0, err.decode()
    seen = json.loads(out.decode().splitlines()[-1])
    exhibits = json.loads((built_pack / "fallback" / "manifest.json").read_text())["exhibits"]
    approved = fold(" ".join(p["text"] for e in exhibits for p in e["passages"]["en"]))

    assert ([], []) == (seen["faults"], seen["outside"])
    assert TOKEN not in seen["address"]
    words = fold(seen["caption"]).split()
    assert len([w for w in words if w in approved.split()]) >= 0.9 * len(words) > 3
    assert len(seen["sources"]) > 10
    assert seen["pictures"] >= 1
    assert seen["question"] not in seen["after"]
    assert not any(line in seen["after"] for line in seen["caption"].splitlines() if len(line) > 15)
    assert TOKEN not in seen["after"]
    assert 0 == seen["stored"]
