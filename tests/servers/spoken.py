"""Answers of a model as each kind of server would write them, streamed or whole, and what a client reads at each door."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

Json = dict[str, Any]


@dataclass(frozen=True)
class Spoken:
    """What a model says: ``pieces`` are ("text" | "thinking", str) or ("call", name, arguments), in order."""

    pieces: tuple[tuple[str, ...], ...]
    finish: str = "stop"
    size: int = 7
    """Characters that come at a time in a stream."""
    logprobs: bool = False
    usage: tuple[int, int] = field(default=(10, 5))

    def said(self, kind: str) -> str:
        """All texts, or all thoughts, as one."""
        return "".join(piece[1] for piece in self.pieces if piece[0] == kind)

    @property
    def calls(self) -> list[tuple[str, ...]]:
        return [piece for piece in self.pieces if piece[0] == "call"]

    def cut(self, text: str) -> Iterator[str]:
        """``text`` as it comes in a stream."""
        yield from (text[i : i + self.size] for i in range(0, len(text), self.size))


def _tokens(text: str) -> Json:
    return {"content": [{"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}], "refusal": None}


# -- chat completions ---------------------------------------------------------------------------------------


def _chat(kind: str, choices: list[Json], **more: Any) -> Json:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "m", "choices": choices, **more}


def _chat_usage(spoken: Spoken) -> Json:
    prompt, completion = spoken.usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _chat_call(number: int, name: str, arguments: str) -> Json:
    return {"id": f"call{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_whole(spoken: Spoken) -> bytes:
    """A chat completion."""
    message: Json = {"role": "assistant", "content": spoken.said("text") or None}
    if thinking := spoken.said("thinking"):
        message["reasoning_content"] = thinking
    if spoken.calls:
        message["tool_calls"] = [_chat_call(i, *call[1:]) for i, call in enumerate(spoken.calls)]
    choice: Json = {"index": 0, "message": message, "finish_reason": _chat_reason(spoken)}
    if spoken.logprobs:
        pieces = [piece for kind, text, *_ in spoken.pieces if kind == "text" for piece in spoken.cut(text)]
        choice["logprobs"] = {"content": [t for p in pieces for t in _tokens(p)["content"]], "refusal": None}
    return json.dumps(_chat("chat.completion", [choice], usage=_chat_usage(spoken))).encode()


def chat_stream(spoken: Spoken) -> list[bytes]:
    """The data of a stream's events."""

    def chunk(delta: Json, reason: str | None = None, **more: Any) -> bytes:
        return json.dumps(
            _chat("chat.completion.chunk", [{"index": 0, "delta": delta, "finish_reason": reason, **more}])
        ).encode()

    events, number = [chunk({"role": "assistant", "content": ""})], 0
    for kind, first, *rest in spoken.pieces:
        if kind == "call":
            events.append(chunk({"tool_calls": [{"index": number, **_chat_call(number, first, "")}]}))
            events += [
                chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                for piece in spoken.cut(rest[0])
            ]
            number += 1
        elif kind == "thinking":
            events += [chunk({"reasoning_content": piece}) for piece in spoken.cut(first)]
        else:
            for piece in spoken.cut(first):
                more = {"logprobs": _tokens(piece)} if spoken.logprobs else {}
                events.append(chunk({"content": piece}, **more))
    events.append(chunk({}, _chat_reason(spoken)))
    events.append(json.dumps(_chat("chat.completion.chunk", [], usage=_chat_usage(spoken))).encode())
    return [*events, b"[DONE]"]


def _chat_reason(spoken: Spoken) -> str:
    return "tool_calls" if spoken.calls and spoken.finish == "stop" else spoken.finish


# -- Messages -----------------------------------------------------------------------------------------------


def _blocks(spoken: Spoken) -> list[Json]:
    blocks: list[Json] = []
    for number, (kind, first, *rest) in enumerate(spoken.pieces):
        if kind == "text":
            blocks.append({"type": "text", "text": first})
        elif kind == "thinking":
            blocks.append({"type": "thinking", "thinking": first, "signature": f"sig{number}"})
        else:
            blocks.append({"type": "tool_use", "id": f"toolu_{number}", "name": first, "input": rest[0]})
    return blocks


def _message(spoken: Spoken, blocks: list[Json]) -> Json:
    usage = {"input_tokens": spoken.usage[0], "output_tokens": spoken.usage[1]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": _stop_reason(spoken),
        "stop_sequence": None,
        "usage": usage,
    }


