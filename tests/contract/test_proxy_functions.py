"""``functions`` and ``function_call``, the older form of tools: guarded like them, answered in the form of the question."""

import json

import openai
import pytest
from servers.proxied import PARIS, WEATHER, Setup, chat, events, text_of
from servers.scripted import (
    Script,
    stream_call,
    stream_text,
    tool_call,
    whole,
    whole_call,
    whole_text,
)

pytestmark = pytest.mark.anyio

FUNCTION = WEATHER["function"]
TIME = {"name": "get_time", "description": "Current time", "parameters": {"type": "object", "properties": {}}}


def asking(**fields):
    return {**chat(tools=False), "functions": [FUNCTION, TIME], **fields}


def message_of(body):
    choice = json.loads(body)["choices"][0]
    return choice["message"], choice["finish_reason"]


async def test_the_backend_gets_functions_as_tools():
    async with Setup([whole_call("get_weather", PARIS)]) as s:
        await s.client.post(asking(function_call="auto", temperature=0.5))
    sent = s.backend.chats[0].json
    assert [tool["function"] for tool in sent["tools"]] == [FUNCTION, TIME]
    assert (sent["tool_choice"], sent["parallel_tool_calls"], sent["temperature"]) == ("auto", False, 0.5)
    assert not {"functions", "function_call"} & sent.keys()


async def test_a_call_is_answered_as_a_function_call():
    async with Setup([whole_call("get_weather", PARIS)]) as s:
        status, _, body = await s.client.post(asking())
    message, reason = message_of(body)
    assert (status, reason) == (200, "function_call")
    assert message["function_call"] == {"name": "get_weather", "arguments": PARIS}
    assert "tool_calls" not in message
    assert json.loads(body)["timings"]["predicted_n"] == 7  # what else the backend said


async def test_an_answer_with_more_choices_than_were_asked_for_is_an_answer():
    call, more = json.loads(whole_call("get_weather", PARIS).steps[0]), whole_text("or so")
    [other] = json.loads(more.steps[0])["choices"]
    other["message"]["tool_calls"] = None
    answer = Script([json.dumps({**call, "choices": [*call["choices"], {**other, "index": 1}]}).encode()])
    async with Setup([answer]) as s:
        status, _, body = await s.client.post(asking())
    assert status == 200
    assert message_of(body)[0]["function_call"]["arguments"] == PARIS
    assert json.loads(body)["choices"][1]["message"]["content"] == "or so"


async def test_a_text_is_answered_byte_for_byte():
    script = whole_text("It is sunny.")
    async with Setup([script]) as s:
        _, _, body = await s.client.post(asking())
    assert body == script.steps[0]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(whole_call("get_weather", '{"city": 5, "town": '), id="broken-arguments"),
        pytest.param(whole_call("get_wether", PARIS), id="unknown-name"),
        pytest.param(whole_call("get_weather", "{}"), id="missing-argument"),
    ],
)
async def test_a_wrong_call_is_corrected(first):
    async with Setup([first, whole_call("get_weather", PARIS)]) as s:
        _, _, body = await s.client.post(asking())
    message, _ = message_of(body)
    assert json.loads(message["function_call"]["arguments"]) == {"city": "Paris"}
    assert len(s.backend.chats) == 2
    first_body, second_body = (r.body for r in s.backend.chats)
    assert second_body.startswith(first_body.rstrip(b"]}"))


async def test_a_call_written_as_text_becomes_a_function_call():
    written = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'
    async with Setup([whole_text(written)]) as s:
        _, _, body = await s.client.post(asking())
    message, reason = message_of(body)
    assert (message["function_call"]["name"], reason) == ("get_weather", "function_call")


async def test_of_several_calls_the_first_goes_out():
    calls = [tool_call("get_weather", PARIS, "a"), tool_call("get_time", "{}", "b")]
    async with Setup([whole({"content": "Both.", "tool_calls": calls}, "tool_calls")]) as s:
        _, _, body = await s.client.post(asking())
    message, _ = message_of(body)
    assert message["function_call"]["name"] == "get_weather"
    assert message["content"] == "Both."


