"""What an agent may call, and how often it happens."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from virtual import run_virtual
from wayside.core.errors import WaysideError
from wayside.core.room.agents import AgentDescriptor
from wayside.core.room.disclosure import ROOM, among
from wayside.core.room.envelope import ServiceRequest, ServiceResult
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.services import RoomAgentServiceRegistry, ServiceCall

GUIDE = AgentDescriptor("guide", "Guide", services=frozenset(["hints", "scores"]))
POTTER = AgentDescriptor("potter", "Exekias", services=frozenset(["hints"]))
CALL = ServiceCall("guide", "public", ROOM, ServiceRequest("hints", "c-1", {"level": 1}))


class Silent:
    async def respond(self, context):
        return None


class Hints:
    """Counts its executions; each waits for `gate`; fails as often as told."""

    def __init__(self, *, fails: int = 0, answer: object = None) -> None:
        self.gate = asyncio.Event()
        self.fails = fails
        self.answer = answer
        self.calls: list[ServiceCall] = []

    async def __call__(self, call: ServiceCall):
        self.calls.append(call)
        await self.gate.wait()
        if self.fails:
            self.fails -= 1
            raise OSError("the words of a visitor")
        return self.answer if self.answer is not None else {"hint": len(self.calls)}


def open_hints(**options) -> Hints:
    hints = Hints(**options)
    hints.gate.set()
    return hints


@asynccontextmanager
async def serving(hints: Hints, **options):
    agents = RoomAgentRegistry()
    for agent in (GUIDE, POTTER):
        agents.register(agent, Silent())
    async with asyncio.TaskGroup() as tasks:
        services = RoomAgentServiceRegistry("room", tasks, agents.require, **options)
        services.register("hints", hints)
        services.agents = agents
        yield services


async def refused(awaitable) -> str:
    with pytest.raises(WaysideError) as refusal:
        await awaitable
    return refusal.value.code


def asking(**changes) -> ServiceCall:
    return replace(CALL, request=replace(CALL.request, **changes))


async def test_an_agent_calls_a_service_that_its_descriptor_names() -> None:
    """S1. It gets data, and the service learns who asks, where and before whom."""
    hints = open_hints()
    async with serving(hints) as services:
        result = await services.invoke(CALL)

    assert ServiceResult("hints", "c-1", {"hint": 1}) == result
    assert [CALL] == hints.calls


async def test_a_service_that_the_descriptor_does_not_name_is_refused() -> None:
    """S1. The capability is checked before the service hears of it; one that nobody offers is unknown."""
    hints = open_hints()
    async with serving(hints) as services:
        services.register("secrets", hints)

        assert await refused(services.invoke(asking(service="secrets"))) == "room.service_denied"
        assert await refused(services.invoke(asking(service="scores"))) == "room.service_unknown"
        assert await refused(services.invoke(replace(CALL, agent="nobody"))) == "room.unknown_agent"
        services.unregister("hints")
        services.unregister("hints")
        assert await refused(services.invoke(CALL)) == "room.service_unknown"

    assert hints.calls == []


async def test_the_same_call_is_executed_once() -> None:
    """S1. The call id makes a retry harmless, and nobody can change another's copy of the answer."""
    hints = open_hints(answer={"seen": ["rim"]})
    async with serving(hints) as services:
        first = await services.invoke(CALL)
        first.output["seen"].append("fake")
        hints.answer["seen"].append("fake")
        again = await services.invoke(CALL)

    assert {"seen": ["rim"]} == again.output
    assert len(hints.calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        asking(input={"level": 2}),
        asking(input=None),
        replace(CALL, channel="private"),
        replace(CALL, disclosure=among(["ana"])),
        replace(CALL, agent="potter"),
    ],
)
async def test_a_call_id_belongs_to_one_input_in_one_exchange(other: ServiceCall) -> None:
    """S1. Other input, agent, channel or disclosure is refused, not answered from what is kept."""
    hints = open_hints()
    async with serving(hints) as services:
        await services.invoke(CALL)

        assert await refused(services.invoke(other)) == "room.service_call_mismatch"

    assert len(hints.calls) == 1


