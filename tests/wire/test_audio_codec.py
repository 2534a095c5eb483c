import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wayside.core.errors import WaysideError
from wayside.wire import audio

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
pcm = st.binary(max_size=200).map(lambda data: data[: len(data) // 2 * 2])
rates = st.integers(1, 65_535).map(lambda value: value * 50)
floats = st.floats(-1000, 1000, width=32)
messages = st.one_of(
    st.builds(audio.Capture, pcm, u64, rates),
    st.builds(audio.Playout, u32, u32, pcm, u64, rates),
    st.builds(audio.Hold, u32),
    st.builds(audio.HeldAck, u32),
    st.builds(audio.Resume, u32),
    st.builds(audio.Gain, st.none() | u32, floats),
    st.builds(audio.Clear, u32),
    st.builds(audio.Cleared, u32, st.lists(st.tuples(u32, u64), max_size=5).map(tuple)),
    st.builds(audio.RenderedCount, u32, u32, u64, floats),
    st.builds(audio.Listen, st.booleans()),
    st.builds(audio.Device, st.sampled_from(["microphone", "loudspeaker"]), st.booleans(), st.text(max_size=40)),
    st.just(audio.Ready()),
    st.builds(audio.Lost, u64),
    st.builds(audio.Starved, u32, u32),
)


@given(messages, u32)
def test_every_message_survives_the_wire(message, epoch):
    assert (epoch, message) == audio.decode(audio.encode(message, epoch))


@given(st.lists(messages, max_size=5), st.integers(1, 50))
def test_a_byte_stream_is_cut_back_into_messages(sent, step):
    data = b"".join(audio.pack_stream(message, 7) for message in sent)
    decoder = audio.StreamDecoder()
    got = [pair for at in range(0, len(data), step) for pair in decoder.feed(data[at : at + step])]

    assert [(7, message) for message in sent] == got


@given(st.binary(max_size=60))
def test_foreign_bytes_are_refused_or_read_whole(data):
    with contextlib.suppress(WaysideError):
        epoch, message = audio.decode(data)
        assert audio.decode(audio.encode(message, epoch)) == (epoch, message)


@pytest.mark.parametrize("data", [b"", b"\1\2", b"\2" + bytes(23), b"\1\x63" + bytes(22), b"\1\2" + bytes(23)])
def test_malformed_messages_have_one_code(data):
    with pytest.raises(WaysideError) as caught:
        audio.decode(data)

    assert caught.value.code == "audio.malformed"


def test_a_rate_the_header_cannot_hold_is_refused():
    with pytest.raises(WaysideError):
        audio.encode(audio.Playout(1, 1, b"", 0, 44_101), 1)


def test_the_length_of_a_stream_message_is_bounded():
    with pytest.raises(WaysideError):
        list(audio.StreamDecoder().feed(b"\xff\xff\xff\x7f"))
