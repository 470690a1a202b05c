"""Whatever a model says, and to whichever server: a client that streams reads what one reads that does not.

The answers go from the bytes of a server's protocol through the turn to the bytes of the door's, and from there through
the types of OpenAI's and Anthropic's own SDKs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import spoken
from servers.spoken import Read, Spoken

from forge.core.capabilities import Capabilities
from forge.core.events import Delta, Finished, Output, Retrying, Send
from forge.core.request import Request
from forge.engine import Policy, Turn
from forge.errors import BackendError
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.door import Door
from forge.proxy.openai_door import OpenAIDoor
from forge.proxy.response_store import ResponseStore
from forge.proxy.responses_door import ResponsesDoor
from forge.wire import anthropic, openai
from forge.wire.ollama import ObjectDecoder

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
FUNCTION = {"name": "read_file", "parameters": SCHEMA}
USER = [{"role": "user", "content": "hi"}]
BODIES: dict[str, tuple[Door, dict[str, Any], Callable[..., Read]]] = {
    "chat": (
        OpenAIDoor(),
        {
            "messages": USER,
            "tools": [{"type": "function", "function": FUNCTION}],
            "stream_options": {"include_usage": True},
        },
        spoken.read_chat,
    ),
    "messages": (
        AnthropicDoor(),
        {"messages": USER, "max_tokens": 9, "tools": [{"name": "read_file", "input_schema": SCHEMA}]},
        spoken.read_message,
    ),
    "responses": (
        ResponsesDoor(ResponseStore()),
        {
            "input": "hi",
            "tools": [{"type": "function", **FUNCTION}],
            "include": ["message.output_text.logprobs"],
        },
        spoken.read_response,
    ),
}


def _chat(answer: Spoken, streamed: bool) -> list[Delta]:
    if not streamed:
        return openai.decode_response(spoken.chat_whole(answer))
    decoder = openai.ChunkDecoder()
    deltas = [delta for event in spoken.chat_stream(answer) for delta in decoder.feed(event)]
    return [*deltas, *decoder.end()]


def _messages(answer: Spoken, streamed: bool) -> list[Delta]:
    if not streamed:
        return anthropic.decode_response(spoken.messages_whole(answer))
    decoder = anthropic.EventDecoder()
    deltas = [delta for event in spoken.messages_stream(answer) for delta in decoder.feed(event)]
    return [*deltas, *decoder.end()]


def _ollama(answer: Spoken, streamed: bool) -> list[Delta]:
    decoder = ObjectDecoder()
    lines = spoken.ollama_stream(answer) if streamed else [spoken.ollama_whole(answer)]
    return [delta for line in lines for delta in decoder.feed(line)]


CHOICES: dict[str, dict[str, Any]] = {
    "chat": {
        "none": "none",
        "required": "required",
        "named": {"type": "function", "function": {"name": "read_file"}},
    },
    "messages": {
        "none": {"type": "none"},
        "required": {"type": "any"},
        "named": {"type": "tool", "name": "read_file"},
    },
    "responses": {"none": "none", "required": "required", "named": {"type": "function", "name": "read_file"}},
}


def in_order(answer: Spoken) -> Spoken:
    """``answer`` in the only order that an answer without an order of its own can have."""
    order = ["thinking", "text", "call"]
    return replace(answer, pieces=tuple(sorted(answer.pieces, key=lambda piece: order.index(piece[0]))))


BACKENDS = {"chat": _chat, "messages": _messages, "ollama": _ollama}


def answered(
    door: Door, request: Request, policy: Policy, attempts: list[list[Delta]], *, streamed: bool
) -> bytes:
    """What comes out of ``door`` when the backend answers each attempt in turn, the last of them ever again.

    An attempt without deltas is one that the backend refuses.
    """
    turn = Turn(request, policy, Capabilities(constrains=True), new_id=door.new_call_id)
    reply = door.reply(request, turn)
    outputs: list[Any] = []
    queue: list[Output] = turn.start()
    sent: list[bytes] = []
    number = 0
    while queue:
        following: list[Output] = []
        for output in queue:
            if isinstance(output, Send):
                deltas = attempts[min(number, len(attempts) - 1)]
                number += 1
                for delta in deltas:
                    following += turn.feed(delta)
                if not deltas:
                    following += turn.fail(BackendError(503, "no room"))
            elif isinstance(output, Finished):
                return b"".join([*sent, reply.finish(output)]) if streamed else reply.whole(outputs, output)
            elif isinstance(output, Retrying):
                continue
            elif streamed:
                sent.append(reply.push(output))
            else:
                outputs.append(output)
        queue = following
    raise AssertionError


# Without spaces, as what is an object in one protocol is written in another.
GOOD = '{"path":"a.txt"}'
TEXTS = st.sampled_from([
    "Hello. ", "Let me read it:", "<", "a < b", "<think>", "hm</think>", "\n", "{", "}", "é😀", "```json\n", "```", "[",
    '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>', '{"name": "nope", "arguments": {}}',
    '<tool_call>{"name": "respond", "arguments": {"message": "Hi \\"you\\""}}</tool_call>', "<tool_call>", " ",
    '{"name": "read_file", "arguments": {"path": "a.txt"}}',
])  # fmt: skip
CALLS = st.one_of(
    st.tuples(
        st.just("call"), st.just("read_file"), st.sampled_from([GOOD, "{}", '{"path":1}', '{"path":null}'])
    ),
    st.tuples(st.just("call"), st.just("nope"), st.just("{}")),
    st.tuples(
        st.just("call"),
        st.just("respond"),
        st.sampled_from(['{"message":"Hi"}', '{"message":"é\\n"}', "{}"]),
    ),
)
PIECES = st.one_of(
    st.tuples(st.just("text"), st.lists(TEXTS, min_size=1, max_size=4).map("".join)),
    st.tuples(st.just("thinking"), st.sampled_from(["I think. ", "Hm: ", "<x>"])),
    CALLS,
)
SPOKEN = st.builds(
    Spoken,
    pieces=st.lists(PIECES, max_size=4).map(tuple),
    finish=st.sampled_from(["stop", "stop", "stop", "length", "content_filter"]),
    size=st.integers(1, 12),
    logprobs=st.booleans(),
)
POLICIES = st.builds(
    Policy,
    max_retries=st.integers(0, 2),
    max_tool_errors=st.integers(0, 1),
    text_policy=st.sampled_from(["auto", "nudge", "respond", "trust"]),
    rescue=st.booleans(),
    constrain=st.booleans(),
    reasoning_replay=st.sampled_from(["full", "none"]),
)

MODES = st.sampled_from(["", "", "none", "required", "named"])


@pytest.mark.parametrize("door", BODIES)
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=40)
@given(attempts=st.lists(SPOKEN, min_size=1, max_size=3), refused=st.booleans(), policy=POLICIES, mode=MODES)
def test_a_stream_says_what_a_whole_answer_says(
    door: str, backend: str, attempts: list[Spoken], refused: bool, policy: Policy, mode: str
) -> None:
    opened, body, read = BODIES[door]
    shown = []
    for streamed in (True, False):
        request = opened.decode(
            json.dumps({**body, "tool_choice": CHOICES[door].get(mode), "stream": streamed}).encode()
        )
        said = attempts if backend == "messages" else map(in_order, attempts)
        deltas = [BACKENDS[backend](attempt, streamed) for attempt in said]
        deltas += [[]] if refused else []
        data = answered(opened, request, policy, deltas, streamed=streamed)
        shown.append(read(data, streamed=streamed))
    stream, whole = shown
    if attempts[0].said("text") != whole.text:
        stream.logprobs = whole.logprobs = []  # those of what is not shown, a thought say, may be missing
    assert stream == whole
