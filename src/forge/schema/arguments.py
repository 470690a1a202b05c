"""The arguments of one call: decoded, unwrapped, typed and checked, whatever notation they came in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from forge.core.ledger import Fix, Problem, Risk
from forge.core.request import Tool
from forge.repair.reading import Reading
from forge.repair.tolerant import read_json, read_valid
from forge.schema.coerce import coerce
from forge.schema.problems import shown, type_name
from forge.schema.validate import CompiledSchema, compile_schema

_WRAPPERS = ("arguments", "input", "parameters", "args", "params", "kwargs")
_WRAPPER_NAMES = frozenset(_WRAPPERS)
_TEXT = frozenset((str,))
_ROUNDS = 4
"""How many wrappings (text in text, list of one, the word once more) are taken off one argument value."""
_TRAILING_CLOSERS = re.compile(r"[\s}\]）｝］]*+(?:```)?\s*\Z")
_FIRST_VALUE = re.compile(r"[{\[｛［]")


class CheckedArguments(Struct, frozen=True, kw_only=True):
    """The arguments of one call and all that is known about them.

    ``value`` is an object when ``is_object``; else whatever was given (the text itself when it could not be
    read). ``complete`` is False when the arguments are cut off or cannot be read: such a call must never be
    executed. ``fixes`` lists repairs and coercions, ``problems`` what still breaks the tool's schema.
    """

    value: Any
    is_object: bool
    complete: bool
    fixes: tuple[Fix, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether a call with these arguments may be taken for what the model meant.

        Safe repairs always may, risky ones only when the result fits the schema; a mere breach of the schema
        leaves the reading trusted (the call is delimited clearly, the validator speaks).
        """
        risky = any(fix.risk is Risk.RISKY for fix in self.fixes)
        return self.complete and self.is_object and not (risky and self.problems)

    @property
    def valid(self) -> bool:
        """Whether the call can be executed as it stands."""
        return self.complete and self.is_object and not self.problems


def read_arguments(
    tool: Tool, raw: object, *, text_values: bool = False, compiled: CompiledSchema | None = None
) -> CheckedArguments:
    """Read and check what a model gave as the arguments of ``tool``. Never raises.

    Args:
        tool: the tool that is called; its ``parameters`` may be malformed (what is understood is checked).
        raw: JSON text (possibly broken), an already decoded value, or None.
        text_values: ``raw`` is a mapping of parameter to text from a notation without types (XML); strings
            take the types that the schema gives. Values that are no strings are taken as they are.
        compiled: ``tool.parameters`` compiled, for a caller that reads many calls of one tool.
    """
    compiled = compiled or compile_schema(tool.parameters)
    fixes: list[Fix] = []
    value = raw
    if isinstance(raw, str):
        whole = read_valid(raw, 0)
        if whole is not None and whole[1] == len(raw):
            value = whole[0]
        else:
            reading = _decode(raw, compiled.parameter_names)
            fixes.extend(reading.fixes)
            if not reading.complete:
                problem = Problem(code="json", path="", message=_FAULTS[reading.fault], got=shown(raw, 200))
                return CheckedArguments(
                    value=raw, is_object=False, complete=False, fixes=tuple(fixes), problems=(problem,)
                )
            value = _with_written_numbers(reading, compiled)
    if not text_values:
        value = _unwrap(value, tool, compiled, fixes)
    if isinstance(value, Mapping):
        value = _unescaped_names(value, compiled, fixes)
    if not isinstance(value, dict):
        found = type_name(value)
        problem = Problem(
            code="type",
            path="",
            message=f"must be object, not {found} {shown(value, 60)}",
            expected=["object"],
            got=found,
        )
        return CheckedArguments(
            value=value, is_object=False, complete=True, fixes=tuple(fixes), problems=(problem,)
        )
    if not text_values and _fits(value, compiled):
        return CheckedArguments(value=value, is_object=True, complete=True, fixes=tuple(fixes))
    if not (text_values and _plain_text(value, compiled)):
        typed, coerced = coerce(value, compiled.schema, text_values=text_values)
        if isinstance(typed, dict):  # a schema that wants no object at all is no reason to give up the object
            value = typed
            fixes += coerced
    return CheckedArguments(
        value=value,
        is_object=True,
        complete=True,
        fixes=tuple(fixes),
        problems=compiled.problems(value),
    )


def _unescaped_names(value: Mapping[Any, Any], compiled: CompiledSchema, fixes: list[Fix]) -> dict[Any, Any]:
    """``value`` with the names whose underscores are escaped, as Markdown does, written as they are declared."""
    if not any("\\" in key for key in value if isinstance(key, str)):
        return value if isinstance(value, dict) else dict(value)
    declared, named = compiled.top_level_names, {}
    for key, item in value.items():
        plain = key.replace("\\_", "_") if isinstance(key, str) and key not in declared else key
        if plain != key and plain in declared and plain not in value:
            fixes.append(Fix(code="escaped_name", before=key, after=plain))
            named[plain] = item
        else:
            named[key] = item
    return named


def fit_as_written(text: str, compiled: CompiledSchema) -> bool:
    """Whether ``text`` is one object that :func:`read_arguments` would leave as it is and find nothing wrong with."""
    whole = read_valid(text, 0)
    if whole is None or whole[1] != len(text):
        return False
    value = whole[0]
    if not isinstance(value, dict) or not _WRAPPER_NAMES.isdisjoint(value):
        return False
    if "\\" in text and any("\\" in name for name in value):
        return False  # a name may be escaped
    return _fits(value, compiled)


