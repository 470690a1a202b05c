"""OpenAI's own SDK on the Responses API, against the proxy on a scripted llama-server."""

import json
from contextlib import asynccontextmanager
from itertools import pairwise

import openai
import pytest
from servers.running import running_proxy
from servers.scripted import (
    Gate,
    ScriptedServer,
    chunk,
    ending,
    error,
    stream,
    stream_call,
    stream_text,
    whole,
    whole_call,
    whole_text,
)

from forge.proxy.settings import Limits

pytestmark = pytest.mark.anyio

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather of a city",
    "strict": False,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
NAMESPACE = {
    "type": "namespace",
    "name": "agents",
    "description": "Agents",
    "tools": [{"type": "function", "name": "close", "parameters": {"type": "object", "properties": {}}}],
}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edit files",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch"'},
}
PARIS = '{"city": "Paris"}'
WRITTEN = f'<tool_call>\n{{"name": "get_weather", "arguments": {PARIS}}}\n</tool_call>'


@asynccontextmanager
async def sdk(*scripts, **settings):
    async with (
        ScriptedServer(list(scripts)) as backend,
        running_proxy(backend.url, **settings) as runtime,
        openai.AsyncOpenAI(base_url=f"{runtime.url}/v1", api_key="none", max_retries=0) as client,
    ):
        client.backend = backend
        yield client


async def ask(client, streamed, **fields):
    """The answer's object, streamed or not, and the types of its events."""
    fields = {"model": "m", "input": "Weather in Paris?", **fields}
    if not streamed:
        return await client.responses.create(**fields), []
    async with client.responses.stream(**fields) as events:
        kinds = [event.type async for event in events]
        return await events.get_final_response(), kinds


