"""What recorded servers say of themselves, asked over a real socket: read exactly, asked once, shown in one line."""

import logging

import pytest
from servers import recordings
from servers.exchanges import ASK
from servers.scripted import Script, ScriptedServer

from forge.clients.anthropic import AnthropicClient
from forge.clients.llamafile import LlamafileClient
from forge.clients.ollama import OllamaClient
from forge.clients.openai_compat import OpenAICompatClient
from forge.clients.vllm import VLLMClient
from forge.core.capabilities import Capabilities
from forge.core.request import Request

pytestmark = pytest.mark.anyio

ALL = frozenset({"auto", "none", "required", "named"})
REFUSED = '{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}'


def llama(**more):
    known = {
        "constrains": True,
        "constrained_by": "response_format",
        "counts_tokens": True,
        "reports_cached": True,
        "thinking_by": "chat_template_kwargs",
        "reasoning_field": "reasoning_content",
        "context_length": 4096,
        "slots": 2,
    }
    return Capabilities(**(known | more))


def ollama(**more):
    return Capabilities(
        constrains=True,
        constrained_by="format",
        context_length=4096,
        parallel_calls=True,
        thinking_by="think",
        reasoning_field="thinking",
        **more,
    )


UNKNOWN = Capabilities(constrains=True, constrained_by="response_format")
SERVERS = [
    pytest.param(
        {"/props": "llama-server/qwen2.5-coder-1.5b/props.json"},
        lambda root: LlamafileClient("m", f"{root}/v1"),
        llama(parallel_calls=True, model="qwen2.5-coder-1.5b-instruct"),
        id="llama-server",
    ),
    pytest.param(
        {"/props": "llama-server/smollm2-135m-thinking-template/props.json"},
        lambda root: LlamafileClient("m", f"{root}/v1"),
        llama(parallel_calls=True, model="smollm2-135m-instruct"),
        id="llama-server, a template that thinks",
    ),
    pytest.param(
        {"/props": "llama-server/smollm2-135m-own-template/props.json"},
        lambda root: LlamafileClient("m", f"{root}/v1"),
        llama(native_tools=False, model="smollm2-135m-instruct"),
        id="llama-server, a template without tools",
    ),
    pytest.param(
        {"/props": "llama-server/qwen2.5-coder-1.5b/props.json"},
        lambda root: LlamafileClient("m", f"{root}/v1", mode="prompt"),
        llama(native_tools=False, model="qwen2.5-coder-1.5b-instruct"),
        id="llama-server, tools in the prompt",
    ),
    pytest.param(
        {"/v1/models": "dasllama/smollm2-135m/v1_models.json"},
        lambda root: LlamafileClient("m", f"{root}/v1"),
        UNKNOWN,
        id="a server that is no llama-server",
    ),
    pytest.param(
        {"/v1/models": "vllm/smollm2-135m-hermes/v1_models.json"},
        lambda root: VLLMClient("org/another", base_url=f"{root}/v1"),
        Capabilities(
            tool_choice_modes=ALL,
            constrains=True,
            constrained_by="response_format",
            context_length=4096,
            parallel_calls=True,
            counts_tokens=True,
            model="smollm2-135m-instruct",
            thinking_by="chat_template_kwargs",
            reasoning_field="reasoning",
        ),
        id="vllm",
    ),
    pytest.param(
        {"/api/show": "ollama/show_tools.json"},
        lambda root: OllamaClient("qwen2.5-coder:1.5b", root),
        ollama(model="qwen2.5-coder:1.5b", thinks=False),
        id="ollama",
    ),
    pytest.param(
        {"/api/show": "ollama/show_thinking.json"},
        lambda root: OllamaClient("smollm2-think:135m", root),
        ollama(model="smollm2-think:135m", thinks=True, native_tools=False),
        id="ollama, a model that thinks and knows no tools",
    ),
    pytest.param(
        {},
        lambda root: OpenAICompatClient("m", f"{root}/v1"),
        Capabilities(
            tool_choice_modes=ALL,
            constrains=True,
            constrained_by="response_format",
            parallel_calls=True,
            reports_cached=True,
            model="m",
            thinking_by="reasoning_effort",
        ),
        id="openai",
    ),
    pytest.param(
        {},
        lambda root: AnthropicClient("m", "k", base_url=root),
        Capabilities(
            tool_choice_modes=ALL,
            constrains=True,
            constrained_by="tool_choice",
            parallel_calls=True,
            reports_cached=True,
            model="m",
            thinking_by="thinking",
            reasoning_field="thinking",
        ),
        id="anthropic",
    ),
]


def page(name):
    return Script([(recordings.FIXTURES / name).read_bytes()])


@pytest.mark.parametrize(("pages", "make", "abilities"), SERVERS)
async def test_what_a_server_can_do(pages, make, abilities, caplog):
    caplog.set_level(logging.INFO, logger="forge.clients")
    async with ScriptedServer(pages={path: page(name) for path, name in pages.items()}) as server:
        client = make(server.url)
        assert await client.capabilities() == abilities
        asked = len(server.requests)
        await client.capabilities()
        await client.aclose()

    assert len(server.requests) == asked
    (line,) = [r.getMessage() for r in caplog.records if "backend at" in r.getMessage()]
    assert line == f"backend at {client.base_url}: {abilities.described()}"
    assert "\n" not in line


async def test_a_server_that_wants_a_key_is_asked_again():
    pages = {"/props": Script([REFUSED.encode()], 401)}
    async with ScriptedServer(pages=pages) as server:
        client = LlamafileClient("m", f"{server.url}/v1")
        assert await client.capabilities() == UNKNOWN
        pages["/props"] = page("llama-server/qwen2.5-coder-1.5b/props.json")
        assert (await client.capabilities()).slots == 2
        await client.aclose()


async def test_each_model_of_an_ollama_is_shown_once(caplog):
    caplog.set_level(logging.INFO, logger="forge.clients")
    pages = {"/api/show": page("ollama/show_tools.json")}
    answers = [recordings.script("ollama/chat_plain.json") for _ in range(4)]
    async with ScriptedServer(answers, pages=pages) as server:
        client = OllamaClient("one", server.url)
        for model in ("one", "two", "one", "two"):
            async for _ in client.exchange(Request(messages=ASK.messages, model=model)):
                pass
        await client.aclose()

    lines = [r.getMessage() for r in caplog.records if "backend at" in r.getMessage()]
    assert [line.partition(": ")[2].partition(",")[0] for line in lines] == ["one", "two"]


async def test_an_ollama_that_does_not_know_the_model_is_asked_again():
    pages = {"/api/show": Script([b'{"error":"model \'nope:latest\' not found"}'], 404)}
    async with ScriptedServer(pages=pages) as server:
        client = OllamaClient("nope", server.url)
        assert (await client.capabilities()).thinks is None
        pages["/api/show"] = page("ollama/show_plain.json")
        assert (await client.capabilities()).thinks is False
        await client.aclose()


async def test_vllm_counts_tokens():
    pages = {
        "/v1/models": page("vllm/smollm2-135m-hermes/v1_models.json"),
        "/tokenize": page("vllm/smollm2-135m-hermes/tokenize.json"),
    }
    async with ScriptedServer(pages=pages) as server:
        client = VLLMClient("m", base_url=f"{server.url}/v1")
        assert await client.count_tokens("Hello, tool calling world!") == 6
        await client.aclose()
