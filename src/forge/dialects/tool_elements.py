"""Elements named after the tool: ``<N><k>v</k></N>``, where k is one of its parameters."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_arguments import arguments
from forge.dialects.literals import Literals, literals, union
from forge.dialects.marks import CALL_END
from forge.dialects.notation import Notation, Opener, Where
from forge.dialects.verbatim import goes_on, stripped


def tool_element(cur: Candidate) -> Generator[None, None, bool]:
    """``<N><k>v</k></N>`` where N is an offered tool and k one of its parameters."""
    start = cur.pos
    cur.pos += 1
    name = yield from cur.name()
    tool = cur.tools.tools.get(name)
    if tool is None or (yield from cur.peek()) != ">":
        return False
    cur.pos += 1
    opens = literals(*(f"<{key}>" for key in cur.tools.parameters(tool)))
    close = literals(f"</{name}>")
    follow = union(opens, close)
    values: dict[str, str] = {}
    while True:
        yield from cur.space()
        if (yield from cur.literal(close)) is not None:
            cur.found(Found(tool, values, text_values=True), start)
            return True
        tag = yield from cur.literal(opens)
        if tag is None:
            if (yield from cur.at_end()):
                cur.missed(Missed("cut_off", name), start)
                return True
            if not values:
                cur.pos = start + len(name) + 2
                return (yield from _json_body(cur, name, close, start))
            return False
        text = yield from _element_value(cur, literals("</" + tag[1:]), follow)
        if text is None:
            cur.missed(Missed("cut_off", name), start)
            return True
        values[tag[1:-1]] = text


def _json_body(cur: Candidate, name: str, close: Literals, start: int) -> Need[bool]:
    """``<N>{...}</N>``."""
    yield from cur.space()
    if (yield from cur.peek()) != "{":
        return False
    if not (yield from arguments(cur, name, start, close | CALL_END)):
        return False
    yield from cur.space()
    yield from cur.literal(close)
    return True


def _element_value(cur: Candidate, closer: Literals, follow: Literals) -> Need[str | None]:
    begin = cur.pos
    while True:
        at, found = yield from cur.until(closer)
        if found is None:
            return None
        behind = cur.pos
        ended = yield from goes_on(cur, follow)
        cur.pos = behind
        if ended:
            return stripped(cur.tape.slice(begin, at))


TOOL_ELEMENTS = (
    Notation(
        name="cline",
        title="Element named after the tool",
        seen_in="Cline and Roo prompts",
        openers=(Opener("<N>", Where.LINE, tool=True),),
        read=tool_element,
        example="<get_weather>\n<city>Oslo</city>\n</get_weather>",
    ),
)
