"""One judgement for every face: the guarded turn and the validator say the same about the same calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forge.core.calls import ToolCall
from forge.core.events import CallDelta, Finish
from forge.core.request import Tool
from forge.engine.answer import Answer
from forge.engine.call_check import gravest, judge_call, prefixed
from forge.engine.judge import Rules, judge
from forge.engine.offer import Offer
from forge.engine.tone import Tone
from forge.guardrails import ResponseValidator

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FETCH = Tool(name="fetch", description="", parameters=SCHEMA)
TOOLS = {"fetch": FETCH, "submit": Tool(name="submit", description="", parameters={"type": "object"})}
OFFER = Offer(tuple(TOOLS.values()))


@pytest.mark.parametrize(
    ("name", "arguments", "options", "fault"),
    [
        pytest.param("fetch", {"n": 1}, {}, None, id="good"),
        pytest.param("functions.fetch", '{"n": "1"}', {}, None, id="mended"),
        pytest.param("nope", {}, {}, "unknown_tool", id="unknown"),
        pytest.param("fetch", {"n": "x"}, {}, "invalid_arguments", id="schema"),
        pytest.param("fetch", None, {"decoded": True}, "invalid_arguments", id="decoded none"),
        pytest.param("submit", None, {}, None, id="absent"),
        pytest.param("submit", {}, {"forced": "fetch"}, "wrong_tool", id="another was demanded"),
    ],
)
def test_faults(name: str, arguments: Any, options: dict[str, Any], fault: str | None) -> None:
    verdict = judge_call(name, arguments, TOOLS, **options)
    assert verdict.fault == fault
    assert bool(verdict.correction) == bool(fault)


def test_an_invented_tool_is_graver_than_broken_arguments() -> None:
    assert gravest([None, "invalid_arguments", "unknown_tool"]) == 2
    assert gravest([None, "invalid_arguments"]) == 1
    assert gravest([None]) is None


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([("fetch", {"n": 1}), ("submit", {})], id="good"),
        pytest.param([("fetch", {"n": "x"}), ("submit", {})], id="arguments"),
        pytest.param([("fetch", {}), ("nope", {"n": 1}), ("fetch", {"n": 2})], id="mixed"),
    ],
)
def test_the_turn_and_the_validator_agree(calls: list[tuple[str, Any]], level: int) -> None:
    answer = Answer(OFFER, scan=True)
    for index, (name, arguments) in enumerate(calls):
        answer.feed_call(CallDelta(index=index, id=f"c{index}", name=name, arguments=json.dumps(arguments)))
    answer.finish = Finish(reason="tool_calls")
    verdict = judge(answer, Rules(offer=OFFER), level=level)
    written = [ToolCall(name, arguments, id=f"c{i}") for i, (name, arguments) in enumerate(calls)]
    result = ResponseValidator(TOOLS.values()).validate(written, tone=Tone(level))

    assert verdict.accepted == (result.nudge is None)
    if result.nudge is not None:
        assert [prefixed(call.fault, call.correction) for call in verdict.calls] == [
            correction.content for correction in result.nudge.corrections
        ]
        assert result.nudge.corrections[gravest([c.fault for c in verdict.calls])].kind == result.nudge.kind
