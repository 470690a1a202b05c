import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.wire.openai_calls import CallSlots


def piece(index=None, call_id=None, name=None, arguments=None, **more):
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}, **more}


def run(*pieces):
    slots = CallSlots()
    deltas = [delta for given in pieces for delta in slots.feed(given)] + slots.end()
    calls = {}
    for delta in deltas:
        call = calls.setdefault(delta.index, [None, "", ""])
        call[0] = call[0] or delta.id
        call[1] += delta.name or ""
        call[2] += delta.arguments
    return [tuple(call) for _, call in sorted(calls.items())]


A, B = '{"a":1}', '{"b":2}'
TWO = [("1", "f", A), ("2", "g", B)]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        pytest.param([piece(0, "1", "f", A)], [("1", "f", A)], id="whole"),
        pytest.param(
            [piece(0, "1", "f", ""), piece(0, None, None, A)], [("1", "f", A)], id="id and name first"
        ),
        pytest.param(
            [piece(0, "1", "f", A[:3]), piece(0, "1", "f", A[3:])], [("1", "f", A)], id="both in each piece"
        ),
        pytest.param(
            [piece(0, "1", "f", A[:3]), piece(0, "", "", A[3:])], [("1", "f", A)], id="empty afterwards"
        ),
        pytest.param(
            [piece(0, "1", "f", A[:3]), piece(0, None, "f", A[3:])], [("1", "f", A)], id="name repeated"
        ),
        pytest.param(
            [piece(0, "1", "get_"), piece(0, None, "it"), piece(0, None, None, A)],
            [("1", "get_it", A)],
            id="name in pieces",
        ),
        pytest.param([piece(0, "1", "f")], [("1", "f", "")], id="no arguments"),
        pytest.param([piece(0, None, "f", A)], [(None, "f", A)], id="no id"),
        pytest.param([piece(0, None, "f", A), piece(0, "1")], [("1", "f", A)], id="id last"),
        pytest.param([piece(0, "1", "f", {"a": 1})], [("1", "f", A)], id="arguments an object"),
        pytest.param([piece(0, "1", "f", A), piece(1, "2", "g", B)], TWO, id="two in turn"),
        pytest.param(
            [
                piece(0, "1", "f", A[:3]),
                piece(1, "2", "g", B[:3]),
                piece(0, None, None, A[3:]),
                piece(1, None, None, B[3:]),
            ],
            TWO,
            id="two interleaved",
        ),
        pytest.param([piece(0, "1", "f", A), piece(0, "2", "g", B)], TWO, id="all under zero, by id"),
        pytest.param(
            [piece(0, None, "f", A), piece(0, None, "g", B)],
            [(None, "f", A), (None, "g", B)],
            id="all under zero, by name",
        ),
        pytest.param(
            [piece(0, None, "f", A), piece(0, None, "f", A)],
            [(None, "f", A), (None, "f", A)],
            id="the same call twice",
        ),
        pytest.param([piece(None, "1", "f", A), piece(None, "2", "g", B)], TWO, id="no index"),
        pytest.param(
            [piece(None, "1", "f", A[:3]), piece(None, None, None, A[3:]), piece(None, "2", "g", B)],
            TWO,
            id="no index, pieces",
        ),
        pytest.param(
            [
                piece(None, "1", "f", ""),
                piece(None, "2", "g", ""),
                piece(None, "1", None, A),
                piece(None, "2", None, B),
            ],
            TWO,
            id="no index, interleaved by id",
        ),
        pytest.param(
            [piece(7, "1", "f", A), piece(3, "2", "g", B)], TWO, id="odd indexes keep the order of arrival"
        ),
        pytest.param(
            [{"index": 0, "id": "1"}, piece(0, None, "f", A)], [("1", "f", A)], id="no function at first"
        ),
        pytest.param(
            [piece(0, None, "f", A), piece(0, None, None, "\n"), piece(0, None, "f", B)],
            [(None, "f", A + "\n"), (None, "f", B)],
            id="the same name again after a blank",
        ),
        pytest.param([], [], id="none"),
    ],
)
def test_pieces_find_their_call(pieces, calls):
    assert run(*pieces) == calls


def test_a_name_is_given_out_once_and_whole():
    slots = CallSlots()

    deltas = [
        d
        for p in (piece(0, "1", "get_"), piece(0, None, "it"), piece(0, None, None, A))
        for d in slots.feed(p)
    ]

    assert [d.name for d in deltas] == ["get_it"]


@given(st.lists(st.integers(1, len(A) - 1), max_size=3).map(sorted), st.booleans())
def test_every_split_of_arguments_gives_the_same_call(cuts, repeat):
    bounds = [0, *cuts, len(A)]
    texts = [A[start:end] for start, end in itertools.pairwise(bounds)]

    pieces = [
        piece(0, "1" if repeat or i == 0 else None, "f" if repeat or i == 0 else None, t)
        for i, t in enumerate(texts)
    ]

    assert run(*pieces) == [("1", "f", A)]
