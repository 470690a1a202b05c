"""The ``respond`` tool's message, decoded while it is written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.engine.respond import MessageReader, respond_message


@given(st.text(), st.lists(st.integers(1, 7), max_size=30), st.booleans())
def test_any_split_decodes_to_the_message(message: str, sizes: list[int], ascii_only: bool) -> None:
    arguments = json.dumps({"message": message}, ensure_ascii=ascii_only)
    reader, got, pos = MessageReader(), [], 0
    for size in [*sizes, len(arguments)]:
        got.append(reader.feed(arguments[pos : pos + size]))
        pos += size

    assert "".join(got) == message
    assert reader.done


@given(st.text(alphabet='{"mesag:\\\\u00d83nx} ', max_size=60))
def test_never_raises(text: str) -> None:
    reader = MessageReader()
    for char in text:
        reader.feed(char)


@pytest.mark.parametrize("arguments", ['{"text": "x"}', '["message"]', '{"message": 5}', "message"])
def test_other_shapes_are_left_to_the_whole_call(arguments: str) -> None:
    reader = MessageReader()

    assert reader.feed(arguments) == ""
    assert reader.failed


def test_a_message_that_is_no_text_is_shown_as_json() -> None:
    assert respond_message('{"message": {"a": 1}}') == '{"a": 1}'
    assert respond_message("{}") == ""
