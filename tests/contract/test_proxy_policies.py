"""Policies over real sockets: what a flag, a header or a ``forge`` object changes for the backend and the caller."""

import json
from dataclasses import dataclass, field

import pytest
from servers.proxied import Setup, calls_of, chat, events, text_of
from servers.scripted import (
    PROPS,
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

CALL = ("get_weather", '{"city": "Paris"}')
WRITTEN = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'
STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])


def says(text, *, streamed):
    return stream_text([text]) if streamed else whole_text(text)


def calls(name, arguments, *, streamed):
    return stream_call(name, [arguments]) if streamed else whole_call(name, arguments)


def thinks(thought, *, streamed) -> Script:
    """An answer that thinks, says something and calls."""
    name, arguments = CALL
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    if not streamed:
        message = {"content": "I look.", "reasoning_content": thought, "tool_calls": [call]}
        return whole({"role": "assistant", **message}, "tool_calls")
    pieces = [{"reasoning_content": thought}, {"content": "I look."}, {"tool_calls": [{"index": 0, **call}]}]
    return stream([*map(chunk, pieces), *ending("tool_calls")])


def read(body, *, streamed):
    """Text, calls and thinking of an answer."""
    if not streamed:
        message = json.loads(body)["choices"][0]["message"]
        made = message.get("tool_calls") or []
        return message["content"] or "", _named(made), message.get("reasoning_content")
    parsed = events(body)
    thought = [c["delta"].get("reasoning_content") for e in parsed[:-1] for c in e["choices"]]
    return text_of(parsed), _named(calls_of(parsed)), "".join(filter(None, thought)) or None


def _named(made):
    return [(call["function"]["name"], call["function"]["arguments"]) for call in made]


@dataclass
class Case:
    """``said``: the policy by its names. ``answers``: the backend's, as functions of ``streamed``."""

    said: dict
    answers: list
    text: str = ""
    calls: list = field(default_factory=list)
    attempts: int = 1
    thought: str | None = None


def bad(**_):
    return calls("get_weather", '{"town": 1}', **_)


def unknown(**_):
    return calls("nothing_like_it", "{}", **_)


def plain(**_):
    return says("It is sunny.", **_)


def good(**_):
    return calls(*CALL, **_)


def written(**_):
    return says(WRITTEN, **_)


def respond(**_):
    return calls("respond", '{"message": "It is sunny."}', **_)


def thinking(**_):
    return thinks("hm", **_)


CASES = [
    pytest.param(Case({}, [plain], text="It is sunny."), id="text-is-an-answer"),
    pytest.param(
        Case({"text_policy": "nudge"}, [plain, good], calls=[CALL], attempts=2), id="text-policy-nudge"
    ),
    pytest.param(
        Case({"text_policy": "respond"}, [plain, respond], text="It is sunny.", attempts=2),
        id="text-policy-respond",
    ),
    pytest.param(
        Case({"inject_respond_tool": True}, [plain, respond], text="It is sunny.", attempts=2),
        id="inject-respond-tool",
    ),
    pytest.param(
        Case({"text_policy": "trust"}, [lambda **_: says("Let me look:", **_)], text="Let me look:"),
        id="trust",
    ),
    pytest.param(Case({"max_retries": 0}, [unknown]), id="max-retries-0"),
    pytest.param(Case({"max_retries": 2}, [unknown] * 3, attempts=3), id="max-retries-2"),
    pytest.param(
        Case({"max_tool_errors": 0}, [bad], calls=[("get_weather", '{"town": 1}')]), id="max-tool-errors-0"
    ),
    pytest.param(Case({"max_tool_errors": 1}, [bad, good], calls=[CALL], attempts=2), id="max-tool-errors-1"),
    pytest.param(Case({"rescue": True}, [written], calls=[CALL]), id="rescue"),
    pytest.param(Case({"rescue": False}, [written], text=WRITTEN), id="no-rescue"),
    pytest.param(
        Case({"reasoning_replay": "full"}, [thinking], text="I look.", calls=[CALL], thought="hm"),
        id="replay-full",
    ),
    pytest.param(
        Case({"reasoning_replay": "keep-last"}, [thinking], text="I look.", calls=[CALL], thought="hm"),
        id="replay-keep-last",
    ),
    pytest.param(
        Case({"reasoning_replay": "none"}, [thinking], text="I look.", calls=[CALL]), id="replay-none"
    ),
]
WAYS = pytest.mark.parametrize("way", ["flag", "header", "body"])


