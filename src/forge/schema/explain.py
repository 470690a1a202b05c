"""Corrections: what is wrong with a call, in one message that a model can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.core.ledger import Problem
from forge.core.request import Tool
from forge.schema.example import example_arguments
from forge.schema.problems import shown
from forge.schema.validate import CompiledSchema, compile_schema

MAX_LENGTH = 2000
"""Longest correction, in characters: about 500 tokens of a model's context."""

_MAX_LINES = 8


def explain(tool: Tool, problems: Sequence[Problem]) -> str:
    """What was wrong with a call of ``tool`` and what a right call looks like.

    Names the tool, and for each problem the parameter, what was found and what is allowed; several problems
    are listed in one message; ends with the arguments of a right call, built from the schema. At most
    :data:`MAX_LENGTH` characters, the same for the same input.
    """
    compiled = compile_schema(tool.parameters)
    lines = [_line(problem) for problem in problems[:_MAX_LINES]]
    if len(problems) > _MAX_LINES:
        lines.append(f"and {len(problems) - _MAX_LINES} more")
    name = tool.name[:100]
    if len(lines) == 1:
        head = f"The call of {name} was not executed: {lines[0]}."
    elif lines:
        head = "\n".join(
            (
                f"The call of {name} was not executed. Its arguments have {len(problems)} faults:",
                *(f"- {line}" for line in lines),
            )
        )
    else:
        head = f"The call of {name} was not executed."
    tail = "\n".join(filter(None, (_allowed(compiled, problems), _shape(name, compiled, problems))))
    room = MAX_LENGTH - len(tail) - 2
    if len(head) > room:
        head = f"{head[: max(room - 1, 200)]}…"
    return f"{head}\n{tail}"[:MAX_LENGTH]


def example_call(tool: Tool) -> dict[str, Any]:
    """``{"name": …, "arguments": …}`` of a right call, made from the schema alone."""
    return {"name": tool.name, "arguments": example_arguments(compile_schema(tool.parameters).view)}


def _line(problem: Problem) -> str:
    if problem.code == "json":
        return f"the arguments text {problem.message}; write one JSON object"
    if not problem.path:
        subject = "the arguments object" if problem.code != "type" else "the arguments"
        return f"{subject} {problem.message}"
    return f"{_spoken(problem.path)} {problem.message}"


def _spoken(path: str) -> str:
    """A JSON pointer the way models know it: ``items[0].name``."""
    text = ""
    for token in path[1:].split("/"):
        part = token.replace("~1", "/").replace("~0", "~")
        text += f"[{part}]" if part.isdigit() and text else f".{part}" if text else part
    return f'"{text[:120]}"'


def _allowed(compiled: CompiledSchema, problems: Sequence[Problem]) -> str:
    """The parameter list, where the model used names that do not exist."""
    if not any(problem.code == "additionalProperties" and not problem.path for problem in problems):
        return ""
    names = [shown(name, 60) for name in _in_order(compiled)[:40]]
    return f"Its parameters are: {', '.join(names)}." if names else "It takes no arguments."


def _in_order(compiled: CompiledSchema) -> list[str]:
    parts = compiled.view.conjuncts(compiled.schema)
    declared = list(dict.fromkeys(name for part in parts for name in part.get("properties", ())))
    return declared or sorted(compiled.top_level_names)


def _shape(name: str, compiled: CompiledSchema, problems: Sequence[Problem]) -> str:
    named = frozenset(problem.path.split("/")[1].replace("~1", "/") for problem in problems if problem.path)
    for chosen in (named, frozenset[str]()):
        arguments = shown(example_arguments(compiled.view, named=chosen), 700)
        if not arguments.endswith("…"):
            return f"Call {name} again with arguments of this shape: {arguments}"
    return f"Call {name} again with arguments that fit its schema."
