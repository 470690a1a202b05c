"""The rules for one call: is its tool known, are its arguments right? Pure; the words are elsewhere.

The engine, ``ResponseValidator`` and through them every face of Forge decide by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from forge.core.ledger import Fix, Problem
from forge.core.request import Tool
from forge.schema.arguments import read_arguments
from forge.schema.names import resolve_name
from forge.schema.validate import CompiledSchema

CallFault: TypeAlias = Literal["unknown_tool", "invalid_arguments"]


class CallFinding(Struct, frozen=True, kw_only=True):
    """What the rules say about one call.

    ``name`` is the offered tool's own spelling where one was meant, else the written one. ``arguments`` are decoded
    and coerced. ``usable``: they are one whole object, whether or not it fits the schema. ``fault`` None means
    that the call may be executed.
    """

    name: str
    tool: Tool | None
    arguments: Any
    usable: bool
    fixes: tuple[Fix, ...] = ()
    problems: tuple[Problem, ...] = ()
    fault: CallFault | None = None


def check_call(
    written_name: str,
    raw_arguments: object,
    tools: Mapping[str, Tool],
    *,
    compiled: Callable[[Tool], CompiledSchema] | None = None,
) -> CallFinding:
    """Check one call against the offered tools.

    Args:
        written_name: the name as the model wrote it.
        raw_arguments: JSON text, or an already decoded value.
        tools: the offered tools by name. A tool without a schema takes any object.
        compiled: gives a tool's schema compiled, for a caller that keeps it.
    """
    name = resolve_name(written_name, tools)
    if name is None:
        return CallFinding(
            name=written_name, tool=None, arguments=raw_arguments, usable=False, fault="unknown_tool"
        )
    tool = tools[name]
    read = read_arguments(tool, raw_arguments, compiled=compiled(tool) if compiled else None)
    usable = read.is_object and read.complete
    return CallFinding(
        name=name,
        tool=tool,
        arguments=read.value if usable else raw_arguments,
        usable=usable,
        fixes=read.fixes,
        problems=read.problems,
        fault=None if usable and not read.problems else "invalid_arguments",
    )
