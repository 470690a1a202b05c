"""Turns as transcripts: the deltas of each attempt in, visible outputs and requests out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from forge.core.capabilities import Capabilities
from forge.core.events import CallDelta, CallReady, Delta, Finish, Finished, Output, Retrying, Send, TextDelta
from forge.core.request import Request
from forge.engine import Turn

CONSTRAINING = Capabilities(constrains=True)
STOP = Finish(reason="stop")
CALLS = Finish(reason="tool_calls")


def native(name: str, arguments: str, index: int = 0, call_id: str | None = "id1") -> CallDelta:
    return CallDelta(index=index, id=call_id, name=name, arguments=arguments)


class Played:
    """The transcript of a whole turn."""

    def __init__(self, turn: Turn, attempts: Sequence[Sequence[Delta] | Exception]) -> None:
        self.requests: list[Request] = []
        self.outputs: list[Output] = []
        waiting = list(attempts)
        queue = turn.start()
        while queue:
            following: list[Output] = []
            for output in queue:
                if isinstance(output, Send):
                    self.requests.append(output.request)
                    following += self._attempt(turn, waiting.pop(0))
                else:
                    self.outputs.append(output)
            queue = following
        assert waiting == [], "not all scripted attempts were asked for"
        assert turn.done

    def _attempt(self, turn: Turn, deltas: Sequence[Delta] | Exception) -> list[Output]:
        if isinstance(deltas, Exception):
            return turn.fail(deltas)  # type: ignore[arg-type]  # only ForgeErrors are scripted
        outputs: list[Output] = []
        for delta in deltas:
            outputs += turn.feed(delta)
        return outputs

    @property
    def text(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, TextDelta))

    @property
    def calls(self) -> list[tuple[str, object]]:
        return [(o.name, json.loads(o.arguments)) for o in self.outputs if isinstance(o, CallReady)]

    @property
    def reasons(self) -> list[str]:
        return [o.reason for o in self.outputs if isinstance(o, Retrying)]

    @property
    def end(self) -> Finished:
        last = self.outputs[-1]
        assert isinstance(last, Finished)
        return last


def text_attempt(text: str, reason: str = "stop") -> list[Delta]:
    return [TextDelta(text), Finish(reason=reason)]
