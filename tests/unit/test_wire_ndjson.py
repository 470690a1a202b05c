import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import StreamError
from forge.wire.ndjson import LineDecoder


def lines(*pieces):
    decoder = LineDecoder()
    return [line for piece in pieces for line in decoder.feed(piece)] + decoder.finish()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param([b"a\nb\n"], [b"a", b"b"], id="two lines at once"),
        pytest.param([b"a", b"b\nc", b"d\n"], [b"ab", b"cd"], id="split lines"),
        pytest.param([b"a\r\nb\r", b"\n"], [b"a", b"b"], id="carriage returns"),
        pytest.param([b"\n\n a \n\n"], [b"a"], id="blank lines"),
        pytest.param([b"a\nb"], [b"a", b"b"], id="no newline at the end"),
        pytest.param([b"", b"\n", b""], [], id="nothing"),
    ],
)
def test_lines(pieces, expected):
    assert lines(*pieces) == expected


@given(st.binary(), st.lists(st.integers(1, 9), max_size=40))
def test_any_split_gives_the_same_lines(data, sizes):
    pieces, rest = [], data
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]

    assert lines(*pieces, rest) == [line.strip() for line in data.split(b"\n") if line.strip()]


def test_a_line_that_is_too_long():
    decoder = LineDecoder(limit=10)
    decoder.feed(b"12345\n1234567890")
    with pytest.raises(StreamError):
        decoder.feed(b"1")
