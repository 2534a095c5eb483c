"""Where runs, their journal, the transcript and deliveries of one visit are kept (RFC-022 §4).

Every operation is one transaction: it happened as a whole or not at all. A cancelled caller first learns the outcome.
Faults of the store itself raise `store.*`; refusals are those of the room and of runs and leave everything untouched.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from wayside.core.plain_json import Json
from wayside.core.reply import Alignment
from wayside.core.room.disclosure import Disclosure
from wayside.core.runs.events import JournalEntry
from wayside.core.runs.record import RunRecord


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """One exact boundary of a channel's transcript. `key` makes writing it twice harmless within room and channel.

    `role` visitor rows are final inputs (`author` is their source's id); agent rows are closed recorded messages
    (`author` is the agent).
    """

    room: str
    channel: str
    key: str
    role: Literal["visitor", "agent"]
    author: str
    text: str
    run_id: str
    disclosure: Disclosure


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """What of one reply reached people: `delivered_chars` of what `attempt` of the run generated."""

    delivery_id: str
    run_id: str
    attempt: int
    generation: int
    medium: Literal["voice", "screen"]
    delivered_chars: int
    alignment: Alignment
    state: str


@dataclass(frozen=True, slots=True)
class Admission:
    """An input, the run it starts or continues, and its transcript row. Index: (room, channel, input id, agent)."""

    record: RunRecord
    fingerprint: str
    row: TranscriptRow
    continued: bool = False


@dataclass(frozen=True, slots=True)
class InputIndex:
    """What an input id was used for; `run_id` is None when it was, but not for the agent asked about."""

    fingerprint: str
    run_id: str | None


class RunStore(Protocol):
    """One visit's store. `durable` says whether it survives the death of the process."""

    @property
    def durable(self) -> bool: ...

    async def admit(self, admission: Admission) -> RunRecord:
        """Write input, run and index; the admitted record.

        An input that is already indexed for this agent answers with its run. Raises `run.input_mismatch` when the id
        was used for another input, `run.open_exists` when the agent has another open run on the channel, and
        `run.stale_transition` when the run to continue does not wait at this sequence any more.
        """
        ...

    async def create(self, record: RunRecord, entries: tuple[JournalEntry, ...] = ()) -> None:
        """Import a run with its journal; for recovery and tests, never for fresh inputs. Raises `run.open_exists`."""
        ...

    async def save(self, record: RunRecord) -> bool:
        """Advance an active run's attempt; False when its input, sequence or status are not what they were."""
        ...

    async def load(self, run_id: str) -> RunRecord | None: ...

    async def load_by_input(self, room: str, channel: str, input_id: str, agent: str) -> InputIndex | None: ...

    async def load_open(
        self, room: str, channel: str | None = None, agent: str | None = None
    ) -> tuple[RunRecord, ...]: ...

    async def load_runs(self, limit: int = 100) -> tuple[RunRecord, ...]:
        """The newest runs, newest first."""
        ...

    async def commit_event(self, entry: JournalEntry, record: RunRecord) -> bool:
        """Append one event and the state it leads to; False when exactly this event is already there.

        Raises `run.event_mismatch` for another event under the id, and `run.stale_transition` when it does not
        follow the stored sequence of an open run in the same attempt. A retry is recognised before staleness.
        """
        ...

    async def load_events(self, run_id: str, after: int = 0) -> tuple[JournalEntry, ...]: ...

    async def append_transcript(self, row: TranscriptRow) -> bool:
        """False when the row is there already."""
        ...

    async def load_transcript(
        self, room: str, channel: str | None = None, limit: int = 200
    ) -> tuple[TranscriptRow, ...]:
        """The newest rows, oldest first; of one channel, or of all."""
        ...

    async def save_delivery(self, row: DeliveryRow) -> None:
        """Write or move on a delivery; what was delivered never becomes less."""
        ...

    async def load_deliveries(self, run_ids: tuple[str, ...]) -> tuple[DeliveryRow, ...]: ...

    async def save_state(self, key: str, value: Json) -> None: ...

    async def load_state(self, key: str) -> Json: ...

    async def close(self) -> None:
        """Let go; closing twice is fine."""
        ...

    async def delete(self) -> None:
        """Close and forget everything, files included."""
        ...


class RunStores(Protocol):
    """Makes the store of each visit."""

    async def open(self) -> RunStore:
        """An empty store for a new visit. Never raises: the worse way is a store in memory."""
        ...

    async def left_over(self) -> RunStore | None:
        """The store of a visit that a dead process left, or None."""
        ...

    async def forget(self) -> None:
        """Delete every store that is left over."""
        ...

    @property
    def notices(self) -> frozenset[str]:
        """Codes of what does not work (`store.not_recoverable`, `store.corrupt`, ...), for operators."""
        ...
