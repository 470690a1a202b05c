"""Policies hold through every door: a request of each protocol says the same, and gets the same done for it."""

import json

import pytest
from servers import proxied
from servers.proxied import Setup, Shared
from servers.scripted import (
    Script,
    chunk,
    ending,
    stream,
    stream_call,
    stream_text,
    whole,
    whole_call,
    whole_text,
)

from forge.proxy.workflows import read_workflows

pytestmark = pytest.mark.anyio

FUNCTION = proxied.WEATHER["function"]
ASKED = "Weather in Paris?"
CALL = ("get_weather", {"city": "Paris"})


class Chat:
    """The chat-completions door."""

    path = "/v1/chat/completions"
    made = "tool_calls"

    def body(self, *, history=(), **fields):
        return {"model": "m", "messages": [{"role": "user", "content": ASKED}, *history], **fields}

    def tools(self):
        return [proxied.WEATHER]

    def looked(self, number):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": CALL[0], "arguments": json.dumps(CALL[1])},
        }
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"c{number}", "content": "cannot say"}

    def read(self, data, *, streamed):
        if not streamed:
            message = json.loads(data)["choices"][0]["message"]
            return (
                message["content"] or "",
                _functions(message.get("tool_calls")),
                message.get("reasoning_content"),
            )
        parsed = proxied.events(data)
        deltas = [c["delta"] for e in parsed[:-1] for c in e["choices"]]
        thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
        return proxied.text_of(parsed), _functions(proxied.calls_of(parsed)), thought or None

    def refusal(self, data):
        return json.loads(data)["error"]["param"]


def _functions(calls):
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls or ()]


