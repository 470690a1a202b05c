import pytest
from costs import grows_linearly

from forge.prompts.templates import extract_tool_call, rescue_tool_call

NAMES = ["fetch", "submit"]


def read(text, tools=NAMES):
    return [(call.tool, call.args) for call in rescue_tool_call(text, tools)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"tool": "fetch", "args": {"k": 1}}', [("fetch", {"k": 1})], id="prompt form"),
        pytest.param('{"name": "fetch", "arguments": {"k": 1}}', [("fetch", {"k": 1})], id="OpenAI keys"),
        pytest.param('Sure: {"tool": "fetch", "args": {}} ok?', [("fetch", {})], id="inside a sentence"),
        pytest.param('{"tool": "fetch"}', [("fetch", {})], id="no arguments"),
        pytest.param('{"tool": "fetch", "args": {"k": "}"}}', [("fetch", {"k": "}"})], id="brace in a string"),
        pytest.param(
            '{"tool": "fetch", "args": {"k": "```json\\n1\\n```"}}', [("fetch", {"k": "```json\n1\n```"})], id="fence inside"
        ),
        pytest.param('{"name": "fetch", "parameters": {"k": 1}}', [("fetch", {"k": 1})], id="parameters"),
        pytest.param('<function=fetch>{"k": 1}</function>', [("fetch", {"k": 1})], id="function tag with JSON"),
        pytest.param('fetch[ARGS]{"k": 1}', [("fetch", {"k": 1})], id="ARGS"),
        pytest.param('[TOOL_CALLS] fetch {"k": 1}', [("fetch", {"k": 1})], id="TOOL_CALLS with blanks"),
        pytest.param('[{"name": "fetch", "arguments": {}}, {"name": "submit", "arguments": {}}]',
                     [("fetch", {}), ("submit", {})], id="array"),
        pytest.param('One {"tool": "fetch", "args": {}} two {"tool": "submit", "args": {}}',
                     [("fetch", {}), ("submit", {})], id="two in a sentence"),
        pytest.param('{"tool": "other", "args": {}}', [], id="unknown tool"),
        pytest.param('<think>{"tool": "fetch", "args": {}}', [], id="open thinking"),
        pytest.param('<thinking>{"tool": "fetch", "args": {}}</thinking>ok', [], id="thinking"),
        pytest.param('I will not run {"tool": "fetch", "args": {}}.', [], id="refusal"),
        pytest.param('Use `{"tool": "fetch", "args": {}}` there.', [], id="inline code"),
        pytest.param("", [], id="nothing"),
    ],
)  # fmt: skip
def test_rescue(text, expected):
    assert read(text) == expected
    assert [(call.tool, call.args) for call in extract_tool_call(text, NAMES)] == expected


def test_fragments_before_a_call_do_not_hide_it():
    text = "A set {x and a map {y are odd. " * 30 + 'I call {"tool": "fetch", "args": {}} now.'
    assert read(text) == [("fetch", {})]


def test_values_get_the_types_of_the_schema():
    tool = {"name": "fetch", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    assert read("<function=fetch><parameter=n>5</parameter></function>", [tool]) == [("fetch", {"n": 5})]


@pytest.mark.parametrize(
    "unit", ["{", "fetch[ARGS]{", "<function=fetch>", '{"a": ', '{"tool": "fetch", "args": {"']
)
def test_hostile_text_costs_little(unit):
    def nothing(size):
        assert read(unit * (size // len(unit))) == []

    assert grows_linearly(nothing, 6_000)
