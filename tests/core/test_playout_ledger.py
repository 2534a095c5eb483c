import pytest
from wayside.core.errors import WaysideError
from wayside.core.playout_ledger import MAX_ENTRIES, PlayoutLedger

SECOND = bytes(2 * 16_000)


def test_positions_follow_what_was_sent():
    ledger = PlayoutLedger(10, 1 << 20)

    assert [ledger.accept(1, 1, SECOND, 16_000), ledger.accept(1, 1, SECOND, 16_000)] == [0, 16_000]


@pytest.mark.parametrize(("limit_s", "limit_bytes"), [(1.5, 1 << 20), (10, 40_000)])
def test_either_bound_refuses(limit_s, limit_bytes):
    ledger = PlayoutLedger(limit_s, limit_bytes)
    ledger.accept(1, 1, SECOND, 16_000)
    with pytest.raises(WaysideError) as caught:
        ledger.accept(1, 1, SECOND, 16_000)
    ledger.rendered(1, 1, 16_000)

    assert caught.value.code == "audio.queue_full"
    assert ledger.accept(1, 1, SECOND, 16_000) == 16_000


def test_reports_are_clamped_and_never_go_back():
    ledger = PlayoutLedger(10, 1 << 20)
    ledger.accept(1, 1, SECOND, 16_000)

    assert ledger.rendered(1, 1, 99_999) == 16_000
    assert ledger.rendered(1, 1, 5) is None
    assert ledger.rendered(1, 2, 5) is None


def test_clear_returns_what_was_last_known_and_drops_what_is_late():
    ledger = PlayoutLedger(10, 1 << 20)
    ledger.accept(1, 1, SECOND, 16_000)
    ledger.rendered(1, 1, 700)

    assert ledger.clear(1) == ((1, 700, False),)
    assert ledger.rendered(1, 1, 800) is None
    assert ledger.accept(1, 2, SECOND, 16_000) is None


def test_an_abandoned_reply_waits_for_nothing_and_keeps_its_count():
    ledger = PlayoutLedger(10, 1 << 20)
    ledger.accept(1, 1, SECOND, 16_000)
    ledger.rendered(1, 1, 700)
    ledger.abandon()

    assert (ledger.pending_s, ledger.pending_bytes) == (0, 0)
    assert ledger.accept(1, 1, SECOND, 16_000) is None
    assert ledger.accept(2, 2, SECOND, 16_000) == 0
    assert ledger.clear(1) == ((1, 700, False),)


@pytest.mark.parametrize("heard", [True, False])
def test_months_of_replies_leave_little_behind(heard):
    ledger = PlayoutLedger(1e9, 1 << 40)
    for generation in range(1, 3 * MAX_ENTRIES):
        ledger.accept(generation, generation, SECOND, 16_000)
        if heard:
            ledger.rendered(generation, generation, 16_000)

    assert len(ledger.clear(10_000)) <= (1 if heard else MAX_ENTRIES + 1)


@pytest.mark.parametrize(("pcm", "rate"), [(b"\0", 16_000), (b"", 44_101), (b"", 0)])
def test_what_is_not_samples_is_refused(pcm, rate):
    with pytest.raises(WaysideError):
        PlayoutLedger(1, 1).accept(1, 1, pcm, rate)
