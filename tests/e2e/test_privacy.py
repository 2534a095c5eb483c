"""Canaries: nothing of a visit is written anywhere, and nothing is left of it after reset."""

from pathlib import Path

import pytest
from sidecars import sidecar

pytestmark = [pytest.mark.models, pytest.mark.timeout(120)]
CANARIES = ("xylophonecanary", "Who broke the Portland Vase", "William Lloyd")


async def test_nothing_of_a_visit_is_written_or_survives_it(built_pack, tmp_path):
    nowhere = {"PULSE_SERVER": "unix:/nonexistent", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    async with sidecar(tmp_path / "s", built_pack, environment=nowhere) as running:
        async with running.page() as page:
            await page.send("start", language="en")
            await page.send("say", text="Tell me about the xylophonecanary please")
            await page.until(lambda: page.of("utterance"))
            await page.send("say", text="Who broke the Portland Vase?")
            await page.until(lambda: "William Lloyd" in page.said)
            await page.send("setting", name="volume", value=6)
            await page.send("end")
            await page.until(lambda: page.of("reset"))
        async with running.page() as page:
            snapshot = page.of("snapshot")[-1]
            assert ("attract", [], [], 0.0) == (
                snapshot["phase"],
                snapshot["lines"],
                snapshot["choices"],
                snapshot["volume"],
            )
        _, health = await running.get("/health", Authorization="Bearer boot-token-of-a-test")
        opened = [link.resolve() for link in Path(f"/proc/{running.process.pid}/fd").iterdir()]

        assert not any(c in repr(health) for c in CANARIES)
        written = [f for folder in ("s", "tmp") for f in (tmp_path / folder).rglob("*") if f.is_file()]
        written += [f for f in opened if f.is_file() and not f.is_relative_to(built_pack) and f.stat().st_size < 10**7]
        assert tmp_path / "s" / "output.log" in written
        for file in written:
            content = file.read_bytes()
            assert not any(c.encode() in content for c in CANARIES), file.name


async def test_the_log_has_the_turn_without_its_words(built_pack, tmp_path):
    nowhere = {"PULSE_SERVER": "unix:/nonexistent"}
    async with sidecar(tmp_path / "s", built_pack, environment=nowhere) as running, running.page() as page:
        await page.send("start", language="en")
        await page.send("say", text="Where is the xylophonecanary?")
        await page.until(lambda: page.of("utterance"))
        await page.send("stop")
        await page.until(lambda: "turn.answered" in (running.folder / "output.log").read_text())

        assert "xylophonecanary" not in (running.folder / "output.log").read_text()
