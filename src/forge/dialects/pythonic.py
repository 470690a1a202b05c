"""Calls as source text: ``N(k="v")``, ``[N(...), M(...)]``, built-in style ``N.call(...)``."""

from __future__ import annotations

from typing import Any

from forge.core.ledger import Fix, Risk
from forge.core.request import Tool
from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Cursor, Need
from forge.dialects.delimited import delimited
from forge.dialects.json_lexer import JsonLexer
from forge.dialects.literals import Literals
from forge.dialects.python_arguments import Arguments, read_arguments_list
from forge.dialects.toolbox import Toolbox

LIST_END = Literals(("]",))
_PRINT = ("print",)


def source_call(cur: Candidate, name: str, start: int, marks: Literals | None = None) -> Need[bool]:
    """The cursor stands on the parenthesis behind ``name``; reads the arguments and reports the call."""
    if name in _PRINT and cur.tools.get(name) is None:
        return (yield from _printed(cur, start, marks))
    tool = cur.tools.get(name) or cur.tools.get(name.removesuffix(".call").removesuffix(".invoke"))
    arguments = yield from python_arguments(cur, marks)
    if isinstance(arguments, str):
        if tool is not None or arguments == "cut_off":
            reason = "cut_off" if arguments == "cut_off" else "unreadable"
            cur.missed(Missed(reason, name), start)  # type: ignore[arg-type]
            return True
        return False
    if tool is None:
        cur.missed(Missed("unknown_tool", name), start)
        return True
    found = named_call(tool, arguments, cur.tools)
    if found is None:
        cur.missed(Missed("unreadable", name, "positional arguments"), start)
    else:
        cur.found(found, start)
    return True


def _printed(cur: Candidate, start: int, marks: Literals | None) -> Need[bool]:
    """``print(N(...))``."""
    cur.pos += 1
    yield from cur.space()
    name = yield from cur.name()
    if not name or (yield from cur.peek()) != "(" or name in _PRINT:
        return False
    if not (yield from source_call(cur, name, start, marks)):
        return False
    yield from cur.space()
    return (yield from cur.literal(_PAREN)) is not None


_PAREN = Literals((")",))


def python_arguments(cur: Cursor, marks: Literals | None = None) -> Need[Arguments | str]:
    """Read a parenthesis; "cut_off" or "unreadable" if that fails."""
    start = cur.pos

    def attempt(stop: int, lexer: JsonLexer | None, _: bool) -> Arguments | None:
        if lexer is not None:
            return None
        text = cur.tape.slice(start, stop)
        arguments = read_arguments_list(text, cur.tools.keys)
        if arguments is not None:
            cur.pos = stop
        return arguments

    arguments = yield from delimited(cur, attempt, marks, closer=")", never_before="'\"")
    return arguments


def named_call(tool: Tool, arguments: Arguments, tools: Toolbox) -> Found | None:
    """The call that named and positional values make; positional ones only where their meaning is plain."""
    named, positional, fixes = arguments
    if not positional:
        return Found(tool, named, fixes=fixes)
    declared = tools.parameters(tool)
    if len(positional) == 1 and not named and isinstance(positional[0], dict):
        return Found(tool, positional[0], fixes=fixes)
    required = tools.required(tool)
    if len(positional) == 1 and not named and (len(required) == 1 or len(declared) == 1):
        key = required[0] if len(required) == 1 else next(iter(declared))
        fix = Fix(code="positional_argument", path=f"/{key}", risk=Risk.RISKY)
        return Found(tool, {key: positional[0]}, fixes=(*fixes, fix))
    return None


def text_call(text: str, tools: Toolbox) -> Found | None:
    """A call written as a string."""
    name, paren, _ = text.partition("(")
    tool = tools.get(name.strip())
    kept = text.strip().rstrip(";")
    if tool is None or not paren or not kept.endswith(")"):
        return None
    arguments: Any = read_arguments_list(kept[len(kept) - len(kept.lstrip()) + kept.index("(") :], tools.keys)
    return None if arguments is None else named_call(tool, arguments, tools)
