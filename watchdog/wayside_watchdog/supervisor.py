"""Carries out what the ladders decide: one ladder, one process and one set of probes for each child.

Everything it starts is owned by one task group and ends with `run()`.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wayside_watchdog import beats, children, ladder, visits
from wayside_watchdog.children import Child
from wayside_watchdog.ladder import Ladder, Phase
from wayside_watchdog.notify import Notifier
from wayside_watchdog.probes import LIVE_DEADLINE_S, Readiness, SidecarClient

SIDECAR = "sidecar"
SHELL = "shell"
TICK_S = 0.5
STALL_S = 2.0
NOTIFY_EVERY_S = 10.0
REAP_TRIES = 40
REAP_WAIT_S = 0.025
PROBE_STARTING_S = 0.5
OVERDUE_VISIT_MS = 10_000
SHELL_SETTLED_S = 10.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to start one child."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str]


class Supervisor:
    """Owns the children. `page_beats` says whether the page that is served sends heartbeats at all."""

    def __init__(
        self,
        plans: tuple[Plan, ...],
        client: SidecarClient,
        *,
        runtime_dir: Path,
        notifier: Notifier,
        page_beats: Callable[[], bool],
        echo: bool,
    ) -> None:
        self._plans = {plan.name: plan for plan in plans}
        self._client = client
        self._runtime_dir = runtime_dir
        self._notifier = notifier
        self._page_beats = page_beats
        self._echo = echo
        self._jitter = random.SystemRandom()
        self._ladders = {plan.name: Ladder() for plan in plans}
        self._children: dict[str, Child] = {}
        self._unreaped: set[int] = set()
        self._beats = beats.PageBeats()
        self._readiness: Readiness | None = None
        self._forget_visit = False
        self._leaving = asyncio.Event()
        self._all_off = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Start the children and keep them going until `leave()`; return when all have ended."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            now = time.monotonic()
            for name in self._plans:
                self._apply(name, ladder.Begin(at=now))
            ticking = group.create_task(self._tick())
            probing = group.create_task(self._probe()) if SIDECAR in self._plans else None
            await self._leaving.wait()
            if probing is not None:
                probing.cancel()
            for name in self._plans:
                self._apply(name, ladder.Leave(at=time.monotonic()))
            self._note_off()
            await self._all_off.wait()
            ticking.cancel()
            for _ in range(REAP_TRIES):
                if not self._reap():
                    break
                await asyncio.sleep(REAP_WAIT_S)
        self._group = None
        await self._client.close()

    def leave(self) -> None:
        """Stop every child and end `run()`. Asking twice is fine."""
        self._leaving.set()

    def restart(self, name: str, *, hung: bool = False) -> bool:
        """Start a child anew because somebody asked. False where this watchdog has no such child.

        A sidecar that hangs could not end its visit: what it kept of it is deleted when it is dead.
        """
        if name not in self._plans:
            return False
        self._forget_visit = self._forget_visit or (hung and name == SIDECAR)
        grace_s = ladder.HUNG_GRACE_S if hung else ladder.GRACE_S
        self._apply(name, ladder.RestartAsked(at=time.monotonic(), grace_s=grace_s))
        return True

    def page_beat(self, frames: int) -> None:
        """The page said that it works."""
        now = time.monotonic()
        self._beats, alive = beats.beat(self._beats, at=now, frames=frames)
        if SHELL in self._plans:
            self._apply(SHELL, ladder.Beat(at=now) if alive else ladder.Missed(at=now))

    def sidecar_word(self) -> str:
        """The sidecar in one word, as `/v1/status` says it."""
        state = self._ladders.get(SIDECAR)
        if state is None:
            return "down"
        match state.phase:
            case Phase.UP if state.misses == 0:
                return "up"
            case Phase.STARTING:
                return "starting"
            case Phase.SAFE_MODE:
                return "safe_mode"
            case _:
                return "down"

    def readiness(self) -> Readiness | None:
        """The sidecar's last word about itself while it is up."""
        return self._readiness if self.sidecar_word() == "up" else None

    def components(self) -> list[dict[str, object]]:
        """Every child's state for staff and operators."""
        now = time.monotonic()
        return [
            {
                "name": name,
                "state": state.phase.value,
                "restarts": state.restarts,
                "since_s": round(max(0.0, now - state.since), 1),
            }
            for name, state in self._ladders.items()
        ]

    def pids(self) -> dict[str, int]:
        """Process ids of the running children."""
        return {name: child.pid for name, child in self._children.items()}

    def _apply(self, name: str, event: ladder.Event) -> None:
        self._ladders[name], commands = ladder.step(self._ladders[name], event)
        if self._group is None:
            return
        for command in commands:
            match command:
                case ladder.Spawn():
                    self._group.create_task(self._run_child(self._plans[name]))
                case ladder.Stop(grace_s=grace_s):
                    if child := self._children.get(name):
                        self._group.create_task(child.stop(grace_s))

        self._note_off()

    def _note_off(self) -> None:
        if self._leaving.is_set() and all(state.phase is Phase.OFF for state in self._ladders.values()):
            self._all_off.set()

    async def _run_child(self, plan: Plan) -> None:
        code: int | None = None
        if plan.name == SHELL:
            self._beats = beats.PageBeats()
        elif self._forget_visit:
            self._forget()
        try:
            child = await children.start(plan.name, plan.command, plan.env, echo=self._echo)
        except OSError:
            pass
        else:
            self._children[plan.name] = child
            self._remember()
            if self._ladders[plan.name].phase is Phase.STOPPING and self._group is not None:
                # Asked to stop before there was something to stop.
                self._group.create_task(child.stop(ladder.GRACE_S))
            code = await child.wait()
            del self._children[plan.name]
            self._unreaped.add(child.pid)
            self._remember()
        if plan.name == SHELL and code == 0 and self._ladders[SHELL].phase is not Phase.STOPPING:
            # Its window was closed where closing is allowed: whoever did it is done with the kiosk.
            self.leave()
        self._apply(plan.name, ladder.Ended(at=time.monotonic(), jitter=self._jitter.random()))

    def _forget(self) -> None:
        self._forget_visit = not visits.forget(self._runtime_dir / "sidecar.json")

    def _remember(self) -> None:
        children.remember(self._runtime_dir / "children", tuple(self._children.values()))

    async def _tick(self) -> None:
        last = notified = time.monotonic()
        self._notifier.send("READY=1")
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            lost_s = now - last - TICK_S
            last = now
            if lost_s > STALL_S:
                self._forgive(now, lost_s)
            for name in self._plans:
                self._apply(name, ladder.Tick(at=now))
            self._judge_page(now)
            if self._ladders[SIDECAR].phase is Phase.SAFE_MODE and SIDECAR not in self._children:
                # Nobody will take the visit up any more.
                self._forget()
            # Killed grandchildren end in their own time; those still there are collected at a later tick.
            self._reap()
            if now - notified >= NOTIFY_EVERY_S:
                notified = now
                self._notifier.send("WATCHDOG=1")

    def _reap(self) -> bool:
        """Collect what ended; whether something is still to be collected."""
        self._unreaped = {pgid for pgid in self._unreaped if not children.reap_group(pgid)}
        return bool(self._unreaped)

    def _forgive(self, now: float, lost_s: float) -> None:
        self._beats = beats.forgive(self._beats, lost_s=lost_s)
        for name in self._plans:
            self._apply(name, ladder.Stalled(at=now, lost_s=lost_s))

    def _judge_page(self, now: float) -> None:
        state = self._ladders.get(SHELL)
        if state is None:
            return
        if not self._page_beats():
            # The plain page has no script: the shell's own life is all there is to go by.
            if state.phase is Phase.STARTING and now - state.since >= SHELL_SETTLED_S:
                self._apply(SHELL, ladder.Beat(at=now))
            return
        self._beats, missed = beats.overdue(self._beats, at=now)
        if missed:
            self._apply(SHELL, ladder.Missed(at=now))

    async def _probe(self) -> None:
        while True:
            began = time.monotonic()
            child = self._children.get(SIDECAR)
            if child is not None:
                await self._probe_once(child, began)
            starting = self._ladders[SIDECAR].phase is not Phase.UP
            wait_s = PROBE_STARTING_S if starting else ladder.BEAT_EVERY_S
            await asyncio.sleep(max(0.0, began + wait_s - time.monotonic()))

    async def _probe_once(self, child: Child, began: float) -> None:
        live = await self._client.live()
        now = time.monotonic()
        if now - began > LIVE_DEADLINE_S + STALL_S or self._children.get(SIDECAR) is not child:
            # The watchdog stalled meanwhile, or this is news of a sidecar that is gone.
            return
        self._apply(SIDECAR, ladder.Beat(at=now) if live else ladder.Missed(at=now))
        if not live:
            return
        self._readiness = await self._client.ready()
        if _visit_overdue(self._runtime_dir / "sidecar.json", child.pid) and self._children.get(SIDECAR) is child:
            # The sidecar ends visits; where it can't, the visit ends with its process.
            self.restart(SIDECAR, hung=True)


def _visit_overdue(file: Path, pid: int) -> bool:
    try:
        published = json.loads(file.read_text(encoding="utf-8"))
        if published["pid"] != pid or published["state"] != "visit":
            return False
        ends_at = published["visit_ends_at_boottime_ms"]
        return isinstance(ends_at, int) and time.clock_gettime(time.CLOCK_BOOTTIME) * 1000 > ends_at + OVERDUE_VISIT_MS
    except (OSError, ValueError, KeyError, TypeError):
        return False