async def test_a_backend_that_answers_in_the_older_form_is_guarded_too():
    wrong = whole(
        {"content": None, "function_call": {"name": "get_weather", "arguments": "{}"}}, "function_call"
    )
    right = whole(
        {"content": None, "function_call": {"name": "get_weather", "arguments": PARIS}}, "function_call"
    )
    async with Setup([wrong, right]) as s:
        _, _, body = await s.client.post(asking())
    message, reason = message_of(body)
    assert (message["function_call"]["arguments"], reason) == (PARIS, "function_call")


async def test_a_streamed_call_is_a_streamed_function_call():
    async with Setup([stream_call("get_weather", ['{"city":', ' "Paris"}'], ["Let me ", "see."])]) as s:
        _, _, body = await s.client.post(asking(stream=True))
    parsed = events(body)
    deltas = [c["delta"] for e in parsed if e != "[DONE]" for c in e["choices"]]
    calls = [delta["function_call"] for delta in deltas if "function_call" in delta]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == [
        ("get_weather", {"city": "Paris"})
    ]
    assert not any("tool_calls" in delta for delta in deltas)
    assert text_of(parsed) == "Let me see."
    reasons = [
        c["finish_reason"] for e in parsed if e != "[DONE]" for c in e["choices"] if c["finish_reason"]
    ]
    assert (reasons, parsed[-1]) == (["function_call"], "[DONE]")


async def test_a_streamed_call_is_corrected():
    scripts = [stream_call("get_weather", ["{}"]), stream_call("get_weather", [PARIS])]
    async with Setup(scripts) as s:
        _, _, body = await s.client.post(asking(stream=True))
    assert body.count(b'"function_call":{') == 1
    assert len(s.backend.chats) == 2


async def test_a_streamed_text_stays_one():
    async with Setup([stream_text(["Sun", "ny."])]) as s:
        _, _, body = await s.client.post(asking(stream=True))
    assert text_of(events(body)) == "Sunny."


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        pytest.param("auto", "auto", id="auto"),
        pytest.param("none", "none", id="none"),
        pytest.param(None, None, id="null"),
    ],
)
async def test_a_choice_is_carried(choice, sent):
    async with Setup([whole_text("Sunny.")]) as s:
        status, _, _ = await s.client.post(asking(function_call=choice))
    assert status == 200
    assert s.backend.chats[0].json.get("tool_choice") == sent


async def test_a_named_function_must_be_called():
    async with Setup([whole_text("No."), whole_call("get_time", "{}"), whole_call("get_time", "{}")]) as s:
        _, _, body = await s.client.post(asking(function_call={"name": "get_time"}))
    message, _ = message_of(body)
    assert message["function_call"]["name"] == "get_time"


async def test_none_lets_no_call_through():
    async with Setup([whole_call("get_weather", PARIS, content="Well.")]) as s:
        _, _, body = await s.client.post(asking(function_call="none"))
    message, reason = message_of(body)
    assert not {"function_call", "tool_calls"} & message.keys()
    assert (message["content"], reason) == ("Well.", "stop")


