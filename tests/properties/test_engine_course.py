"""Whatever a conversation holds and whatever a model makes of it: a turn under rules ends, within its bounds, without a fault."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from forge.core.capabilities import Capabilities
from forge.core.events import (
    GUARD_FAILED,
    CallDelta,
    CallReady,
    Delta,
    Finish,
    Finished,
    Output,
    Send,
    TextDelta,
)
from forge.core.request import Call, ChatMessage, Part, Request, Result, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.engine.workflow_rules import WorkflowRules

NAMES = st.sampled_from(["look", "edit", "end", "respond", "nope"])
ARGUMENTS = st.sampled_from(["{}", '{"path": "a"}', '{"path": "b"}', '{"path": 1}', "{broken", "[1]", ""])
CONTENTS = st.sampled_from(["ok", "Error: no", "", '{"error": null}', "same"])
IDS = st.sampled_from(["1", "2", ""])
PARTS = st.one_of(
    st.builds(Text, CONTENTS),
    st.builds(Call, IDS, NAMES, ARGUMENTS),
    st.builds(Result, IDS, CONTENTS, is_error=st.booleans()),
)
MESSAGES = st.builds(
    lambda role, parts: ChatMessage(role=role, parts=tuple(parts)),
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(PARTS, max_size=3),
)
RULES = st.sampled_from(
    [
        (),
        (WorkflowRules(required_steps=("look",), terminal_tools=("end",)),),
        (WorkflowRules(prerequisites={"edit": ({"tool": "look", "match_arg": "path"},), "end": ("edit",)}),),
    ]
)
POLICIES = st.builds(
    Policy,
    max_retries=st.integers(0, 2),
    max_tool_errors=st.integers(0, 2),
    text_policy=st.sampled_from(["auto", "nudge", "respond", "trust"]),
    rescue=st.booleans(),
    constrain=st.booleans(),
    loop_limit=st.integers(0, 3),
    workflows=RULES,
    reasoning_replay=st.sampled_from(["full", "none"]),
)
CHOICES = st.sampled_from([None, *map(ToolChoice, ("auto", "none", "required")), ToolChoice("named", "look")])
ANSWERS = st.lists(
    st.one_of(
        st.builds(
            TextDelta, st.sampled_from(["It is so.", "Let me look:", '<tool_call>{"name": "look", ', "}"])
        ),
        st.builds(
            lambda index, name, arguments: CallDelta(
                index=index, id=f"n{index}", name=name, arguments=arguments
            ),
            st.integers(0, 1),
            NAMES,
            ARGUMENTS,
        ),
    ),
    max_size=3,
)
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = tuple(Tool(name=name, parameters=PATH) for name in ("look", "edit", "end"))


@given(
    st.lists(MESSAGES, max_size=10),
    POLICIES,
    CHOICES,
    st.lists(ANSWERS, min_size=1, max_size=3),
    st.booleans(),
)
def test_a_turn_under_rules_ends(
    history: list[ChatMessage],
    policy: Policy,
    choice: ToolChoice | None,
    answers: list[list[Delta]],
    constrains: bool,
) -> None:
    request = Request(messages=tuple(history), tools=TOOLS, tool_choice=choice)
    turn = Turn(request, policy, Capabilities(constrains=constrains))
    queue: list[Output] = turn.start()
    outputs: list[Output] = []
    sent: list[tuple[ChatMessage, ...]] = []
    while queue:
        following: list[Output] = []
        for output in queue:
            if not isinstance(output, Send):
                outputs.append(output)
                continue
            sent.append(output.request.messages)
            for delta in answers[(len(sent) - 1) % len(answers)]:
                following += turn.feed(delta)
            following += turn.feed(Finish(reason="stop"))
        queue = following

    finished = outputs[-1]
    assert isinstance(finished, Finished)
    assert len(finished.attempts) == len(sent) <= 1 + policy.max_retries + policy.max_tool_errors
    assert GUARD_FAILED not in {attempt.verdict for attempt in finished.attempts}, finished.attempts
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    made = [output for output in outputs if isinstance(output, CallReady)]
    assert (finished.reason == "tool_calls") == bool(made)
    if choice is not None and choice.mode == "none":
        assert made == []
    assert all(call.name in {tool.name for tool in TOOLS} for call in made)
    parts: list[Part] = [part for message in sent[-1][len(history) :] for part in message.parts]
    calls = {part.id for part in parts if isinstance(part, Call)}
    assert calls == {part.call_id for part in parts if isinstance(part, Result)}
