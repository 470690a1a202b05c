from __future__ import annotations

from typing import Any

import pytest

from forge.core.request import Tool
from forge.schema.filled import fills_a_bound

TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"kind": {"const": "a"}, "content": TEXT}}
LONG_ITEM = {"type": "object", "properties": {"kind": {"const": "b"}, "content": {**TEXT, "maxLength": 4096}}}


def filled(schema: dict[str, Any], value: object, longest_text: int | None = None) -> bool:
    tool = Tool(name="t", parameters={"type": "object", "properties": {"content": schema}})
    return fills_a_bound(tool, {"content": value}, longest_text=longest_text)


@pytest.mark.parametrize(
    ("schema", "value", "full"),
    [
        pytest.param(TEXT, "x" * 4096, True, id="our bound"),
        pytest.param(TEXT, "x" * 4095, False, id="one less"),
        pytest.param(TEXT, "x" * 256, False, id="the bound of another kind of parameter"),
        pytest.param({**TEXT, "maxLength": 4096}, "x" * 4096, False, id="the schema's own limit"),
        pytest.param({**TEXT, "maxLength": 10}, "x" * 10, False, id="a small limit of its own"),
        pytest.param({**TEXT, "maxLength": 9999}, "x" * 4096, True, id="a limit that was lowered"),
        pytest.param({"enum": ["x" * 4096]}, "x" * 4096, False, id="one of a set"),
        pytest.param({"type": ["string", "null"]}, "x" * 4096, True, id="or nothing"),
        pytest.param({"type": "array", "items": TEXT}, ["y"] * 32, True, id="list"),
        pytest.param({"type": "array", "items": TEXT, "maxItems": 32}, ["y"] * 32, False, id="own list"),
        pytest.param({"type": "array", "items": TEXT}, ["y", "z" * 256], True, id="text in a list"),
        pytest.param({"type": "array", "prefixItems": [TEXT, TEXT]}, ["y", "z"], False, id="pair"),
        pytest.param({"anyOf": [ITEM, LONG_ITEM]}, {"kind": "a", "content": "x" * 4096}, True, id="union"),
        pytest.param(
            {"anyOf": [ITEM, LONG_ITEM]}, {"kind": "b", "content": "x" * 4096}, False, id="its other branch"
        ),
        pytest.param({}, {"a": "x" * 256}, True, id="undescribed"),
        pytest.param({"$ref": "#/missing"}, "x", False, id="broken schema"),
        pytest.param({"type": "integer"}, 4096, False, id="number"),
    ],
)
def test_only_bounds_that_the_schema_did_not_set_count(schema: Any, value: object, full: bool) -> None:
    assert filled(schema, value) is full


@pytest.mark.parametrize(
    ("schema", "length", "full"),
    [
        pytest.param(TEXT, 80, True, id="the tighter bound"),
        pytest.param({**TEXT, "maxLength": 500}, 80, True, id="tighter than the schema's"),
        pytest.param({**TEXT, "maxLength": 60}, 60, False, id="the schema's is tighter"),
        pytest.param({**TEXT, "minLength": 100}, 100, True, id="as short as may be"),
    ],
)
def test_with_a_tighter_bound(schema: Any, length: int, full: bool) -> None:
    assert filled(schema, "x" * length, longest_text=80) is full
