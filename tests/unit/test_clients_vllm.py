import json

import pytest
from msgspec import Raw
from servers import recordings
from servers.scripted import Script, ScriptedServer, error, stream_text, whole_text

from forge.clients.vllm import VLLMClient
from forge.core.request import ChatMessage, Constraint, Request, Text, Tool
from forge.errors import BackendDiscoveryError, BackendError

pytestmark = pytest.mark.anyio

F = Tool(name="f", parameters={"type": "object"})
ASK = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), model="asked")
WITH_TOOLS = Request(messages=ASK.messages, tools=(F,))
NO_PARSER = "vllm/smollm2-135m-no-tool-parser"


def catalogue(*ids, **window):
    return Script([json.dumps({"object": "list", "data": [{"id": i, **window} for i in ids]}).encode()])


def server_with(*scripts, models=("served",), **window):
    return ScriptedServer(list(scripts), pages={"/v1/models": catalogue(*models, **window)})


async def run(server, request=ASK, path="models/Some-Model", **options):
    """The bodies of the chats, and the client."""
    async with server:
        client = VLLMClient(path, base_url=f"{server.url}/v1", **options)
        try:
            async for _ in client.exchange(request):
                pass
        finally:
            await client.aclose()
        return [chat.json for chat in server.chats], client


@pytest.mark.parametrize(
    ("path", "models", "adopt", "sent"),
    [
        ("models/Qwen", ("models/Qwen",), True, "models/Qwen"),
        ("models/Qwen", ("a", "models/Qwen"), True, "models/Qwen"),
        ("models/Qwen", ("a", "b"), True, "a"),
        ("models/Qwen", (), True, "models/Qwen"),
        ("models/Qwen", ("a",), False, "models/Qwen"),
    ],
)
async def test_the_model_is_one_that_is_served(path, models, adopt, sent):
    server = server_with(whole_text("ok"), models=models)
    (body,), client = await run(server, path=path, adopt_served_identity=adopt)

    assert (body["model"], client.model, client.sampling_key) == (sent, sent, "Qwen")
    assert any(r.target == "/v1/models" for r in server.requests) is adopt


async def test_another_model_after_a_restart():
    gone = error(404, "The model `served` does not exist.", "NotFoundError")
    server = server_with(whole_text("ok"), gone, whole_text("ok"))
    async with server:
        client = VLLMClient("m", base_url=f"{server.url}/v1")
        for _ in range(2):
            async for _ in client.exchange(ASK):
                pass
            server.pages["/v1/models"] = catalogue("other")
        await client.aclose()

        assert [chat.json["model"] for chat in server.chats] == ["served", "served", "other"]


async def test_a_model_that_stays_unknown_is_an_error():
    gone = error(404, "The model `served` does not exist.", "NotFoundError")
    with pytest.raises(BackendError, match="does not exist"):
        await run(server_with(gone, gone))


@pytest.mark.parametrize(("status", "shown"), [(401, 401), (403, 401), (500, 502)])
async def test_a_catalogue_that_is_not_shown(status, shown):
    server = ScriptedServer([], pages={"/v1/models": error(status, "no", "e")})
    with pytest.raises(BackendDiscoveryError) as caught:
        await run(server)
    assert caught.value.status == shown


async def test_context_length_and_name():
    server = server_with(models=("m", "other"), max_model_len=2048)
    async with server:
        client = VLLMClient("m", base_url=f"{server.url}/v1")
        assert await client.get_context_length() == 2048
        assert await client.get_served_model_name() == "m"
        assert (await client.capabilities()).context_length == 2048
        stranger = VLLMClient("x", base_url=f"{server.url}/v1", adopt_served_identity=False)
        assert await stranger.get_context_length() is None
        await client.aclose()
        await stranger.aclose()


@pytest.mark.parametrize("name", ["tools_auto", "tools_required", "tools_named"])
async def test_without_a_tool_parser_tools_are_described_in_the_prompt(name):
    refusal = recordings.script(f"{NO_PARSER}/{name}.json", 400)
    server = server_with(refusal, whole_text("ok"), whole_text("ok"))
    async with server:
        client = VLLMClient("m", base_url=f"{server.url}/v1")
        for _ in range(2):
            async for _ in client.exchange(WITH_TOOLS):
                pass
        able = await client.capabilities()
        await client.aclose()
        first, second, third = (chat.json for chat in server.chats)

    assert first["tools"]
    assert "tools" not in second
    assert "f" in second["messages"][0]["content"]
    assert "tools" not in third
    assert not able.native_tools
    assert able.tool_choice_modes == {"auto", "none"}


async def test_the_choice_is_said():
    (body,), _ = await run(server_with(whole_text("ok")), WITH_TOOLS)
    assert body["tool_choice"] == "auto"
    (body,), _ = await run(server_with(whole_text("ok")), ASK)
    assert "tool_choice" not in body


async def test_a_constraint_keeps_the_tool_parser_out_of_it():
    request = Request(messages=ASK.messages, tools=(F,), constraint=Constraint(tools=(F,)), stream=True)
    (body,), _ = await run(server_with(stream_text(["{}"])), request)

    assert body["tool_choice"] == "none"
    assert body["response_format"]["type"] == "json_schema"


async def test_sampling_under_vllms_names():
    request = Request(messages=ASK.messages, options={"repeat_penalty": Raw(b"1.2")})
    (own,), _ = await run(server_with(whole_text("ok")), repeat_penalty=1.1)
    (asked,), _ = await run(server_with(whole_text("ok")), request)

    assert own["repetition_penalty"] == 1.1
    assert asked["repetition_penalty"] == 1.2
    assert "repeat_penalty" not in {**own, **asked}


async def test_an_error_is_not_tried_again_on_a_local_server():
    with pytest.raises(BackendError):
        await run(server_with(error(503, "busy", "e"), whole_text("never")))


@pytest.mark.parametrize(
    ("page", "tokens", "questions"),
    [
        pytest.param(Script([b'{"count": 6, "max_model_len": 4096, "tokens": [19556]}']), 6, 2, id="counted"),
        pytest.param(error(404, "Not Found", "NotFoundError"), None, 1, id="no tokenizer"),
        pytest.param(Script([b"[]"]), None, 1, id="garbage"),
    ],
)
async def test_texts_are_counted_by_the_server(page, tokens, questions):
    async with ScriptedServer([], pages={"/tokenize": page}) as server:
        client = VLLMClient("m", base_url=f"{server.url}/v1")
        assert [await client.count_tokens(text) for text in ("one", "two")] == [tokens, tokens]
        asked = [r.json for r in server.requests if r.target == "/tokenize"]
        assert (
            asked
            == [{"model": "m", "prompt": text, "add_special_tokens": False} for text in ("one", "two")][
                :questions
            ]
        )
        await client.aclose()