def ask(way, said, body):
    """Settings, headers and body that say ``said`` in one of the three ways."""
    if way == "flag":
        return said, {}, body
    if way == "header":
        return {}, {f"X-Forge-{n.replace('_', '-').title()}": _header(v) for n, v in said.items()}, body
    return {}, {}, {**body, "forge": said}


def _header(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


@STREAMED
@pytest.mark.parametrize("case", CASES)
async def test_each_flag_holds(case, streamed):
    """That headers and bodies say the same, through every door: ``test_proxy_policy_doors.py``."""
    settings, headers, body = ask("flag", case.said, chat(stream=streamed))
    async with Setup([answer(streamed=streamed) for answer in case.answers], **settings) as s:
        status, _, answered = await s.client.post(body, headers=headers)

    assert status == 200
    assert read(answered, streamed=streamed) == (case.text, case.calls, case.thought)
    assert len(s.backend.chats) == case.attempts
    assert all("forge" not in sent.json for sent in s.backend.chats)


@WAYS
@pytest.mark.parametrize("constrain", [True, False])
async def test_the_last_attempt_is_constrained_if_it_may_be(way, constrain):
    settings, headers, body = ask(way, {"constrain": constrain, "max_retries": 1}, chat())
    async with Setup([unknown(streamed=False), plain(streamed=False)], **settings) as s:
        await s.client.post(body, headers=headers)

    assert ("response_format" in s.backend.chats[1].json) is constrain


def looked(times):
    """A conversation in which the same call was made so often, always with the same result."""
    messages = [{"role": "user", "content": "Weather in Paris?"}]
    for number in range(times):
        call = {"id": f"c{number}", "type": "function", "function": {"name": CALL[0], "arguments": CALL[1]}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "cannot say"})
    return messages


@STREAMED
@pytest.mark.parametrize(("limit", "attempts"), [(2, 2), (4, 1), (0, 1)])
async def test_a_call_that_goes_round_in_circles_is_corrected(limit, attempts, streamed):
    settings, headers, body = ask("flag", {"loop_limit": limit}, chat(messages=looked(3), stream=streamed))
    async with Setup([good(streamed=streamed), plain(streamed=streamed)], **settings) as s:
        _, _, answered = await s.client.post(body, headers=headers)

    assert len(s.backend.chats) == attempts
    if attempts == 2:
        assert read(answered, streamed=streamed)[:2] == ("It is sunny.", [])
        assert "cannot say" in s.backend.chats[1].json["messages"][-1]["content"]
    else:
        assert read(answered, streamed=streamed)[:2] == ("", [CALL])


BROKEN = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f<|x|>", "arguments": "{}"}}],
    },
    {"role": "user", "content": "well?"},
]


@pytest.mark.parametrize("tools", [True, False], ids=["tools", "chat"])
async def test_a_history_is_put_right_and_that_is_said_once(tools, caplog):
    caplog.set_level("INFO", logger="forge.proxy")
    body = chat(tools=tools, messages=BROKEN)
    async with Setup([plain(streamed=False)] * 2) as s:
        await s.client.post(body)
        await s.client.post(
            {**body, "messages": [*BROKEN, {"role": "assistant", "content": "ok"}, BROKEN[0]]}
        )

    first, second = (sent.json["messages"] for sent in s.backend.chats)
    assert [m["role"] for m in first] == ["user", "assistant", "tool", "user"]
    assert first[1]["tool_calls"][0]["function"]["name"] == "f"
    assert second[:4] == first
    said = [record.getMessage() for record in caplog.records if "put right" in record.getMessage()]
    assert [line.rpartition(" ")[2] for line in said] == ["name_cleaned", "result_missing"]


