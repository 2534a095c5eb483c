"""A visit's database that is locked, full, damaged or newer: the kiosk keeps answering, and operators learn why."""

import json
import sqlite3
from pathlib import Path

import pytest
from sidecars import sidecar

pytestmark = [pytest.mark.models, pytest.mark.timeout(120)]
NOWHERE = {"PULSE_SERVER": "unix:/nonexistent"}
OPERATOR = {"Authorization": "Bearer boot-token-of-a-test"}


def visit_file(running) -> Path:
    folder = Path(json.loads((running.folder / "run" / "sidecar.json").read_text())["visits"])
    (file,) = folder.glob("*.visit")
    return file


async def issues(running) -> list[str]:
    _, health = await running.get("/health", **OPERATOR)
    return [issue["code"] for issue in health["issues"]]


def damaged(file: Path) -> None:
    for part in (file, file.with_name(file.name + "-wal")):
        part.write_bytes(b"\xff" * max(8192, part.stat().st_size))


def newer(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()


@pytest.mark.parametrize("fault", [damaged, "locked", "gone"])
async def test_a_visit_goes_on_when_its_database_fails(built_pack, tmp_path, fault):
    async with sidecar(tmp_path / "s", built_pack, environment=NOWHERE) as running, running.page() as page:
        await page.send("start", language="en")
        await page.send("setting", name="silent", value=1)
        await page.send("say", text="Who broke the Portland Vase?")
        await page.until(lambda: "William Lloyd" in page.said)
        assert not [code for code in await issues(running) if code.startswith("store.")]
        blocker = None
        if fault == "locked":
            blocker = sqlite3.connect(visit_file(running), isolation_level=None)
            blocker.execute("BEGIN IMMEDIATE")
        elif fault == "gone":
            for part in visit_file(running).parent.glob("*.visit*"):
                part.unlink()
        else:
            fault(visit_file(running))
        await page.send("say", text="What game are Achilles and Ajax playing?")
        await page.until(lambda: "board game" in page.said)
        if blocker is not None:
            blocker.close()

        # Bytes that change under an open database are noticed by whoever opens it next (below).
        told = {"locked": "store.locked", "gone": "store.gone"}.get(fault)
        assert told is None or told in await issues(running)
        assert not [frame for frame in page.of("notice") if frame["code"] == "answer_failed"]
        before = {frame["visit_token"] for frame in page.of("welcome")} | {""}
        await page.send("end")
        await page.until(lambda: page.of("reset"))
        await page.send("start", language="en")
        await page.until(lambda: page.of("welcome")[-1]["visit_token"] not in before)
        assert visit_file(running).exists()


@pytest.mark.parametrize("fault", [damaged, newer])
async def test_a_file_that_can_not_be_taken_up_is_set_aside_told_and_deleted_at_the_next_reset(
    built_pack, tmp_path, fault
):
    async with sidecar(tmp_path / "s", built_pack, environment=NOWHERE) as first, first.page() as page:
        await page.send("start", language="en")
        await page.send("say", text="Tell me about the xylophonecanary")
        await page.until(lambda: page.of("utterance"))
        file = visit_file(first)
        await first.kill()
    fault(file)
    async with (
        sidecar(tmp_path / "s", built_pack, environment=NOWHERE, port=first.port) as second,
        second.page() as page,
    ):
        assert "attract" == page.of("snapshot")[-1]["phase"]
        assert f"store.{'corrupt' if fault is damaged else 'newer'}" in await issues(second)
        await page.send("start", language="en")
        await page.send("end")
        await page.until(lambda: page.of("reset"))
        assert [] == [found for found in file.parent.rglob("*") if found.is_file()]
