from __future__ import annotations

from typing import Any

import pytest

from forge.core.request import Tool
from forge.schema.bounded import LONG_TEXT, SHORT_TEXT
from forge.schema.lower import call_schema


def lowered(name: str, schema: dict[str, Any], **options: int) -> dict[str, Any]:
    tool = Tool(name="t", parameters={"type": "object", "properties": {name: schema}})
    node: dict[str, Any] = call_schema([tool], **options).schema["properties"]["arguments"]["properties"][
        name
    ]
    return node


@pytest.mark.parametrize(
    ("name", "schema", "options", "expected"),
    [
        pytest.param("city", {"type": "string"}, {}, SHORT_TEXT, id="a name"),
        pytest.param("content", {"type": "string"}, {}, LONG_TEXT, id="content"),
        pytest.param("content", {"type": "string"}, {"longest_text": 80}, 80, id="bounded by the caller"),
        pytest.param(
            "x", {"type": "string", "maxLength": 20}, {"longest_text": 80}, 20, id="the tighter bound"
        ),
        pytest.param(
            "x", {"type": "string", "minLength": 100}, {"longest_text": 80}, 100, id="the minimum stays"
        ),
    ],
)
def test_texts_are_bounded(name: str, schema: dict[str, Any], options: dict[str, int], expected: int) -> None:
    assert lowered(name, schema, **options)["maxLength"] == expected


def test_texts_in_lists_are_bounded_and_constants_are_left_alone() -> None:
    constant = {"type": "string", "maxLength": 9000}

    assert (
        lowered("x", {"type": "array", "items": {"type": "string"}}, longest_text=80)["items"]["maxLength"]
        == 80
    )
    assert lowered("x", {"const": constant}, longest_text=80)["const"] == constant
