"""What a host gets to know of a run: how it stands, what operators may see, and where the product adds its own.

Nothing here runs anything.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from wayside.core.plain_json import Json
from wayside.core.room.agents import ActionProposal, AgentDecision, InteractionDraft, RoomUtterance
from wayside.core.runs.events import Decision, JournalEntry, Progress
from wayside.core.runs.record import RunRecord, RunStatus
from wayside.ports.room_agent import MemoryItem


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run stands after one input. `duplicate` marks the answer to a retried input.

    `decision` gathers what the attempt decided; an action in it is a proposal that nobody has submitted. `error` is
    what the driver raised, for the caller alone.
    """

    run_id: str
    agent: str
    status: RunStatus
    attempt: int = 1
    code: str = ""
    duplicate: bool = False
    decision: AgentDecision = field(default_factory=AgentDecision)
    error: Exception | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RunLifecycle:
    """What operators may know of a run: no text, ever."""

    kind: str  # "started" | "resumed" | the status it came to
    run_id: str
    agent: str
    channel: str
    attempt: int
    input_id: str = ""
    duration_ms: float = 0.0
    code: str = ""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the product adds, all of it optional.

    `observe` projects what an agent's binding may see; `present` words progress (ephemeral unless it says otherwise);
    `on_entry` sees every committed event; `lifecycle` gets durations and codes; `remember` adds to an agent's memory
    what it lived through elsewhere.
    """

    observe: Callable[[RunRecord], Awaitable[Json]] | None = None
    present: Callable[[RunRecord, Progress], Awaitable[RoomUtterance | None]] | None = None
    on_entry: Callable[[RunRecord, JournalEntry], None] | None = None
    lifecycle: Callable[[RunLifecycle], None] | None = None
    remember: Callable[[RunRecord], tuple[MemoryItem, ...]] | None = None


def result_of(
    record: RunRecord,
    *,
    duplicate: bool = False,
    decisions: Sequence[Decision] = (),
    error: Exception | None = None,
) -> RunResult:
    """How this record stands, with everything its attempt decided in one decision."""
    utterances: tuple[RoomUtterance, ...] = ()
    interactions: tuple[InteractionDraft, ...] = ()
    action: ActionProposal | None = None
    for decision in decisions:
        utterances += decision.utterances
        interactions += decision.interactions
        action = decision.action or action
    return RunResult(
        record.id,
        record.agent,
        record.status,
        record.attempt,
        record.code,
        duplicate,
        AgentDecision(utterances, interactions, action),
        error,
    )
