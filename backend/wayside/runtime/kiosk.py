"""The kiosk: what outlasts visits. Owns the audio link, hosts one visit at a time, and forgets it at reset.

The newest page has the screen; a visit goes on when its page reconnects with the visit's token.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from wayside.core.errors import WaysideError
from wayside.core.idle import Idle
from wayside.core.turns import TurnSettings
from wayside.ports.audio_link import DeviceFound, DeviceLost
from wayside.ports.run_store import RunStore
from wayside.runtime.answer import Answered
from wayside.runtime.conversation import ROOM_ID
from wayside.runtime.logs import get_logger
from wayside.runtime.parts import Parts
from wayside.runtime.recovery import STATE, VisitState, state_from_json
from wayside.runtime.runs.degrading import DegradingRunStore
from wayside.runtime.screen import ScreenEvent, Snapshot
from wayside.runtime.visit import MAX_VISIT_S, Visit

RESET_DEADLINE_S = 1.0
OPENING_DEADLINE_S = 8.0  # an audio child that has just been started

log = get_logger()

ResetReason = Literal["ended", "inactive", "staff", "replaced", "shutdown", "limit"]


@dataclass(frozen=True, slots=True)
class KioskSettings:
    """The site's choices. `volume_db` is where every visit starts."""

    idle_s: float = 45.0
    countdown_s: float = 20.0
    automatic: bool = False
    volume_db: float = 0.0
    turns: TurnSettings = field(default_factory=TurnSettings)