class Messages:
    """The Messages door."""

    path = "/v1/messages"

    def body(self, *, history=(), **fields):
        messages = [{"role": "user", "content": ASKED}, *history]
        return {"model": "m", "max_tokens": 99, "messages": messages, **fields}

    def tools(self):
        return [{"name": FUNCTION["name"], "input_schema": FUNCTION["parameters"]}]

    def looked(self, number):
        use = {"type": "tool_use", "id": f"c{number}", "name": CALL[0], "input": CALL[1]}
        yield {"role": "assistant", "content": [use]}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "cannot say"}
        yield {
            "role": "user",
            "content": [result, {"type": "text", "text": "<system-reminder>tidy</system-reminder>"}],
        }

    def read(self, data, *, streamed):
        blocks = self._blocks(data) if streamed else json.loads(data)["content"]
        text = "".join(b["text"] for b in blocks if b["type"] == "text")
        thought = "".join(b["thinking"] for b in blocks if b["type"] == "thinking")
        return text, [(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"], thought or None

    def _blocks(self, data):
        blocks = []
        for event in _events(data):
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"], "json": ""})
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                for piece, field in (("text", "text"), ("thinking", "thinking"), ("partial_json", "json")):
                    if piece in delta:
                        blocks[-1][field] += delta[piece]
        return [{**b, "input": json.loads(b["json"])} if b["type"] == "tool_use" else b for b in blocks]

    def refusal(self, data):
        return json.loads(data)["error"]["message"]


class Responses:
    """The Responses door."""

    path = "/v1/responses"

    def body(self, *, history=(), **fields):
        return {"model": "m", "input": [{"role": "user", "content": ASKED}, *history], **fields}

    def tools(self):
        return [{"type": "function", **FUNCTION}]

    def looked(self, number):
        arguments = json.dumps(CALL[1])
        yield {"type": "function_call", "call_id": f"c{number}", "name": CALL[0], "arguments": arguments}
        yield {"type": "function_call_output", "call_id": f"c{number}", "output": "cannot say"}

    def read(self, data, *, streamed):
        output = (_events(data)[-1]["response"] if streamed else json.loads(data))["output"]
        texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
        calls = [(i["name"], json.loads(i["arguments"])) for i in output if i["type"] == "function_call"]
        thoughts = [
            part["text"]
            for item in output
            if item["type"] == "reasoning"
            for part in item.get("content") or ()
        ]
        return "".join(texts), calls, "".join(thoughts) or None

    def refusal(self, data):
        return json.loads(data)["error"]["param"]


def _events(data):
    return [json.loads(line[6:]) for line in data.decode().split("\n") if line.startswith("data: {")]


@pytest.fixture(scope="module")
async def shared(anyio_backend):
    async with Setup() as setup:
        yield Shared(setup)


DOORS = {"chat": Chat(), "messages": Messages(), "responses": Responses()}
EVERY = pytest.mark.parametrize("name", DOORS)
# Both kinds of answer and both ways to say it, not each with each.
SAID = pytest.mark.parametrize(("way", "streamed"), [("header", False), ("body", True)])


def says(text, *, streamed):
    return stream_text([text]) if streamed else whole_text(text)


def calls(name, arguments, *, streamed):
    return stream_call(name, [json.dumps(arguments)]) if streamed else whole_call(name, json.dumps(arguments))


def thinks(*, streamed):
    if not streamed:
        return whole({"role": "assistant", "content": "It is sunny.", "reasoning_content": "hm"})
    return stream([chunk({"reasoning_content": "hm"}), chunk({"content": "It is sunny."}), *ending()])


def plain(**_):
    return says("It is sunny.", **_)


def good(**_):
    return calls(*CALL, **_)


def bad(**_):
    return calls("get_weather", {"town": 1}, **_)


def written(**_):
    return says('<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>', **_)


def respond(**_):
    return calls("respond", {"message": "It is sunny."}, **_)


SUNNY = ("It is sunny.", [])
CALLED = ("", [CALL])
CASES = [
    pytest.param(({}, [plain], SUNNY), id="text-is-an-answer"),
    pytest.param(({"text_policy": "nudge"}, [plain, good], CALLED), id="text-policy"),
    pytest.param(({"inject_respond_tool": True}, [plain, respond], SUNNY), id="inject-respond-tool"),
    pytest.param(({"max_retries": 0, "text_policy": "nudge"}, [plain], SUNNY), id="max-retries"),
    pytest.param(({"max_tool_errors": 0}, [bad], ("", [("get_weather", {"town": 1})])), id="max-tool-errors"),
    pytest.param(({"max_tool_errors": 1}, [bad, good], CALLED), id="one-tool-error"),
    pytest.param(({}, [written], CALLED), id="rescue"),
    pytest.param(({"rescue": False}, [written], ("<tool_call>", [])), id="no-rescue"),
    pytest.param(({"workflow": {"required_steps": ["get_weather"]}}, [plain, good], CALLED), id="workflow"),
]


def ask(way, said, body):
    """Headers and body that say ``said``."""
    if way == "body":
        return {}, {**body, "forge": said}
    texts = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in said.items()}
    return {f"X-Forge-{name.replace('_', '-').title()}": text for name, text in texts.items()}, body


@EVERY
@SAID
@pytest.mark.parametrize("case", CASES)
async def test_each_policy_holds_through_each_door(shared, name, case, way, streamed):
    said, answers, expected = case
    door = DOORS[name]
    way = "body" if "workflow" in said else way
    headers, body = ask(way, said, door.body(tools=door.tools(), stream=streamed))
    s = shared.answering([answer(streamed=streamed) for answer in answers])
    status, _, data = await s.client.post(body, path=door.path, headers=headers)

    assert status == 200, data
    text, made, _ = door.read(data, streamed=streamed)
    assert (text[: len(expected[0])], made) == expected
    assert len(s.backend.chats) == len(answers)
    assert not any("forge" in sent.json for sent in s.backend.chats)


@EVERY
@SAID
@pytest.mark.parametrize(("replay", "thought"), [("full", "hm"), ("none", None)])
async def test_thinking_passes_as_it_may_through_each_door(shared, name, replay, thought, way, streamed):
    door = DOORS[name]
    headers, body = ask(way, {"reasoning_replay": replay}, door.body(tools=door.tools(), stream=streamed))
    s = shared.answering([thinks(streamed=streamed)])
    _, _, data = await s.client.post(body, path=door.path, headers=headers)
    assert door.read(data, streamed=streamed) == ("It is sunny.", [], thought)


@EVERY
@SAID
@pytest.mark.parametrize("limit", [3, 0])
async def test_circles_are_broken_through_each_door(shared, name, limit, way, streamed):
    door = DOORS[name]
    history = [message for number in range(3) for message in door.looked(number)]
    given = door.body(history=history, tools=door.tools(), stream=streamed)
    headers, body = ask(way, {"loop_limit": limit}, given)
    s = shared.answering([good(streamed=streamed), plain(streamed=streamed)])
    _, _, data = await s.client.post(body, path=door.path, headers=headers)

    assert door.read(data, streamed=streamed)[:2] == (SUNNY if limit else CALLED)
    if limit:
        assert "cannot say" in s.backend.chats[1].json["messages"][-1]["content"]


@EVERY
async def test_steps_that_are_done_are_seen_through_each_door(name):
    door = DOORS[name]
    rules = read_workflows({"required_steps": ["get_weather"]})
    body = door.body(history=list(door.looked(1)), tools=door.tools())
    async with Setup([plain(streamed=False)], workflows=rules) as s:
        _, _, data = await s.client.post(body, path=door.path)
    assert door.read(data, streamed=False)[:2] == SUNNY


@EVERY
@pytest.mark.parametrize("way", ["header", "body"])
async def test_a_policy_that_cannot_be_is_refused_in_each_doors_words(shared, name, way):
    door = DOORS[name]
    headers, body = ask(way, {"max_retries": 99}, door.body(tools=door.tools()))
    s = shared.answering([])
    status, _, data = await s.client.post(body, path=door.path, headers=headers)
    assert status == 400
    assert ("forge.max_retries" if way == "body" else "X-Forge-Max-Retries") in door.refusal(data)
    assert s.backend.chats == []


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
async def test_what_is_said_to_forge_never_reaches_anthropic(path):
    door = DOORS["messages"]
    answer = {
        "content": [{"type": "text", "text": "It is sunny."}],
        "stop_reason": "end_turn",
        "input_tokens": 7,
    }
    script = Script([json.dumps(answer).encode()])
    async with Setup([script], backend="anthropic", pages={"/v1/messages/count_tokens": script}) as s:
        body = door.body(forge={"max_retries": 1})
        status, _, _ = await s.client.post(body, path=path, headers={"x-api-key": "k"})
    assert status == 200
    (sent,) = [request for request in s.backend.requests if request.method == "POST"]
    assert "forge" not in sent.json
