"""The items of a Responses conversation, rewritten as chat messages.

What a model wrote in one go (thinking, text, calls) is several items there and one message here. Items are taken in
order and each only ever adds to what came before, so a longer conversation begins with the messages of a shorter one.
Texts that open the conversation, of whatever of the two privileged roles, become one system message: many chat
templates know no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw, Struct

from forge.core.request import Call, ChatMessage, Opaque, Part, Protocol, Result, Text
from forge.errors import RequestError
from forge.wire.fields import read_field
from forge.wire.json_text import dumps
from forge.wire.responses_parts import read_parts, texts
from forge.wire.responses_reasoning import read_reasoning
from forge.wire.responses_tools import CUSTOM_INPUT, wire_name

_SYSTEM_ROLES = ("system", "developer")
_CALLS_OF_CLIENTS = frozenset({"local_shell_call", "shell_call", "apply_patch_call"})
"""Calls of OpenAI's own tools that the client runs: each has an item with its output."""
_NOT_ARGUMENTS = frozenset({"type", "id", "call_id", "status", "caller"})
_NOT_OUTPUT = frozenset({"type", "id", "call_id", "caller", "max_output_length"})


class _Kind(Struct):
    type: str | None = None
    role: str | None = None


class _Message(Struct):
    role: str
    content: str | list[Raw] | None = None


class _FunctionCall(Struct):
    name: str
    call_id: str | None = None
    id: str | None = None
    arguments: str | None = None
    namespace: str | None = None


class _CustomCall(Struct):
    name: str
    call_id: str | None = None
    id: str | None = None
    input: str | None = None
    namespace: str | None = None


class _Output(Struct):
    output: Raw = Raw(b"null")
    call_id: str | None = None
    id: str | None = None


class _Tools(Struct):
    tools: list[Raw]


class _Ids(Struct):
    id: str | None = None
    call_id: str | None = None


class _Reasoning(Struct):
    content: list[Raw] | None = None
    summary: list[Raw] | None = None
    encrypted_content: str | None = None


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_string = msgspec.json.Decoder(str).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_call = msgspec.json.Decoder(_FunctionCall).decode
_decode_custom_call = msgspec.json.Decoder(_CustomCall).decode
_decode_output = msgspec.json.Decoder(_Output).decode
_decode_reasoning = msgspec.json.Decoder(_Reasoning).decode
_decode_tools = msgspec.json.Decoder(_Tools).decode
_decode_ids = msgspec.json.Decoder(_Ids).decode


