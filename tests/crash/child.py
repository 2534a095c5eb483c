"""The processes that die. One parent that has imported everything forks one for each job that it reads.

A job is a line of JSON: `do` (play | recover | stream | visit | forget | next), `folder`, `point` to die at, and what
that takes. The parent answers with the child's pid and, when it is over, its exit code. It never opens a store itself.
"""

import asyncio
import itertools
import json
import os
import random
import secrets
import sqlite3
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cast import TOKEN, Guide, Voice
from probes import DyingStore, Log, Probe
from wayside.core.errors import WaysideError
from wayside.core.room.agents import AgentDescriptor, AgentInput, Endpoint, Participant
from wayside.core.room.disclosure import ROOM
from wayside.core.room.routing import RoutingPolicy
from wayside.core.runs.record import RunRecord
from wayside.core.runs.request import ContinuationRef, InputPolicy, RunRequest, Supersession
from wayside.ports.clock import SystemClock
from wayside.ports.run_store import RunStore
from wayside.runtime.room.registry import RoomAgentRegistry
from wayside.runtime.room.speech import RoomSpeech
from wayside.runtime.runs.runtime import Hooks, RoomAgentRuntime, RunResult
from wayside.stores.sqlite.runs import SqliteRunStore
from wayside.stores.sqlite.visits import VisitFolder
from wayside.wire.room import entry_to_json, row_to_json

ROOM_ID = "kiosk"
ANN = Participant("ann")
CHANNELS = ("visitor", "staff")


class Room:
    """A real registry, runtime and speech over one store, and a visitor who sends, waits and tries again."""

    def __init__(self, folder: Path, store: RunStore, probe: Probe, group: asyncio.TaskGroup) -> None:
        self.probe = probe
        self.store = store
        self.group = group
        self.voice = Voice(probe, Log(folder / "spoken.log"))
        self.requests: dict[str, RunRequest] = {}
        self._acknowledged = Log(folder / "acknowledged.log")
        self._published = Log(folder / "published.log")
        registry = RoomAgentRegistry()
        registry.join(ANN)
        registry.register(AgentDescriptor("guide", "Guide"), Guide())
        clock = SystemClock()
        self.speech = RoomSpeech(self.voice, store, clock, group, self.voice)
        self.runs = RoomAgentRuntime(
            ROOM_ID,
            registry,
            store,
            clock,
            lambda: secrets.token_hex(8),
            group,
            policy=RoutingPolicy(fallback="guide"),
            speech=self.speech,
            hooks=Hooks(on_entry=lambda _, entry: self._publish(entry_to_json(entry))),
        )

    def _publish(self, entry: str) -> None:
        self._published.add(entry)
        self.probe.reach("after_publish")

    async def send(self, request: RunRequest, admitted: "asyncio.Future[RunRecord] | None" = None) -> RunResult:
        """One input to the end of what it starts, speech too; what is acknowledged is written down."""
        self.requests[request.input.id] = request
        (result,) = await self.runs.handle_run_input(
            request, on_admitted=admitted.set_result if admitted is not None else None
        )
        self._acknowledged.add(request.input.id, result.run_id, result.status)
        if not result.duplicate:  # the speech of one that goes on may have no end
            await self.speech.delivered(result.run_id, result.attempt)
        return result

    async def play(self, scenario: str, prefix: str, channel: str = "visitor") -> None:
        """What a visitor does; doing it again after a restart is a retry of every input in it."""
        first, second = f"{prefix}.1", f"{prefix}.2"
        match scenario:
            case "turn":
                await self.send(_request(first, "turn", channel))
            case "continue":
                asked = await self.send(_request(first, "ask", channel))
                answer = _request(second, "reply", channel, continuation=ContinuationRef(asked.run_id, TOKEN))
                await self.send(answer)
            case "supersede":
                run_id = await self._interruptible(_request(first, "slow", channel))
                seed = Supersession(run_id, {"stage": "threshold"}, InputPolicy("append"))
                await self.send(_request(second, "turn", channel, supersession=seed))
            case _:
                raise ValueError(scenario)

    async def _interruptible(self, request: RunRequest) -> str:
        admitted: asyncio.Future[RunRecord] = asyncio.get_running_loop().create_future()
        sending = self.group.create_task(self.send(request, admitted))
        await asyncio.wait({sending, admitted}, return_when=asyncio.FIRST_COMPLETED)
        if not admitted.done():
            return sending.result().run_id
        await self.voice.heard(admitted.result().id).wait()
        return admitted.result().id

    async def resume(self) -> None:
        """Take up what a dead process left; what never ends by itself goes on in the background."""
        for record in await self.runs.resume():
            resuming = self.group.create_task(self.runs.resume_run(record.id))
            if record.input.data["script"] != "slow":
                await resuming  # not its speech: what goes on in the background may have the floor

    async def retry(self) -> list[tuple[str, bool, str, str]]:
        """Each input again, exactly and changed: its id, whether it was known, its run, and the refusal's code."""
        told = []
        for input_id, request in tuple(self.requests.items()):
            result = await self.send(request)
            changed = replace(request, input=replace(request.input, text=f"{request.input.text} changed"))
            try:
                await self.runs.handle_run_input(changed)
                code = ""
            except WaysideError as error:
                code = error.code
            told.append((input_id, result.duplicate, result.run_id, code))
        return told


