"""Calls services for agents. Decides whether an agent may, and whether a call is a repeat of one that was made.

A service returns data, never an action; a call id belongs to one input in one private exchange (RFC-021 §6).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from wayside.core.errors import WaysideError
from wayside.core.plain_json import Json, fingerprint, plain
from wayside.core.room.agents import AgentDescriptor
from wayside.core.room.disclosure import Disclosure
from wayside.core.room.envelope import ServiceRequest, ServiceResult
from wayside.core.room.refusals import refuse

DEADLINE_S = 5.0
CALLS_KEPT = 256


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """What a service is told: who asks, where, and before whom its answer may be said."""

    agent: str
    channel: str
    disclosure: Disclosure
    request: ServiceRequest


Service = Callable[[ServiceCall], Awaitable[Json]]


@dataclass(slots=True)
class _Kept:
    bound_to: str
    task: "asyncio.Task[Json | WaysideError]"


class RoomAgentServiceRegistry:
    """The services of one room. `require` gives the agent's descriptor as it is now, or refuses.

    Calls run in `tasks`, whose owner is the room, so that a caller which gives up takes nothing from another.
    """

    def __init__(
        self,
        room: str,
        tasks: asyncio.TaskGroup,
        require: Callable[[str], AgentDescriptor],
        *,
        deadline_s: float = DEADLINE_S,
        calls_kept: int = CALLS_KEPT,
    ) -> None:
        self._room = room
        self._tasks = tasks
        self._require = require
        self._deadline_s = deadline_s
        self._calls_kept = calls_kept
        self._services: dict[str, Service] = {}
        self._calls: OrderedDict[str, _Kept] = OrderedDict()

    def register(self, service_id: str, service: Service) -> None:
        """Offer a service, in place of any before; what agents may call is in their descriptors."""
        self._services[service_id] = service

    def unregister(self, service_id: str) -> None:
        """Offer it no more; twice is fine."""
        self._services.pop(service_id, None)

    async def invoke(self, call: ServiceCall) -> ServiceResult:
        """The answer to a call; the same call again, or at the same time, has the same answer from one execution.

        Refuses `room.service_denied` (also when the grant was withdrawn meanwhile), `room.service_unknown`,
        `room.service_call_mismatch`, and `room.service_failed`, which is retryable under the same call id.
        """
        request = call.request
        asked = plain(request.input, "room.payload_malformed")
        service = self._granted(call)
        bound_to = fingerprint(
            [
                self._room,
                call.agent,
                call.channel,
                call.disclosure.as_json(),
                request.service,
                asked,
            ]
        )
        kept = self._calls.get(request.call_id)
        if kept is not None and kept.bound_to != bound_to:
            raise refuse("room.service_call_mismatch")
        if kept is None or _failed(kept.task):
            told = ServiceCall(
                call.agent,
                call.channel,
                call.disclosure,
                ServiceRequest(request.service, request.call_id, asked),
            )
            kept = _Kept(bound_to, self._tasks.create_task(self._execute(service, told)))
            self._keep(request.call_id, kept)
        outcome = await asyncio.shield(kept.task)
        self._granted(call)
        if isinstance(outcome, WaysideError):
            raise refuse("room.service_failed", retryable=True)
        return ServiceResult(request.service, request.call_id, plain(outcome))

    def _granted(self, call: ServiceCall) -> Service:
        if call.request.service not in self._require(call.agent).services:
            raise refuse("room.service_denied")
        service = self._services.get(call.request.service)
        if service is None:
            raise refuse("room.service_unknown")
        return service

    async def _execute(self, service: Service, call: ServiceCall) -> Json | WaysideError:
        try:
            async with asyncio.timeout(self._deadline_s):
                return plain(await service(call))
        except Exception:  # noqa: BLE001 - a service may raise anything, and its text may be a visitor's
            return refuse("room.service_failed", retryable=True)

    def _keep(self, call_id: str, kept: _Kept) -> None:
        self._calls[call_id] = kept
        self._calls.move_to_end(call_id)
        spare = len(self._calls) - self._calls_kept
        # A call that still runs is kept past the bound: forgetting it would execute it twice.
        for old in [known for known, call in self._calls.items() if call.task.done()][: max(0, spare)]:
            del self._calls[old]


def _failed(task: "asyncio.Task[Json | WaysideError]") -> bool:
    return task.done() and (task.cancelled() or isinstance(task.result(), WaysideError))
