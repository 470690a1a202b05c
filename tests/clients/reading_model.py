"""A scripted model that reads a file with a call written as text, and then says what it read."""

from __future__ import annotations

import json
import re
from typing import Any

from servers.scripted import Recorded, Script, ScriptedServer, chunk, ending, is_chat, stream, whole_text


class ReadingModel(ScriptedServer):
    """Answers by what it is asked: with tools and no result yet it writes ``call``; given a result it quotes from it.

    What it quotes (the word after "secret word is") it can only know from the tool's result, so an agent that prints it
    has run the call. Requests without tools (titles, summaries) get ``plain``.
    """

    def __init__(self, call: str, *, plain: str = "Lighthouse") -> None:
        super().__init__()
        self.call = call
        self.plain = plain

    @property
    def guarded(self) -> list[Recorded]:
        """The chat requests that offer tools."""
        return [chat for chat in self.chats if chat.json.get("tools")]

    def _script(self, request: Recorded) -> Script:
        if not is_chat(request):
            return super()._script(request)
        text = self._answer_to(request.json)
        if not request.json.get("stream"):
            return whole_text(text)
        pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
        head = chunk({"role": "assistant", "content": None})
        return stream([head, *(chunk({"content": piece}) for piece in pieces), *ending()])

    def _answer_to(self, body: dict[str, Any]) -> str:
        if not body.get("tools"):
            return self.plain
        results = [message for message in body["messages"] if message["role"] == "tool"]
        if not results:
            return self.call
        found = re.search(r"secret word is (\w+)", json.dumps(results))
        return f"The secret word is {found[1]}." if found else "The file does not say."
