"""``check --live``: what is found at backends of different abilities, and what is said of them."""

import json

import pytest
from servers.scripted import Gate, Script, ScriptedServer, error, stream_call, stream_text

from forge.proxy.check_report import passed
from forge.proxy.live_check import findings_of
from forge.proxy.settings import Settings

pytestmark = pytest.mark.anyio

WORDS = stream_text(["one", " two", " three"])
CALL = stream_call("get_weather", ['{"city":', ' "Paris"}'])
QUIET = {"host": "127.0.0.1", "port": 0}


async def found(scripts, *, props=None, **settings):
    async with ScriptedServer(list(scripts), props=props) as server:
        findings = await findings_of(Settings(backend_url=server.url, **QUIET, **settings))
    return {each.about: each for each in findings}, server.chats


async def test_a_server_that_can_do_everything():
    by_name, chats = await found([WORDS, CALL], backend="llamaserver")
    assert passed(list(by_name.values()))
    assert {name: each.state for name, each in by_name.items()} == {
        "reachable": "ok",
        "model": "ok",
        "context": "ok",
        "streaming": "ok",
        "tool calling": "ok",
        "constrained decoding": "ok",
        "tool_choice": "weak",
    }
    assert "4,096" in by_name["context"].found
    assert "scripted" in by_name["model"].found
    assert all(chat.json["stream"] for chat in chats)
    assert [tool["function"]["name"] for tool in chats[1].json["tools"]] == ["get_weather"]


TEXT_CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("script", "settings", "state", "part"),
    [
        pytest.param(stream_text([TEXT_CALL]), {}, "weak", "as text", id="rescued"),
        pytest.param(stream_text([TEXT_CALL]), {"rescue": False}, "error", "as text", id="left-in-the-text"),
        pytest.param(stream_text(["It is sunny."]), {}, "weak", "sunny", id="plain-text"),
        pytest.param(
            stream_text(["<tool_call>\n{", '"name": "get_we'], "length"), {}, "weak", "broken", id="cut-off"
        ),
        pytest.param(stream_call("get_weather", ['{"city":']), {}, "weak", "broken", id="broken-arguments"),
        pytest.param(stream_call("weather", ['{"city": "Paris"}']), {}, "weak", "broken", id="another-name"),
        pytest.param(stream_text([]), {}, "weak", "no text", id="nothing"),
    ],
)
async def test_how_it_calls_a_tool(script, settings, state, part):
    by_name, _ = await found([WORDS, script], **settings)
    finding = by_name["tool calling"]
    assert (finding.state, part in finding.found) == (state, True)
    assert finding.forge


@pytest.mark.parametrize(
    ("script", "state"),
    [
        pytest.param(stream_text(["all at once"]), "weak", id="one-piece"),
        pytest.param(stream_text([]), "error", id="empty"),
    ],
)
async def test_how_it_streams(script, state):
    by_name, _ = await found([script, CALL])
    assert by_name["streaming"].state == state


async def test_a_server_of_many_models_is_asked_for_one_of_them():
    models = {"object": "list", "data": [{"id": "first"}, {"id": "second"}]}
    pages = {"/v1/models": Script([json.dumps(models).encode()])}
    async with ScriptedServer([WORDS, CALL], pages=pages) as server:
        findings = await findings_of(Settings(backend_url=server.url, **QUIET))
    assert [chat.json["model"] for chat in server.chats] == ["first", "first"]
    [model] = [each.found for each in findings if each.about == "model"]
    assert "2" in model


async def test_a_server_of_which_nothing_is_known():
    by_name, _ = await found([WORDS, CALL], props={})
    assert {by_name[name].state for name in ("context", "constrained decoding")} <= {"weak", "ok"}
    assert by_name["context"].state == "weak"


@pytest.mark.parametrize(
    "scripts",
    [
        pytest.param([error(500, "out of memory", "server_error")], id="fails"),
        pytest.param([WORDS, error(400, "no tools here", "invalid_request_error")], id="fails-with-tools"),
    ],
)
async def test_a_backend_that_fails_is_a_finding(scripts):
    by_name, _ = await found(scripts)
    assert by_name["answer"].state == "error"
    assert json.loads(scripts[-1].steps[0])["error"]["message"] in by_name["answer"].found
    assert not passed(list(by_name.values()))


async def test_nobody_there_is_one_finding():
    async with ScriptedServer() as server:
        url = server.url
    [finding] = await findings_of(Settings(backend_url=url, **QUIET))
    assert (finding.about, finding.state) == ("reachable", "error")


async def test_silence_is_a_finding():
    by_name, _ = await found([Script([Gate()])], backend_timeout=1)
    assert by_name["answer"].state == "error"
