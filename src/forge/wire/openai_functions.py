"""``functions`` and ``function_call``: how chat completions called functions before there were tools.

Requests are read as the tools that they mean, so that everything behind the door knows one form only; answers to them
are put back into the form that was asked in (:mod:`forge.wire.openai_functions_emit`). That form holds one call per
answer, and no ids.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from forge.core.remembered import remembered
from forge.errors import RequestError
from forge.wire.json_text import MAX_DEPTH, depth_within, dumps, loads

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


def read_functions(fields: dict[str, Raw]) -> bool:
    """Put tools in the place of the functions that a body offers; whether it offers any.

    Where it has ``tools`` as well those count, and all stays as it is.

    Raises:
        RequestError: they are no functions, or ``function_call`` is no choice among them.
    """
    functions = bytes(fields.get("functions", b"null"))
    if functions in (b"null", b"[]") or bytes(fields.get("tools", b"null")) != b"null":
        return False
    fields["tools"] = _as_tools(functions)
    choice = bytes(fields.pop("function_call", b"null"))
    if choice != b"null":
        fields["tool_choice"] = Raw(dumps(_as_choice(choice)))
    # An answer has room for one call.
    fields["parallel_tool_calls"] = Raw(b"false")
    del fields["functions"]
    return True


@remembered(maxsize=8)
def _as_tools(functions: bytes) -> Raw:
    try:
        entries = _decode_list(functions)
    except (msgspec.DecodeError, RecursionError):
        raise RequestError("'functions' must be a list", "functions") from None
    for number, entry in enumerate(entries):
        _check(bytes(entry), f"functions[{number}]")
    return Raw(b"[%b]" % b",".join(b'{"type":"function","function":%b}' % bytes(entry) for entry in entries))


def _check(entry: bytes, param: str) -> None:
    try:
        function = loads(entry)
    except ValueError as error:
        raise RequestError(f"'{param}': {error}", param) from None
    if not isinstance(function, dict):
        raise RequestError(f"'{param}' must be an object", param)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise RequestError(f"'{param}.name' must be a string", f"{param}.name")
    if not depth_within(function.get("parameters")):
        where = f"{param}.parameters"
        raise RequestError(f"'{where}' is nested more than {MAX_DEPTH} deep", where)


def _as_choice(data: bytes) -> Any:
    choice = loads(data)
    if choice in ("auto", "none"):
        return choice
    if isinstance(choice, dict) and isinstance(choice.get("name"), str) and choice["name"]:
        return {"type": "function", "function": {"name": choice["name"]}}
    raise RequestError('\'function_call\' must be "auto", "none" or name a function', "function_call")


def is_call(value: Any) -> bool:
    """Whether the ``function_call`` of an earlier answer is one."""
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool(value["name"])


def as_tool_message(raw: Raw) -> Raw:
    """A message that calls a function, or gives its result, as one of a tool. Its id is left to be made up."""
    fields: dict[str, Any] = dict(_decode_fields(raw))
    if loads(bytes(fields["role"])) == "function":
        return Raw(dumps({**fields, "role": "tool", "tool_call_id": ""}))
    call = {"id": "", "type": "function", "function": fields.pop("function_call")}
    return Raw(dumps({**fields, "tool_calls": [call]}))
