import json

import pytest
from msgspec import Raw

from forge.core.request import ChatMessage, Constraint, Protocol, Request, Text, Tool
from forge.wire.anthropic import Defaults, VerbatimRequest, encode_request
from forge.wire.openai import decode_request

TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "does f",
        "parameters": {"properties": {"a": {"type": "integer"}}},
    },
}
OTHER = {"type": "function", "function": {"name": "g"}}
USER = {"role": "user", "content": "hi"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def asked(**fields):
    return decode_request(json.dumps({"model": "m", "messages": [USER], **fields}).encode())


def sent(request, defaults=None, **options):
    return json.loads(encode_request(request, defaults, **options))


def test_a_plain_request():
    body = encode_request(asked())

    assert json.loads(body) == {
        "model": "m",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }
    assert body.endswith(b'"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}')


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"max_tokens": 7}, {"max_tokens": 7}, id="limit"),
        pytest.param({"max_completion_tokens": 8}, {"max_tokens": 8}, id="new name of the limit"),
        pytest.param({"stop": "x"}, {"stop_sequences": ["x"]}, id="stop text"),
        pytest.param({"stop": ["x", "\n", "y"]}, {"stop_sequences": ["x", "y"]}, id="stop list"),
        pytest.param({"stop": ["\n"]}, {}, id="only blank stops"),
        pytest.param({"temperature": 1.7}, {"temperature": 1}, id="temperature scale"),
        pytest.param({"temperature": 0.3, "top_p": 0.9, "top_k": 5}, {"temperature": 0.3, "top_p": 0.9, "top_k": 5}, id="sampling"),
        pytest.param({"user": "u"}, {"metadata": {"user_id": "u"}}, id="user"),
        pytest.param({"metadata": {"run": "1"}}, {}, id="metadata of another kind"),
        pytest.param({"metadata": {"user_id": "u", "x": 1}}, {"metadata": {"user_id": "u"}}, id="metadata"),
        pytest.param({"service_tier": "flex"}, {}, id="another vendor's tier"),
        pytest.param({"service_tier": "standard_only"}, {"service_tier": "standard_only"}, id="tier"),
        pytest.param({"seed": 1, "n": 1, "logit_bias": {}, "frequency_penalty": 0, "min_p": 0.1}, {}, id="unknown there"),
        pytest.param({"extra_headers": {}, "timeout": 3}, {}, id="sdk controls"),
        pytest.param({"container": "c"}, {"container": "c"}, id="its own fields"),
    ],
)  # fmt: skip
def test_options(fields, expected):
    body = sent(asked(**fields))

    assert {"max_tokens": 4096, **expected} == {
        name: value for name, value in body.items() if name not in ("model", "messages")
    }


@pytest.mark.parametrize(
    ("choice", "more", "expected"),
    [
        (None, {}, None),
        ("auto", {}, {"type": "auto"}),
        ("required", {}, {"type": "any"}),
        ("none", {}, {"type": "none"}),
        ({"type": "function", "function": {"name": "f"}}, {}, {"type": "tool", "name": "f"}),
        (None, {"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", {"parallel_tool_calls": False}, {"type": "any", "disable_parallel_tool_use": True}),
        ("none", {"parallel_tool_calls": False}, {"type": "none"}),
        ("required", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"type": "auto"}),
        ("required", {"thinking": {"type": "disabled"}}, {"type": "any"}),
    ],
)
def test_tool_choice(choice, more, expected):
    body = sent(asked(tools=[TOOL], tool_choice=choice, **more))

    assert body.get("tool_choice") == expected
    assert body["tools"] == [{"name": "f", "description": "does f", "input_schema": SCHEMA}]


def test_no_choice_without_tools():
    assert "tool_choice" not in sent(asked(tool_choice="auto"))


def test_the_clients_defaults():
    defaults = Defaults(max_tokens=9, thinking={"type": "adaptive"}, tool_choice={"type": "auto"})
    body = sent(asked(tools=[TOOL]), defaults, model="pinned")

    assert (body["model"], body["max_tokens"]) == ("pinned", 9)
    assert (body["thinking"], body["tool_choice"]) == ({"type": "adaptive"}, {"type": "auto"})


@pytest.mark.parametrize(("count", "choice"), [(1, {"type": "tool", "name": "f"}), (2, {"type": "any"})])
def test_a_constraint_is_a_forced_call(count, choice):
    request = asked(tools=[TOOL, OTHER])
    constrained = Request(
        messages=request.messages, tools=request.tools, constraint=Constraint(tools=request.tools[:count])
    )

    assert sent(constrained)["tool_choice"] == choice


def test_cache_breakpoints():
    system = [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, USER]
    body = sent(asked(tools=[TOOL, OTHER], messages=system), Defaults(prompt_caching=True))

    mark = {"type": "ephemeral"}
    assert [entry.get("cache_control") for entry in body["tools"]] == [None, mark]
    assert [entry.get("cache_control") for entry in body["system"]] == [None, mark]


def test_a_body_of_the_protocol_itself_goes_out_as_it_is():
    body = {
        "model": "theirs", "stream": True, "timeout": 3, "max_tokens": 5, "unknown": {"a": None},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}],
    }  # fmt: skip
    request = VerbatimRequest(messages=(), body=body)

    assert sent(request) == {name: v for name, v in body.items() if name not in ("stream", "timeout")}
    assert sent(request, model="pinned")["model"] == "pinned"


def test_what_came_in_this_protocol_goes_out_in_its_own_bytes():
    raw = Raw(b'{"role": "user",  "content": "x"}')
    tool = Raw(b'{"name": "f",  "input_schema": {}, "cache_control": {"type": "ephemeral"}}')
    request = Request(
        messages=(
            ChatMessage(role="system", raw=Raw(b'"be good"'), protocol=Protocol.ANTHROPIC),
            ChatMessage(role="user", parts=(Text("x"),), raw=raw, protocol=Protocol.ANTHROPIC),
        ),
        tools=(Tool(name="f", raw=tool, protocol=Protocol.ANTHROPIC),),
    )
    body = encode_request(request)

    assert bytes(raw) in body
    assert bytes(tool) in body
    assert json.loads(body)["system"] == "be good"
