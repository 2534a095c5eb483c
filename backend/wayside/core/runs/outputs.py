"""Assistant messages of a run: delivery ids, what is closed, what a recovery may not repeat (RFC-022 §3, §4).

Decides from runtime-owned `origin` metadata only; an output id is never parsed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from wayside.core.room.disclosure import Disclosure
from wayside.core.runs.events import AssistantOutput, JournalEntry, OutputOrigin


@dataclass(frozen=True, slots=True)
class Message:
    """One message as far as it is journaled. `attempt` is that of its first delta."""

    id: str
    text: str
    attempt: int
    input_id: str
    origin: OutputOrigin | None
    purpose: str
    history: str
    audience: Disclosure | None
    closed: bool


@dataclass(frozen=True, slots=True)
class Outputs:
    """All messages of one run in the order they began."""

    messages: tuple[Message, ...] = ()
    _index: dict[str, int] = field(default_factory=dict, compare=False)

    def get(self, delivery_id: str) -> Message | None:
        """The message of this id."""
        at = self._index.get(delivery_id)
        return None if at is None else self.messages[at]

    def add(self, entry: JournalEntry) -> "Outputs":
        """These messages after one more journal entry."""
        event = entry.event
        if not isinstance(event, AssistantOutput):
            return self
        at = self._index.get(event.output_id)
        if at is None:
            message = Message(
                event.output_id,
                event.delta,
                entry.attempt,
                entry.input_id,
                event.origin,
                event.purpose,
                event.history,
                event.audience,
                event.final,
            )
            return Outputs((*self.messages, message), self._index | {event.output_id: len(self.messages)})
        known = self.messages[at]
        message = replace(known, text=known.text + event.delta, closed=known.closed or event.final)
        return Outputs((*self.messages[:at], message, *self.messages[at + 1 :]), self._index)

    def delivery_id(self, origin: OutputOrigin) -> str:
        """The id under which a delta of this origin is journaled: that of its open message, or a new one.

        A collision with an id that a journal already holds is escaped the same way every time.
        """
        for message in self.messages:
            if message.origin == origin and not message.closed:
                return message.id
        wanted = f"{origin.attempt}.{origin.origin}.{origin.logical_id}"
        while wanted in self._index:
            wanted += "+"
        return wanted

    def suppressed(self, origin: OutputOrigin) -> bool:
        """Whether an earlier attempt at the same input has closed this logical message."""
        return any(
            m.closed
            and m.origin is not None
            and m.origin.attempt < origin.attempt
            and (m.origin.origin, m.origin.input_id, m.origin.logical_id)
            == (origin.origin, origin.input_id, origin.logical_id)
            for m in self.messages
        )

    def closed_already(self, origin: OutputOrigin) -> bool:
        """Whether this attempt itself has closed the message: a delta after that is a driver's fault."""
        return any(m.closed and m.origin == origin for m in self.messages)

    def unfinished(self, attempt: int) -> bool:
        """Whether a message of this attempt is still open. What an earlier attempt left open blocks nothing."""
        return any(not m.closed and m.attempt == attempt for m in self.messages)

    def recorded(self) -> tuple[Message, ...]:
        """Closed messages that belong in the transcript."""
        return tuple(m for m in self.messages if m.closed and m.history == "record")

    def spoken_in(self, attempt: int) -> str:
        """What one attempt generated for people to hear or read, in order."""
        return "".join(m.text for m in self.messages if m.attempt == attempt)


def outputs_of(entries: Iterable[JournalEntry]) -> Outputs:
    """Fold a journal."""
    outputs = Outputs()
    for entry in entries:
        outputs = outputs.add(entry)
    return outputs
