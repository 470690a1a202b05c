"""What a model reads of a result."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from forge.core.results import serialise_result


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    when: date


class Model(BaseModel):
    at: datetime
    points: list[int]


class Pair(NamedTuple):
    a: int
    b: Colour


class Rude:
    def __str__(self):
        raise ValueError


class Cursed:
    def model_dump(self, mode):
        raise RuntimeError("no")


def cycle():
    loop: list[object] = [1]
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("as is", "as is", id="text"),
        pytest.param("", "", id="empty"),
        pytest.param("half \ud83d", "half \\ud83d", id="lone-surrogate"),
        pytest.param(None, "null", id="none"),
        pytest.param(True, "true", id="boolean"),
        pytest.param({"k": "é東"}, '{"k": "é東"}', id="unescaped"),
        pytest.param({1: "a", ("x", 2): "b"}, '{"1": "a", "(\'x\', 2)": "b"}', id="odd-keys"),
        pytest.param(
            Model(at=datetime(2026, 1, 2, tzinfo=UTC), points=[1]),
            '{"at": "2026-01-02T00:00:00Z", "points": [1]}',
            id="pydantic",
        ),
        pytest.param([Point(1, date(2026, 1, 2))], '[{"x": 1, "when": "2026-01-02"}]', id="dataclass"),
        pytest.param([Pair(1, Colour.RED)], '[{"a": 1, "b": "red"}]', id="named-tuple"),
        pytest.param({Colour.RED: Colour.RED}, '{"Colour.RED": "red"}', id="enum"),
        pytest.param(b"text", '"text"', id="bytes"),
        pytest.param({"b": b"\xff"}, '{"b": "/w=="}', id="binary"),
        pytest.param({3, 1, 2}, "[1, 2, 3]", id="set"),
        pytest.param((i for i in range(2)), "[0, 1]", id="generator"),
        pytest.param(
            [Decimal("1.10"), UUID(int=1), PurePosixPath("/a")],
            '["1.10", "00000000-0000-0000-0000-000000000001", "/a"]',
            id="as-text",
        ),
        pytest.param([ValueError("bad")], '["bad"]', id="exception"),
    ],
)
def test_values(value, text):
    assert serialise_result(value) == text


@pytest.mark.parametrize("value", [Rude(), [Cursed()], cycle(), object(), {"f": print}, int])
def test_nothing_raises(value):
    assert isinstance(serialise_result(value), str)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
    )
)
def test_the_text_can_always_be_sent(value):
    text = serialise_result(value)
    text.encode()
    if not isinstance(value, str):
        json.loads(text)
