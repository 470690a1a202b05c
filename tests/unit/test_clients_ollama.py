import json
import logging

import pytest
from msgspec import Raw
from servers import recordings
from servers.scripted import Script, ScriptedServer

from forge.clients.base import ChunkType, LLMClient
from forge.clients.ollama import OllamaClient
from forge.core.calls import TextResponse, ToolCall
from forge.core.request import ChatMessage, Constraint, Request, Text, Tool, ToolChoice
from forge.errors import BackendError, MissingModelError, ThinkingNotSupportedError

pytestmark = pytest.mark.anyio

F = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
USER = ChatMessage(role="user", parts=(Text("hi"),))
ASK = Request(messages=(USER,))
HI = [{"role": "user", "content": "hi"}]


def page(name):
    return Script([(recordings.FIXTURES / "ollama" / name).read_bytes()])


TOOLS = {"/api/show": page("show_tools.json"), "/api/ps": page("ps_loaded.json")}
THINKS = {"/api/show": page("show_thinking.json")}
PLAIN = {"/api/show": page("show_plain.json")}


def answer(message, *, reason="stop", prompt=5, **more):
    body = {"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": True, **more}
    return Script(
        [json.dumps({**body, "done_reason": reason, "prompt_eval_count": prompt, "eval_count": 2}).encode()]
    )


OK = answer({"content": "ok"})


async def run(request, *scripts, pages=TOOLS, model="m", **options):
    """The bodies of the chats, and the client."""
    async with ScriptedServer(list(scripts) or [OK], pages=pages) as server:
        client = OllamaClient(model, server.url, **options)
        try:
            async for _ in client.exchange(request):
                pass
        finally:
            await client.aclose()
        return [chat.json for chat in server.chats], client


def test_construction():
    client = OllamaClient("qwen3:8b-q4_K_M", recommended_sampling=True, temperature=0)

    assert isinstance(client, LLMClient)
    assert (client.model, client.sampling_key, client.api_format) == (
        "qwen3:8b-q4_K_M",
        "qwen3:8b-q4_K_M",
        "ollama",
    )
    assert client.sampling == {"min_p": 0.0, "temperature": 0, "top_k": 20, "top_p": 0.95}


async def test_the_body():
    (body,), _ = await run(ASK, temperature=0.5, api_key="k")

    assert body == {
        "model": "m",
        "stream": False,
        "options": {"temperature": 0.5},
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_a_request_may_name_another_model():
    (body,), _ = await run(Request(messages=(USER,), model="other:1b"))
    assert body["model"] == "other:1b"
    with pytest.raises(MissingModelError):
        await run(ASK, model="")


# -- what the server tells ----------------------------------------------------------------------------------


async def test_context_length():
    async with ScriptedServer(pages=TOOLS) as server:
        client = OllamaClient("qwen2.5-coder:1.5b", server.url)
        assert await client.get_context_length() == 4096
        client.set_num_ctx(16384)
        assert await client.get_context_length() == 16384
        assert (await client.capabilities()).context_length == 16384
        await client.aclose()


async def test_num_ctx_goes_with_every_request():
    async with ScriptedServer([OK, OK], pages=TOOLS) as server:
        client = OllamaClient("m", server.url)
        client.set_num_ctx(16384)
        for options in ({}, {"num_ctx": Raw(b"99")}):
            async for _ in client.exchange(Request(messages=(USER,), options=options)):
                pass
        await client.aclose()
        assert [chat.json["options"]["num_ctx"] for chat in server.chats] == [16384, 99]


async def test_cards_are_asked_for_once():
    async with ScriptedServer([OK, OK], pages=TOOLS) as server:
        client = OllamaClient("m", server.url)
        for _ in range(2):
            async for _ in client.exchange(ASK):
                pass
        able = await client.capabilities()
        await client.aclose()

        assert [r.target for r in server.requests].count("/api/show") == 1
        assert (able.native_tools, able.thinks, able.constrained_by) == (True, False, "format")
        assert able.tool_choice_modes == {"auto", "none"}


async def test_another_models_card_counts_for_its_requests():
    request = Request(messages=(USER,), tools=(F,), model="other:1b")
    async with ScriptedServer([OK], pages=PLAIN) as server:
        client = OllamaClient("", server.url)
        assert (await client.capabilities()).native_tools
        async for _ in client.exchange(request):
            pass
        await client.aclose()
        assert "tools" not in server.chats[0].json


# -- tools --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pages", [PLAIN, {}], ids=["known from its card", "learned from its refusal"])
async def test_a_model_without_tools_gets_them_described(pages):
    refusal = [] if pages else [recordings.script("ollama/err_tools_unsupported.json", 400)]
    bodies, client = await run(Request(messages=(USER,), tools=(F,)), *refusal, OK, pages=pages)

    assert len(bodies) == 1 + len(refusal)
    assert "tools" not in bodies[-1]
    assert "f" in bodies[-1]["messages"][0]["content"]
    assert client.model == "m"


async def test_a_constraint_is_the_format():
    request = Request(
        messages=(USER,), tools=(F,), tool_choice=ToolChoice("required"), constraint=Constraint(tools=(F,))
    )
    (body,), _ = await run(request)

    assert body["format"]["properties"]["name"] == {"const": "f"}
    assert body["tools"]
    assert "tool_choice" not in body


async def test_a_refused_constraint_does_not_fail_the_turn():
    refusal = recordings.script("ollama/err_format_bad_schema.json", 400)
    request = Request(messages=(USER,), tools=(F,), constraint=Constraint(tools=(F,)))
    first, second = (await run(request, refusal, OK))[0]

    assert "format" in first
    assert "format" not in second


async def test_a_context_that_is_too_small_is_not_the_constraints_fault():
    refusal = recordings.script("ollama/long_prompt_truncate_false.json", 400)
    request = Request(messages=(USER,), tools=(F,), constraint=Constraint(tools=(F,)))
    with pytest.raises(BackendError, match="exceeds the available context size") as caught:
        await run(request, refusal, OK)
    assert "{" not in str(caught.value)


# -- thinking -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "think", "pages", "sent"),
    [
        ("m", None, THINKS, None),
        ("deep-thinker:1b", None, THINKS, True),
        ("some-reasoning:1b", None, {}, True),
        ("deep-thinker:1b", None, PLAIN, None),
        ("m", True, THINKS, True),
        ("deep-thinker:1b", False, THINKS, False),
        ("gpt-oss:20b", "low", {}, "low"),
    ],
)
async def test_think(model, think, pages, sent):
    (body,), _ = await run(ASK, pages=pages, model=model, think=think)

    assert body.get("think") == sent


