"""Assistant messages of a run: their ids, what recovery may not repeat, what it may not inherit (RFC-022 §3, §4)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from run_examples import said
from wayside.core.runs.events import AssistantOutput, JournalEntry, OutputOrigin, Progress
from wayside.core.runs.outputs import Outputs, outputs_of


class Journal:
    """What the runtime does with a driver's deltas: give each its delivery id, then write it down."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.outputs = Outputs()

    def write(self, output: AssistantOutput) -> str:
        assert output.origin is not None
        delivery = self.outputs.delivery_id(output.origin)
        self.keep(replace(output, output_id=delivery), output.origin.attempt, output.origin.input_id)
        return delivery

    def keep(self, output: AssistantOutput, attempt: int = 1, input_id: str = "i1") -> None:
        self.entries.append(JournalEntry("r1", len(self.entries) + 1, attempt, output, "", input_id))
        self.outputs = self.outputs.add(self.entries[-1])


def test_deltas_of_one_logical_id_form_one_message() -> None:
    """D1. `final` closes it (RFC-022 §3)."""
    journal = Journal()
    ids = {journal.write(said("I found ")), journal.write(said("a pattern.", final=True))}
    (message,) = journal.outputs.messages

    assert ids == {message.id}
    assert (message.text, message.closed, message.attempt) == ("I found a pattern.", True, 1)


def test_two_messages_stream_side_by_side() -> None:
    journal = Journal()
    for logical, text in (("a", "one "), ("b", "two "), ("a", "more")):
        journal.write(said(text, logical))

    assert [m.text for m in journal.outputs.messages] == ["one more", "two "]
    assert journal.outputs.spoken_in(1) == "one moretwo "


def test_a_continuation_that_reuses_a_logical_id_begins_a_new_message() -> None:
    """D2. It isn't joined to the attempt before (RFC-022 §3)."""
    journal = Journal()
    first = journal.write(said("Which one?", final=True))
    second = journal.write(said("The red one", attempt=2, input_id="i2"))

    assert first != second
    assert [m.text for m in journal.outputs.messages] == ["Which one?", "The red one"]


def test_one_logical_id_of_two_origins_is_two_messages() -> None:
    journal = Journal()
    driver = said("words")
    presenter = replace(driver, origin=replace(driver.origin, origin="progress"))  # type: ignore[type-var]

    assert journal.write(driver) != journal.write(presenter)


def test_an_id_that_an_old_journal_holds_is_escaped_the_same_way_every_time() -> None:
    """D14. Collisions are escaped deterministically (RFC-022 §3)."""
    wanted = Outputs().delivery_id(OutputOrigin("driver", 1, "i1", "answer"))
    journal = Journal()
    journal.keep(AssistantOutput(wanted, "legacy"))
    again = outputs_of(journal.entries)
    escaped = journal.write(said("new"))

    assert escaped not in {wanted, ""}
    assert escaped == again.delivery_id(OutputOrigin("driver", 1, "i1", "answer"))
    assert [m.text for m in journal.outputs.messages] == ["legacy", "new"]


def test_an_escaped_id_is_kept_for_the_rest_of_its_message() -> None:
    """D14."""
    journal = Journal()
    journal.keep(AssistantOutput(Outputs().delivery_id(OutputOrigin("driver", 1, "i1", "answer")), "legacy"))
    first = journal.write(said("new "))

    assert first == journal.write(said("words", final=True))


def test_an_escape_meets_a_logical_id_that_looks_like_one() -> None:
    """D14. Two escapes in one journal."""
    journal = Journal()
    plain = journal.write(said("a", "x+"))
    journal.keep(AssistantOutput(Outputs().delivery_id(OutputOrigin("driver", 1, "i1", "x")), "legacy"))

    assert len({plain, journal.write(said("b", "x")), *(m.id for m in journal.outputs.messages)}) == 3


steps = st.lists(
    st.tuples(st.sampled_from(["1", "a", "a+", "1.driver.a", "driver"]), st.booleans(), st.booleans()), max_size=12
)


@given(steps, st.lists(st.sampled_from(["1.driver.a", "1.driver.a+", "2.driver.a"]), max_size=3, unique=True))
def test_no_message_ever_takes_anothers_id(deltas: list[tuple[str, bool, bool]], legacy: list[str]) -> None:
    """D2, D14. Unique against everything in the journal, and refolding it changes nothing (RFC-022 §3)."""
    journal, attempt = Journal(), 1
    expected: dict[tuple[int, str, int], str] = {}
    for name in legacy:
        journal.keep(AssistantOutput(name, "legacy"))
    closed: dict[tuple[int, str], int] = {}
    for logical, final, next_attempt in deltas:
        attempt += next_attempt
        key = (attempt, logical, closed.get((attempt, logical), 0))
        delivery = journal.write(said("x", logical, attempt=attempt, final=final))
        assert expected.setdefault(key, delivery) == delivery
        closed[attempt, logical] = key[2] + final

    assert len(set(expected.values())) == len(expected)
    assert not set(expected.values()) & set(legacy)
    assert journal.outputs == outputs_of(journal.entries)


