"""The four protocols that clients speak, as a test needs them: a client, and answers in the protocol's own form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from servers.scripted import Script

from forge.clients.anthropic import AnthropicClient
from forge.clients.llamafile import LlamafileClient
from forge.clients.model_client import ModelClient
from forge.clients.ollama import OllamaClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.clients.transport import Timeouts
from forge.clients.vllm import VLLMClient

Json = dict[str, Any]


@dataclass(frozen=True)
class Protocol:
    """How one protocol's streams look. ``frame`` makes the bytes of one object on the wire."""

    name: str
    client: Callable[[str, Timeouts], ModelClient]
    kind: str
    frame: Callable[[Json], bytes]
    head: list[Json]
    text: Callable[[str], Json]
    calls: list[Json]
    """Two calls, ``f {"a":1}`` and ``g {"b":2}``, indexed as carelessly as real servers do."""
    nulls: list[Json]
    """An answer that says "Hello" and null for everything that may be null."""
    tail: list[Json]
    error: Json
    done: bytes = b""
    whole: Callable[[str], Json] = lambda text: {"text": text}

    def events(self, *objects: Json) -> list[bytes]:
        return [self.frame(o) for o in objects]

    def stream(self, *texts: str) -> list[bytes]:
        """A whole stream with these pieces of text."""
        return [*self.events(*self.head, *map(self.text, texts), *self.tail), self.done]

    def script(self, steps: list[Any], **options: Any) -> Script:
        headers = {"Content-Type": self.kind, **options.pop("headers", {})}
        return Script([step for step in steps if step != b""], headers=headers, **options)


def sse(value: Json) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def line(value: Json) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _choice(delta: Json, finish: str | None = None) -> Json:
    return {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _openai(name: str, client: Callable[[str, Timeouts], ModelClient]) -> Protocol:
    def call(call_id: str, function: str, arguments: str) -> Json:
        return {"index": 0, "id": call_id, "function": {"name": function, "arguments": arguments}}

    return Protocol(
        name=name,
        client=client,
        kind="text/event-stream",
        frame=sse,
        head=[_choice({"role": "assistant", "content": None})],
        text=lambda text: _choice({"content": text}),
        calls=[
            _choice({"tool_calls": [call("1", "f", '{"a":1}')]}),
            _choice({"tool_calls": [call("2", "g", '{"b":2}')]}),
        ],
        nulls=[
            {"id": None, "model": None, "choices": None, "usage": None},
            {"choices": [{"index": None, "delta": None, "finish_reason": None, "logprobs": None}]},
            _choice(
                {"role": None, "content": "Hello", "tool_calls": None, "reasoning": None, "refusal": None}
            ),
        ],
        tail=[_choice({}, "stop"), {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": None}}],
        error={"error": {"message": "engine broke", "code": 500}},
        done=b"data: [DONE]\n\n",
        whole=lambda text: {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
        },
    )


def _ollama_message(message: Json, **more: Any) -> Json:
    return {"model": "m", "message": {"role": "assistant", **message}, "done": False, **more}


OLLAMA = Protocol(
    name="ollama",
    client=lambda root, timeouts: OllamaClient("m", root, timeout=timeouts),
    kind="application/x-ndjson",
    frame=line,
    head=[],
    text=lambda text: _ollama_message({"content": text}),
    calls=[
        _ollama_message(
            {"content": "", "tool_calls": [{"function": {"index": 0, "name": n, "arguments": a}}]}
        )
        for n, a in (("f", {"a": 1}), ("g", {"b": 2}))
    ],
    nulls=[
        {"model": None, "message": None, "done": None, "error": None},
        _ollama_message({"content": "Hello", "thinking": None, "tool_calls": None}),
    ],
    tail=[
        {
            "model": "m",
            "message": {"content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 5,
        }
    ],
    error={"error": "engine broke"},
    whole=lambda text: {"model": "m", "message": {"content": text}, "done": True, "done_reason": "stop"},
)


def _block(index: int, kind: str, **fields: Any) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def _delta(index: int, kind: str, **fields: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def _anthropic_call(name: str, arguments: str) -> list[Json]:
    return [
        _block(1, "tool_use", id=f"toolu_{name}", name=name, input={}),
        _delta(1, "input_json_delta", partial_json=arguments),
        {"type": "content_block_stop", "index": 1},
    ]


ANTHROPIC = Protocol(
    name="anthropic",
    client=lambda root, timeouts: AnthropicClient("m", "key", base_url=root, timeout=timeouts, max_retries=0),
    kind="text/event-stream",
    frame=sse,
    head=[{"type": "message_start", "message": {"id": "1", "model": "m", "usage": {"input_tokens": 5}}}],
    text=lambda text: _delta(0, "text_delta", text=text),
    calls=[*_anthropic_call("f", '{"a":1}'), *_anthropic_call("g", '{"b":2}')],
    nulls=[
        {"type": "message_start", "message": None},
        {"type": "content_block_start", "index": None, "content_block": None},
        _delta(0, "text_delta", text="Hello", citations=None),
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "message_delta", "delta": None, "usage": None},
    ],
    tail=[
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": None}},
        {"type": "message_stop"},
    ],
    error={"type": "error", "error": {"type": "api_error", "message": "engine broke"}},
    whole=lambda text: {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"},
)

PROTOCOLS = [
    _openai("llamafile", lambda root, t: LlamafileClient("m", f"{root}/v1", timeout=t)),
    _openai("openai", lambda root, t: OpenAICompatClient("m", f"{root}/v1", timeout=t, max_retries=0)),
    _openai(
        "vllm",
        lambda root, t: VLLMClient("m", base_url=f"{root}/v1", timeout=t, adopt_served_identity=False),
    ),
    OLLAMA,
    ANTHROPIC,
]
