"""What the screen offers to touch: the exhibit in view, three questions, whom to ask, the rest of a broken answer."""

from collections.abc import Callable

from wayside.core.content import Pack
from wayside.core.intents import Intent, intent
from wayside.core.questions import fold
from wayside.core.runs.events import Choice
from wayside.runtime.recovery import Rest
from wayside.runtime.screen import AgentView, Choices, ChoiceView, ExhibitShown, ScreenEvent

MAX_CHOICES = 3
CONTINUE = "continue"
_GO_ON = {"en": "Go on with the answer.", "es": "Siga con la respuesta."}


class Offers:
    """Owned by one visit."""

    def __init__(self, pack: Pack, show: Callable[[ScreenEvent], None]) -> None:
        self._pack = pack
        self._show = show
        self._choices: tuple[Choice, ...] = ()
        self._language = pack.languages[0]
        self.exhibit: str | None = None
        self._rest: Rest | None = None

    def known(self, exhibit: str | None) -> bool:
        """Whether there is such an exhibit; none is the whole gallery."""
        return exhibit is None or any(e.id == exhibit for e in self._pack.exhibits)

    def look_at(self, exhibit: str | None) -> None:
        """Bring an exhibit up."""
        self.exhibit = exhibit
        self._show(ExhibitShown(exhibit))

    def begin(self, language: str, agent: str) -> None:
        """The questions to begin with: of the exhibit in view, of a character, or of the whole gallery."""
        self._language = language
        who = self._pack.agent(agent)
        found = next((e for e in self._pack.exhibits if e.id == self.exhibit), None)
        if who.questions:
            questions = who.questions.get(language, ())
        else:
            questions = found.questions[language] if found else self._pack.start_questions[language]
        self.offer(tuple(Choice(f"{q.passage}:{language}", q.text) for q in questions))

    def offer(self, choices: tuple[Choice, ...]) -> None:
        """Questions that can be answered."""
        self._choices = choices[:MAX_CHOICES]
        self._show(Choices(self.views()))

    def owe(self, rest: Rest | None) -> None:
        """Offer the rest of an answer first, or withdraw it."""
        if rest != self._rest:
            self._rest = rest
            self._show(Choices(self.views()))

    @property
    def rest(self) -> Rest | None:
        """The rest that is on offer: the answer's language must still be the visit's."""
        return self._rest if self._rest is not None and self._rest.language == self._language else None

    def asks_for_rest(self, text: str) -> bool:
        """Whether these words take up the offer, as touching it does."""
        if self.rest is None:
            return False
        said, offered = fold(text), fold(self._go_on())
        return said == offered or intent(text, self._language) is Intent.MORE

    def find(self, choice_id: str) -> Choice | None:
        """What a touched choice says; None when it is not on offer."""
        if choice_id == CONTINUE and self.rest is not None:
            return Choice(CONTINUE, self._go_on())
        return next((c for c in self._choices if c.id == choice_id), None)

    def views(self) -> tuple[ChoiceView, ...]:
        """As the page shows them."""
        questions = tuple(ChoiceView(c.id, c.text) for c in self._choices)
        return questions if self.rest is None else (ChoiceView(CONTINUE, self._go_on(), "continue"), *questions)

    def agents(self) -> tuple[AgentView, ...]:
        """Everybody who can be asked."""
        return tuple(
            AgentView(agent.id, agent.name, agent.description, f"media/{agent.picture}" if agent.picture else "")
            for agent in self._pack.agents
        )

    def _go_on(self) -> str:
        variants = self._pack.wordings.get("go_on", {}).get(self._language, ())
        return variants[0] if variants else _GO_ON.get(self._language, _GO_ON["en"])
