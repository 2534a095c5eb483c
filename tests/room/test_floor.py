"""The floor: who is spoken to, for how long, and who may speak unasked."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from wayside.core.room import floor as f
from wayside.core.room.floor import AgentName, Floor, FloorSettings, called, step

NAMES = (
    AgentName("potter", ("Andókides", "Andy")),
    AgentName("referee", ("Marianne", "Mary Ann")),
    AgentName("athlete", ("Milón", "Milan")),
)


def run(*events: f.FloorEvent, state: Floor | None = None) -> tuple[Floor, list[f.FloorCommand]]:
    state = state or Floor(NAMES)
    commands: list[f.FloorCommand] = []
    for event in events:
        state, more = step(state, event)
        commands += more
    return state, commands


def holder(state: Floor) -> str | None:
    return state.held.agent if state.held else None


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("Andokides, who made this?", "potter"),
        ("ANDÓKIDES", "potter"),
        ("hey Andy what is that", "potter"),
        ("Oye, Milón, ¿quién ganó?", "athlete"),
        ("¿Quién ganó, Milon?", "athlete"),
        ("Tell me, Marianne, is that fair?", "referee"),
        ("Wow. Marianne, is that fair?", "referee"),
        # as recognisers write them
        ("Andokites, who made this?", "potter"),
        ("Ando kides who made this", "potter"),
        ("Mariane, is that fair?", "referee"),
        ("Maryann, is that fair?", "referee"),
        ("Milan, who won?", "athlete"),
        ("Mioln who won", "athlete"),
    ],
)
def test_a_called_or_misheard_name_wakes(text: str, agent: str) -> None:
    """Floor. Case, accents, known wrong spellings and a letter or two do not matter."""
    state, commands = run(f.Transcript(0, "visitor", text))

    assert commands == [f.Address(agent, "visitor", woke=True)]
    assert holder(state) == agent


@pytest.mark.parametrize(
    "text",
    [
        "Who made this?",
        "I think Marianne is wrong",
        "Marianne is wrong",
        "Marianne's cup",
        "When I came in, Marianne left",
        "Did Andy, Marianne, and Milan play?",
        "Handy, isn't it?",
        "Andi, who made this?",  # four letters must be right
        "Darianne, is that fair?",  # a wrong first letter is another name
        "Melons",
        "Ann, come here",
    ],
)
def test_a_mention_or_another_word_wakes_nobody(text: str) -> None:
    """Floor. Talking about somebody, or of something that sounds a little alike, is not calling."""
    state, commands = run(f.Transcript(0, "visitor", text))

    assert [] == commands
    assert holder(state) is None


def test_a_name_run_together_is_still_the_name() -> None:
    """Floor. A name of two words may be heard as one."""
    assert called("Maryann, is that fair?", (AgentName("referee", ("Mary Ann",)),)) == "referee"


def test_a_name_that_is_equally_near_to_two_calls_neither() -> None:
    """Floor. A guess between two agents is not made; a right spelling beats a near one."""
    names = (AgentName("a", ("Karlos",)), AgentName("b", ("Karlas",)))

    assert called("Karlis, hello?", names) is None
    assert called("Karlas, hello?", names) == "b"


@pytest.mark.parametrize("text", ["", "  ", "...", "[music]", "\u200b", "♪♪"])
def test_an_empty_transcript_wakes_and_keeps_nobody(text: str) -> None:
    """Floor. Sound without words changes nothing, from nobody and from the one who was speaking."""
    awake, _ = run(f.Transcript(0, "visitor", "Andy, hello"))

    assert run(f.Transcript(5, "visitor", text)) == (Floor(NAMES), [])
    assert run(f.Transcript(5, "visitor", text), state=awake) == (awake, [])


# --- holding ------------------------------------------------------------------------------------------------------


def test_who_is_spoken_to_stays_spoken_to() -> None:
    """Floor. The same person need not say the name again, and each turn keeps the agent awake."""
    state, commands = run(
        f.Transcript(0, "visitor", "Andy, who made this?"),
        f.Transcript(29, "visitor", "And when?"),
        f.Transcript(58, "visitor", "And why?"),
    )

    assert [f.Address("potter", "visitor", woke=n == 0) for n in range(3)] == commands
    assert f.Held("potter", "visitor", 88) == state.held


def test_a_mention_does_not_steal_the_floor() -> None:
    """Floor. Asking one agent about another leaves it with the first; calling the other hands it over."""
    asked, commands = run(
        f.Transcript(0, "visitor", "Andy, hello"), f.Transcript(1, "visitor", "Do you know what Marianne said?")
    )
    _, handed = run(f.Transcript(2, "visitor", "Marianne, what did you say?"), state=asked)

    assert commands[1] == f.Address("potter", "visitor", woke=False)
    assert handed == [f.Address("referee", "visitor", woke=True)]


def test_crosstalk_is_overheard_and_refreshes_nothing() -> None:
    """Floor. Others may talk as long as they like; the agent knows it, does not answer and falls asleep on time."""
    state, commands = run(
        f.Transcript(0, "visitor", "Andy, hello"),
        f.Transcript(10, "friend", "Where is the café?"),
        f.Transcript(20, "friend", "I saw Andy over there"),
    )
    _, later = run(f.Transcript(30, "friend", "Come on"), state=state)

    assert commands[1:] == [f.Overhear("potter"), f.Overhear("potter")]
    assert f.Held("potter", "visitor", 30) == state.held
    assert later == [f.Release("potter")]


def test_the_floor_passes_to_whoever_calls() -> None:
    """Floor. A friend who says the name has the conversation from then on."""
    _, commands = run(
        f.Transcript(0, "visitor", "Andy, hello"),
        f.Transcript(1, "friend", "Andy, and what is that?"),
        f.Transcript(2, "friend", "And this?"),
        f.Transcript(3, "visitor", "Let us go"),
    )

    assert commands[1:] == [
        f.Address("potter", "friend", woke=False),
        f.Address("potter", "friend", woke=False),
        f.Overhear("potter"),
    ]


@pytest.mark.parametrize(("at", "released"), [(29.9, []), (30.0, [f.Release("potter")])])
def test_it_decays_on_a_tick(at: float, released: list[f.FloorCommand]) -> None:
    """Floor. After thirty seconds without a word for it, the agent is released, once."""
    state, _ = run(f.Transcript(0, "visitor", "Andy, hello"))
    state, commands = run(f.Tick(at), state=state)

    assert released == commands
    assert run(f.Tick(31), f.Tick(32), state=state)[1] == ([] if released else [f.Release("potter")])


def test_it_decays_on_a_transcript_before_the_words_are_taken() -> None:
    """Floor. When no tick came, late words do not wake what had been forgotten."""
    state, _ = run(f.Transcript(0, "visitor", "Andy, hello"))
    after, commands = run(f.Transcript(30, "visitor", "And this?"), state=state)

    assert [f.Release("potter")] == commands
    assert holder(after) is None
    assert run(f.Transcript(30, "visitor", ""), state=state)[1] == [f.Release("potter")]


# --- volition -----------------------------------------------------------------------------------------------------


def test_an_agent_may_speak_unasked_and_whoever_answers_is_its_partner() -> None:
    """Floor. Speaking takes the floor; the first answer says who the conversation is with."""
    state, commands = run(
        f.Offered(0, "potter", "experience"),
        f.Spoke(1, "potter"),
        f.Transcript(5, "friend", "Really?"),
        f.Transcript(6, "visitor", "Let us go"),
    )

    assert commands == [f.Allow("potter"), f.Address("potter", "friend", woke=False), f.Overhear("potter")]
    assert (1, 1, 0) == (state.volition.offered, state.volition.taken, state.volition.suppressed)


def test_it_never_opens_from_a_timer() -> None:
    """Floor. Neither time nor an offer that only time made lets anybody speak."""
    state, commands = run(
        *(f.Tick(float(at)) for at in range(0, 10_000, 100)),
        *(f.Offered(20_000.0 + n, "potter", "timer") for n in range(3)),
    )

    assert [f.Withhold("potter", "timer")] * 3 == commands
    assert holder(state) is None
    assert (3, 0, 3) == (state.volition.offered, state.volition.taken, state.volition.suppressed)


@pytest.mark.parametrize(("at", "expected"), [(121.9, f.Withhold("referee", "too_soon")), (122.0, f.Allow("referee"))])
def test_there_is_a_minimum_interval(at: float, expected: f.FloorCommand) -> None:
    """Floor. Two minutes lie between two things said unasked, whoever says them."""
    _, commands = run(f.Offered(1, "potter", "event"), f.Spoke(2, "potter"), f.Offered(at, "referee", "event"))

    assert commands[-1] == expected


def test_the_hourly_cap_slides() -> None:
    """Floor. After six in an hour the seventh waits until the first is an hour old."""
    events: list[f.FloorEvent] = []
    for n in range(6):
        events += [f.Offered(n * 300.0, "potter", "event"), f.Spoke(n * 300.0, "potter")]
    state, _ = run(*events)
    _, before = run(f.Offered(3599, "potter", "event"), state=state)
    _, after = run(f.Offered(3600, "potter", "event"), state=state)

    assert [f.Withhold("potter", "hourly_cap")] == before[-1:]
    assert [f.Allow("potter")] == after[-1:]


def test_nobody_speaks_unasked_into_another_conversation() -> None:
    """Floor. An agent that is not being spoken to keeps quiet; the one that is may add something."""
    state, _ = run(f.Transcript(0, "visitor", "Andy, hello"))

    assert run(f.Offered(1, "referee", "event"), state=state)[1] == [f.Withhold("referee", "held")]
    assert run(f.Offered(1, "potter", "event"), state=state)[1] == [f.Allow("potter")]


def test_an_agent_that_adds_something_keeps_its_partner() -> None:
    """Floor. Speaking unasked in a conversation does not open it to others."""
    state, _ = run(f.Transcript(0, "visitor", "Andy, hello"), f.Offered(1, "potter", "event"), f.Spoke(2, "potter"))

    assert f.Held("potter", "visitor", 32) == state.held


def test_the_visitor_wins_over_an_offer_that_was_not_used_yet() -> None:
    """Floor. Words for an agent withdraw what was allowed; speaking all the same counts as nothing."""
    state, commands = run(
        f.Offered(0, "potter", "event"), f.Transcript(1, "visitor", "Marianne, hello"), f.Spoke(2, "potter")
    )

    assert commands == [f.Allow("potter"), f.Withdraw("potter"), f.Address("referee", "visitor", woke=True)]
    assert (holder(state), state.volition.taken) == ("referee", 0)


def test_an_offer_that_is_declined_or_left_is_neither_taken_nor_suppressed() -> None:
    """Floor. An allowed agent that says nothing frees the place, at the latest after fifteen seconds."""
    state, commands = run(
        f.Offered(0, "potter", "event"),
        f.Offered(1, "referee", "event"),
        f.Declined(2, "potter"),
        f.Offered(3, "referee", "event"),
        f.Tick(18),
        f.Spoke(19, "referee"),
    )

    assert commands == [
        f.Allow("potter"),
        f.Withhold("referee", "pending"),
        f.Allow("referee"),
        f.Withdraw("referee"),
    ]
    assert (3, 0, 1) == (state.volition.offered, state.volition.taken, state.volition.suppressed)


class FloorMachine(RuleBasedStateMachine):
    """Any order of words, offers and time."""

    settings = FloorSettings(unasked_interval_s=60, hourly_cap=3)

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.state = Floor(NAMES, self.settings)
        self.allowed: str | None = None
        self.spoken: list[float] = []
        self.awake: str | None = None

    def feed(self, event: f.FloorEvent) -> None:
        self.state, commands = step(self.state, event)
        for command in commands:
            match command:
                case f.Address(agent=agent, woke=woke):
                    assert isinstance(event, f.Transcript) and event.text.strip()
                    assert self.allowed is None, "an offer survived somebody's words"
                    assert woke == (agent != self.awake)
                    self.awake = agent
                case f.Overhear(agent=agent):
                    assert agent == self.awake
                case f.Release(agent=agent):
                    assert agent == self.awake
                    self.awake = None
                case f.Allow(agent=agent):
                    assert isinstance(event, f.Offered) and event.cause != "timer"
                    assert self.allowed is None, "two may speak at once"
                    self.allowed = agent
                case f.Withdraw(agent=agent):
                    assert agent == self.allowed
                    self.allowed = None
                case f.Withhold():
                    assert isinstance(event, f.Offered)

    @rule(seconds=st.floats(0.5, 900), tick=st.booleans())
    def time_passes(self, seconds: float, tick: bool) -> None:
        self.now += seconds
        if tick:
            self.feed(f.Tick(self.now))

    @rule(
        speaker=st.sampled_from(["visitor", "friend"]),
        text=st.sampled_from(["", "Andy, hello", "Marianne, hello", "I like Andy a lot", "What is that?"]),
    )
    def somebody_speaks(self, speaker: str, text: str) -> None:
        self.feed(f.Transcript(self.now, speaker, text))

    @rule(agent=st.sampled_from(["potter", "referee"]), cause=st.sampled_from(["experience", "event", "timer"]))
    def offers(self, agent: str, cause: f.Cause) -> None:
        self.feed(f.Offered(self.now, agent, cause))

    @rule(agent=st.sampled_from(["potter", "referee"]))
    def speaks(self, agent: str) -> None:
        before = self.state.volition.taken
        self.feed(f.Spoke(self.now, agent))
        if self.allowed == agent:
            assert before + 1 == self.state.volition.taken
            self.allowed, self.awake = None, agent
            self.spoken.append(self.now)
        else:
            assert before == self.state.volition.taken

    @rule(agent=st.sampled_from(["potter", "referee"]))
    def declines(self, agent: str) -> None:
        self.feed(f.Declined(self.now, agent))
        if self.allowed == agent:
            self.allowed = None

    @invariant()
    def who_is_awake(self) -> None:
        assert self.awake == holder(self.state)

    @invariant()
    def counters(self) -> None:
        volition = self.state.volition
        assert volition.taken + volition.suppressed <= volition.offered
        assert volition.taken == len(self.spoken)

    @invariant()
    def unasked_speech_is_rare(self) -> None:
        gaps = [later - earlier for earlier, later in zip(self.spoken, self.spoken[1:], strict=False)]
        assert all(gap >= self.settings.unasked_interval_s for gap in gaps)
        for first, beyond in zip(self.spoken, self.spoken[self.settings.hourly_cap :], strict=False):
            assert beyond - first >= f.HOUR_S, "more than the cap within an hour"
        assert len(self.state.volition.spoken) <= self.settings.hourly_cap


TestFloorMachine = FloorMachine.TestCase
