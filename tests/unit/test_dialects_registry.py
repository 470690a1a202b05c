"""Every notation reads its own example, and the documentation shows the registry as it is."""

from pathlib import Path

import pytest

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.catalogue import document
from forge.dialects.notation import Where
from forge.dialects.registry import NOTATIONS, native

WEATHER = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
WITH_CALLS = [notation for notation in NOTATIONS if notation.example]


@pytest.mark.parametrize("notation", WITH_CALLS, ids=lambda notation: notation.name)
class TestEachNotation:
    def test_reads_its_example(self, notation):
        reply = parse_tool_calls(notation.example, [WEATHER])
        assert [(call.tool, call.args) for call in reply.calls] == [("get_weather", {"city": "Oslo"})]
        assert reply.text.strip() == ""
        assert reply.rejected == []

    def test_says_where_the_call_came_from(self, notation):
        (call,) = parse_tool_calls(notation.example, [WEATHER]).calls
        start, stop = call.source.span
        assert call.source.notation
        assert "get_weather" in notation.example[start:stop]

    def test_rejects_a_tool_that_was_not_offered_or_leaves_it_as_text(self, notation):
        reply = parse_tool_calls(notation.example, ["other_tool"])
        assert reply.calls == []
        assert "get_weather" in reply.text

    def test_gives_no_call_before_the_arguments_are_complete(self, notation):
        for stop in range(notation.example.index("Oslo") + 2):
            assert parse_tool_calls(notation.example[:stop], [WEATHER]).calls == []

    def test_pieces_change_nothing(self, notation):
        scanner = ReplyScanner([WEATHER])
        parts = [scanner.feed(char) for char in f"So.\n{notation.example}"] + [scanner.finish()]
        whole = parse_tool_calls(f"So.\n{notation.example}", [WEATHER])
        assert [call for part in parts for call in part.calls] == whole.calls
        assert "".join(part.text for part in parts) == whole.text

    def test_is_text_in_inline_code(self, notation):
        if "`" in notation.example or "\n" in notation.example:
            pytest.skip("cannot stand in inline code")
        text = f"It answers with `{notation.example}` and stops."
        reply = parse_tool_calls(text, [WEATHER])
        assert (reply.calls, reply.text) == ([], text)


def test_names_are_unique():
    names = [notation.name for notation in NOTATIONS]
    assert len(names) == len(set(names))


def test_native_openers_count_anywhere():
    _, notations = native()
    for word, notation in notations.items():
        assert any(opener.text == word and opener.where is Where.ANYWHERE for opener in notation.openers)


def test_the_documentation_is_current():
    page = Path(__file__).parents[2] / "docs" / "notations.md"
    assert page.read_text("utf-8") == document(), (
        "run: python -m forge.dialects.catalogue > docs/notations.md"
    )