def _fits(value: dict[Any, Any], compiled: CompiledSchema) -> bool:
    """Whether arguments need no other types. 2.0 fits where an integer is wanted, and is no int."""
    return compiled.accepts(value) and not (compiled.wants_integers and _holds_floats(value))


def _plain_text(value: dict[Any, Any], compiled: CompiledSchema) -> bool:
    """Whether all members are texts and wanted as such, so that none can be re-typed."""
    return value.keys() <= compiled.text_names and set(map(type, value.values())) <= _TEXT


def _holds_floats(value: dict[Any, Any]) -> bool:
    level: list[Any] = [value]
    while level:
        container = level.pop()
        for item in container.values() if isinstance(container, dict) else container:
            if isinstance(item, float):
                return True
            if isinstance(item, dict | list):
                level.append(item)
    return False


_FAULTS: dict[str, str] = {
    "": "is not complete",
    "absent": "is not JSON",
    "cut_off": "is cut off",
    "unreadable": "is not JSON",
    "too_deep": "is nested too deep",
}


def _decode(text: str, names: frozenset[str]) -> Reading:
    """The one JSON value that ``text`` holds; an empty text is an empty object."""
    if not text.strip() or text.strip() in ("null", "None"):
        return Reading(value={}, end=len(text), complete=True, closed=True)
    reading = read_json(text, keys=names)
    lead: tuple[Fix, ...] = ()
    if reading.fault == "absent":
        match = _FIRST_VALUE.search(text)
        if match is not None:
            reading = read_json(text, match.start(), keys=names)
            lead = (Fix(code="leading_text", risk=Risk.RISKY, before=shown(text[: match.start()], 60)),)
            if text[: match.start()].strip().lower() in ("```json", "```", "json"):
                lead = (Fix(code="fence"),)
    if not reading.complete:
        return reading
    if not reading.closed:
        return Reading(value=reading.value, end=reading.end, fixes=reading.fixes, fault="cut_off")
    return _with_rest(text, reading, lead, names)


def _with_rest(text: str, reading: Reading, lead: tuple[Fix, ...], names: frozenset[str]) -> Reading:
    fixes = [*lead, *reading.fixes]
    rest = text[reading.end :]
    if rest.strip():
        again = read_json(text, reading.end, keys=names)
        if again.complete and again.value == reading.value:
            fixes.append(Fix(code="repeated"))
            rest = text[again.end :]
    if rest.strip():
        closers = _TRAILING_CLOSERS.match(rest) is not None
        code = "extra_closer" if closers else "trailing_text"
        fixes.append(Fix(code=code, risk=Risk.SAFE if closers else Risk.RISKY, before=shown(rest, 60)))
    return Reading(value=reading.value, end=reading.end, fixes=tuple(fixes), complete=True, closed=True)


def _with_written_numbers(reading: Reading, compiled: CompiledSchema) -> Any:
    """Numbers that JSON cannot spell (007, +49 …) in members that want text, as they were written."""
    value = reading.value
    for fix in reading.fixes:
        name = fix.path[1:].replace("~1", "/").replace("~0", "~")
        if fix.code == "number" and isinstance(value, dict) and name in value and compiled.wants_text(name):
            value = {**value, name: fix.before}
    return value


def _unwrap(value: Any, tool: Tool, compiled: CompiledSchema, fixes: list[Fix]) -> Any:
    if type(value) is dict and _WRAPPER_NAMES.isdisjoint(value):
        return value
    for _ in range(_ROUNDS):
        inner, code = _unwrapped_once(value, tool, compiled, fixes)
        if not code:
            break
        fixes.append(Fix(code=code))
        value = inner
    return value


def _unwrapped_once(value: Any, tool: Tool, compiled: CompiledSchema, fixes: list[Fix]) -> tuple[Any, str]:
    """One layer less, and the code of the layer; "" when there is none to take off."""
    match value:
        case None | [] | ():
            return {}, "empty_arguments"
        case [dict() as only] | (dict() as only,):
            return only, "list_of_one"
        case str() if not value.strip():
            return {}, "empty_arguments"
        case str():
            reading = _decode(value, compiled.parameter_names)
            if reading.complete and isinstance(reading.value, dict | list):
                fixes.extend(reading.fixes)
                return reading.value, "arguments_as_text"
        case dict():
            return _inner(value, tool, compiled)
    return value, ""


def _inner(value: dict[Any, Any], tool: Tool, compiled: CompiledSchema) -> tuple[Any, str]:
    """The object inside ``{"arguments": {…}}``, or inside a whole call printed where its arguments belong."""
    own = compiled.top_level_names
    if len(value) == 1:
        (name,) = value
        strict = name in ("arguments", "input") or (name in _WRAPPERS and own)
        if strict and name not in own and (inner := _object_in(value[name])) is not None:
            return inner, "wrapped"
    named = next((value[key] for key in ("name", "tool", "tool_name", "function") if key in value), None)
    if named == tool.name and len(value) == 2:
        for name in _WRAPPERS:
            if name in value and name not in own and (inner := _object_in(value[name])) is not None:
                return inner, "whole_call"
    return value, ""


def _object_in(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        reading = read_json(value)
        if reading.complete and reading.closed and isinstance(reading.value, dict):
            return reading.value
    return None