class Kiosk:
    """Runs until `close`. All methods are called on its event loop."""

    def __init__(
        self,
        parts: Parts,
        settings: KioskSettings,
        *,
        show: Callable[[ScreenEvent], None],
        visit_changed: Callable[[ResetReason | None], None],
        answered: Callable[[Answered], None] | None = None,
    ) -> None:
        self._parts = parts
        self.settings = settings
        self._show = show
        self._visit_changed = visit_changed
        self._answered = answered
        self._group: asyncio.TaskGroup | None = None
        self._opened = asyncio.Event()
        self._known = asyncio.Event()  # whether a visit of before goes on
        self._closing = asyncio.Event()
        self._host: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._reason: ResetReason = "ended"
        self._lost: set[str] = {"audio.microphone_lost", "audio.loudspeaker_lost"}
        self.visit: Visit | None = None
        self.store_notices: set[str] = set()
        self.volume_db = settings.volume_db
        self.last_frame_at: float | None = None

    async def opened(self) -> None:
        """Return when a visit can begin, or never will."""
        await self._opened.wait()

    async def known(self) -> None:
        """Return when it is known whether a visit of before goes on: a page that greets earlier would end it."""
        await self._known.wait()

    @property
    def degraded(self) -> frozenset[str]:
        """Codes of devices that are missing."""
        return frozenset(self._lost)

    @property
    def notices(self) -> frozenset[str]:
        """Codes of what is wrong with the stores of visits, for operators; visitors notice nothing of it."""
        return frozenset(self.store_notices) | self._parts.stores.notices

    async def run(self) -> None:
        """Serve visits until closed."""
        left = await self._left_over()
        await self._parts.link.start()
        self._parts.link.set_gain(None, self.volume_db)
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                if left is None and self._parts.stores.notices:
                    group.create_task(self._forget_unreadable(), name="kiosk.forget")
                pumps = [group.create_task(work) for work in (self._frames(), self._events())]
                if left is not None:
                    await self._take_up(*left)
                self._known.set()
                self._opened.set()
                await self._closing.wait()
                await self.reset("shutdown")
                for pump in pumps:
                    pump.cancel()
        finally:
            self._group = None
            await self._parts.link.close()

    def close(self) -> None:
        """Ask `run` to end."""
        self._closing.set()
        self._known.set()
        self._opened.set()

    async def start_visit(self, language: str) -> Visit:
        """Begin a visit; one that is still running is over first. A kiosk that is opening is waited for.

        Raises `kiosk.starting` when that takes too long, and `visit.fault` when the visit can't begin.
        """
        async with self._starting:
            try:
                async with asyncio.timeout(OPENING_DEADLINE_S):
                    await self.opened()
            except TimeoutError:
                message = "The kiosk is still starting; touch the screen again in a moment."
                raise WaysideError("kiosk.starting", message, retryable=True) from None
            await self.reset("replaced")
            if self._group is None or self._closing.is_set():
                raise WaysideError("visit.fault", "The kiosk is closing.", retryable=True)
            store = await self._parts.stores.open()
            return await self._begin(language, store, None)

    async def _begin(self, language: str, store: RunStore, left: VisitState | None) -> Visit:
        if self._group is None:
            raise WaysideError("visit.fault", "The kiosk is closing.", retryable=True)
        ready: asyncio.Future[Visit] = asyncio.get_running_loop().create_future()
        hosting = self._run_visit(language, store, left, ready)
        self._host = host = self._group.create_task(hosting, name="visit")
        either: set[asyncio.Future[Any]] = {ready, host}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            self._host = None
            raise WaysideError("visit.fault", "The visit could not begin.", retryable=True)
        return ready.result()

    async def _left_over(self) -> tuple[RunStore, VisitState] | None:
        """The visit of a dead process when somebody may still stand there; else it is forgotten at once."""
        store = await self._parts.stores.left_over()
        if store is not None:
            try:
                left = state_from_json(await store.load_state(STATE))
            except WaysideError as error:
                log.warning("visit.not_taken_up", code=error.code)
                left = None
            if left is not None and self._may_go_on(left):
                return store, left
            await self._forget(store)
        self._known.set()
        return None

    async def _take_up(self, store: RunStore, left: VisitState) -> None:
        try:
            await self._begin(left.language, store, left)
            log.info("visit.taken_up", language=left.language)
        except WaysideError as error:
            log.warning("visit.not_taken_up", code=error.code)
            await self._forget(store)

    async def _forget_unreadable(self) -> None:
        """What can't be read is nobody's visit any more once its grace time has passed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.settings.idle_s + self.settings.countdown_s):
                await self._closing.wait()
        if self._host is None:
            await self._forget(None)

    def _may_go_on(self, left: VisitState) -> bool:
        now_ms = self._parts.clock.boottime_ms()
        too_long = now_ms - left.started_ms >= MAX_VISIT_S * 1000
        return left.language in self._parts.pack.languages and left.started_ms <= now_ms < left.ends_ms and not too_long

    async def reset(self, reason: ResetReason) -> bool:
        """End the visit and forget it; True when there was one. Silence comes first."""
        host = self._host
        if host is None:
            return False
        if self.visit is not None:
            self.visit.stop()
        self._reason = reason
        host.cancel()
        await asyncio.wait({host}, timeout=RESET_DEADLINE_S)
        return True

    def set_volume(self, db: float) -> None:
        """The site's volume, for staff."""
        self.volume_db = db
        if self.visit is not None:
            self.visit.set_volume(db)
        else:
            self._parts.link.set_gain(None, db)

    def attract(self, language: str) -> Snapshot:
        """What the page shows when no visit is running."""
        return Snapshot(
            "attract", language, "automatic" if self.settings.automatic else "button", False, self.volume_db
        )

    async def _run_visit(
        self, language: str, first: RunStore, left: VisitState | None, ready: "asyncio.Future[Visit]"
    ) -> None:
        self._reason = "limit"
        store = DegradingRunStore(first, self._store_failed)
        try:
            async with asyncio.TaskGroup() as group:
                if left is not None:
                    await store.fill(ROOM_ID)
                visit = Visit(
                    self._parts,
                    store,
                    language,
                    self._show,
                    group,
                    over=self._over,
                    answered=self._answered,
                    settings=self.settings.turns,
                    idle=self._idle(left),
                    volume=self.volume_db,
                    left=left,
                )
                visit.degrade(self.degraded)
                if left is not None:
                    await visit.take_up(left)
                elif self.settings.automatic:
                    visit.listen("automatic")
                await visit.keep()
                self.visit = visit
                self._visit_changed(None)
                ready.set_result(visit)
        except* Exception:  # noqa: BLE001 - a fault of one visit ends that visit only; its text may hold content
            log.error("visit.fault", code="visit.fault")  # noqa: TRY400 - tracebacks carry values
        finally:
            if self._host is asyncio.current_task():  # else it was given up on, and another visit has the floor
                self.visit = None
                self._host = None
                await self._silence()
                self._parts.link.listen(False)
                self._parts.link.set_gain(None, self.volume_db)
                await self._forget(store)
                self._visit_changed(self._reason)
            else:
                await self._forget(store)

    async def _silence(self) -> None:
        """Nothing of the visit that ended is heard any more, even when its own settling was cut short."""
        try:
            async with asyncio.timeout(RESET_DEADLINE_S / 2):
                await self._parts.link.clear(self._parts.generations.current)
        except (TimeoutError, WaysideError):
            log.warning("audio.clear_late", code="audio.clear_late")

    def _idle(self, left: VisitState | None) -> Idle:
        """A fresh timer; that of a visit taken up goes on, but leaves time for the whole countdown."""
        idle = Idle(self._parts.clock.now(), idle_s=self.settings.idle_s, countdown_s=self.settings.countdown_s)
        if left is None:
            return idle
        left_s = (left.ends_ms - self._parts.clock.boottime_ms()) / 1000
        return replace(idle, spent=min(idle.idle_s, max(0.0, idle.idle_s + idle.countdown_s - left_s)))

    async def _forget(self, store: RunStore | None) -> None:
        """Delete the visit's file with everything beside it; what can't be deleted is told and tried again."""
        try:
            if store is not None:
                await store.delete()
            await self._parts.stores.forget()
        except (OSError, WaysideError):
            log.error("visit.not_forgotten", code="visit.not_forgotten")  # noqa: TRY400 - tracebacks carry values

    def _store_failed(self, code: str) -> None:
        self.store_notices.add(code)

    def _over(self, reason: Literal["ended", "inactive", "limit"]) -> None:
        self._reason = reason
        if self._host is not None:
            self._host.cancel()

    async def _frames(self) -> None:
        async for frame in self._parts.link.frames:
            self.last_frame_at = frame.at
            if self.visit is not None:
                self.visit.on_frame(frame)

    async def _events(self) -> None:
        async for event in self._parts.link.events:
            match event:
                case DeviceLost(kind=kind):
                    self._lost.add(f"audio.{kind}_lost")
                case DeviceFound(kind=kind):
                    self._lost.discard(f"audio.{kind}_lost")
                case _:
                    pass
            if self.visit is not None:
                self.visit.on_link(event)