class Conversation:
    """Items on their way to messages. ``tools`` are those that items offer; ``left_out`` names, each once, what has
    no form in a chat.
    """

    def __init__(self, instructions: str | None = None) -> None:
        self.tools: list[Raw] = []
        self.left_out: dict[str, None] = {}
        self._opening: list[list[Part]] = [[Text(instructions)]] if instructions else []
        """The privileged texts before the first message of another kind."""
        self._done: list[ChatMessage] = []
        self._turn: list[Part] = []
        self._turn_speaks = False
        self._turn_calls = False
        self._shown: list[Part] = []

    def add(self, items: Iterable[Raw], first: int = 0) -> None:
        """Take further items; ``first`` is the number under which an error names the first one.

        Raises:
            RequestError: an item is not written as it must be; names its field.
        """
        for number, item in enumerate(items, first):
            self._item(item, f"input[{number}]")

    def messages(self) -> tuple[ChatMessage, ...]:
        """The messages of all items so far."""
        self._end_turn()
        self._show()
        self._end_opening()
        return tuple(self._done)

    def _item(self, raw: Raw, param: str) -> None:
        head = read_field(_decode_kind, raw, param)
        kind = head.type or ("message" if head.role is not None else None)
        if kind is None:
            raise RequestError(f"'{param}.type' is missing", f"{param}.type")
        reader = _READERS.get(kind)
        if reader is not None:
            reader(self, raw, param)
        elif kind in _CALLS_OF_CLIENTS:
            self._client_call(kind.removesuffix("_call"), raw, param)
        elif kind.removesuffix("_output") in _CALLS_OF_CLIENTS:
            self._client_output(raw, param)
        else:
            self.left_out[f"input items of type {kind!r}"] = None

    # -- readers, one for each kind of item -------------------------------------------------------------------

    def _message(self, raw: Raw, param: str) -> None:
        item = read_field(_decode_message, raw, param)
        parts = read_parts(item.content, f"{param}.content", "" if item.role == "assistant" else "\n")
        if item.role == "assistant":
            self._assistant(parts)
            return
        self._end_turn()
        self._show()
        if item.role not in _SYSTEM_ROLES:
            self._add(ChatMessage(role=item.role, parts=tuple(parts), protocol=Protocol.OPENAI))
        elif self._done:
            self._add(ChatMessage(role="system", parts=tuple(parts), protocol=Protocol.OPENAI))
        else:
            self._opening.append(parts)

    def _reasoning(self, raw: Raw, param: str) -> None:
        item = read_field(_decode_reasoning, raw, param)
        shown = texts(
            item.content or item.summary or (), f"{param}.content" if item.content else f"{param}.summary"
        )
        blocks = read_reasoning(item.encrypted_content, "\n".join(shown))
        if blocks is None:
            self.left_out["reasoning that was encrypted elsewhere"] = None
        else:
            self._begin_turn()
            self._turn += blocks

    def _function_call(self, raw: Raw, param: str) -> None:
        item = read_field(_decode_call, raw, param)
        name = wire_name(item.name, item.namespace)
        self._call(Call(id=item.call_id or item.id or "", name=name, arguments=item.arguments or ""))

    def _custom_call(self, raw: Raw, param: str) -> None:
        item = read_field(_decode_custom_call, raw, param)
        arguments = dumps({CUSTOM_INPUT: item.input or ""}).decode()
        name = wire_name(item.name, item.namespace)
        self._call(Call(id=item.call_id or item.id or "", name=name, arguments=arguments))

    def _client_call(self, name: str, raw: Raw, param: str) -> None:
        fields = read_field(_decode_fields, raw, param)
        given = read_field(_decode_ids, raw, param)
        arguments = dumps({n: value for n, value in fields.items() if n not in _NOT_ARGUMENTS}).decode()
        self._call(Call(id=given.call_id or given.id or "", name=name, arguments=arguments))

    def _client_output(self, raw: Raw, param: str) -> None:
        fields = read_field(_decode_fields, raw, param)
        ids = read_field(_decode_ids, raw, param)
        said = {n: value for n, value in fields.items() if n not in _NOT_OUTPUT}
        output = said.get("output")
        text = dumps(said).decode() if output is None or len(said) > 1 else _output_text(output, param)
        self._end_turn()
        self._result(ids.call_id or ids.id or "", text)

    def _output(self, raw: Raw, param: str) -> None:
        item = read_field(_decode_output, raw, param)
        text, media = _output_of(item.output, f"{param}.output")
        self._end_turn()
        self._result(item.call_id or item.id or "", text)
        self._shown += media

    def _additional_tools(self, raw: Raw, param: str) -> None:
        self.tools += read_field(_decode_tools, raw, param).tools

    # -- messages under construction --------------------------------------------------------------------------

    def _add(self, message: ChatMessage) -> None:
        self._end_opening()
        self._done.append(message)

    def _end_opening(self) -> None:
        if not self._opening:
            return
        parts = [part for message in self._opening for part in message]
        if len(self._opening) > 1:
            joined = Text("\n\n".join(part.text for part in parts if isinstance(part, Text)))
            parts = [joined, *(part for part in parts if isinstance(part, Opaque))]
        self._done.append(ChatMessage(role="system", parts=tuple(parts), protocol=Protocol.OPENAI))
        self._opening = []

    def _assistant(self, parts: list[Part]) -> None:
        self._begin_turn()
        if self._turn_speaks:
            parts = [Text("\n\n"), *parts]
        self._turn += parts
        self._turn_speaks = self._turn_speaks or bool(parts)

    def _result(self, call_id: str, text: str) -> None:
        self._add(ChatMessage(role="tool", parts=(Result(call_id=call_id, content=text),)))

    def _call(self, call: Call) -> None:
        self._show()
        self._turn.append(call)
        self._turn_calls = True

    def _begin_turn(self) -> None:
        """End the message that was written before, unless it waits for results: those must follow it at once."""
        self._show()
        if self._turn_speaks and not self._turn_calls:
            self._end_turn()

    def _end_turn(self) -> None:
        if self._turn:
            self._add(ChatMessage(role="assistant", parts=tuple(self._turn), protocol=Protocol.OPENAI))
            self._turn = []
            self._turn_speaks = self._turn_calls = False

    def _show(self) -> None:
        """What results held beside text, as the user's message: the chat protocol has tools return text only."""
        if self._shown:
            parts = (Text("Returned by the tool:"), *self._shown)
            self._add(ChatMessage(role="user", parts=parts, protocol=Protocol.OPENAI))
            self._shown = []


_Reader = Callable[[Conversation, Raw, str], None]
_READERS: dict[str, _Reader] = {
    "message": Conversation._message,  # noqa: SLF001 - the class's own table
    "additional_tools": Conversation._additional_tools,  # noqa: SLF001
    "reasoning": Conversation._reasoning,  # noqa: SLF001
    "function_call": Conversation._function_call,  # noqa: SLF001
    "function_call_output": Conversation._output,  # noqa: SLF001
    "custom_tool_call": Conversation._custom_call,  # noqa: SLF001
    "custom_tool_call_output": Conversation._output,  # noqa: SLF001
}


def _output_text(raw: Raw, param: str) -> str:
    data = bytes(raw)
    return read_field(_decode_string, raw, param) if data[:1] == b'"' else data.decode()


def _output_of(raw: Raw, param: str) -> tuple[str, list[Part]]:
    """The text of an output, and what else it shows."""
    if bytes(raw) == b"null":
        return "", []
    if bytes(raw)[:1] != b"[":
        return _output_text(raw, param), []
    parts = read_parts(read_field(_decode_list, raw, param), param, "\n")
    media: list[Part] = [part for part in parts if isinstance(part, Opaque)]
    return "\n".join(part.text for part in parts if isinstance(part, Text)), media
