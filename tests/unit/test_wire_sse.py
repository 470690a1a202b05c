import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import StreamError
from forge.wire.sse import ServerSentEvent, SSEDecoder


def decode(*pieces, **options):
    decoder = SSEDecoder(**options)
    return [event for piece in pieces for event in decoder.feed(piece)]


def event(data, name="", event_id=""):
    return ServerSentEvent(data, name, event_id)


CASES = [
    pytest.param(b"data: a\n\n", [event(b"a")], id="one"),
    pytest.param(b"data: a\n\ndata: b\n\n", [event(b"a"), event(b"b")], id="two"),
    pytest.param(b"data:a\n\n", [event(b"a")], id="no space after the colon"),
    pytest.param(b"data:  a\n\n", [event(b" a")], id="only one space is dropped"),
    pytest.param(b"data: a\ndata: b\n\n", [event(b"a\nb")], id="several data lines"),
    pytest.param(b"data: a\r\n\r\ndata: b\r\n\r\n", [event(b"a"), event(b"b")], id="crlf"),
    pytest.param(b"data: a\r\rdata: b\r\r", [event(b"a"), event(b"b")], id="cr"),
    pytest.param(b"data: a\r\n\ndata: b\n\r\n", [event(b"a"), event(b"b")], id="mixed line ends"),
    pytest.param(b": ping\n\ndata: a\n\n", [event(b"a")], id="comment"),
    pytest.param(b"data: a\n: in between\ndata: b\n\n", [event(b"a\nb")], id="comment inside an event"),
    pytest.param(b"\xef\xbb\xbfdata: a\n\n", [event(b"a")], id="byte order mark"),
    pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", [], id="a second mark is part of the field name"),
    pytest.param(
        b"event: x\ndata: a\n\ndata: b\n\n", [event(b"a", "x"), event(b"b")], id="name of one event"
    ),
    pytest.param(b"event: x\n\ndata: b\n\n", [event(b"b")], id="a name without data is forgotten"),
    pytest.param(
        b"id: 1\ndata: a\n\ndata: b\n\n", [event(b"a", "", "1"), event(b"b", "", "1")], id="id stays"
    ),
    pytest.param(b"id: 1\nid: a\0b\ndata: a\n\n", [event(b"a", "", "1")], id="an id with NUL is ignored"),
    pytest.param(b"data\n\n", [event(b"")], id="field without a colon"),
    pytest.param(b"data:\ndata:\n\n", [event(b"\n")], id="two empty data lines"),
    pytest.param(b"nonsense: 1\nDATA: no\n\n", [], id="unknown fields"),
    pytest.param(b"\n\n\n", [], id="blank lines"),
    pytest.param(b"data: a", [], id="no line end"),
    pytest.param(b"data: a\n", [], id="no closing blank line"),
    pytest.param("data: é🎉\n\n".encode(), [event("é🎉".encode())], id="utf-8"),
    pytest.param(b"data: \xff\n\n", [event(b"\xff")], id="data is handed on as bytes"),
]


@pytest.mark.parametrize(("stream", "events"), CASES)
def test_events_are_read_by_the_standard(stream, events):
    assert decode(stream) == events


@pytest.mark.parametrize(("stream", "events"), CASES)
def test_the_events_of_single_bytes_are_the_same(stream, events):
    assert decode(*(stream[i : i + 1] for i in range(len(stream)))) == events


@given(
    st.lists(st.sampled_from([b"data: a", b"data:b", b": c", b"event: e", b"id: 1", b"", b"x", b"\xf0\x9f"])),
    st.sampled_from([b"\n", b"\r", b"\r\n"]),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_no_split_changes_the_events(lines, newline, sizes):
    stream = b"".join(line + newline for line in lines)
    pieces, at, turn = [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        pieces.append(stream[at : at + size])
        at, turn = at + size, turn + 1

    assert decode(*pieces) == decode(stream)


def test_a_retry_time_is_remembered():
    decoder = SSEDecoder()
    decoder.feed(b"retry: 1500\nretry: soon\n\n")
    assert decoder.retry == 1500


@pytest.mark.parametrize("line", [b"data: " + b"x" * 50, b"x" * 50], ids=["data", "no line end"])
def test_an_endless_event_is_an_error(line):
    end = b"\n" if line.startswith(b"data") else b""

    with pytest.raises(StreamError, match="100 bytes"):
        decode(*[line + end] * 5, limit=100)


def test_long_streams_of_short_events_are_no_error():
    decoder = SSEDecoder(limit=100)
    assert sum(len(decoder.feed(b"data: abcdefgh\n\n")) for _ in range(100)) == 100