HISTORY = [
    {"role": "user", "content": "Weather in Paris?"},
    {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": PARIS}},
    {"role": "function", "name": "get_weather", "content": "sunny"},
    {"role": "assistant", "content": "Sunny.", "function_call": None},
    {"role": "user", "content": "And now?"},
    {"role": "assistant", "content": "I look.", "function_call": {"name": "get_weather", "arguments": PARIS}},
    {"role": "function", "name": "get_weather", "content": "rain"},
]


@pytest.mark.parametrize("offered", [True, False], ids=["functions", "no-functions"])
async def test_earlier_calls_and_their_results_are_carried(offered):
    fields = {} if offered else {"functions": None}
    async with Setup([whole_text("Rain.")]) as s:
        status, _, _ = await s.client.post(asking(messages=HISTORY, **fields))
    assert status == 200
    sent = s.backend.chats[0].json["messages"]
    assert [m["role"] for m in sent] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    for call, result in ((sent[1], sent[2]), (sent[5], sent[6])):
        [made] = call["tool_calls"]
        assert made["function"] == {"name": "get_weather", "arguments": PARIS}
        assert made["id"]
        assert result["tool_call_id"] == made["id"]
        assert "function_call" not in call
    assert sent[1]["tool_calls"][0]["id"] != sent[5]["tool_calls"][0]["id"]
    assert (sent[5]["content"], sent[6]["content"]) == ("I look.", "rain")


async def test_a_longer_history_only_adds_to_a_shorter_one():
    async with Setup([whole_text("Sunny."), whole_text("Rain.")]) as s:
        await s.client.post(asking(messages=HISTORY[:3]))
        await s.client.post(asking(messages=HISTORY))
    first, second = (r.body for r in s.backend.chats)
    assert second.startswith(first.rstrip(b"]}"))


async def test_the_messages_api_gets_them_in_its_own_form():
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    async with Setup([Script([json.dumps(answer).encode()])], backend="anthropic") as s:
        _, _, body = await s.client.post(asking(messages=HISTORY), headers={"x-api-key": "k"})
    message, reason = message_of(body)
    assert (message["function_call"]["name"], reason) == ("get_weather", "function_call")
    sent = s.backend.chats[0].json
    assert [tool["name"] for tool in sent["tools"]] == ["get_weather", "get_time"]
    kinds = [b["type"] for m in sent["messages"] if isinstance(m["content"], list) for b in m["content"]]
    assert (kinds.count("tool_use"), kinds.count("tool_result")) == (2, 2)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        pytest.param({"functions": "f"}, "functions", id="no-list"),
        pytest.param({"functions": [1]}, "functions[0]", id="no-object"),
        pytest.param({"functions": [{"parameters": {}}]}, "functions[0].name", id="no-name"),
        pytest.param({"function_call": 3}, "function_call", id="no-choice"),
        pytest.param({"function_call": {"name": 3}}, "function_call", id="no-named-choice"),
    ],
)
async def test_what_cannot_be_names_the_field(fields, param):
    async with Setup() as s:
        status, _, body = await s.client.post(asking(**fields))
    error = json.loads(body)["error"]
    assert (status, error["param"], error["type"]) == (400, param, "invalid_request_error")
    assert param in error["message"]


async def test_tools_count_where_both_are_given():
    async with Setup([whole_call("get_weather", PARIS)]) as s:
        _, _, body = await s.client.post({**chat(), "functions": [TIME]})
    message, reason = message_of(body)
    assert (message["tool_calls"][0]["function"]["name"], reason) == ("get_weather", "tool_calls")


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_openais_sdk_reads_it(stream):
    script = stream_call("get_weather", [PARIS]) if stream else whole_call("get_weather", PARIS)
    async with (
        Setup([script]) as s,
        openai.AsyncOpenAI(base_url=f"{s.client.url}/v1", api_key="k", max_retries=0) as client,
    ):
        asked = {"model": "m", "messages": HISTORY, "functions": [FUNCTION], "function_call": "auto"}
        answer = await client.chat.completions.create(**asked, stream=stream)
        if stream:
            choices = [choice async for chunk in answer for choice in chunk.choices]
            [call] = [choice.delta.function_call for choice in choices if choice.delta.function_call]
            reason = choices[-1].finish_reason
        else:
            call, reason = answer.choices[0].message.function_call, answer.choices[0].finish_reason
    assert (call.name, json.loads(call.arguments), reason) == (
        "get_weather",
        {"city": "Paris"},
        "function_call",
    )
