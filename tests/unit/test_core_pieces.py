"""Fields in pieces."""

import pytest

from forge.core.pieces import joined


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([{"a": None}], {"a": None}, id="one"),
        pytest.param([{"a": "x"}, {"b": 1}, {"a": "y"}], {"a": "xy", "b": 1}, id="texts"),
        pytest.param([{"a": [1]}, {"a": [2, 3]}], {"a": [1, 2, 3]}, id="lists"),
        pytest.param(
            [{"a": {"c": [1], "d": 1}}, {"a": {"c": [2]}}], {"a": {"c": [1, 2], "d": 1}}, id="objects"
        ),
        pytest.param([{"a": 1}, {"a": 2}], {"a": 2}, id="the-last-number"),
        pytest.param([{"a": [1]}, {"a": None}, {"a": [2]}, {"a": None}], {"a": [1, 2]}, id="nulls"),
        pytest.param([{"a": None}, {"a": None}], {"a": None}, id="nulls-only"),
        pytest.param([{"a": [1]}, {"a": "x"}, {"a": "y"}], {"a": "xy"}, id="another-type"),
    ],
)
def test_pieces_are_put_together(pieces, whole):
    before = repr(pieces)
    assert joined(pieces) == whole
    assert repr(pieces) == before
