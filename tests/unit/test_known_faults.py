"""The list of known faults: those of reading calls out of text, and that each of the others has its test."""

import re
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from forge.context import ContextManager, NoCompact
from forge.core.calls import TextResponse, ToolCall
from forge.core.runner import WorkflowRunner
from forge.core.workflow import ToolSpec, Workflow
from forge.errors import PrerequisiteError
from forge.guardrails import ResponseValidator
from forge.tools import tool

HERE = Path(__file__).parent
DECISIONS = HERE.parents[1] / "docs" / "decisions"


class Params(BaseModel):
    key: str = ""
    n: int = 0


VALIDATOR = ResponseValidator([ToolSpec(name="fetch", description="", parameters=Params)])


def calls(text):
    return [call.args for call in VALIDATOR.validate(TextResponse(text)).tool_calls or ()]


def rows(table):
    text = (DECISIONS / table).read_text(encoding="utf-8")
    return re.findall(r"^\| (\d+) \| .+? \| (.+) \|$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("known-faults.md", 64),
        ("known-faults-backends.md", 40),
        ("known-faults-proxy.md", 47),
        ("messages-door.md", 16),
    ],
)
def test_every_fault_has_a_test_that_exists_or_a_reason(table, count):
    assert [int(number) for number, _ in rows(table)] == list(range(1, count + 1))
    missing = []
    for number, cell in rows(table):
        named = re.findall(r"(test_\w+\.py)::(test_\w+)", cell)
        assert named or cell.startswith(("kept:", "by construction:")), number
        for file, function in named:
            pattern = re.compile(rf"^ *(?:async )?def {function}\(", re.MULTILINE)
            if not any(pattern.search(path.read_text()) for path in HERE.parent.rglob(file)):
                missing.append((number, file, function))
    assert missing == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<function=fetch>{"key": "v"}</function>', id="llama"),
        pytest.param('{"name": "fetch", "parameters": {"key": "v"}}', id="parameters"),
        pytest.param('{"name": "fetch", "arguments": "{\\"key\\": \\"v\\"}"}', id="arguments as text"),
    ],
)
def test_arguments_are_not_lost(text):
    assert calls(text) == [{"key": "v"}]


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("```python\\nprint(1)\\n```", id="fence"),
        pytest.param("a } b", id="closing brace"),
        pytest.param("if x: { y }", id="braces"),
        pytest.param("{{", id="opening braces"),
        pytest.param("</tool_call>", id="a tag"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        '{"tool": "fetch", "args": {"key": "%s"}}',
        '<tool_call>{"name": "fetch", "arguments": {"key": "%s"}}</tool_call>',
    ],
)
def test_values_are_verbatim(form, value):
    assert calls(form % value) == [{"key": value.replace("\\n", "\n")}]


CALL = '{"tool": "fetch", "args": {"n": 1}}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"<think>{CALL}</think>", id="think"),
        pytest.param(f"<thinking>{CALL}</thinking>", id="thinking"),
        pytest.param(f"{CALL} is what I could call</think>It is done.", id="before a lone end"),
        pytest.param(f"<think>perhaps {CALL} but no, I should ask", id="never closed"),
    ],
)
def test_a_rehearsal_does_not_run(text):
    assert calls(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{" * 48_000, id="braces"),
        pytest.param("fetch[ARGS]{" * 4_000, id="mistral"),
        pytest.param("<function=fetch>" * 3_000, id="functions"),
        pytest.param("[" * 100_000, id="nesting"),
        pytest.param('{"tool": "fetch", "args": ' * 5_000, id="calls in calls"),
    ],
)
def test_hostile_texts_are_read_in_time(text):
    begin = time.process_time()
    assert calls(text) == []
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('<|channel|>commentary to=functions.fetch<|message|>{"n": 1}<|call|>', id="harmony"),
        pytest.param('[TOOL_CALLS]fetch[CALL_ID]x[ARGS]{"n": 1}', id="mistral with an id"),
        pytest.param('[TOOL_CALLS] fetch{"n": 1}', id="mistral with a gap"),
        pytest.param('<invoke name="fetch"><parameter name="n">1</parameter></invoke>', id="invoke"),
        pytest.param("[fetch(n=1)]", id="pythonic"),
        pytest.param('{"tool_calls": [{"name": "fetch", "arguments": {"n": 1}}]}', id="tool_calls wrapper"),
        pytest.param(
            '{"type": "function", "function": {"name": "fetch", "arguments": {"n": 1}}}', id="openai"
        ),
        pytest.param('Action: fetch\nAction Input: {"n": 1}', id="react"),
    ],
)
def test_notations_that_were_missing(text):
    assert calls(text) == [{"n": 1}]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{'tool': 'fetch', 'args': {'n': 1}}", id="single quotes"),
        pytest.param('<tool_call>{"name": "fetch", "arguments": {"n": 1,}}</tool_call>', id="trailing comma"),
        pytest.param("<function=fetch><parameter=n>1</parameter></function>", id="typed by the schema"),
    ],
)
def test_broken_json_is_read_where_it_leaves_no_doubt(text):
    assert calls(text) == [{"n": 1}]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"For example, you could write `{CALL}` to fetch.", id="inline code"),
        pytest.param('<tool_call>{"name": "fetch", "arguments": {"key": "half', id="cut off"),
    ],
)
def test_an_example_does_not_run(text):
    assert calls(text) == []


def test_an_unknown_name_gets_a_hint():
    nudge = VALIDATOR.validate([ToolCall("fetsh", {})]).nudge
    assert "'fetch'" in nudge.content


@pytest.mark.anyio
async def test_the_prerequisite_budget_is_an_option(scripted):
    first = tool(name="first")(lambda: "f")
    late = tool(name="late", prerequisites=["first"])(lambda: "l")
    client = scripted([ToolCall("late", {})])
    runner = WorkflowRunner(client, ContextManager(NoCompact(), None), max_prereq_violations=0)
    with pytest.raises(PrerequisiteError) as caught:
        await runner.run(Workflow.from_tools([first, late], terminal_tool="late"), "task")
    assert (caught.value.violations, len(client.sent)) == (1, 1)
