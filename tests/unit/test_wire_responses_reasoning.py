import base64

import pytest

from forge.core.request import Reasoning
from forge.wire.responses_reasoning import read_reasoning, sealed

BLOCKS = [Reasoning("hm é 🙂"), Reasoning("so", "reasoning", "sig"), Reasoning("", redacted="xyz")]


def test_thinking_comes_back_as_it_was():
    assert read_reasoning(sealed(BLOCKS), "shown") == BLOCKS


def test_the_same_thinking_is_the_same_text():
    assert sealed(BLOCKS) == sealed(BLOCKS)


@pytest.mark.parametrize(
    "encrypted",
    [
        pytest.param("gAAAAABn", id="foreign"),
        pytest.param("forge1.!!!", id="no-base64"),
        pytest.param("forge1." + base64.urlsafe_b64encode(b'{"a": 1}').decode(), id="other-json"),
        pytest.param("forge1." + base64.urlsafe_b64encode(b"\xff\xfe").decode(), id="no-text"),
    ],
)
def test_what_cannot_be_read(encrypted):
    assert read_reasoning(encrypted, "") is None
    assert read_reasoning(encrypted, "shown") == [Reasoning("shown")]


@pytest.mark.parametrize(
    ("shown", "blocks"),
    [pytest.param("hm", [Reasoning("hm")], id="text"), pytest.param("", [], id="nothing")],
)
def test_thinking_in_plain(shown, blocks):
    assert read_reasoning(None, shown) == blocks
