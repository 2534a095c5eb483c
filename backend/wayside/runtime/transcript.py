"""The shared transcript of a visit: what was said on both sides, as far as it was delivered. Bounded; dies with it."""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from wayside.core.reply import ReplyState
from wayside.runtime.screen import Caption, Line, ScreenEvent, Sources, SourceView, TranscriptFrame, UtteranceFrame

MAX_LINES = 200

LineState = Literal["pending", "speaking", "held", "finished", "interrupted", "failed"]
_STATES: dict[ReplyState, LineState] = {
    ReplyState.FINISHED: "finished",
    ReplyState.INTERRUPTED: "interrupted",
    ReplyState.FAILED: "failed",
    ReplyState.SPEAKING: "speaking",
    ReplyState.HELD: "held",
}


@dataclass(slots=True)
class _Guide:
    text: dict[int, str] = field(default_factory=dict)
    chars: dict[int, int] = field(default_factory=dict)
    state: LineState = "pending"
    sources: tuple[SourceView, ...] = ()
    agent: str = "guide"

    @property
    def delivered(self) -> str:
        return "".join(self.text[n][: self.chars.get(n, 0)] for n in sorted(self.text)).rstrip()


class TranscriptBook:
    """Folds screen events into lines, so that a page which comes back sees what it would have seen."""

    def __init__(self) -> None:
        self._order: deque[tuple[Literal["visitor", "guide"], str]] = deque()
        self._visitor: dict[str, tuple[str, bool]] = {}
        self._guide: dict[str, _Guide] = {}

    def has(self, key: str) -> bool:
        """Whether the visitor's line `key` exists."""
        return key in self._visitor

    def restore(self, line: Line) -> None:
        """A line of before a restart, as far as it was delivered."""
        self._add(line.role, line.key)
        if line.role == "visitor":
            self._visitor[line.key] = (line.text, True)
        else:
            whole = {0: line.text}
            self._guide[line.key] = _Guide(whole, {0: len(line.text)}, line.state, line.sources, line.agent)

    def guide_speaks(self, generation: int, agent: str) -> None:
        """A reply of this agent got the floor."""
        self._add("guide", str(generation))
        self._guide[str(generation)] = _Guide(agent=agent)

    def guide_ended(self, generation: int, state: ReplyState) -> None:
        """A reply gave the floor back."""
        line = self._guide.get(str(generation))
        if line is not None:
            line.state = _STATES[state]

    def follow(self, event: ScreenEvent) -> None:
        """Take what is being shown."""
        match event:
            case TranscriptFrame(turn_id=key, text=""):
                if self._visitor.pop(key, None) is not None:
                    self._order.remove(("visitor", key))
            case TranscriptFrame(turn_id=key, text=text, final=final):
                if key not in self._visitor:
                    self._add("visitor", key)
                self._visitor[key] = (text, final)
            case UtteranceFrame(generation=generation, utterance_id=utterance, text=text):
                if line := self._guide.get(str(generation)):
                    line.text[utterance] = text
            case Caption(generation=generation, utterance_id=utterance, rendered_chars=chars, state=state):
                if line := self._guide.get(str(generation)):
                    line.chars[utterance] = chars
                    line.state = state
            case Sources(generation=generation, sources=sources):
                if line := self._guide.get(str(generation)):
                    line.sources = sources
            case _:
                pass

    def lines(self) -> tuple[Line, ...]:
        """Every line, oldest first."""
        return tuple(self._line(role, key) for role, key in self._order)

    def _add(self, role: Literal["visitor", "guide"], key: str) -> None:
        self._order.append((role, key))
        while len(self._order) > MAX_LINES:
            old_role, old = self._order.popleft()
            (self._visitor if old_role == "visitor" else self._guide).pop(old, None)

    def _line(self, role: Literal["visitor", "guide"], key: str) -> Line:
        if role == "visitor":
            text, final = self._visitor[key]
            return Line(role, key, text, "finished" if final else "pending")
        line = self._guide[key]
        return Line(role, key, line.delivered, line.state, line.sources, line.agent)
