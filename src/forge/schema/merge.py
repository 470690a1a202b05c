"""Two schemas that a value must fit at once, as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ANNOTATIONS = ("description", "title", "default", "examples")


def merge(one: dict[str, Any], other: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Both schemas in one as far as that can be written down, and the keywords where the first won."""
    merged = dict(one)
    conflicts: list[str] = []
    for keyword, value in other.items():
        if keyword not in merged:
            merged[keyword] = value
        elif keyword == "properties":
            shared = merged[keyword].keys() & value.keys()
            both = {name: {"allOf": [merged[keyword][name], value[name]]} for name in shared}
            merged[keyword] = {**value, **merged[keyword], **both}
        elif keyword == "required":
            merged[keyword] = list(dict.fromkeys([*merged[keyword], *value]))
        elif keyword == "allOf":
            merged[keyword] = [*merged[keyword], *value]
        elif keyword in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
            merged[keyword] = max(merged[keyword], value)
        elif keyword in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
            merged[keyword] = min(merged[keyword], value)
        elif keyword == "type":
            common = _common_types(merged[keyword], value)
            if common:
                merged[keyword] = common
            else:
                conflicts.append(keyword)
        elif keyword not in _ANNOTATIONS and merged[keyword] != value:
            conflicts.append(keyword)
    return merged, conflicts


def _common_types(one: Any, other: Any) -> Any:
    first = [one] if isinstance(one, str) else list(one)
    second = [other] if isinstance(other, str) else list(other)
    common = [name for name in first if name in second]
    if not common and {"integer", "number"} <= {*first, *second}:
        common = ["integer"]
    return common[0] if len(common) == 1 else common
