"""What a visit leaves for the process after it: its state, the lines people saw, and what of the last answer is due.

Nothing is presented again by itself (RFC-022 §4). A visit that nobody can come back to any more is not taken up.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wayside.core.content import Source
from wayside.core.plain_json import Json
from wayside.core.runs.events import Decision, JournalEntry, ShowSources
from wayside.core.runs.outputs import Message, outputs_of
from wayside.core.runs.record import RunRecord
from wayside.ports.run_store import DeliveryRow, RunStore
from wayside.runtime.screen import Line, SourceView

STATE = "visit"


@dataclass(frozen=True, slots=True)
class VisitState:
    """What is kept of a visit beside its runs. Times are CLOCK_BOOTTIME milliseconds."""

    id: str
    token: str
    language: str
    started_ms: int
    ends_ms: int  # when inactivity will have ended it
    turn: int = 0
    exhibit: str | None = None
    agent: str = "guide"
    silent: bool = False
    automatic: bool = False
    volume: float = 0.0

    def as_json(self) -> Json:
        """For the store."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def state_from_json(value: Json) -> VisitState | None:
    """The inverse of `as_json`, or None for anything else: a visit that can't be read is over."""
    if not isinstance(value, Mapping) or set(value) != set(VisitState.__dataclass_fields__):
        return None
    texts = all(isinstance(value[name], str) for name in ("id", "token", "language", "agent"))
    numbers = all(type(value[name]) is int for name in ("started_ms", "ends_ms", "turn"))
    flags = all(isinstance(value[name], bool) for name in ("silent", "automatic"))
    volume, exhibit = value["volume"], value["exhibit"]
    if not (texts and numbers and flags and isinstance(volume, int | float) and isinstance(exhibit, str | None)):
        return None
    return VisitState(**value)  # type: ignore[arg-type]  # every field was looked at


class VisitKeeper:
    """Writes the visit's state when it has changed, one write at a time, the newest last."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._kept: VisitState | None = None
        self._writing = asyncio.Lock()

    async def keep(self, state: VisitState) -> None:
        """Write `state` unless it says what was written last; when this returns, it is kept."""
        async with self._writing:
            if state != self._kept:
                await self._store.save_state(STATE, state.as_json())
                self._kept = state


@dataclass(frozen=True, slots=True)
class Rest:
    """What was generated of the last answer, in its language, and has reached nobody."""

    run_id: str
    agent: str
    language: str
    text: str
    sources: tuple[Source, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The lines of before, the highest generation among them, and the undelivered rest of the last answer."""

    lines: tuple[Line, ...]
    generation: int
    rest: Rest | None


async def recover(store: RunStore, room: str) -> Recovered:
    """Read what a visit left. Its runs must have been resumed first, so that what was begun is generated whole."""
    lines: list[Line] = []
    generation = 0
    rest: Rest | None = None
    for row in await store.load_transcript(room):
        if row.role != "visitor":
            continue
        run = await store.load(row.run_id)
        if run is None:
            continue
        input_id = row.key.removeprefix("in:")
        if row.author == "visitor":
            lines.append(Line("visitor", f"before:{input_id}", row.text, "finished"))
        entries = [entry for entry in await store.load_events(run.id) if entry.input_id == input_id]
        deliveries = await store.load_deliveries((run.id,))
        said, generation = _said(run, entries, deliveries, generation)
        lines.extend(said)
        rest = _rest(run, entries, deliveries)
    return Recovered(tuple(lines), generation, rest)


def _said(
    run: RunRecord, entries: list[JournalEntry], deliveries: tuple[DeliveryRow, ...], generation: int
) -> tuple[list[Line], int]:
    shown = _sources(entries)
    views = tuple(SourceView(source.id, source.title) for source in shown[0])
    outputs = outputs_of(entries)
    lines: list[Line] = []
    for delivery in deliveries:
        generation = max(generation, delivery.generation)
        text = _reply(outputs.messages, delivery.attempt, run)[: delivery.delivered_chars].rstrip()
        if text:
            state: Literal["finished", "interrupted"] = "finished" if delivery.state == "finished" else "interrupted"
            lines.append(Line("guide", str(delivery.generation), text, state, views, run.agent))
    return lines, generation


def _rest(run: RunRecord, entries: list[JournalEntry], deliveries: tuple[DeliveryRow, ...]) -> Rest | None:
    """What an answer still owes. One that the visitor cut off, or that ended badly, owes nothing."""
    if run.status.value not in {"completed", "waiting_for_input"}:
        return None
    if any(delivery.state == "interrupted" for delivery in deliveries):
        return None
    outputs = outputs_of(entries)
    heard = "".join(
        _reply(outputs.messages, delivery.attempt, run)[: delivery.delivered_chars] for delivery in deliveries
    )
    last = max((entry.attempt for entry in entries), default=1)
    whole = "".join(m.text for m in outputs.messages if _counts(m, run) and (m.closed or m.attempt == last))
    due = whole[len(heard) :] if whole.startswith(heard) else _reply(outputs.messages, last, run)
    if not due.strip():
        return None
    sources, passages = _sources(entries)
    return Rest(run.id, run.agent, run.input.language, due.strip(), sources, passages)


def _reply(messages: tuple[Message, ...], attempt: int, run: RunRecord) -> str:
    return "".join(m.text for m in messages if m.attempt == attempt and _counts(m, run))


def _counts(message: Message, run: RunRecord) -> bool:
    """Whether the message was for everybody the reply was for; others were never part of it."""
    return message.audience is None or message.audience.covers(run.disclosure)


def _sources(entries: list[JournalEntry]) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    found = [
        item
        for entry in entries
        if isinstance(entry.event, Decision)
        for item in entry.event.screen
        if isinstance(item, ShowSources)
    ]
    return (found[-1].sources, found[-1].passages) if found else ((), ())
