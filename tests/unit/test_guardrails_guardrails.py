"""The facade, as a loop of one's own uses it."""

import pytest
from pydantic import BaseModel

from forge.core.calls import TextResponse, ToolCall
from forge.core.workflow import ToolDef, ToolSpec
from forge.errors import ToolResolutionError
from forge.guardrails import Guardrails


def rails(**options):
    return Guardrails(["search", "lookup", "answer"], "answer", ["search"], **options)


def call(name, args=None, id_=None):
    return ToolCall(name, {} if args is None else args, id=id_)


def test_a_whole_conversation():
    guard = rails()
    assert guard.check(TextResponse("hm")).action == "retry"
    assert guard.check([call("answer")]).action == "step_blocked"
    assert guard.check([call("nope")]).action == "tool_error"
    result = guard.check([call("search")])
    assert (result.action, result.tool_calls) == ("execute", [call("search")])
    assert guard.record(["search"]) is False
    assert guard.check([call("answer")]).action == "execute"
    assert guard.record([("answer", {"text": "x"})]) is True


@pytest.mark.parametrize(
    ("answer", "times", "reason"),
    [
        pytest.param(TextResponse("prose"), 4, "bad responses", id="text"),
        pytest.param([call("nope")], 4, "bad responses", id="unknown"),
        pytest.param([], 4, "bad responses", id="empty"),
        pytest.param([ToolCall("search", "text")], 3, "tool-argument", id="arguments"),
        pytest.param([call("answer")], 4, "skipped required steps", id="steps"),
    ],
)
def test_budgets(answer, times, reason):
    guard = rails()
    results = [guard.check(answer) for _ in range(times)]
    assert "fatal" not in [r.action for r in results[:-1]]
    assert results[-1].action == "fatal"
    assert reason in results[-1].reason


def test_prerequisites_from_options_and_from_tools():
    guard = rails(prerequisites={"lookup": ["search"]}, max_prereq_violations=0)
    result = guard.check([call("lookup", id_="c1")])
    assert (result.action, "prerequisites" in result.reason) == ("fatal", True)

    class Empty(BaseModel):
        pass

    def tool(name, **options):
        return ToolDef(ToolSpec(name=name, description="", parameters=Empty), lambda: None, **options)

    guard = Guardrails([tool("a"), tool("b", prerequisites=["a"])], "b")
    result = guard.check([call("b", id_="c1")])
    assert (result.action, result.nudge.kind, result.nudge.corrections[0].tool_call_id) == (
        "step_blocked",
        "prerequisite",
        "c1",
    )
    guard.record(["a"])
    assert guard.check([call("b")]).action == "execute"


def test_specs_bring_argument_checks():
    class Params(BaseModel):
        n: int

    guard = Guardrails([ToolSpec(name="a", description="", parameters=Params)], "a")
    assert guard.check([call("a", {"n": "4"})]).tool_calls == [call("a", {"n": 4})]
    result = guard.check([call("a", {"n": "four"})])
    assert (result.action, result.nudge.kind) == ("tool_error", "tool_arg_validation")


def test_failing_tools_are_reported_and_counted_once_for_each_answer():
    guard = rails(max_tool_errors=1)
    for expected in ("tool_error", "fatal"):
        answer = [call("search", id_="c1"), call("lookup")]
        assert guard.check(answer).action == "execute"
        result = guard.record_failure(answer[0], ValueError("boom"))
        assert result.action == expected
        if expected == "tool_error":
            assert guard.record_failure(answer[1], "second").action == expected
            assert result.nudge.content == "[ToolError] ValueError: boom"
            assert result.nudge.corrections[0].tool_call_id == "c1"
            guard.record(["lookup"])  # a failed batch does not reset, whatever else succeeded in it


def test_data_that_does_not_resolve_costs_nothing():
    guard = rails(max_tool_errors=0)
    for _ in range(5):
        result = guard.record_failure("search", ToolResolutionError("no such page"))
        assert (result.action, result.nudge.content) == ("tool_error", "[ToolResolutionError] no such page")


def test_recording_nothing_resets_nothing():
    guard = rails(max_tool_errors=1)
    guard.check([ToolCall("search", "text")])
    guard.record([])
    assert guard.check([ToolCall("search", "text")]).action == "fatal"


def test_success_resets():
    guard = rails(max_tool_errors=1, max_premature_attempts=1)
    guard.check([ToolCall("search", "text")])
    guard.check([call("answer")])
    guard.check([call("lookup")])
    guard.record(["lookup"])
    assert guard.check([ToolCall("search", "text")]).action == "tool_error"
    assert guard.check([call("answer")]).action == "step_blocked"


def test_retry_nudge_as_text_or_function():
    assert rails(retry_nudge="fixed").check(TextResponse("x")).nudge.content == "fixed"
    assert rails(retry_nudge=str.upper).check(TextResponse("x")).nudge.content == "X"


def test_names_that_can_never_be_reached_are_told():
    with pytest.warns(UserWarning, match="typo"):
        Guardrails(["a"], "typo")


def test_several_terminal_tools():
    guard = Guardrails(["a", "b"], frozenset({"a", "b"}))
    assert guard.record(["b"]) is True


# -- text as an answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "text", "action"),
    [
        pytest.param("nudge", "It is done.", "retry", id="strict"),
        pytest.param("auto", "It is done.", "answer", id="auto"),
        pytest.param("auto", "Let me read the file:", "retry", id="announcement"),
        pytest.param("auto", "", "retry", id="empty"),
        pytest.param("auto", "<think>hm</think>", "retry", id="thinking only"),
        pytest.param("auto", '<tool_call>{"name": "fetch", "arguments": {', "retry", id="broken call"),
        pytest.param("trust", "Let me read the file:", "answer", id="trusted"),
    ],
)
def test_what_text_is_worth(policy, text, action):
    guard = Guardrails(["fetch", "submit"], "submit", text_policy=policy)
    result = guard.check(TextResponse(text))
    assert result.action == action
    assert result.text == (text if action == "answer" else None)


def test_an_announcement_is_corrected_once():
    guard = Guardrails(["fetch", "submit"], "submit", text_policy="auto")
    actions = [guard.check(TextResponse("Let me read the file:")).action for _ in range(2)]
    assert actions == ["retry", "answer"]


def test_text_is_no_answer_while_steps_are_open():
    guard = Guardrails(["fetch", "submit"], "submit", ["fetch"], text_policy="trust")
    assert guard.check(TextResponse("It is done.")).action == "retry"
    guard.record(["fetch"])
    assert guard.check(TextResponse("It is done.")).action == "answer"


def test_an_unknown_text_policy_is_refused():
    with pytest.raises(ValueError, match="text_policy"):
        Guardrails(["submit"], "submit", text_policy="sometimes")
