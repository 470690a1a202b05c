"""The synthetic ``respond`` tool: its ``message`` argument is text for the user, decoded while it is generated."""

from __future__ import annotations

import json
import re
from typing import Final

from forge.core.request import Tool

RESPOND_TOOL_NAME: Final = "respond"
RESPOND_DESCRIPTION: Final = (
    "Send a message to the user. Use this for everything that you want to tell them: the final answer, a question, "
    "or why something cannot be done. Prefer the other tools while there is still work to do."
)
RESPOND_TOOL: Final = Tool(
    name=RESPOND_TOOL_NAME,
    description=RESPOND_DESCRIPTION,
    parameters={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The complete message, as the user should read it"}
        },
        "required": ["message"],
    },
)

_WRITTEN_OPENING: Final = re.compile(
    r"\s*(?:<(?:tool_call|tools|function_call)>|<\|python_tag\|>|```(?:json|tool_call)?\s)?"
    r'\s*\{\s*"name"\s*:\s*"respond"\s*,\s*"(?:arguments|parameters)"\s*:\s*'
)
_LONGEST_OPENING: Final = 200
_OPENING: Final = re.compile(r'\s*\{\s*"message"\s*:\s*"')
_OPENING_PREFIX: Final = re.compile(
    r'\s*(?:\{\s*(?:"(?:m(?:e(?:s(?:s(?:a(?:g(?:e(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?)?)?$'
)
_SIMPLE_ESCAPES: Final = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}


class MessageReader:
    """Decodes ``{"message": "..."}`` piece by piece; :meth:`feed` returns the text that became certain.

    Anything that does not start like that is not decoded here (``failed`` is True) and is read as an ordinary
    call once it is whole. Text handed out is never wrong: an escape is held until it is complete.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._inside = False
        self.done = False
        self.failed = False
        self._released: list[str] = []

    @property
    def begun(self) -> bool:
        """Whether any of the message was given out."""
        return bool(self._released)

    @property
    def released(self) -> str:
        """All of the message that was given out."""
        return "".join(self._released)

    def feed(self, piece: str) -> str:
        """Take the next piece of the arguments' JSON text; return the newly decoded text."""
        if self.done or self.failed:
            return ""
        self._buffer += piece
        if not self._inside and not self._open():
            return ""
        text = self._decode()
        if text:
            self._released.append(text)
        return text

    def _open(self) -> bool:
        match = _OPENING.match(self._buffer)
        if match is None:
            self.failed = _OPENING_PREFIX.match(self._buffer) is None
            return False
        self._inside = True
        self._buffer = self._buffer[match.end() :]
        return True

    def _decode(self) -> str:
        out: list[str] = []
        buffer, pos = self._buffer, 0
        while pos < len(buffer):
            char = buffer[pos]
            if char == '"':
                self.done = True
                pos = len(buffer)
            elif char == "\\":
                decoded, used = _escape(buffer, pos)
                if not used:
                    break
                out.append(decoded)
                pos += used
            else:
                end = pos + 1
                while end < len(buffer) and buffer[end] not in '"\\':
                    end += 1
                out.append(buffer[pos:end])
                pos = end
        self._buffer = buffer[pos:]
        return "".join(out)


def _escape(buffer: str, pos: int) -> tuple[str, int]:
    """Decode one escape at ``pos``; ("", 0) when more input is needed."""
    if pos + 1 >= len(buffer):
        return "", 0
    kind = buffer[pos + 1]
    if kind != "u":
        # An escape that JSON does not know stands for the character itself: small models write \d and \'.
        return _SIMPLE_ESCAPES.get(kind, "\\" + kind), 2
    digits = buffer[pos + 2 : pos + 6]
    if len(digits) < 4:
        return "", 0
    try:
        code = int(digits, 16)
    except ValueError:
        return "\\u", 2
    if 0xD800 <= code < 0xDC00:
        low = buffer[pos + 6 : pos + 12]
        if len(low) < 6 and "\\u".startswith(low[:2]):
            return "", 0
        if re.fullmatch(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", low):
            return json.loads(f'"{buffer[pos : pos + 12]}"'), 12
    return chr(code), 6


class WrittenRespond:
    """Finds the arguments of a ``respond`` call with which a text begins, as they grow.

    Only a text that begins with the call, with or without one of the usual openers before it, is recognised: then it is
    no example of a call and no talk about one.
    """

    def __init__(self) -> None:
        self._opening = ""
        self.inside = False

    def feed(self, piece: str) -> str:
        """The part of ``piece`` that belongs to the arguments ("" when there is none)."""
        if self.inside:
            return piece
        if len(self._opening) > _LONGEST_OPENING:
            return ""
        self._opening += piece
        match = _WRITTEN_OPENING.match(self._opening)
        if match is None:
            return ""
        self.inside = True
        return self._opening[match.end() :]


def respond_message(arguments: str) -> str:
    """The message of a whole ``respond`` call, from its arguments' JSON text; that text itself where it has none."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    message = value.get("message", value or "") if isinstance(value, dict) else value
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