def _stop_reason(spoken: Spoken) -> str:
    reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    return "tool_use" if spoken.calls and spoken.finish == "stop" else reasons[spoken.finish]


def messages_whole(spoken: Spoken) -> bytes:
    """A message; the arguments of its calls must be JSON."""
    blocks = [
        {**block, "input": json.loads(block["input"])} if block["type"] == "tool_use" else block
        for block in _blocks(spoken)
    ]
    return json.dumps(_message(spoken, blocks)).encode()


def messages_stream(spoken: Spoken) -> list[bytes]:
    """The data of a stream's events."""
    start = {
        **_message(spoken, []),
        "stop_reason": None,
        "usage": {"input_tokens": spoken.usage[0], "output_tokens": 1},
    }
    events: list[Json] = [{"type": "message_start", "message": start}]
    fields = {"text": ("text", "text_delta"), "thinking": ("thinking", "thinking_delta")}
    for index, block in enumerate(_blocks(spoken)):
        kind = block["type"]
        name, delta = fields.get(kind, ("input", "input_json_delta"))
        empty = {**block, name: {} if kind == "tool_use" else ""}
        if kind == "thinking":
            empty["signature"] = ""
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        field_ = "partial_json" if kind == "tool_use" else name
        pieces = [{"type": delta, field_: piece} for piece in spoken.cut(block[name])]
        if kind == "thinking":
            pieces.append({"type": "signature_delta", "signature": block["signature"]})
        events += [{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces]
        events.append({"type": "content_block_stop", "index": index})
    last = {"stop_reason": _stop_reason(spoken), "stop_sequence": None}
    events.append({"type": "message_delta", "delta": last, "usage": {"output_tokens": spoken.usage[1]}})
    events.append({"type": "message_stop"})
    return [json.dumps(event).encode() for event in events]


# -- Ollama -------------------------------------------------------------------------------------------------


def _ollama(spoken: Spoken, message: Json, *, done: bool) -> bytes:
    answer: Json = {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": done}
    if done:
        prompt, completion = spoken.usage
        answer |= {"done_reason": spoken.finish, "prompt_eval_count": prompt, "eval_count": completion}
    return json.dumps(answer).encode()


def _ollama_call(name: str, arguments: str) -> Json:
    return {"function": {"name": name, "arguments": json.loads(arguments)}}


def ollama_whole(spoken: Spoken) -> bytes:
    """A chat answer; the arguments of its calls must be JSON."""
    message: Json = {"content": spoken.said("text")}
    if thinking := spoken.said("thinking"):
        message["thinking"] = thinking
    if spoken.calls:
        message["tool_calls"] = [_ollama_call(*call[1:]) for call in spoken.calls]
    return _ollama(spoken, message, done=True)


def ollama_stream(spoken: Spoken) -> list[bytes]:
    """The lines of a stream."""
    lines: list[bytes] = []
    for kind, first, *rest in spoken.pieces:
        if kind == "call":
            lines.append(_ollama(spoken, {"tool_calls": [_ollama_call(first, rest[0])]}, done=False))
        else:
            name = "content" if kind == "text" else "thinking"
            lines += [_ollama(spoken, {name: piece}, done=False) for piece in spoken.cut(first)]
    return [*lines, _ollama(spoken, {}, done=True)]


# -- what a client reads ------------------------------------------------------------------------------------


@dataclass
class Read:
    """What a client makes of an answer. Calls are (name, decoded arguments)."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    why: str | None = None
    usage: tuple[int, int] = (0, 0)
    logprobs: list[str] = field(default_factory=list)


def events_of(data: bytes) -> list[Json]:
    """The events of a stream, each named as its own type says where it is named at all."""
    events = []
    for block in data.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":") and line)
        if not lines or lines["data"] == "[DONE]":
            continue
        event = json.loads(lines["data"])
        assert lines.get("event", event.get("type")) == event.get("type")
        events.append(event)
    return events


def read_chat(data: bytes, *, streamed: bool) -> Read:
    """An answer at ``/v1/chat/completions``, as OpenAI's SDK understands it."""
    if streamed:
        assert data.endswith(b"data: [DONE]\n\n")
        state = ChatCompletionStreamState()  # type: ignore[var-annotated]  # nothing is parsed
        thinking = ""
        for event in events_of(data):
            chunk = ChatCompletionChunk.model_validate(event, strict=True)
            state.handle_chunk(chunk)
            for choice in chunk.choices:
                thinking += (choice.delta.model_extra or {}).get("reasoning_content") or ""
        answer: ChatCompletion = state.current_completion_snapshot
    else:
        answer = ChatCompletion.model_validate_json(data, strict=True)
        thinking = (answer.choices[0].message.model_extra or {}).get("reasoning_content") or ""
    (choice,) = answer.choices
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    functions = [call.function for call in choice.message.tool_calls or () if call.type == "function"]
    return Read(
        text=choice.message.content or "",
        thinking=thinking,
        calls=[(function.name, json.loads(function.arguments)) for function in functions],
        why=choice.finish_reason,
        usage=(answer.usage.prompt_tokens, answer.usage.completion_tokens),
        logprobs=[t.token for t in (choice.logprobs and choice.logprobs.content) or ()],
    )


_message_event: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


def read_message(data: bytes, *, streamed: bool) -> Read:
    """An answer at ``/v1/messages``, as Anthropic's SDK understands it."""
    if streamed:
        snapshot, buffers = None, {}  # type: ignore[var-annotated]
        open_block, count = None, 0
        events = [event for event in events_of(data) if event["type"] != "ping"]
        assert [e["type"] for e in events[-2:]] == ["message_delta", "message_stop"]
        for event in events:
            kind = event["type"]
            if kind.startswith("content_block"):
                # One block is open at a time, and they are numbered in order.
                assert event["index"] == (count if kind == "content_block_start" else open_block)
                assert (open_block is None) == (kind == "content_block_start")
                open_block = None if kind == "content_block_stop" else event["index"]
                count += kind == "content_block_start"
            parsed = _message_event.validate_python(event)
            snapshot = accumulate_event(event=parsed, current_snapshot=snapshot, json_bufs=buffers)
        assert open_block is None
        assert snapshot is not None
        answer: Message = snapshot
    else:
        answer = Message.model_validate_json(data)
    assert all(block.text for block in answer.content if block.type == "text")
    return Read(
        text="".join(block.text for block in answer.content if block.type == "text"),
        thinking="".join(block.thinking for block in answer.content if block.type == "thinking"),
        calls=[(block.name, block.input) for block in answer.content if block.type == "tool_use"],
        why=answer.stop_reason,
        usage=(answer.usage.input_tokens, answer.usage.output_tokens),
    )


_response_events = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(ResponseStreamEvent)[0])
}