@pytest.mark.parametrize(
    ("model", "pages", "fields", "sent"),
    [
        ("m", THINKS, {"reasoning_effort": "low"}, True),
        ("gpt-oss:20b", THINKS, {"reasoning_effort": "low"}, "low"),
        ("m", THINKS, {"reasoning_effort": "none"}, False),
        ("m", PLAIN, {"reasoning_effort": "high"}, None),
        ("m", PLAIN, {"think": True}, True),
        ("m", THINKS, {"think": False, "reasoning_effort": "high"}, False),
    ],
)
async def test_what_a_request_says_about_thinking(model, pages, fields, sent):
    options = {name: Raw(json.dumps(value).encode()) for name, value in fields.items()}
    (body,), _ = await run(Request(messages=(USER,), options=options), pages=pages, model=model)

    assert body.get("think") == sent


async def test_a_model_that_turns_out_not_to_think():
    refusal = recordings.script("ollama/err_think_unsupported.json", 400)
    async with ScriptedServer([refusal, OK, OK], pages={}) as server:
        client = OllamaClient("thinker", server.url)
        for _ in range(2):
            async for _ in client.exchange(ASK):
                pass
        await client.aclose()
        assert [chat.json.get("think") for chat in server.chats] == [True, None, None]


@pytest.mark.parametrize(
    ("options", "request_"),
    [({"think": True}, ASK), ({}, Request(messages=(USER,), options={"think": Raw(b"true")}))],
    ids=["client", "request"],
)
async def test_thinking_that_was_asked_for_and_cannot_be_had(options, request_):
    refusal = recordings.script("ollama/err_think_unsupported.json", 400)
    with pytest.raises(ThinkingNotSupportedError) as caught:
        await run(request_, refusal, **options)
    assert caught.value.model == "m"


# -- prompts that were cut ----------------------------------------------------------------------------------

LONG = Request(messages=(ChatMessage(role="user", parts=(Text("word " * 9000),)),))


@pytest.mark.parametrize(
    ("request_", "counted", "pages", "cut"),
    [
        pytest.param(LONG, 2050, TOOLS, True, id="as recorded"),
        pytest.param(LONG, 9010, TOOLS, False, id="not cut"),
        pytest.param(LONG, 0, TOOLS, False, id="not counted"),
        pytest.param(LONG, 2050, {}, True, id="context unknown"),
        pytest.param(LONG, 5000, {}, False, id="context unknown and little missing"),
        pytest.param(ASK, 5, TOOLS, False, id="short"),
        pytest.param(
            Request(messages=LONG.messages, options={"num_ctx": Raw(b"32768")}), 5000, TOOLS, False, id="it fits"
        ),
    ],
)  # fmt: skip
async def test_a_prompt_that_was_cut_silently_is_noticed(request_, counted, pages, cut, caplog):
    with caplog.at_level(logging.WARNING):
        _, client = await run(request_, answer({"content": "so"}, prompt=counted), pages=pages)

    assert client.truncated_prompts == cut
    assert any(str(counted) in record.message for record in caplog.records) is cut


async def test_cutting_can_be_refused():
    (body,), _ = await run(ASK, truncate=False)
    assert body["truncate"] is False


# -- the public contract ------------------------------------------------------------------------------------


async def test_the_contract():
    call = {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}], "thinking": "why"}
    lines = [{"message": {"content": "so "}, "done": False}, {"message": {"content": "be it"}, "done": True}]
    stream = Script(
        [json.dumps(line).encode() + b"\n" for line in lines],
        headers={"Content-Type": "application/x-ndjson"},
    )
    async with ScriptedServer([answer(call), stream], pages=TOOLS) as server:
        client = OllamaClient("m", server.url)
        calls = await client.send(HI, sampling={"temperature": 0}, passthrough={"max_tokens": 5})
        chunks = [chunk async for chunk in client.send_stream(HI)]
        await client.aclose()

        assert calls == [ToolCall("f", {"a": 1}, "why")]
        assert [chunk.content for chunk in chunks[:-1]] == ["so ", "be it"]
        assert chunks[-1].type is ChunkType.FINAL
        assert chunks[-1].response == TextResponse("so be it")
        assert client.last_usage[0].prompt_tokens == 5
        assert server.chats[0].json["options"] == {"temperature": 0, "num_predict": 5}
