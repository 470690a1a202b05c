"""Answers of Ollama's ``/api/chat``, streamed or whole, decoded into deltas.

One reader serves both: a whole answer is a stream of one object that is ``done``. A call comes whole in one object,
its arguments decoded; ``done_reason`` is "stop" for calls too.
"""

from __future__ import annotations

from typing import Any

from forge.core.events import CallDelta, Delta, Finish, ReasoningDelta, Started, TextDelta, Usage
from forge.errors import BackendError, StreamError
from forge.wire.backend_errors import error_from_answer
from forge.wire.json_text import dumps, loads, well_formed

_KNOWN = frozenset(
    {"model", "created_at", "message", "done", "done_reason", "prompt_eval_count", "eval_count"}
)
_REASONS = {"load": "stop", "unload": "stop"}


class ObjectDecoder:
    """Decodes the objects of one answer. Feed each one's bytes; ``done`` once the last one was fed."""

    def __init__(self) -> None:
        self._started = False
        self._calls = 0
        self.done = False

    def feed(self, data: bytes) -> list[Delta]:
        """The deltas of one object; none once there was one that is done, in whatever pieces they come.

        Raises:
            BackendError: it tells of an error, or is no object.
        """
        if self.done:
            return []
        answer = _object(data)
        if answer.get("error"):
            raise error_from_answer(None, answer)
        deltas: list[Delta] = []
        if not self._started:
            self._started = True
            model = answer.get("model")
            deltas.append(Started(model=model if isinstance(model, str) else None))
        message = answer.get("message")
        if isinstance(message, dict):
            self._message(message, deltas)
        if answer.get("done") is True:
            self.done = True
            deltas += self._end(answer)
        return deltas

    def end(self) -> None:
        """The body is over.

        Raises:
            StreamError: nothing in it said that the answer was finished.
        """
        if not self.done:
            raise StreamError("the backend's stream ended before the answer was finished")

    def _message(self, message: dict[str, Any], deltas: list[Delta]) -> None:
        thinking, content = message.get("thinking"), message.get("content")
        if isinstance(thinking, str) and thinking:
            deltas.append(ReasoningDelta(well_formed(thinking)))
        if isinstance(content, str) and content:
            deltas.append(TextDelta(well_formed(content)))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                deltas.append(self._call(call.get("id"), function))

    def _call(self, call_id: Any, function: dict[str, Any]) -> CallDelta:
        name, arguments = function.get("name"), function.get("arguments")
        index = self._calls
        self._calls += 1
        text = (
            arguments
            if isinstance(arguments, str)
            else dumps({} if arguments is None else arguments).decode()
        )
        return CallDelta(
            index=index,
            id=call_id if isinstance(call_id, str) and call_id else None,
            name=well_formed(name) if isinstance(name, str) else "",
            arguments=well_formed(text),
        )

    def _end(self, answer: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        prompt, completion = _count(answer, "prompt_eval_count"), _count(answer, "eval_count")
        if prompt is not None or completion is not None:
            deltas.append(Usage(prompt_tokens=prompt or 0, completion_tokens=completion or 0))
        given = answer.get("done_reason")
        reason = _REASONS.get(given, given) if isinstance(given, str) and given else "stop"
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        extra = {name: value for name, value in answer.items() if name not in _KNOWN and value is not None}
        return [*deltas, Finish(reason=reason, extra=extra)]


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        detail = "the backend's answer is not a JSON object (is this the URL of an Ollama server?)"
        raise BackendError(502, detail, raw_body=data.decode("utf-8", "replace"))
    return value


def _count(answer: dict[str, Any], name: str) -> int | None:
    value = answer.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
