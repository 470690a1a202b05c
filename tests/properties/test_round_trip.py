"""A call written in any notation comes back exactly, whatever its arguments hold."""

import json
import random
import string

from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import rendering

from forge.dialects import parse_tool_calls
from forge.dialects.context import is_placeholder

TEXT = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(rendering.STRINGS))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
TOOL = {"name": "record", "parameters": {"type": "object", "properties": {"value": {}, "other": {}}}}
ALONE = ("glm4", "glued", "react", "react_fence", "built_in")
AT_START = (*ALONE, "hyperclova", "source", "harmony", "args_only")


def read(text, tools):
    return [(call.tool, call.args) for call in parse_tool_calls(text, tools).calls]


def in_each(names, check):
    """Every example in every notation: drawing one takes longer than reading it in all of them."""
    each(check, {name: name for name in names})


@settings(max_examples=40, deadline=None)
@given(value=JSON, other=JSON)
def test_any_json_arguments(value, other):
    call = ("record", {"value": value, "other": other})

    def comes_back(name):
        got = read(rendering.NOTATIONS[name]([call]), [TOOL])
        assert json.dumps(got) == json.dumps([call])

    in_each(rendering.JSON_NOTATIONS, comes_back)


@settings(max_examples=40, deadline=None)
@given(value=JSON)
def test_any_arguments_as_source(value):
    call = ("record", {"value": value})

    def comes_back(name):
        assert json.dumps(read(rendering.NOTATIONS[name]([call]), [TOOL])) == json.dumps([call])

    in_each(rendering.SOURCE_NOTATIONS, comes_back)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_realistic_calls(seed):
    def come_back(name):
        rng = random.Random(seed)
        calls = rendering.random_calls(rng, 1 if name in ALONE else 3)
        text = rendering.NOTATIONS[name](calls)
        if name not in AT_START:
            text = rng.choice(["", "Let me check.\n", "I will do that now:\n\n"]) + text
        assert read(text, rendering.TOOLS) == calls

    in_each(rendering.NOTATIONS, come_back)


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(string.ascii_letters + string.digits + " .,;:!?'\"{}[]()/\\&=+-*_#@~$%^|é漢", max_size=60)
)
def test_plain_values_are_verbatim(text):
    tool = rendering.spec("record", {"value": {"type": "string"}})
    call = ("record", {"value": text})
    if is_placeholder("value", text):  # "...": an example by rule
        return

    def comes_back(name):
        if name == "continue" and text != text.strip("\r\n"):
            return
        assert read(rendering.NOTATIONS[name]([call]), [tool]) == [call]

    in_each(rendering.TEXT_NOTATIONS, comes_back)