def test_a_message_closed_for_this_input_is_suppressed_on_recovery() -> None:
    """D13. Not journaled, shown, recorded or spoken again (RFC-022 §4)."""
    journal = Journal()
    journal.write(said("It is red.", final=True))

    assert journal.outputs.suppressed(OutputOrigin("driver", 2, "i1", "answer"))
    assert journal.outputs.suppressed(OutputOrigin("driver", 5, "i1", "answer"))


def test_only_the_same_message_for_the_same_input_is_suppressed() -> None:
    """D2, D13. Another input, logical id or origin is something new; so is the first time (RFC-022 §4)."""
    journal = Journal()
    journal.write(said("It is red.", final=True))
    closed = OutputOrigin("driver", 2, "i1", "answer")

    assert not journal.outputs.suppressed(replace(closed, input_id="i2"))
    assert not journal.outputs.suppressed(replace(closed, logical_id="other"))
    assert not journal.outputs.suppressed(replace(closed, origin="decision"))
    assert not journal.outputs.suppressed(replace(closed, attempt=1))


def test_suppression_never_parses_an_id() -> None:
    """D14. Rows without metadata aren't suppressed, whatever their id looks like (RFC-022 §4)."""
    journal = Journal()
    journal.keep(AssistantOutput(Outputs().delivery_id(OutputOrigin("driver", 1, "i1", "answer")), "x", final=True))
    journal.keep(AssistantOutput("answer", "x", final=True))

    assert not journal.outputs.suppressed(OutputOrigin("driver", 2, "i1", "answer"))


def test_the_metadata_counts_and_not_the_id() -> None:
    """D13. A message under any id is suppressed by its origin."""
    journal = Journal()
    journal.keep(AssistantOutput("zzz", "x", final=True, origin=OutputOrigin("driver", 1, "i1", "answer")))

    assert journal.outputs.suppressed(OutputOrigin("driver", 2, "i1", "answer"))


def test_an_incomplete_message_of_a_dead_attempt_is_evidence_and_nothing_else() -> None:
    """D15. It stays, blocks no completion, isn't suppressed, recorded, or put before the new words (RFC-022 §4)."""
    journal = Journal()
    dead = journal.write(said("It is r"))
    alive = journal.write(said("It is red.", attempt=2, final=True))

    assert journal.outputs.get(dead) is not None
    assert [m.text for m in journal.outputs.recorded()] == ["It is red."]
    assert [m.id for m in journal.outputs.recorded()] == [alive]
    assert journal.outputs.spoken_in(2) == "It is red."
    assert not journal.outputs.unfinished(2)


def test_an_incomplete_message_is_not_suppressed() -> None:
    """D15. Only what is proven closed is."""
    journal = Journal()
    journal.write(said("It is r"))

    assert not journal.outputs.suppressed(OutputOrigin("driver", 2, "i1", "answer"))


def test_an_open_message_of_this_attempt_blocks_its_completion() -> None:
    journal = Journal()
    journal.write(said("It is r"))

    assert journal.outputs.unfinished(1)
    assert not journal.outputs.closed_already(OutputOrigin("driver", 1, "i1", "answer"))


def test_a_delta_after_the_final_one_is_noticed() -> None:
    journal = Journal()
    journal.write(said("It is red.", final=True))

    assert journal.outputs.closed_already(OutputOrigin("driver", 1, "i1", "answer"))
    assert not journal.outputs.closed_already(OutputOrigin("driver", 2, "i1", "answer"))


def test_only_closed_recorded_messages_belong_in_the_transcript() -> None:
    """D1, D12. Ephemeral filler never becomes memory (RFC-022 §5)."""
    journal = Journal()
    journal.write(said("one moment", "filler", final=True, history="ephemeral"))
    journal.write(said("half", "half"))
    journal.write(said("", "answer"))
    journal.write(said("whole", "answer", final=True))

    assert [m.text for m in journal.outputs.recorded()] == ["whole"]


def test_other_events_are_no_messages() -> None:
    entry = JournalEntry("r1", 1, 1, Progress("search"))

    assert Outputs() == Outputs().add(entry)
    assert Outputs().get("search") is None
