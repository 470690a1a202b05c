import json

import pytest

from forge.proxy.handler import is_guarded
from forge.proxy.openai_door import OpenAIDoor

FUNCTION = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, False, id="no-tools"),
        pytest.param({"tools": []}, False, id="empty-tools"),
        pytest.param({"tools": [FUNCTION]}, True, id="function"),
        pytest.param({"tools": [{"type": "web_search"}]}, False, id="other-kind"),
        pytest.param({"tools": [{"type": "web_search"}, FUNCTION]}, True, id="mixed-kinds"),
        pytest.param({"tools": [FUNCTION], "n": 1}, True, id="one-choice"),
        pytest.param({"tools": [FUNCTION], "n": None}, True, id="null-choices"),
        pytest.param({"tools": [FUNCTION], "n": 2}, False, id="several-choices"),
        pytest.param({"tools": [FUNCTION], "tool_choice": "none"}, False, id="no-call"),
        pytest.param({"tools": [FUNCTION], "tool_choice": "required"}, True, id="required"),
    ],
)
def test_what_is_guarded(fields, expected):
    request = OpenAIDoor().decode(json.dumps({"messages": [], **fields}).encode())
    assert is_guarded(request) is expected
