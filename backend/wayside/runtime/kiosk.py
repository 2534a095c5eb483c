"""The kiosk: what outlasts visits. Owns the audio link, hosts one visit at a time, and forgets it at reset.

The newest page has the screen; a visit goes on when its page reconnects with the visit's token.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from wayside.core.errors import WaysideError
from wayside.core.idle import Idle
from wayside.core.turns import TurnSettings
from wayside.ports.audio_link import DeviceFound, DeviceLost
from wayside.runtime.answer import Answered
from wayside.runtime.logs import get_logger
from wayside.runtime.parts import Parts
from wayside.runtime.screen import ScreenEvent, Snapshot
from wayside.runtime.visit import Visit

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
        self._closing = asyncio.Event()
        self._host: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._reason: ResetReason = "ended"
        self._lost: set[str] = {"audio.microphone_lost", "audio.loudspeaker_lost"}
        self.visit: Visit | None = None
        self.volume_db = settings.volume_db
        self.last_frame_at: float | None = None

    async def opened(self) -> None:
        """Return when a visit can begin, or never will."""
        await self._opened.wait()

    @property
    def degraded(self) -> frozenset[str]:
        """Codes of devices that are missing."""
        return frozenset(self._lost)

    async def run(self) -> None:
        """Serve visits until closed."""
        await self._parts.link.start()
        self._parts.link.set_gain(None, self.volume_db)
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                pumps = [group.create_task(self._frames()), group.create_task(self._events())]
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
            ready: asyncio.Future[Visit] = asyncio.get_running_loop().create_future()
            self._host = host = self._group.create_task(self._run_visit(language, ready), name="visit")
            either: set[asyncio.Future[Any]] = {ready, host}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                self._host = None
                raise WaysideError("visit.fault", "The visit could not begin.", retryable=True)
            return ready.result()

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

    async def _run_visit(self, language: str, ready: "asyncio.Future[Visit]") -> None:
        self._reason = "limit"
        try:
            async with asyncio.TaskGroup() as group:
                visit = Visit(
                    self._parts,
                    language,
                    self._show,
                    group,
                    over=self._over,
                    answered=self._answered,
                    settings=self.settings.turns,
                    idle=Idle(
                        self._parts.clock.now(), idle_s=self.settings.idle_s, countdown_s=self.settings.countdown_s
                    ),
                    volume=self.volume_db,
                )
                visit.degrade(self.degraded)
                if self.settings.automatic:
                    visit.listen("automatic")
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
                self._visit_changed(self._reason)

    async def _silence(self) -> None:
        """Nothing of the visit that ended is heard any more, even when its own settling was cut short."""
        try:
            async with asyncio.timeout(RESET_DEADLINE_S / 2):
                await self._parts.link.clear(self._parts.generations.current)
        except (TimeoutError, WaysideError):
            log.warning("audio.clear_late", code="audio.clear_late")

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
