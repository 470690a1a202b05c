"""Reading a constrained answer: the whole text is one JSON object ``{"name": ..., "arguments": {...}}``.

Nothing about such a text is doubtful, so none of the reply scanner's caution (examples, placeholders, data)
applies to it. Some servers refuse or ignore the constraint, though: a text that does not begin as an object is
read like any other reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from forge.core.calls import CallSource, ToolCall
from forge.dialects.reply import CallSegment, RejectedSegment, Reply
from forge.dialects.scanner import parse_tool_calls
from forge.engine.respond import WrittenRespond
from forge.engine.runaway import CURBED_TEXT
from forge.schema.filled import fills_a_bound
from forge.schema.spec import as_tools

NOTATION: Final = "constrained"


class ConstrainedReader:
    """Same interface as the reply scanner.

    ``longest_text`` is the constraint's. ``cut_by_bound`` is known at the end: the answer is whole JSON, but a text in
    it fills a bound that only the constraint had, so it counts as cut off. A curbed text may fill its bound: it
    went round in circles before, and nothing is lost.
    """

    def __init__(self, tools: Iterable[object] = (), *, longest_text: int | None = None) -> None:
        self._tools = as_tools(tools)
        self._longest_text = longest_text
        self.cut_by_bound = False
        self._pieces: list[str] = []
        self.respond = WrittenRespond()

    @property
    def inside_respond(self) -> bool:
        """Whether a ``respond`` call is being written, whose message is shown while it grows."""
        return self.respond.inside

    def feed(self, piece: str) -> Reply:
        """Take a piece; a call is only known when the text is over."""
        self._pieces.append(piece)
        return Reply()

    def finish(self, *, cut: bool = False) -> Reply:  # noqa: ARG002  # cut or not, only a whole value is a call
        """Read the whole text as a call; anything else is a call that was cut off or could not be read."""
        text = "".join(self._pieces)
        if not text.strip():
            return Reply()
        if not text.lstrip().startswith("{"):
            return parse_tool_calls(text, self._tools)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return Reply((RejectedSegment(text=text, reason="cut_off", notation=NOTATION),))
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            return Reply((RejectedSegment(text=text, reason="unreadable", notation=NOTATION),))
        arguments = value.get("arguments")
        tool = next((tool for tool in self._tools if tool.name == name), None)
        curbed = self._longest_text is not None and self._longest_text <= CURBED_TEXT
        if tool and not curbed and fills_a_bound(tool, arguments, longest_text=self._longest_text):
            self.cut_by_bound = True
            return Reply((RejectedSegment(text=text, reason="cut_off", notation=NOTATION, name=name),))
        source = CallSource(NOTATION, (0, len(text)))
        return Reply((CallSegment(ToolCall(name, arguments, source=source)),))
