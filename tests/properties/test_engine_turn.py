"""Whatever a model writes and however it is split, the client sees the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from forge.core.capabilities import Capabilities
from forge.core.events import (
    GUARD_FAILED,
    CallDelta,
    CallReady,
    Delta,
    Finish,
    Finished,
    Output,
    ReasoningDelta,
    Retrying,
    Send,
    TextDelta,
)
from forge.core.request import ChatMessage, Request, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.schema.check import check_call
from forge.wire import anthropic, ollama, openai
from forge.wire.prompted import as_prompted
from forge.wire.template_demands import as_demanded

TOOL = Tool(
    name="read_file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
PIECES = st.sampled_from([
    "Hello. ", "Let me read it:", "<think>", "</think>", "<tool_call>", "</tool_call>", "```json\n", "\n```",
    '{"name": "read_file", "arguments": {"path": "a.txt"}}', '{"name": "nope", "arguments": {}}', '{"path": ',
    "[TOOL_CALLS]", "<function=read_file>", "<parameter=path>\nx\n</parameter>", "</function>", "\n", "{", "}", "é😀",
])  # fmt: skip
REQUEST = Request(messages=(ChatMessage(role="user", parts=(Text("hi"),)),), tools=(TOOL,))


def visible(texts: list[str], sizes: list[int]) -> tuple[str, list[tuple[str, str]], str, int]:
    """Text, calls, finish reason and number of attempts of a turn whose attempts say ``texts`` in turn."""
    turn = Turn(REQUEST, Policy(max_retries=2, constrain=False))
    queue: list[Output] = turn.start()
    text, calls, reason, attempts = "", [], "", 0
    while queue:
        following: list[Output] = []
        for output in queue:
            if isinstance(output, Send):
                written = texts[attempts % len(texts)]
                attempts += 1
                pos = 0
                for size in [*sizes, len(written)]:
                    following += turn.feed(TextDelta(written[pos : pos + size]))
                    pos += size
                following += turn.feed(Finish(reason="stop"))
            elif isinstance(output, TextDelta):
                text += output.text
            elif isinstance(output, CallReady):
                calls.append((output.name, output.arguments))
            elif isinstance(output, Finished):
                reason = output.reason
        queue = following
    assert turn.done
    return text, calls, reason, attempts


@given(
    st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3),
    st.lists(st.integers(1, 9), max_size=40),
)
def test_the_split_changes_nothing(texts: list[str], sizes: list[int]) -> None:
    assert visible(texts, sizes) == visible(texts, [])


@given(st.text(max_size=300), st.lists(st.integers(1, 9), max_size=40))
def test_any_text_ends_the_turn(text: str, sizes: list[int]) -> None:
    """Never worse than no Forge: text that is no call reaches the client, whatever it is."""
    shown, calls, reason, attempts = visible([text], sizes)

    assert reason in ("stop", "tool_calls")
    assert attempts <= 3
    if attempts == 1 and not calls and "think" not in text.lower():
        assert shown == text


# -- whole turns: texts, thoughts, structured calls, under any policy ----------------------------------------------

RESPOND = "respond"
WRITTEN = '<tool_call>{"name": "%s", "arguments": %s}</tool_call>'
ARGUMENTS = {
    TOOL.name: ('{"path": "a.txt"}', '{"path": 1}', '{"file": "b"}', '{"path": "a', "[]", "", '{"path": "a.txt",}'),
    RESPOND: ('{"message": "%s says \\u00e9\\n so."}', '{"message": "%s cut', '{ "message":"%s" }', '{"message": ["%s"]}', "{}"),
    "nope": ("{}",),
}  # fmt: skip


@st.composite
def answers(draw: st.DrawFn, mark: str) -> list[Delta]:
    """One answer. Each piece of text has a mark of its own, so that it is seen if one is lost or comes twice."""
    deltas: list[Delta] = []
    calls = 0
    for number in range(draw(st.integers(0, 4))):
        own = f"{mark}{number}"
        kind = draw(st.sampled_from(["text", "text", "thought", "notation", "call"]))
        name = draw(st.sampled_from(sorted(ARGUMENTS)))
        arguments = draw(st.sampled_from(ARGUMENTS[name])).replace("%s", own)
        if kind == "call":
            deltas.append(CallDelta(index=calls, id=f"c{calls}", name=name, arguments=arguments))
            calls += 1
        elif kind == "notation":
            deltas.append(TextDelta(WRITTEN % (name, arguments)))
        elif kind == "thought":
            deltas.append(ReasoningDelta(f"{own} hm. "))
        else:
            deltas.append(
                TextDelta(draw(st.sampled_from([" %s. ", "%s <b>", "\n\n  %s", "Let me read %s:"])) % own)
            )
    deltas.append(Finish(reason=draw(st.sampled_from(["stop", "tool_calls", "length"]))))
    return deltas


def split(deltas: list[Delta], size: int) -> list[Delta]:
    """The same answer in pieces of ``size`` characters."""
    pieces: list[Delta] = []
    for delta in deltas:
        if isinstance(delta, TextDelta):
            pieces += [TextDelta(delta.text[i : i + size]) for i in range(0, len(delta.text), size)]
        elif isinstance(delta, CallDelta):
            pieces.append(CallDelta(index=delta.index, id=delta.id, name=delta.name))
            pieces += [
                CallDelta(index=delta.index, arguments=delta.arguments[i : i + size])
                for i in range(0, len(delta.arguments), size)
            ]
        else:
            pieces.append(delta)
    return pieces


POLICIES = st.builds(
    Policy,
    max_retries=st.integers(0, 2),
    max_tool_errors=st.integers(0, 2),
    text_policy=st.sampled_from(["auto", "nudge", "respond", "trust"]),
    rescue=st.booleans(),
    constrain=st.booleans(),
)
CHOICES = st.sampled_from([None, ToolChoice("none"), ToolChoice("required"), ToolChoice("named", TOOL.name)])


def played(turn: Turn, attempts: list[list[Delta]], size: int) -> tuple[list[Output], list[Request]]:
    outputs: list[Output] = []
    requests: list[Request] = []
    queue = turn.start()
    while queue:
        following: list[Output] = []
        for output in queue:
            if isinstance(output, Send):
                answer = attempts[len(requests) % len(attempts)]
                requests.append(output.request)
                for delta in split(answer, size) if size else answer:
                    following += turn.feed(delta)
            else:
                outputs.append(output)
        queue = following
    return outputs, requests


def seen(outputs: list[Output]) -> dict[str, object]:
    """What a client has of a turn in the end."""
    return {
        "text": "".join(o.text for o in outputs if isinstance(o, TextDelta)),
        "thoughts": "".join(o.text for o in outputs if isinstance(o, ReasoningDelta)),
        "calls": [(o.id, o.name, o.arguments) for o in outputs if isinstance(o, CallReady)],
        "retries": [(o.reason, o.detail) for o in outputs if isinstance(o, Retrying)],
        "ends": [(o.reason, o.attempts) for o in outputs if isinstance(o, Finished)],
    }


@given(
    st.tuples(answers("A"), answers("B"), answers("C")), POLICIES, CHOICES, st.booleans(), st.integers(1, 7)
)
def test_a_turn_shows_everything_once_in_every_split(
    given_answers: tuple[list[Delta], ...],
    policy: Policy,
    choice: ToolChoice | None,
    constrains: bool,
    size: int,
) -> None:
    attempts = list(given_answers)
    request = Request(messages=REQUEST.messages, tools=(TOOL,), tool_choice=choice)
    able = Capabilities(constrains=constrains)

    outputs, requests = played(Turn(request, policy, able), attempts, 0)
    pieces, _ = played(Turn(request, policy, able), attempts, size)

    whole = seen(outputs)
    assert seen(pieces) == whole
    (end,) = (output for output in outputs if isinstance(output, Finished))
    assert outputs[-1] is end
    assert len(end.attempts) == len(requests) <= 1 + policy.max_retries + policy.max_tool_errors
    assert GUARD_FAILED not in {attempt.verdict for attempt in end.attempts}
    text = str(whole["text"])
    written = [f"{mark}{number}" for mark in "ABC"[: len(requests)] for number in range(4)]
    assert all(text.count(mark) <= 1 for mark in written)
    if end.attempts[-1].verdict == "accepted" and policy.rescue and choice != ToolChoice("none"):
        checked = (
            check_call(c.name, c.arguments, {TOOL.name: TOOL}) for c in outputs if isinstance(c, CallReady)
        )
        assert all(found.fault is None and not found.fixes for found in checked)
    answered = len(requests) == 1 and end.attempts[-1].verdict == "accepted"
    # A respond tool's answer, be it as it may, counts more than a text that was refused.
    gave_up = (
        end.attempts[-1].verdict != "accepted" and not whole["calls"] and policy.text_policy != "respond"
    )
    if answered or gave_up:
        said = [d.text for d in attempts[0] if isinstance(d, TextDelta) and "<tool_call>" not in d.text]
        assert all(piece.strip() in text for piece in said)


# -- what a retry adds on each wire ----------------------------------------------------------------------------------

EARLIER = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {
            "role": "assistant",
            "content": "t",
            "reasoning_content": "r",
            "tool_calls": [
                {"id": "c0", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "content": "ok"},
    ],
    "tools": [{"type": "function", "function": {"name": TOOL.name, "parameters": TOOL.parameters}}],
}
STRICT = Capabilities(takes_turns=True, strict_ids=True)


def demanded(request: Request) -> Request:
    return replace(request, messages=as_demanded(request.messages, STRICT))


WIRES: dict[str, Callable[[Request], bytes]] = {
    "openai": openai.encode_request,
    "strict template": lambda request: openai.encode_request(demanded(request)),
    "prompted": lambda request: openai.encode_request(as_prompted(request)),
    "prompted, strict template": lambda request: openai.encode_request(demanded(as_prompted(request))),
    "ollama": ollama.encode_request,
    "anthropic": lambda request: anthropic.encode_request(replace(request, constraint=None)),
}


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=40)
@given(st.tuples(answers("A"), answers("B"), answers("C")), POLICIES, CHOICES, st.booleans())
def test_a_retry_only_adds_to_the_bytes_before_it(
    wire: str,
    given_answers: tuple[list[Delta], ...],
    policy: Policy,
    choice: ToolChoice | None,
    constrains: bool,
) -> None:
    request = replace(openai.decode_request(json.dumps(EARLIER).encode()), tool_choice=choice)

    _, requests = played(Turn(request, policy, Capabilities(constrains=constrains)), list(given_answers), 0)

    bodies = [WIRES[wire](sent) for sent in requests]
    for before, after in pairwise(bodies):
        assert after.startswith(before.rstrip(b"]}"))