def _request(input_id: str, script: str, channel: str, **changes: Any) -> RunRequest:
    given = AgentInput(
        input_id, f"{script} {input_id}", Endpoint("participant", ANN.id), channel, ROOM, ANN, data={"script": script}
    )
    return RunRequest(given, **changes)


@asynccontextmanager
async def _room(folder: Path, probe: Probe) -> AsyncIterator[Room]:
    inner = await SqliteRunStore(folder / "runs.db", trace=probe.statement).open()
    async with asyncio.TaskGroup() as group:
        yield Room(folder, DyingStore(inner, probe), probe, group)
    await inner.close()


async def _play(job: dict[str, Any], folder: Path, probe: Probe) -> object:
    async with _room(folder, probe) as room:
        await room.play(job["scenario"], "a")
        return dict(probe.reached)


async def _recover(job: dict[str, Any], folder: Path, probe: Probe) -> object:
    """Resume, then try again what was not over; or the other way round; or cancel what is left."""
    plans = job.get("plans") or [(job["scenario"], "a", "visitor")]
    async with _room(folder, probe) as room:
        order = job.get("order", "resume")
        if order == "cancel":
            for record in await room.runs.resume():
                await room.runs.cancel_run(record.id)
        elif order == "resume":
            await room.resume()
        # All at once: what goes on in the background has the floor until its own channel goes on.
        await asyncio.gather(*(room.play(*plan) for plan in plans))
        if order == "retry":
            await room.resume()
        return {"retried": await room.retry(), "reached": dict(probe.reached)}


async def _stream(job: dict[str, Any], folder: Path, probe: Probe) -> object:
    """Turns of every kind on two channels, until it is killed."""
    plans = Log(folder / "plans.log")

    async def visit(room: Room, channel: str) -> None:
        chance = random.Random(f"{job['seed']} {channel}")
        for number in itertools.count():
            scenario, prefix = chance.choice(("turn", "continue", "supersede")), f"{channel}-{job['seed']}-{number}"
            plans.add("begun", scenario, prefix, channel)
            await room.play(scenario, prefix, channel)
            plans.add("over", scenario, prefix, channel)

    async with _room(folder, probe) as room:
        await asyncio.gather(*(visit(room, channel) for channel in CHANNELS))
    return None


async def _visit(job: dict[str, Any], folder: Path, probe: Probe) -> object:
    """One visit in a folder of visits, then its reset, as the kiosk does it."""
    place = VisitFolder(folder / "visits")
    store = await place.open()
    path = place.current
    assert path is not None
    async with asyncio.TaskGroup() as group:
        room = Room(folder, store, probe, group)
        await room.send(_request(job["text"], "turn", "visitor"))
        await room.runs.set_phase(job["text"])
    probe.reach("left")
    if job.get("held"):
        # Somebody still reads it, so that closing can't fold the log into the file.
        held = sqlite3.connect(path)
        held.execute("SELECT count(*) FROM runs").fetchone()
    probe.watch_removals(path.parent)
    await store.delete()
    await place.forget()
    return None


async def _forget(_: dict[str, Any], folder: Path, probe: Probe) -> object:
    """Only forget what a dead process left."""
    place = VisitFolder(folder / "visits")
    probe.watch_removals(folder / "visits")
    await place.forget()
    return None


async def _next(job: dict[str, Any], folder: Path, probe: Probe) -> object:
    """The next start and the next visit: everything that it can read, and whether there was one to take up."""
    place = VisitFolder(folder / "visits")
    left = await place.left_over() if job["left_over"] else None
    if left is not None:
        await left.delete()
    await place.forget()
    store = await place.open()
    seen: list[object] = [len(await store.load_runs()), await store.load_state("room")]
    async with asyncio.TaskGroup() as group:
        room = Room(folder, store, probe, group)
        await room.send(_request(job["text"], "turn", "visitor"))
    rows = await store.load_transcript(ROOM_ID)
    records = await store.load_runs()
    entries = [entry for record in records for entry in await store.load_events(record.id)]
    seen += [row_to_json(row) for row in rows] + [entry_to_json(entry) for entry in entries]
    await store.close()
    return {"taken_up": left is not None, "before": seen[:2], "seen": seen[2:], "durable": store.durable}


JOBS = {"play": _play, "recover": _recover, "stream": _stream, "visit": _visit, "forget": _forget, "next": _next}


def _run(job: dict[str, Any]) -> None:
    folder = Path(job["folder"])
    errors = os.open(folder / "errors.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    probe = Probe(job.get("point", ""), folder)
    told = asyncio.run(JOBS[job["do"]](job, folder, probe))
    (folder / "told.json").write_text(json.dumps(told))


def serve() -> None:
    """Fork for each job, tell the pid, wait, tell the exit code (negative: the signal)."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _run(json.loads(line))
                code = 0
            except BaseException:  # noqa: BLE001 - whatever it is, it is told and the child ends here
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)  # noqa: T201 - the answer to the job
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
