"""Code fences: calls and nothing else, or text."""

import pytest
from note_tools import TOOLS, calls

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.reply import Reply


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "a"}}\n```',
            [("note", {"text": "a"})],
            id="json",
        ),
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "a"}}\n',
            [("note", {"text": "a"})],
            id="left open",
        ),
        pytest.param(
            '```json\n{"name": "note", "arguments": {"text": "```\\nx\\n```"}}\n```',
            [("note", {"text": "```\nx\n```"})],
            id="fence in a value",
        ),
        pytest.param(
            '```xml\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>\n```',
            [("ping", {})],
            id="tag inside",
        ),
        pytest.param(
            '```tool_code\nprint(default_api.note(text="a"))\n```',
            [("note", {"text": "a"})],
            id="tool_code",
        ),
        pytest.param(
            '```tool_code\nresult = note(text="a")\nprint(result)\n```',
            [("note", {"text": "a"})],
            id="assignment in tool_code",
        ),
        pytest.param(
            "```tool\nTOOL_NAME: note\nBEGIN_ARG: text\na\nb\nEND_ARG\n```",
            [("note", {"text": "a\nb"})],
            id="Continue block",
        ),
    ],
)
def test_calls(text, expected):
    assert calls(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```python\nfor x in y:\n    note(text=x)\n```", id="program"),
        pytest.param('```tool_code\nx == note(text="a")\n```', id="comparison in tool_code"),
        pytest.param(
            'For example:\n```json\n{"name": "note", "arguments": {"text": "a"}}\n```', id="example"
        ),
        pytest.param('Write `{"name": "ping", "arguments": {}}`.', id="inline"),
        pytest.param('```diff\n{"name": "ping", "arguments": {}}\n```', id="other language"),
    ],
)
def test_no_calls(text):
    assert calls(text) == []


CALL = '{"name": "note", "arguments": {"text": "a"}}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"```json\n{CALL}\n```", id="json"),
        pytest.param(f"```\n  {CALL}\n\n```\nDone.", id="no language"),
        pytest.param(f"```tool_call\n{CALL}```", id="closed behind the call"),
        pytest.param(f"```json\n{CALL}\n````\nDone.", id="a tick too much"),
        pytest.param(f"````json\n{CALL}\n````", id="four ticks"),
        pytest.param(f"```json\n{CALL}\n{CALL}\n```", id="two calls"),
        pytest.param(f"```json\n{CALL}\nand so on\n```", id="text behind the call"),
        pytest.param(f"```json\n{CALL}\n</tool_call>\n```", id="a stray tag"),
        pytest.param(f"```json {CALL}\n```", id="call in the info string"),
        pytest.param(f"```rust\n{CALL}\n```", id="another language"),
        pytest.param(f"For example:\n```json\n{CALL}\n```\n", id="example"),
        pytest.param('```json\n{"name": "nope", "arguments": {}}\n```', id="unknown tool"),
        pytest.param('```json\n{"name": "note", "arguments": {"text": 1}}\n```', id="coerced"),
    ],
)
def test_a_fence_that_comes_at_once_is_read_as_one_that_comes_in_pieces(text):
    """The first is taken without a reader, the second never is."""
    scanner = ReplyScanner(TOOLS)
    segments = [segment for char in text for segment in scanner.feed(char).segments]
    pieces = Reply((*segments, *scanner.finish().segments))
    whole = parse_tool_calls(text, TOOLS)

    assert (whole.calls, whole.text, whole.rejected) == (pieces.calls, pieces.text, pieces.rejected)
    assert [call.source for call in whole.calls] == [call.source for call in pieces.calls]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_every_tagged_call_in_a_fence_counts_however_it_is_split(size):
    written = (
        f'<tool_call>{{"name": "note", "arguments": {{"text": "{text}"}}}}</tool_call>' for text in "ab"
    )
    text = "```xml\n" + "\n".join(written) + "\n```"
    scanner = ReplyScanner(TOOLS)

    pieces = [scanner.feed(text[at : at + size]) for at in range(0, len(text), size)]

    found = Reply(tuple(segment for reply in (*pieces, scanner.finish()) for segment in reply.segments))
    assert [(call.tool, call.args) for call in found.calls] == [
        ("note", {"text": "a"}),
        ("note", {"text": "b"}),
    ]


@pytest.mark.timeout(30)  # once it goes round in circles, it does for ever
@pytest.mark.parametrize("separator", ["function<|tool_sep|>: ", "function<|tool▁sep|>\n"])
def test_a_separator_behind_a_call_makes_the_block_text(separator):
    text = f'```json\n<tool_call>{{"name": "ping", "arguments": {{}}}}</tool_call>{separator}'
    reply = parse_tool_calls(text, TOOLS)
    assert (reply.calls, reply.text) == ([], text)


ELEMENT = "<function=note><parameter=text>a</parameter></function>"


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(ELEMENT, id="element"),
        pytest.param('<tool_call name="note">{"text": "a"}</tool_call>', id="attribute"),
    ],
)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_a_call_in_a_block_says_where_it_stood_however_the_text_was_split(call, piece):
    text = f"```xml\n{call}\n{call}\n```"
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(text[at : at + piece]) for at in range(0, len(text), piece)]
    found = [call.source.span[0] for part in (*parts, scanner.finish()) for call in part.calls]
    assert found == [7, 8 + len(call)]


@pytest.mark.parametrize("tildes", ["~~~", "~~~~", "~" * 9])
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_a_block_of_any_number_of_tildes_is_text(tildes, piece):
    text = f"{tildes}\n<tool_call>{ELEMENT}</tool_call>\n{tildes}"
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(text[at : at + piece]) for at in range(0, len(text), piece)]
    parts.append(scanner.finish())
    assert [call for part in parts for call in part.calls] == []
    assert "".join(part.text for part in parts) == text
