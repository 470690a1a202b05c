"""``@tool``: a tool from a typed function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from forge.core.workflow import ToolDef, ToolSpec


@overload
def tool(function: Callable[..., Any], /) -> ToolDef: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    prerequisites: Sequence[str | dict[str, str]] = (),
    timeout: float | None = None,
    parallel: bool = False,
) -> Callable[[Callable[..., Any]], ToolDef]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    prerequisites: Sequence[str | dict[str, str]] = (),
    timeout: float | None = None,
    parallel: bool = False,
) -> ToolDef | Callable[[Callable[..., Any]], ToolDef]:
    """Make a :class:`ToolDef` from a function, sync or async, its annotations and its docstring.

    With or without options. The result can still be called like the function. Arguments are checked and converted
    to the annotated types before each call by a model.

    Raises:
        TypeError: a parameter is positional-only, or its type has no JSON Schema.
    """

    def make(target: Callable[..., Any]) -> ToolDef:
        spec = ToolSpec.from_callable(target, name=name, description=description)
        return ToolDef(
            spec=spec, callable=target, prerequisites=list(prerequisites), timeout=timeout, parallel=parallel
        )

    return make if function is None else make(function)
