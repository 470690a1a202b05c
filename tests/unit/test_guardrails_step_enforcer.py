"""Required steps and prerequisites."""

from forge.core.calls import ToolCall
from forge.guardrails import StepEnforcer


def enforcer(**options):
    return StepEnforcer(["fetch"], frozenset({"submit"}), **options)


def calls(*names):
    return [ToolCall(name, {}, id=name) for name in names]


def test_premature_attempts_escalate_and_exhaust():
    steps = enforcer(max_premature_attempts=3)
    seen = []
    for _ in range(5):
        check = steps.check(calls("submit"))
        seen.append((check.nudge.kind, check.nudge.role, check.nudge.tier, steps.premature_exhausted))
    assert seen == [
        ("step", "user", 1, False), ("step", "user", 2, False), ("step", "user", 3, False),
        ("step", "user", 3, True), ("step", "user", 3, True),
    ]  # fmt: skip
    steps.reset_premature()
    assert (steps.premature_attempts, steps.premature_exhausted) == (0, False)


def test_a_batch_is_judged_by_what_was_done_before_it():
    check = enforcer().check(calls("fetch", "submit"))
    assert check.needs_nudge
    assert [(c.tool_call_id, c.offending) for c in check.nudge.corrections] == [
        ("fetch", False),
        ("submit", True),
    ]
    assert check.nudge.corrections[1].content.startswith("[StepEnforcementError] ")


def test_a_single_call_is_judged_by_what_is_done_by_now():
    steps = enforcer()
    assert steps.block(ToolCall("submit", {})).kind == "step"
    steps.record("fetch")
    assert steps.block(ToolCall("submit", {})) is None
    assert steps.premature_attempts == 0


def test_prerequisites():
    steps = enforcer(tool_prerequisites={"edit": [{"tool": "read", "match_arg": "path"}], "submit": ["read"]})
    check = steps.check_prerequisites([ToolCall("edit", {"path": "a"}), ToolCall("fetch", {})])
    assert (check.nudge.kind, check.nudge.tier, steps.prereq_violations) == ("prerequisite", 0, 1)
    assert "edit" in check.nudge.content
    assert "read" in check.nudge.content
    assert check.nudge.corrections[0].content.startswith("[PrerequisiteError] ")
    steps.record("read", {"path": "a"})
    assert not steps.check_prerequisites([ToolCall("edit", {"path": "a"})]).needs_nudge
    assert steps.check_prerequisites([ToolCall("edit", {"path": "b"})]).needs_nudge
    assert steps.check_prerequisites([ToolCall("edit", {})]).needs_nudge
    assert steps.prereq_exhausted
    steps.reset_prereq_violations()
    assert not steps.prereq_exhausted


def test_terminal_reached_needs_all_steps():
    steps = enforcer()
    assert not steps.terminal_reached(calls("submit"))
    steps.record("fetch", {"a": 1})
    assert steps.terminal_reached(calls("x", "submit"))
    assert not steps.terminal_reached(calls("x"))
    assert (steps.is_satisfied(), steps.pending(), steps.summary_hint()) == (
        True,
        [],
        "[Steps completed: fetch]",
    )
    assert list(steps.completed_steps) == ["fetch"]
