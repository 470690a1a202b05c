"""Values re-typed by their schema, where the schema leaves no doubt; every change is in the ledger."""

from __future__ import annotations

import math
import re
from typing import Any

from forge.core.ledger import Fix, Risk
from forge.repair.reading import Ledger
from forge.repair.tolerant import read_json
from forge.schema.fit import SchemaView, fits_type, same
from forge.schema.problems import shown

MAX_DEPTH = 48
"""Values nested deeper than this are left as they are."""

_SPARE = 1000
"""Branches of unions that may be tried in vain for one set of arguments."""
_ATTEMPTS = 500
"""Branches that may be tried at all: a schema whose unions refer to themselves has more of them than there is time."""
_NESTED = 6
"""Unions inside unions that are looked into."""
_INTEGER = re.compile(r"[+-]?\d{1,400}")
_INTEGRAL = re.compile(r"([+-]?\d{1,400})\.0+")
_NUMBER = re.compile(r"[+-]?(?:\d{1,400}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_NULLS = frozenset({"null", "none", "nil"})
_UNCHANGED = object()


def coerce(value: Any, schema: dict[str, Any], *, text_values: bool = False) -> tuple[Any, tuple[Fix, ...]]:
    """``value`` with the types that ``schema`` (an understood one) wants, and what was changed.

    Only unambiguous changes are made: numeric text to number, "true" to true, JSON text to array or object,
    a lone value to a one-element list, number to text, 2.0 to 2, an enum member in other case. A text
    parameter keeps whatever text it was given. What does not convert stays for the validator.
    ``text_values`` says that the strings come from a notation without types (XML), so that ``null`` may be
    meant for null and white space around a number means nothing. The input is not modified.
    """
    coercer = _Coercer(schema, text_values=text_values)
    return coercer.convert(value, schema, "", 0), tuple(coercer.ledger.fixes)


class _Work:
    """What may still be spent on unions, shared by all attempts at one value."""

    __slots__ = ("attempts", "spare")

    def __init__(self) -> None:
        self.spare = _SPARE
        self.attempts = _ATTEMPTS

    def spent(self) -> bool:
        return self.spare <= 0 or self.attempts <= 0


class _Coercer:
    """``nested`` is how many unions the value stands in; ``work`` is shared by all attempts at one value."""

    def __init__(
        self, root: dict[str, Any], *, text_values: bool, work: _Work | None = None, nested: int = 0
    ) -> None:
        self.view = SchemaView(root)
        self.work = work or _Work()
        self.nested = nested
        self.ledger = Ledger()
        self.text_values = text_values

    def convert(self, value: Any, schema: object, path: str, depth: int) -> Any:
        if not isinstance(schema, dict) or not schema or depth > MAX_DEPTH:
            return value
        parts = self.view.conjuncts(schema)
        types = self.view.types(parts)
        for alternatives in self.view.branches(parts):
            value = self._union(value, alternatives, path, depth)
        value = self._typed(value, types, parts, path, depth)
        value = self._listed(value, parts, path)
        if isinstance(value, dict):
            return self._members(value, parts, path, depth)
        if isinstance(value, list):
            return self._items(value, parts, path, depth)
        return value

    def _changed(self, code: str, path: str, before: Any, after: Any) -> Any:
        self.ledger.add(
            Fix(code=code, path=path, risk=Risk.SAFE, before=shown(before, 80), after=shown(after, 80))
        )
        return after

    # -- unions --

    def _union(self, value: Any, alternatives: list[Any], path: str, depth: int) -> Any:
        """Coerce into the branch that fits best as it stands, else into the first that a conversion makes fit."""
        if self.nested >= _NESTED or self.work.spent():
            return value
        ranked = sorted(alternatives[:24], key=lambda one: (self.view.misfit(value, one), self._is_list(one)))
        best = self.view.misfit(value, ranked[0]) if ranked else 0
        if self._null_text(value):
            ranked.sort(key=lambda one: self._types(one) != frozenset({"null"}))
        elif best < 100:
            ranked = ranked[:1]
        for branch in ranked:
            self.work.attempts -= 1
            attempt = _Coercer(
                self.view.root, text_values=self.text_values, work=self.work, nested=self.nested + 1
            )
            converted = attempt.convert(value, branch, path, depth + 2)
            if self.view.misfit(converted, branch) < 100 and (best < 100 or self._clear(converted, branch)):
                for fix in attempt.ledger.fixes:
                    self.ledger.add(fix)
                return converted
            self.work.spare -= 1
            if self.work.spent():
                break
        return value

    def _clear(self, converted: Any, branch: Any) -> bool:
        return isinstance(converted, dict | list) or self.view.misfit(converted, branch) == 0

    def _null_text(self, value: Any) -> bool:
        return self.text_values and isinstance(value, str) and value.strip() in ("null", "None")

    def _types(self, schema: object) -> frozenset[str] | None:
        return self.view.types(self.view.conjuncts(schema))

    def _is_list(self, schema: object) -> bool:
        return self._types(schema) == frozenset({"array"})

    # -- types --

    def _typed(
        self, value: Any, types: frozenset[str] | None, parts: list[dict[str, Any]], path: str, depth: int
    ) -> Any:
        if types is None:
            return value
        if (
            self.text_values
            and "null" in types
            and isinstance(value, str)
            and value.strip() in ("null", "None")
        ):
            return self._changed("null_from_text", path, value, None)
        if fits_type(value, types):
            if isinstance(value, float) and "number" not in types and value.is_integer():
                return self._changed("integer_from_number", path, value, int(value))
            return value
        if isinstance(value, str):
            converted = self._from_text(value, types, path)
            if converted is not _UNCHANGED:
                return converted
        elif isinstance(value, int | float) and not isinstance(value, bool) and "string" in types:
            return self._changed("text_from_number", path, value, _number_text(value))
        if "array" in types and "string" not in types and value is not None:
            return self._one_element(value, parts, path, depth)
        return value

    def _from_text(self, text: str, types: frozenset[str], path: str) -> Any:
        word = text.strip()
        lower = word.lower()
        if "boolean" in types and lower in ("true", "false"):
            return self._changed("boolean_from_text", path, text, lower == "true")
        number = _number(word, types)
        if number is not None:
            return self._changed("number_from_text", path, text, number)
        if "null" in types and lower in _NULLS:
            return self._changed("null_from_text", path, text, None)
        if word[:1] in ("[", "{", "［", "｛", "(") and types & {"array", "object"}:
            reading = read_json(word)
            whole = reading.complete and reading.closed and not word[reading.end :].strip()
            if whole and reading.risk is not Risk.RISKY and self._wanted(reading.value, types):
                return self._changed("json_from_text", path, text, reading.value)
        return _UNCHANGED

    def _wanted(self, value: Any, types: frozenset[str]) -> bool:
        return fits_type(value, types) or (isinstance(value, dict) and "array" in types)

    def _one_element(self, value: Any, parts: list[dict[str, Any]], path: str, depth: int) -> Any:
        if isinstance(value, list):
            return value
        items = self.view.item_schema(parts, 0)
        probe = _Coercer(self.view.root, text_values=self.text_values, work=self.work, nested=self.nested)
        item = probe.convert(value, items, f"{path}/0", depth + 1)
        if self.view.misfit(item, items) >= 100 or (isinstance(value, dict) and items is None):
            return value
        return self._changed("list_from_item", path, value, [value])

    # -- enums --

    def _listed(self, value: Any, parts: list[dict[str, Any]], path: str) -> Any:
        for part in parts:
            options = part.get("enum") if "enum" in part else [part["const"]] if "const" in part else None
            if (
                options is None
                or any(same(value, option) for option in options)
                or not isinstance(value, str)
            ):
                continue
            word = value.strip().casefold()
            meant = [option for option in options if _spelled(option) == word]
            if len(meant) == 1:
                value = self._changed("enum_case", path, value, meant[0])
        return value

    # -- containers --

    def _members(
        self, value: dict[Any, Any], parts: list[dict[str, Any]], path: str, depth: int
    ) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for name, member in value.items():
            schema = self.view.property_schema(parts, name) if isinstance(name, str) else None
            escaped = str(name).replace("~", "~0").replace("/", "~1")
            result[name] = (
                member if schema is None else self.convert(member, schema, f"{path}/{escaped}", depth + 1)
            )
        return result

    def _items(self, value: list[Any], parts: list[dict[str, Any]], path: str, depth: int) -> list[Any]:
        return [
            self.convert(item, self.view.item_schema(parts, index), f"{path}/{index}", depth + 1)
            for index, item in enumerate(value)
        ]


def _number(word: str, types: frozenset[str]) -> int | float | None:
    if not types & {"number", "integer"}:
        return None
    if _INTEGER.fullmatch(word):
        return int(word)
    integral = _INTEGRAL.fullmatch(word)
    if integral and "number" not in types:
        return int(integral[1])
    if "number" in types and _NUMBER.fullmatch(word):
        number = float(word)
        return number if math.isfinite(number) else None
    return None


def _number_text(number: float) -> str:
    try:
        return str(number)
    except ValueError:  # CPython's limit on the length of integers as text
        return hex(int(number))


def _spelled(option: object) -> str | None:
    if isinstance(option, str):
        return option.strip().casefold()
    if option is None or isinstance(option, bool):
        return {None: "null", True: "true", False: "false"}[option]
    return str(option) if isinstance(option, int | float) else None
