"""The playout ledger: what was heard."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from wayside.core import reply as ledger
from wayside.core.reply import MAX_REPLY_CHARS, Reply, ReplyState

TEXT = "The amphora was made by Exekias. He signed it twice. "


def spoken(*rendered: int, marks: tuple[tuple[int, int], ...] = (), complete: bool = True) -> Reply:
    """TEXT as two utterances of 100 samples a character; the first `rendered` samples of each were heard."""
    reply, utterances = ledger.add_text(Reply(1, "run"), TEXT)
    reply, _ = ledger.end_text(reply)
    for utterance, heard in zip(utterances, rendered, strict=False):
        samples = 100 * len(utterance.text)
        reply = ledger.synthesised(reply, utterance.id, samples, 22_050, marks)
        reply = ledger.sent(reply, utterance.id, samples)
        reply = ledger.synthesis_ended(reply, utterance.id) if complete else reply
        reply = ledger.rendered(reply, utterance.id, heard)
    return reply


def test_everything_rendered_is_heard_whole():
    heard = ledger.heard(spoken(10**6, 10**6))

    assert TEXT.rstrip() == heard.text
    assert not heard.interrupted


def test_nothing_rendered_is_empty_and_not_the_whole_reply():
    heard = ledger.heard(spoken(0))

    assert "" == heard.text
    assert heard.interrupted


def test_without_timings_an_estimate_errs_on_the_side_of_less_and_ends_at_a_word():
    heard = ledger.heard(spoken(1650))  # 16.5 characters' worth: "The amphora was |made"

    assert "The amphora was" == heard.text
    assert "estimated" == heard.alignment


def test_with_word_timings_a_word_is_heard_when_its_last_sample_was():
    text = "The amphora was made by Exekias."
    ends = [n for n, c in enumerate(text + " ") if c == " "]
    marks = tuple((end, 100 * end) for end in ends)
    reply = spoken(100 * ends[2], marks=marks)

    assert "The amphora was" == ledger.heard(reply).text
    assert "timed" == ledger.heard(reply).alignment


def test_while_synthesis_goes_on_nothing_is_claimed_past_the_last_mark():
    assert "" == ledger.heard(spoken(2000, complete=False)).text


def test_without_an_ack_the_alignment_is_unknown():
    assert "unknown" == ledger.heard(spoken(500), acked=False).alignment


def test_rendered_never_passes_what_was_sent_and_never_falls():
    reply = spoken(10**9)

    assert reply.utterances[0].rendered == reply.utterances[0].sent
    assert reply.utterances[0].rendered == ledger.rendered(reply, 1, 5).utterances[0].rendered


def test_text_past_the_bound_is_dropped_and_marked():
    reply, _ = ledger.add_text(Reply(1, "run"), "Word. " * 2000)

    assert reply.truncated
    assert MAX_REPLY_CHARS >= reply.generated_chars


def test_an_interrupted_reply_takes_no_more_text():
    reply = ledger.move(spoken(100), ReplyState.INTERRUPTED)

    assert (reply, ()) == ledger.add_text(reply, "More. ")
    assert reply is ledger.move(reply, ReplyState.SPEAKING)


class LedgerMachine(RuleBasedStateMachine):
    """Any order of facts: what was heard is a prefix of what was generated, only grows, and is covered by samples."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = Reply(1, "run")
        self.generated = ""
        self.before = ""

    @rule(text=st.sampled_from(["Clay. ", "It was ", "fired twice. ", "Who knows? ", "Mr. ", "3. "]))
    def text_arrives(self, text: str) -> None:
        if self.reply.open and not self.reply.text_ended:
            self.generated += text
        self.reply, _ = ledger.add_text(self.reply, text)

    @rule()
    def text_ends(self) -> None:
        self.reply, _ = ledger.end_text(self.reply)

    @rule(at=st.integers(1, 6), samples=st.integers(1, 4000))
    def voice_synthesises(self, at: int, samples: int) -> None:
        known = [u for u in self.reply.utterances if u.id == at and not u.complete]
        if known:
            self.reply = ledger.synthesised(self.reply, at, samples, 16_000)
            self.reply = ledger.sent(self.reply, at, samples)

    @rule(at=st.integers(1, 6))
    def synthesis_ends(self, at: int) -> None:
        self.reply = ledger.synthesis_ended(self.reply, at)

    @rule(at=st.integers(1, 6), samples=st.integers(0, 9000))
    def link_renders(self, at: int, samples: int) -> None:
        self.reply = ledger.rendered(self.reply, at, samples)

    @rule(state=st.sampled_from(list(ReplyState)))
    def moves(self, state: ReplyState) -> None:
        self.reply = ledger.move(self.reply, state)

    @invariant()
    def heard_is_a_prefix_of_generated(self) -> None:
        assert self.generated.startswith(ledger.heard(self.reply).text)

    @invariant()
    def delivered_is_within_rendered(self) -> None:
        for utterance in self.reply.utterances:
            assert utterance.rendered <= utterance.sent <= utterance.synthesised
            assert utterance.rendered > 0 or utterance.heard_chars() == 0

    @invariant()
    def heard_only_grows(self) -> None:
        now = ledger.heard(self.reply).text
        # An estimate may give way to a mark, never below what whole utterances prove.
        whole = "".join(u.text for u in _leading_whole(self.reply)).rstrip()
        assert now.startswith(whole)


def _leading_whole(reply: Reply):
    for utterance in reply.utterances:
        if not utterance.fully_rendered:
            return
        yield utterance


TestLedgerMachine = LedgerMachine.TestCase


@given(st.integers(0, 4000))
def test_more_rendered_samples_never_mean_fewer_heard_characters(samples: int):
    assert len(ledger.heard(spoken(samples)).text) <= len(ledger.heard(spoken(samples + 50)).text)
