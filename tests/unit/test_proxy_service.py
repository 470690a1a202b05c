import json
import logging

import pytest

from forge.core.request import Protocol
from forge.proxy.anthropic_door import AnthropicDoor
from forge.proxy.backends import make_backend
from forge.proxy.courier import Courier
from forge.proxy.openai_door import OpenAIDoor
from forge.proxy.service import Service, policy_of
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:1"


@pytest.fixture
async def service():
    """Makes services, and closes them."""
    made = []

    def make(**fields):
        settings = Settings(backend_url=URL, **fields)
        made.append(Service(settings, make_backend(settings, URL), Courier(URL, settings)))
        return made[-1]

    yield make
    for one in made:
        await one.aclose()


@pytest.mark.parametrize(
    ("configured", "sent", "expected"),
    [
        pytest.param(None, b'{"messages":[]}', b'{"messages":[]}', id="nothing-configured"),
        pytest.param("c", b'{ "model": "m", "messages":[]}', b'{ "model": "m", "messages":[]}', id="named"),
        pytest.param(
            "c", b'{"model": "c",  "messages":[]}', b'{"model": "c",  "messages":[]}', id="named-the-same"
        ),
    ],
)
async def test_a_body_that_needs_no_model_is_not_touched(configured, sent, expected, service):
    s = service(model=configured)
    assert await s.forwarded_body(s.with_model(OpenAIDoor().decode(sent)), sent) == expected


@pytest.mark.parametrize("sent", [b'{"messages":[],"x":1.50}', b'{"messages":[],"model":null,"x":1.50}'])
async def test_the_configured_model_is_put_into_a_body_without_one(sent, service):
    s = service(model="c")
    body = await s.forwarded_body(s.with_model(OpenAIDoor().decode(sent)), sent)
    assert json.loads(body) == {"model": "c", "messages": [], "x": 1.5}
    assert b"1.50" in body  # other fields keep their bytes


async def test_a_backend_that_only_knows_its_own_model_gets_that(service):
    s = service(backend="vllm", model="served")
    sent = b'{"model": "gpt-4", "messages":[]}'
    body = await s.forwarded_body(s.with_model(OpenAIDoor().decode(sent)), sent)
    assert json.loads(body)["model"] == "served"


async def test_earlier_calls_that_no_server_would_take_are_mended_also_where_nothing_is_guarded(service):
    s = service()
    broken = b'{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\\"a\\": "}}'
    sent = b'{"messages": [{"role": "user",  "content": "x"}, {"role": "assistant", "tool_calls": [%b]}], "x":1.50}'

    body = await s.forwarded_body(OpenAIDoor().decode(sent % broken), sent % broken)

    call = json.loads(body)["messages"][1]["tool_calls"][0]
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert b'{"role": "user",  "content": "x"}' in body
    assert body.endswith(b'"x":1.50}')


async def test_a_model_is_put_also_into_a_body_that_strict_parsers_refuse(service):
    s = service(model="c")
    sent = b'{"messages":[{"role":"user","content":"\\ud83d"}],"x":NaN}'

    body = await s.forwarded_body(s.with_model(OpenAIDoor().decode(sent)), sent)

    assert json.loads(body)["model"] == "c"


@pytest.mark.parametrize(
    ("backend", "given", "expected"),
    [
        ("anthropic", {"authorization": "Bearer k"}, {"x-api-key": "k"}),
        ("anthropic", {}, {}),
        ("ollama", {"authorization": "Bearer k"}, {"authorization": "Bearer k"}),
    ],
)
async def test_a_callers_key_goes_where_the_backend_looks_for_it(backend, given, expected, service):
    assert service(backend=backend).credentials(given, OpenAIDoor.key_slot) == expected


async def test_every_guard_setting_reaches_the_policy():
    policy = policy_of(
        Settings(max_retries=7, max_tool_errors=8, text_policy="nudge", rescue=False, constrain=False)
    )
    assert (policy.max_retries, policy.max_tool_errors, policy.text_policy) == (7, 8, "nudge")
    assert (policy.rescue, policy.constrain, policy.inject_respond_tool) == (False, False, False)
    assert policy_of(Settings(inject_respond_tool=True)).offers_respond


MESSAGES = b'{"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], %b}'


@pytest.mark.parametrize(
    ("backend", "protocol"),
    [("openai", Protocol.OPENAI), ("ollama", Protocol.OPENAI), ("anthropic", Protocol.ANTHROPIC)],
)
async def test_a_request_comes_in_the_backends_terms(backend, protocol, service):
    s = service(backend=backend, model="m")
    request = AnthropicDoor().decode(MESSAGES % b'"stop_sequences": ["X"]')
    suited = s.suited(request)
    assert suited.protocol is protocol
    assert ("stop" in suited.options) is (protocol is Protocol.OPENAI)
    chat = OpenAIDoor().decode(b'{"messages": [], "seed": 1}')
    assert s.suited(chat) is chat


async def test_a_caller_cannot_fill_the_log_with_names_of_its_own(caplog, service):
    caplog.set_level(logging.INFO, logger="forge.proxy")
    s = service()
    for start in range(0, 2000, 500):
        metadata = {f"{number}\n" + "x" * 500: 1 for number in range(start, start + 500)}
        s.suited(AnthropicDoor().decode(MESSAGES % b'"metadata": %b' % json.dumps(metadata).encode()))
    [line] = [record.getMessage() for record in caplog.records]
    assert "\n" not in line
    assert len(line) < 256 * 80
