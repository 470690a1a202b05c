import pytest

from forge.engine.constrained import ConstrainedReader

TOOLS = ["f"]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param('{"name": "f", "arguments": {"a": 1}}', [("f", {"a": 1})], id="as constrained"),
        pytest.param(
            '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', [("f", {"a": 1})], id="tagged"
        ),
        pytest.param("Here is what I know.", [], id="prose"),
        pytest.param('{"name": "f", "argu', [], id="cut off"),
    ],
)
def test_answers_of_servers_that_keep_the_constraint_and_of_those_that_do_not(text, calls):
    reader = ConstrainedReader(TOOLS)
    for letter in text:
        reader.feed(letter)

    assert [(call.tool, call.args) for call in reader.finish().calls] == calls
