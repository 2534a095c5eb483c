"""The driver on the page for integrators works as it stands there."""

from pathlib import Path
from typing import Any

from kit import virtually
from room.engine import room
from wayside.core.room.agents import AgentDescriptor
from wayside.core.runs.record import RunStatus

PAGE = Path(__file__).parents[2] / "docs" / "rooms-and-runs.md"


@virtually
async def test_the_example_asks_back_and_answers() -> None:
    names: dict[str, Any] = {}
    exec(PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0], names)  # noqa: S102 - our own page
    async with room() as r:
        r.registry.register(AgentDescriptor("guide", "Guide"), names["WhichVase"](), replace_existing=True)
        asked = await r.answer("Tell me about the vase")
        answered = await r.answer("the blue one")

        assert (RunStatus.WAITING, RunStatus.COMPLETED) == (asked.status, answered.status)
        assert asked.run_id == answered.run_id
        assert ["The blue one or the red one?", "You chose the blue one."] == await r.said()
