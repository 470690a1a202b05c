"""Accepting an answer at a glance comes to the same as judging it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from forge.core.capabilities import Capabilities
from forge.core.events import CallDelta, Finish, ReasoningDelta, Retrying, Started, TextDelta, Usage
from forge.core.request import Call, ChatMessage, Request, Result, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.engine.plan import Plan
from forge.engine.policy import TEXT_POLICIES
from forge.engine.sound_answer import sound_answer
from forge.engine.workflow_rules import WorkflowRules

TOOLS = (
    Tool(
        name="read",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "line": {"type": "integer"},
                "old_str": {"type": "string"},
            },
            "required": ["path"],
        },
    ),
    Tool(name="anything", parameters={"type": "object"}),
    Tool(name="bare"),
    Tool(name="elsewhere", kind="web_search"),
)
names = st.sampled_from(
    ["read", "anything", "bare", "Read", "functions.read", "respond", "elsewhere", "other", ""]
)
arguments = st.sampled_from(
    [
        '{"path": "a"}',
        '{"path": "a", "line": 2}',
        ' {"path": "a", "line": 2.0} ',
        '{"path": "a", "line": 2.0}',
        '{"path": "a", "line": "2"}',
        '{"path": 1}',
        '{"arguments": {"path": "a"}}',
        '{"name": "read", "arguments": {"path": "a"}}',
        '{"message": "hello"}',
        r'{"path": "a", "old\\_str": "b"}',
        r'{"path": "a", "old\u005c_str": "b"}',
        '{"path": "a"} and more',
        '{"path": "a",}',
        '{"path": "a"',
        "{}",
        "[]",
        "null",
        "",
    ]
)
calls = st.builds(
    CallDelta,
    index=st.integers(0, 2),
    id=st.sampled_from(["c1", "c2", "", None]),
    name=names,
    arguments=arguments,
)
numbered = st.lists(
    st.tuples(st.sampled_from(["read", "anything", "bare"]), arguments), min_size=1, max_size=3
).map(
    lambda given: [
        CallDelta(index=index, id=f"c{index}", name=name, arguments=text)
        for index, (name, text) in enumerate(given)
    ]
)
others = st.sampled_from(
    [TextDelta("text"), TextDelta(""), ReasoningDelta("thought"), Usage(prompt_tokens=1)]
)
beginnings = st.sampled_from([[], [Started(id="a1", model="m")], [Started(), Started(id="a2")]])
ends = st.builds(
    Finish,
    reason=st.sampled_from(["tool_calls", "tool_calls", "tool_calls", "stop", "length"]),
    extra=st.sampled_from([{}, {"timings": {"n": 1}}]),
    body=st.sampled_from([None, b'{"choices": []}']),
)
answers = st.tuples(
    beginnings,
    numbered | st.lists(calls | others, max_size=4),
    st.sampled_from([[], [Usage(prompt_tokens=3, completion_tokens=2)]]),
    ends.map(lambda end: [end]),
).map(lambda parts: [delta for part in parts for delta in part])
PAST = [
    ChatMessage(role="user", parts=(Text("go"),)),
    *(
        message
        for number in range(4)
        for message in (
            ChatMessage(
                role="assistant", parts=(Call(id=f"p{number}", name="read", arguments='{"path": "a"}'),)
            ),
            ChatMessage(role="tool", parts=(Result(call_id=f"p{number}", content="the same"),)),
        )
    ),
]
requests = st.builds(
    Request,
    messages=st.integers(1, len(PAST)).map(lambda size: tuple(PAST[:size])),
    tools=st.sampled_from([TOOLS, TOOLS[:1], ()]),
    tool_choice=st.sampled_from([None, ToolChoice("auto"), ToolChoice("required"), ToolChoice("none")]),
    options=st.sampled_from([{}, {"parallel_tool_calls": b"false"}]),
)
policies = st.builds(
    Policy,
    max_retries=st.integers(0, 1),
    text_policy=st.sampled_from(TEXT_POLICIES),
    inject_respond_tool=st.booleans(),
    rescue=st.booleans(),
    loop_limit=st.sampled_from([0, 3]),
    workflows=st.sampled_from([(), (WorkflowRules(required_steps=("read",), terminal_tools=("bare",)),)]),
)


def outcome(request, policy, attempts, take):
    """All outputs of a turn whose attempts give ``attempts``, one after the other."""
    turn = Turn(request, policy)
    outputs = turn.start()
    for answer in attempts:
        if turn.done:
            break
        outputs = [*outputs, *take(turn, answer)]
    return outputs


def one_by_one(turn, answer):
    outputs = []
    for delta in answer:
        outputs += turn.feed(delta)
    return outputs


@settings(max_examples=200)
@given(requests, policies, st.lists(answers, min_size=1, max_size=3))
def test_an_answer_taken_at_once_gives_what_its_deltas_give(request, policy, attempts):
    at_once = outcome(request, policy, attempts, Turn.take)
    assert at_once == outcome(request, policy, attempts, one_by_one)


@given(requests, policies, answers)
def test_what_is_sound_is_accepted_as_it_came(request, policy, answer):
    plan = Plan(request, policy, Capabilities())
    if plan.guards and sound_answer(answer, plan) is not None:
        outputs = outcome(request, policy, [answer], one_by_one)
        assert not any(isinstance(output, Retrying) for output in outputs)
        assert outputs[-1].attempts[0].fixes == ()


def test_the_usual_answer_is_sound():
    request = Request(messages=tuple(PAST[:1]), tools=TOOLS)
    answer = [
        Started(id="a1"),
        CallDelta(index=0, id="c0", name="read", arguments='{"path": "a", "line": 2}'),
        CallDelta(index=1, id="c1", name="bare", arguments="{}"),
        Usage(prompt_tokens=3),
        Finish(reason="tool_calls"),
    ]
    assert sound_answer(answer, Plan(request, Policy(), Capabilities())) is not None