def read_response(data: bytes, *, streamed: bool) -> Read:
    """An answer at ``/v1/responses``, as OpenAI's SDK understands it."""
    if streamed:
        events = events_of(data)
        for number, event in enumerate(events):
            _response_events[event["type"]].model_validate(event)
            assert event["sequence_number"] == number
        answer = events[-1]["response"]
        assert built(events) == answer["output"]
    else:
        answer = json.loads(data)
    response = Response.model_validate(answer)
    parts = [part for item in answer["output"] for part in item.get("content") or ()]
    assert response.usage is not None
    why = (answer["incomplete_details"] or {}).get("reason") or answer["status"]
    return Read(
        text="".join(part["text"] for part in parts if part["type"] == "output_text"),
        thinking="".join(part["text"] for part in parts if part["type"] == "reasoning_text"),
        calls=[
            (item["name"], json.loads(item["arguments"]))
            for item in answer["output"]
            if item["type"] == "function_call"
        ],
        why=why,
        usage=(response.usage.input_tokens, response.usage.output_tokens),
        logprobs=[token["token"] for part in parts for token in part.get("logprobs") or ()],
    )


def built(events: Sequence[Json]) -> list[Json]:
    """The output that the events of a response add up to; each is checked against what was said before it."""
    output: list[Json] = []
    open_: Json | None = None
    texts: dict[tuple[str, int], str] = {}
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert open_ is None
            assert event["output_index"] == len(output)
            open_ = event["item"]
            assert open_["status"] == "in_progress"
        elif kind == "output_item.done":
            assert open_ is not None
            assert event["item"]["id"] == open_["id"]
            for index, part in enumerate(event["item"].get("content") or ()):
                assert texts.pop((open_["id"], index)) == part["text"]
            output.append(event["item"])
            open_ = None
        elif "item_id" in event:
            assert open_ is not None
            assert (event["item_id"], event["output_index"]) == (open_["id"], len(output))
            at = (event["item_id"], event.get("content_index", 0))
            if kind.endswith((".delta",)):
                texts[at] = texts.get(at, "") + event["delta"]
            elif kind.endswith("_text.done"):
                assert texts.setdefault(at, "") == event["text"]
            elif kind.endswith("arguments.done"):
                assert texts.pop(at, "") == event["arguments"]
    assert open_ is None
    assert texts == {}
    return output