async def test_a_call_id_can_not_be_used_for_another_service() -> None:
    """S1. The service is a part of what the id stands for."""
    async with serving(open_hints()) as services:
        services.register("scores", open_hints())
        await services.invoke(CALL)

        assert await refused(services.invoke(asking(service="scores"))) == "room.service_call_mismatch"


async def test_a_withdrawn_grant_is_refused_even_for_an_answer_that_is_kept() -> None:
    """S1. The descriptor decides as it is now."""
    async with serving(open_hints()) as services:
        await services.invoke(CALL)
        services.agents.register(replace(GUIDE, services=frozenset()), Silent(), replace_existing=True)

        assert await refused(services.invoke(CALL)) == "room.service_denied"


async def test_a_grant_that_is_withdrawn_while_the_service_works_is_refused() -> None:
    """S1. Before the answer is given."""
    hints = Hints()
    async with serving(hints) as services, asyncio.TaskGroup() as group:
        asked = group.create_task(refused(services.invoke(CALL)))
        while not hints.calls:
            await asyncio.sleep(0)
        services.agents.register(replace(GUIDE, services=frozenset()), Silent(), replace_existing=True)
        hints.gate.set()

    assert asked.result() == "room.service_denied"


async def test_identical_calls_at_the_same_time_share_one_execution() -> None:
    """S1. And one caller that gives up takes nothing from the other."""
    hints = Hints()
    async with serving(hints) as services, asyncio.TaskGroup() as group:
        impatient, patient = (group.create_task(services.invoke(CALL)) for _ in range(2))
        while not hints.calls:
            await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        hints.gate.set()

    assert ServiceResult("hints", "c-1", {"hint": 1}) == patient.result()
    assert len(hints.calls) == 1


async def test_a_failed_call_may_be_made_again_and_still_belongs_to_its_input() -> None:
    """S1. The service's own words stay with it."""
    hints = open_hints(fails=1)
    async with serving(hints) as services:
        with pytest.raises(WaysideError) as failure:
            await services.invoke(CALL)
        mismatch = await refused(services.invoke(asking(input={"level": 2})))
        result = await services.invoke(CALL)

    assert ("room.service_failed", True) == (failure.value.code, failure.value.retryable)
    assert "visitor" not in str(failure.value)
    assert mismatch == "room.service_call_mismatch"
    assert {"hint": 2} == result.output


@pytest.mark.parametrize("answer", [object(), {"at": {1, 2}}, float("inf")])
async def test_an_answer_that_is_not_plain_json_is_a_failure(answer: object) -> None:
    """S1. Services return data."""
    async with serving(open_hints(answer=answer)) as services:
        assert await refused(services.invoke(CALL)) == "room.service_failed"


def test_a_service_has_a_deadline() -> None:
    """S1. A service that hangs fails by its deadline; in virtual time."""

    async def main() -> tuple[str, float]:
        started = asyncio.get_running_loop().time()
        async with serving(Hints(), deadline_s=2.0) as services:
            code = await refused(services.invoke(CALL))
        return code, asyncio.get_running_loop().time() - started

    assert run_virtual(main()) == ("room.service_failed", pytest.approx(2.0))


async def test_the_answers_that_are_kept_are_bounded() -> None:
    """S1. The oldest finished call is forgotten first; one that still runs is not."""
    hints, slow = open_hints(), Hints()
    async with serving(hints, calls_kept=2) as services, asyncio.TaskGroup() as group:
        services.register("scores", slow)
        running = asking(service="scores", call_id="slow")
        tasks = [group.create_task(services.invoke(running))]
        while not slow.calls:
            await asyncio.sleep(0)
        for number in range(4):
            await services.invoke(asking(call_id=f"n-{number}"))
        tasks.append(group.create_task(services.invoke(running)))
        await services.invoke(asking(call_id="n-3"))
        assert len(hints.calls) == 4
        await services.invoke(asking(call_id="n-0"))
        slow.gate.set()

    assert (5, 1) == (len(hints.calls), len(slow.calls))
    assert tasks[0].result() == tasks[1].result()
