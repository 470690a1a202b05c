"""Faults of earlier proxies that no other test shows right; ``docs/decisions/known-faults-proxy.md`` lists them all."""

import json

import aiohttp
import pytest
from servers.running import running_proxy
from servers.scripted import ScriptedServer, whole, whole_call, whole_text

pytestmark = pytest.mark.anyio

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


async def chat(scripts, **body):
    """Status and answer of one chat, and the chats that the backend got."""
    async with (
        ScriptedServer(list(scripts)) as server,
        running_proxy(server.url, backend="llamaserver") as proxy,
        aiohttp.ClientSession() as session,
        session.post(f"{proxy.url}/v1/chat/completions", json=body) as response,
    ):
        return response.status, await response.json(), [each.json for each in server.chats]


HISTORIES = [
    pytest.param(
        [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {"role": "user", "content": "SECOND"},
        ],
        id="words-after-a-result",
    ),
    pytest.param(
        [
            {"role": "user", "content": "a"},
            {"role": "system", "content": "b"},
            {"role": "user", "content": "c"},
            {"role": "user", "content": "d"},
        ],
        id="neighbours",
    ),
    pytest.param(
        [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "user", "content": "b"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "c"}]},
        ],
        id="parts-beside-text-and-null",
    ),
]


@pytest.mark.parametrize("messages", HISTORIES)
async def test_a_history_is_neither_reordered_nor_merged(messages):
    scripts = [whole_call("nope", "{}"), whole_text("done")]
    status, _, sent = await chat(scripts, messages=messages, tools=[TOOL])
    assert status == 200
    assert [each["messages"][: len(messages)] for each in sent] == [messages, messages]


PROPERTIES = {
    "a": {"type": ["string", "null"]},
    "b": True,
    "c": {"enum": []},
    "d": {"type": "object", "properties": {}},
    "model_config": {"type": "integer"},
}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param({"name": "f", "description": None, "parameters": None}, id="nulls"),
        pytest.param(
            {"name": "f", "parameters": {"type": "object", "properties": PROPERTIES}}, id="odd-schemas"
        ),
        pytest.param(
            {"name": "f", "parameters": {"type": "object", "properties": {"x": {"$ref": "#/none"}}}}, id="ref"
        ),
    ],
)
async def test_legal_tools_are_served_and_sent_as_they_came(function):
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": "hi"}]
    status, answer, sent = await chat([whole_call("f", "{}")], messages=messages, tools=tools)
    assert status == 200
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"
    assert [each["tools"] for each in sent] == [tools]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"messages": [{"role": "user", "content": "x"}], "tools": None}, id="tools-null"),
        pytest.param(
            {
                "messages": [
                    {"role": "user", "content": "x"},
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{**CALL, "function": {"name": "f", "arguments": ""}}],
                    },
                    {"role": "tool", "tool_call_id": "c1", "content": "y"},
                ],
                "tools": [TOOL],
            },
            id="earlier-call-without-arguments",
        ),
        pytest.param(
            {"messages": [{"role": "developer", "content": "x"}], "tools": []}, id="developer-no-tools"
        ),
    ],
)
async def test_legal_requests_are_served_in_one_call(body):
    status, answer, sent = await chat([whole_text("good")], **body)
    assert (status, len(sent)) == (200, 1)
    assert answer["choices"][0]["message"]["content"] == "good"


async def test_arguments_that_break_the_schema_are_asked_for_again():
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    scripts = [whole_call("f", "{}"), whole_call("f", '{"n": "many"}'), whole_call("f", '{"n": 3}')]
    _, answer, sent = await chat(scripts, messages=[{"role": "user", "content": "x"}], tools=tools)
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"n": 3}
    assert [each["messages"][-1]["role"] for each in sent] == ["user", "tool", "tool"]


@pytest.mark.parametrize("said", ["Let me look.", None])
async def test_when_corrections_run_out_the_caller_gets_what_the_model_said_and_nothing_else(said):
    scripts = [whole_call("nope", "{oops", content=said) for _ in range(9)]
    status, answer, sent = await chat(scripts, messages=[{"role": "user", "content": "x"}], tools=[TOOL])
    message = answer["choices"][0]["message"]
    assert (status, len(sent)) == (200, 4)
    assert (message.get("content") or None, message.get("tool_calls") or None) == (said, None)


async def test_a_callers_own_respond_tool_is_a_tool():
    function = {
        "name": "respond",
        "parameters": {"type": "object", "properties": {"message": {"type": "object"}}},
    }
    arguments = json.dumps({"message": {"a": 1}})
    _, answer, sent = await chat(
        [whole_call("respond", arguments)],
        messages=[{"role": "user", "content": "x"}],
        tools=[{"type": "function", "function": function}],
    )
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (
        "respond",
        json.loads(arguments),
    )
    assert len(sent) == 1


async def test_a_call_that_nobody_offered_a_tool_for_reaches_the_caller():
    calls = [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    _, answer, _ = await chat(
        [whole({"content": None, "tool_calls": calls}, "tool_calls")],
        messages=[{"role": "user", "content": "x"}],
    )
    assert answer["choices"][0]["message"]["tool_calls"] == calls


async def test_text_beside_a_call_stays():
    script = whole_call("f", "{}", content="Let me look.")
    _, answer, _ = await chat([script], messages=[{"role": "user", "content": "x"}], tools=[TOOL])
    message = answer["choices"][0]["message"]
    assert (message["content"], len(message["tool_calls"])) == ("Let me look.", 1)
