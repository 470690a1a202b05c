"""The offered tools."""

import pytest

from forge.dialects.toolbox import Toolbox

TOOLS = [
    {
        "name": "read_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    }
]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        pytest.param("read_file", True, id="exact"),
        pytest.param("functions.read_file", True, id="prefix"),
        pytest.param("ReadFile", True, id="camel case"),
        pytest.param("read-file", True, id="hyphen"),
        pytest.param("read_files", False, id="similar"),
        pytest.param("", False, id="empty"),
        pytest.param("r" * 500, False, id="longer than any name"),
    ],
)
def test_get(written, found):
    assert (Toolbox(TOOLS).get(written) is not None) is found


@pytest.mark.parametrize(
    ("word", "awaited"),
    [
        ("re", True),
        ("functions.re", True),
        ("ReadF", True),
        ("fu", True),
        ("write", False),
        ("read_fo", False),
    ],
)
def test_awaits(word, awaited):
    assert Toolbox(TOOLS).awaits(word) is awaited


def test_a_schema_is_compiled_once():
    tools = Toolbox(TOOLS)
    tool = tools.tools["read_file"]
    assert tools.compiled(tool) is tools.compiled(tool)
    assert tools.required(tool) == ("path",)
    assert list(tools.parameters(tool)) == ["path"]