@pytest.mark.parametrize("streamed", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")])
async def test_a_text(streamed):
    script = stream_text(["Sun", "ny"]) if streamed else whole_text("Sunny")
    async with sdk(script) as client:
        answer, kinds = await ask(client, streamed)
    assert answer.output_text == "Sunny"
    assert answer.status == "completed"
    assert answer.id.startswith("resp_")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (20, 7, 27)
    assert answer.usage.input_tokens_details.cached_tokens == 3
    assert answer.usage.output_tokens_details.reasoning_tokens == 0
    if streamed:
        assert kinds.count("response.output_text.delta") == 2
        assert kinds[-1] == "response.completed"


@pytest.mark.parametrize(
    ("script", "streamed"),
    [
        pytest.param(whole_call("get_weather", PARIS), False, id="native"),
        pytest.param(whole_text(WRITTEN), False, id="written"),
        pytest.param(stream_call("get_weather", ['{"city"', ': "Paris"}']), True, id="native-streamed"),
        pytest.param(stream_text([WRITTEN[:20], WRITTEN[20:]]), True, id="written-streamed"),
    ],
)
async def test_a_call(script, streamed):
    async with sdk(script) as client:
        answer, _ = await ask(client, streamed, tools=[WEATHER])
        (sent,) = client.backend.chats
    (call,) = answer.output
    assert (call.type, call.name, json.loads(call.arguments)) == (
        "function_call",
        "get_weather",
        {"city": "Paris"},
    )
    assert call.call_id
    assert [tool["function"]["name"] for tool in sent.json["tools"]] == ["get_weather"]


@pytest.mark.parametrize("streamed", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")])
async def test_a_malformed_call_is_asked_for_again(streamed):
    make = (lambda text: stream_text([text])) if streamed else whole_text
    broken = '<tool_call>\n{"name": "get_weather", "arguments": {"town": 5}}\n</tool_call>'
    async with sdk(make(broken), make(WRITTEN)) as client:
        answer, _ = await ask(client, streamed, tools=[WEATHER])
        first, second = client.backend.chats
    (call,) = answer.output
    assert json.loads(call.arguments) == {"city": "Paris"}
    assert answer.usage.input_tokens == 40
    assert second.body.startswith(first.body[: first.body.rindex(b"]")])


async def test_calls_of_namespaces_and_custom_tools_come_back_as_their_own_kind():
    patch = "*** Begin Patch\n*** End Patch"
    calls = [
        {"type": "function", "id": "c1", "function": {"name": "agents__close", "arguments": "{}"}},
        {
            "type": "function",
            "id": "c2",
            "function": {"name": "apply_patch", "arguments": json.dumps({"input": patch})},
        },
    ]
    script = whole({"content": None, "tool_calls": calls}, "tool_calls")
    async with sdk(script) as client:
        answer, _ = await ask(client, False, tools=[NAMESPACE, PATCH, {"type": "web_search"}])
        (sent,) = client.backend.chats
    first, second = answer.output
    assert (first.type, first.namespace, first.name) == ("function_call", "agents", "close")
    assert (second.type, second.name, second.input) == ("custom_tool_call", "apply_patch", patch)
    assert [tool["function"]["name"] for tool in sent.json["tools"]] == ["agents__close", "apply_patch"]
    assert [tool.type for tool in answer.tools] == ["namespace", "custom", "web_search"]


async def test_a_parsed_answer():
    import pydantic

    class City(pydantic.BaseModel):
        name: str

    async with sdk(whole_text('{"name": "Paris"}')) as client:
        answer = await client.responses.parse(model="m", input="Which city?", text_format=City)
        (sent,) = client.backend.chats
    assert answer.output_parsed == City(name="Paris")
    form = sent.json["response_format"]
    assert (form["type"], form["json_schema"]["name"]) == ("json_schema", "City")
    assert form["json_schema"]["schema"]["properties"]["name"]["type"] == "string"


async def test_a_conversation_by_the_id_of_its_last_response():
    async with sdk(whole_call("get_weather", PARIS), whole_text("Sunny."), whole_text("Mild.")) as client:
        first, _ = await ask(client, False, tools=[WEATHER], instructions="Be short.")
        output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "sunny"}
        second, _ = await ask(
            client,
            False,
            tools=[WEATHER],
            instructions="Be short.",
            input=[output],
            previous_response_id=first.id,
        )
        await ask(
            client,
            False,
            tools=[WEATHER],
            instructions="Be short.",
            input="And tomorrow?",
            previous_response_id=second.id,
        )
        bodies = [chat.body for chat in client.backend.chats]
    assert second.previous_response_id == first.id
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter[: shorter.rindex(b"]")])
    roles = [message["role"] for message in json.loads(bodies[-1])["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_an_unknown_previous_response():
    async with sdk() as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, False, previous_response_id="resp_unknown")
    assert caught.value.code == "previous_response_not_found"
    assert caught.value.param == "previous_response_id"


async def test_what_is_not_to_be_stored_cannot_be_gone_on_from():
    async with sdk(whole_text("a")) as client:
        answer, _ = await ask(client, False, store=False)
        with pytest.raises(openai.BadRequestError):
            await ask(client, False, previous_response_id=answer.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(answer.id)


async def test_stored_responses_are_read_and_deleted():
    async with sdk(whole_text("a")) as client:
        answer, _ = await ask(client, False, input=[{"role": "user", "content": "one"}, *TWO])
        again = await client.responses.retrieve(answer.id)
        assert again == answer
        items = [item async for item in client.responses.input_items.list(answer.id, order="asc", limit=1)]
        assert [item.content for item in items] == ["one", "two"]
        assert len({item.id for item in items}) == 2
        await client.responses.delete(answer.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(answer.id)


TWO = [{"role": "user", "content": "two"}]


async def test_one_service_does_not_know_what_another_stored():
    async with sdk(whole_text("a")) as one, sdk(whole_text("b")) as other:
        answer, _ = await ask(one, False)
        with pytest.raises(openai.NotFoundError):
            await other.responses.retrieve(answer.id)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        pytest.param(error(400, "too long", "exceed_context_size_error"), openai.BadRequestError, id="400"),
        pytest.param(error(401, "no key", "authentication_error"), openai.AuthenticationError, id="401"),
        pytest.param(error(429, "slow down", "rate_limit_error"), openai.RateLimitError, id="429"),
        pytest.param(error(503, "loading", "unavailable_error"), openai.InternalServerError, id="503"),
    ],
)
@pytest.mark.parametrize("streamed", [pytest.param(False, id="whole"), pytest.param(True, id="streamed")])
async def test_errors_of_the_backend_are_typed(script, kind, streamed):
    async with sdk(script) as client:
        with pytest.raises(kind) as caught:
            await ask(client, streamed)
    assert caught.value.body["message"] == json.loads(script.steps[0])["error"]["message"]


async def test_a_failure_inside_a_stream_is_an_event_and_an_exception():
    broken = b'data: {"error": {"code": 500, "message": "out of memory", "type": "server_error"}}\n\n'
    script = stream([chunk({"role": "assistant", "content": None}), chunk({"content": "Well, "}), broken])
    events = []
    async with sdk(script) as client:
        answer = await client.responses.create(model="m", input="Hi", stream=True)
        with pytest.raises(openai.APIError) as caught:  # noqa: PT012
            async for event in answer:
                events.append(event)  # noqa: PERF401 - what came before the exception
    assert "out of memory" in caught.value.message
    assert events[-1].type == "response.failed"
    assert events[-1].response.status == "failed"
    assert events[-1].response.error.code == "server_error"


async def test_text_comes_while_it_is_written():
    gate = Gate()
    steps = [chunk({"role": "assistant", "content": None}), chunk({"content": "Hel"}), gate]
    async with sdk(stream([*steps, chunk({"content": "lo"}), *ending()])) as client:
        answer = await client.responses.create(model="m", input="Hi", stream=True)
        pieces = []
        async for event in answer:
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
                gate.set()
    assert pieces == ["Hel", "lo"]


async def test_the_sdk_takes_heartbeats_inside_an_answer():
    gate = Gate()
    script = stream_call("get_weather", ['{"city"', gate, ': "Paris"}'], text=["Let me ", "see."])
    seen = []
    async with (
        sdk(script, limits=Limits(heartbeat_seconds=0.05)) as client,
        client.responses.stream(model="m", input="Weather?", tools=[WEATHER]) as events,
    ):
        async for event in events:
            seen.append(event.type)
            if seen.count("response.in_progress") > 2:
                gate.set()
        answer = await events.get_final_response()
    assert seen.index("response.output_text.delta") < len(seen) - seen[::-1].index("response.in_progress")
    assert answer.output_text == "Let me see."
    assert json.loads(answer.output[1].arguments) == {"city": "Paris"}