@pytest.mark.parametrize("tools", [True, False], ids=["tools", "chat"])
async def test_a_template_that_wants_turns_gets_them(tools):
    refusal = "{{ raise_exception('conversation roles must alternate user/assistant') }}"
    twice = [{"role": "user", "content": "go"}, {"role": "user", "content": "well?"}]
    async with Setup([plain(streamed=False)], props={**PROPS, "chat_template": refusal}) as s:
        await s.client.post(chat(tools=tools, messages=twice))

    roles = [m["role"] for m in s.backend.chats[0].json["messages"]]
    assert roles == ["user", "assistant", "user"]


RULES = {"name": "first-look", "required_steps": ["get_weather"]}


@STREAMED
@pytest.mark.parametrize("way", ["flag", "header", "body", "name"])
async def test_an_answer_waits_for_the_required_steps(way, streamed):
    body = chat(stream=streamed)
    settings = {} if way == "body" else {"workflows": read_workflows(RULES)}
    headers = {"X-Forge-Workflow": "first-look"} if way == "header" else {}
    if way in ("body", "name"):
        body["forge"] = {"workflow": RULES if way == "body" else "first-look"}
    async with Setup([plain(streamed=streamed), good(streamed=streamed)], **settings) as s:
        _, _, answered = await s.client.post(body, headers=headers)
    assert read(answered, streamed=streamed)[:2] == ("", [CALL])
    assert len(s.backend.chats) == 2


@pytest.mark.parametrize("way", ["done", "header", "body"])
async def test_an_answer_does_not_wait_where_the_steps_are_done_or_not_wanted(way):
    body = chat(messages=looked(1) if way == "done" else chat()["messages"])
    if way == "body":
        body["forge"] = {"workflow": False}
    headers = {"X-Forge-Workflow": "none"} if way == "header" else {}
    async with Setup([plain(streamed=False)], workflows=read_workflows(RULES)) as s:
        _, _, answered = await s.client.post(body, headers=headers)
    assert read(answered, streamed=False)[0] == "It is sunny."


THOUGHT = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "a", "reasoning_content": "first"},
    {"role": "user", "content": "on"},
    {"role": "assistant", "content": "b", "reasoning_content": "second"},
    {"role": "user", "content": "and?"},
]


@WAYS
@pytest.mark.parametrize("tools", [True, False], ids=["tools", "chat"])
@pytest.mark.parametrize(
    ("replay", "left"), [("full", ["first", "second"]), ("keep-last", ["second"]), ("none", [])]
)
async def test_the_history_keeps_the_thinking_that_may_pass(replay, left, tools, way):
    body = chat(tools=tools, messages=THOUGHT)
    settings, headers, body = ask(way, {"reasoning_replay": replay}, body)
    async with Setup([whole_text("c")], **settings) as s:
        await s.client.post(body, headers=headers)

    sent = s.backend.chats[0].json["messages"]
    assert [m["reasoning_content"] for m in sent if "reasoning_content" in m] == left
    assert [m["content"] for m in sent] == [m["content"] for m in THOUGHT]


@STREAMED
@pytest.mark.parametrize("tools", [True, False], ids=["tools", "chat"])
@pytest.mark.parametrize(
    ("said", "where"),
    [({"max_retry": 1}, "forge.max_retry"), ({"rescue": "yes"}, "forge.rescue"), (3, "forge")],
)
async def test_a_policy_that_cannot_be_is_refused_before_the_backend_is_asked(said, where, tools, streamed):
    async with Setup() as s:
        status, _, answered = await s.client.post(chat(stream=streamed, tools=tools, forge=said))

    error = json.loads(answered)["error"]
    assert (status, error["param"]) == (400, where)
    assert s.backend.chats == []


async def test_what_a_body_says_to_forge_does_not_pass_with_a_chat_that_passes_through():
    body = chat(tools=False, forge={"max_retries": 1}, n=2)
    async with Setup([whole_text("a")]) as s:
        await s.client.post(body)

    del body["forge"]
    assert s.backend.chats[0].json == body
