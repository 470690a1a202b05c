"""A caller's history made fit to be sent: what servers and templates trip over is put right, all else stays.

Deterministic, and each message depends only on those before it: the same history always gives the same bytes, and a
longer one only adds to a shorter one. A history without faults comes back as the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from forge.core.request import Call, ChatMessage, Opaque, Part, Result, Text
from forge.schema.names import without_tokens
from forge.wire.arguments import UNREADABLE, sound_arguments
from forge.wire.beginnings import SHORTEST, Beginnings
from forge.wire.call_ids import CallIds
from forge.wire.json_text import is_json, loads
from forge.wire.raw_edit import with_parts
from forge.wire.waiting_calls import WaitingCalls

NO_RESULT = "This call was not run: there is no result."


class Healthy(Struct, frozen=True):
    """A history, and the kinds of faults that were put right in it, in the order in which they were met.

    Kinds: arguments_repaired, arguments_quoted, name_cleaned, id_missing, id_repeated, result_missing, result_paired,
    result_repeated, result_orphaned.
    """

    messages: tuple[ChatMessage, ...]
    changes: tuple[str, ...] = ()


def healthy(messages: Sequence[ChatMessage]) -> Healthy:
    """``messages`` in which each call has an id of its own, arguments that are JSON and, if anything follows, a result."""
    messages = tuple(messages)
    if len(messages) <= SHORTEST and not any(map(_calls_or_answers, messages)):
        return Healthy(messages)
    known = _beginnings.find(messages)
    history = _History() if known is None else known.state.copy()
    done = 0 if known is None else len(known.messages)
    if len(messages) > done:
        for message in messages[done:-1]:
            history.add(message)
        _beginnings.remember(known, messages[:-1], history.copy)
        history.add(messages[-1])
    if not history.changes:
        return Healthy(messages)
    return Healthy(tuple(history.messages), tuple(history.changes))


def _calls_or_answers(message: ChatMessage) -> bool:
    return any(isinstance(part, (Call, Result)) for part in message.parts)


class _History:
    def __init__(self) -> None:
        self.messages: list[ChatMessage] = []
        self.changes: dict[str, None] = {}
        self._ids = CallIds()
        self._open = WaitingCalls()
        self._answered: dict[str, str] = {}
        """Results of the last calls, by the ids that they were sent under."""
        self._foreign: frozenset[str] = frozenset()
        """Ids of calls in the last answer that are of another kind than a function's: none of our business."""

    def copy(self) -> _History:
        """One that goes on from here by itself."""
        other = _History()
        other.messages = self.messages.copy()
        other.changes = self.changes.copy()
        other._ids = self._ids.copy()
        other._open = self._open.copy()
        other._answered = self._answered.copy()
        other._foreign = self._foreign
        return other

    def add(self, message: ChatMessage) -> None:
        has_results = any(isinstance(part, Result) for part in message.parts)
        if not has_results:
            self._end_wait()
        if has_results:
            self._add_results(message)
        elif any(isinstance(part, Call | Opaque) for part in message.parts):
            self._add_calls(message)
        else:
            self.messages.append(message)

    def _note(self, change: str) -> None:
        self.changes[change] = None

    # -- calls ----------------------------------------------------------------------------------------------

    def _add_calls(self, message: ChatMessage) -> None:
        self._answered.clear()
        self._foreign = frozenset(_foreign_ids(message)) if message.role == "assistant" else frozenset()
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Call):
                parts.append(part)
                continue
            call = self._sound(part)
            parts.append(call)
            self._open.add(part.id, call)
        self.messages.append(with_parts(message, parts))

    def _sound(self, call: Call) -> Call:
        call_id = self._ids.unique(call.id)
        if call_id != call.id:
            self._note("id_repeated" if call.id else "id_missing")
        name = without_tokens(call.name)
        if name != call.name:
            self._note("name_cleaned")
        arguments = call.arguments
        if not is_json(arguments) and arguments.strip():
            arguments = sound_arguments(arguments)
            self._note("arguments_quoted" if f'"{UNREADABLE}"' in arguments else "arguments_repaired")
        if (call_id, name, arguments) == (call.id, call.name, call.arguments):
            return call
        return Call(id=call_id, name=name, arguments=arguments)

    # -- results --------------------------------------------------------------------------------------------

    def _add_results(self, message: ChatMessage) -> None:
        if message.role == "tool" and self._repeats_a_result(message):
            self._note("result_repeated")
            return
        parts = [self._paired(part) if isinstance(part, Result) else part for part in message.parts]
        if message.role == "tool" and not any(isinstance(part, Result) for part in parts):
            # Told by the user, and the user's word ends the wait for other results.
            self._end_wait()
            self.messages.append(ChatMessage(role="user", parts=tuple(parts), protocol=message.protocol))
            return
        speaks = message.role == "user" and any(isinstance(part, Text) for part in message.parts)
        self.messages.append(with_parts(message, parts, self._missing() if speaks else ()))

    def _repeats_a_result(self, message: ChatMessage) -> bool:
        """Whether all that a message says was said before, about calls that have their result."""
        return all(
            isinstance(part, Result)
            and part.call_id not in self._open
            and self._answered.get(part.call_id) == part.content
            for part in message.parts
        )

    def _paired(self, result: Result) -> Result | Text:
        """The result under the id of its call; as a text where there is no call for it."""
        call = self._open.take(result.call_id)
        if call is None and result.call_id in self._foreign:
            return result
        if call is None and (not result.call_id or len(self._open) == 1):
            # Some clients leave ids out or write them anew; what comes directly behind a single call belongs to it.
            call = self._open.take_of(result.name)
            if call is not None:
                self._note("result_paired")
        if call is None:
            self._note("result_orphaned")
            of = f" of {result.name}" if result.name else ""
            return Text(f"Result{of} from an earlier call:\n{result.content}")
        self._answered[result.call_id] = result.content
        name = call.name if result.name else ""
        if (call.id, name) == (result.call_id, result.name):
            return result
        return structs.replace(result, call_id=call.id, name=name)

    def _end_wait(self) -> None:
        """Give each call that still waits a result that says so."""
        self.messages += [ChatMessage(role="tool", parts=(result,)) for result in self._missing()]

    def _missing(self) -> list[Result]:
        missing = self._open.take_all()
        if missing:
            self._note("result_missing")
        return [Result(call.id, NO_RESULT, call.name, is_error=True) for call in missing]


def _foreign_ids(message: ChatMessage) -> Iterator[str]:
    for part in message.parts:
        value = loads(bytes(part.raw)) if isinstance(part, Opaque) else None
        if isinstance(value, dict) and isinstance(value.get("id"), str):
            yield value["id"]


_beginnings: Beginnings[_History] = Beginnings()
