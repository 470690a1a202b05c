"""What a request costs grows with its size and no faster: a body of odd shape must not hold up everybody else.

Each body is one whose cost would grow with the square by any rule that looks at all that came before.
"""

import json

import pytest
from costs import grows_linearly

from forge.core.request import Protocol
from forge.engine import Policy, Turn
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.inbound import inbound
from forge.proxy.openai_door import OpenAIDoor
from forge.proxy.response_store import ResponseStore
from forge.proxy.responses_door import ResponsesDoor
from forge.wire import anthropic, ollama, openai
from forge.wire.anthropic import ThinkingMeans, as_openai
from forge.wire.prompted import as_prompted

MANY = 2_500
DOORS = {"chat": OpenAIDoor(), "messages": AnthropicDoor(), "responses": ResponsesDoor(ResponseStore())}
ENCODERS = {
    Protocol.OPENAI: openai.encode_request,
    Protocol.ANTHROPIC: anthropic.encode_request,
    Protocol.OLLAMA: ollama.encode_request,
}
USER = {"role": "user", "content": "a"}
THOUGHT = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "a"}]}


def chat(*messages):
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    return {"messages": messages, "tools": [tool]}


def chat_calls(count):
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": f"c{i}", "type": "function", "function": function} for i in range(count)]
    return {"role": "assistant", "tool_calls": calls}


def chat_result(i):
    return {"role": "tool", "tool_call_id": f"c{i}", "content": "x"}


def messages(*given):
    return {"max_tokens": 9, "messages": given, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}


def uses(count):
    blocks = [{"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(count)]
    return {"role": "assistant", "content": blocks}


def use_result(i):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{i}", "content": "x"}]}


def responses(*items):
    return {"input": items, "tools": [{"type": "function", "name": "f"}]}


def outputs(count):
    calls = ({"type": "function_call", "call_id": f"c{i}", "name": "f"} for i in range(count))
    return *calls, *(
        {"type": "function_call_output", "call_id": f"c{i}", "output": "x"} for i in range(count)
    )


BODIES = [
    pytest.param("chat", lambda n: chat(*[USER] * n), id="users"),
    pytest.param("chat", lambda n: chat(USER, chat_calls(n), *map(chat_result, range(n))), id="results"),
    pytest.param(
        "chat",
        lambda n: chat(USER, chat_calls(n), *map(chat_result, reversed(range(n)))),
        id="results-reversed",
    ),
    pytest.param("chat", lambda n: chat(USER, chat_calls(n), USER), id="calls-without-results"),
    pytest.param("messages", lambda n: messages(USER, uses(n), *map(use_result, range(n))), id="uses"),
    pytest.param(
        "responses", lambda n: responses(*[{"role": "system", "content": "a" * 99}] * n), id="systems"
    ),
    pytest.param("responses", lambda n: responses(USER, *[THOUGHT] * n), id="thoughts"),
    pytest.param("responses", lambda n: responses(USER, *outputs(n)), id="outputs"),
    pytest.param(
        "responses",
        lambda n: responses({"role": "user", "content": [{"type": "input_text", "text": "a" * 99}] * n}),
        id="parts",
    ),
]


@pytest.mark.parametrize("own", ENCODERS, ids=str)
@pytest.mark.parametrize(("door", "body"), BODIES)
def test_no_shape_of_a_request_costs_more_than_its_size(door, body, own):
    def suited(request):
        converted = request.protocol is Protocol.ANTHROPIC is not own
        return as_openai(request, ThinkingMeans.LLAMA).request if converted else request

    def turn(count):
        data = json.dumps(body(count)).encode()
        request = DOORS[door].decode(data)
        asked = inbound(request, Policy(), suited, body=data, headers=[], sent_headers={})
        sent = Turn(asked.request, asked.policy).start()[0].request
        assert ENCODERS[own](sent)
        assert as_prompted(sent).tools == ()

    assert grows_linearly(turn, MANY)
