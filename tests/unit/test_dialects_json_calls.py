"""Which calls a JSON value holds."""

import pytest
from note_tools import TOOLS

from forge.dialects.json_calls import calls_in
from forge.dialects.json_unit import JsonUnit
from forge.dialects.toolbox import Toolbox

BOX = Toolbox(TOOLS)
TEXT = {"text": "a"}


def read(value, *, marked=False, missing_closers=0):
    return calls_in(JsonUnit("read", value, (), missing_closers), BOX, marked=marked)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"name": "note", "arguments": TEXT}, id="name and arguments"),
        pytest.param({"arguments": TEXT, "name": "note"}, id="arguments first"),
        pytest.param({"tool": "note", "args": TEXT}, id="tool and args"),
        pytest.param({"action": "note", "action_input": TEXT}, id="LangChain"),
        pytest.param({"name": "note", "text": "a"}, id="flat"),
        pytest.param({"note": TEXT}, id="the name as the key"),
        pytest.param({"type": "function", "function": {"name": "note", "arguments": TEXT}}, id="OpenAI"),
        pytest.param({"tool_calls": [{"function": {"name": "note", "arguments": TEXT}}]}, id="message"),
        pytest.param(
            {"tool_uses": [{"recipient_name": "functions.note", "parameters": TEXT}]}, id="parallel"
        ),
        pytest.param([{"name": "note", "arguments": TEXT}], id="list"),
        pytest.param(
            {"id": "c1", "name": "note", "arguments": TEXT, "type": "function"}, id="members around"
        ),
    ],
)
def test_a_call(value):
    calls = read(value)
    assert [(found.tool.name, found.raw) for found in calls.found] == [("note", TEXT)]
    assert calls.missed == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"name": "note", "stars": 5}, id="other members"),
        pytest.param({"name": "note"}, id="a name alone where arguments are required"),
        pytest.param({"arguments": TEXT}, id="no name"),
        pytest.param(
            {
                "type": "function",
                "function": {"name": "note", "parameters": {"type": "object", "properties": {}}},
            },
            id="the tool's description",
        ),
        pytest.param({"note": 3}, id="a word that is no object"),
        pytest.param([], id="nothing"),
        pytest.param([1, None], id="scalars"),
    ],
)
def test_data(value):
    calls = read(value)
    assert calls.found == []
    assert calls.missed == []


def test_marks_make_a_lone_name_a_call():
    assert [found.raw for found in read({"name": "ping"}, marked=True).found] == [{}]


def test_an_unknown_name_is_reported_and_hides_no_sibling():
    calls = read([{"name": "fly", "arguments": {}}, {"name": "note", "arguments": TEXT}])
    assert [miss.name for miss in calls.missed] == ["fly"]
    assert [found.tool.name for found in calls.found] == ["note"]


def test_arguments_that_were_left_open_are_cut_off():
    value = {"name": "note", "arguments": TEXT}
    assert [miss.reason for miss in read(value, missing_closers=2).missed] == ["cut_off"]
    assert [found.raw for found in read(value, missing_closers=1).found] == [TEXT]


def test_strings_in_a_list_may_be_calls_as_source():
    assert read(["ping()", "note(text='a')"]).texts == ["ping()", "note(text='a')"]
