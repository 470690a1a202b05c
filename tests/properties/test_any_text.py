"""Whatever the text: nothing is raised, nothing is lost, and pieces change nothing."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.registry import NOTATIONS
from forge.prompts.templates import rescue_tool_call
from forge.prompts.think_tags import extract_think_tags

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "corpus" / "cases.jsonl").read_text("utf-8").splitlines()
]
TOOLS = ["get_weather", "bash", "read_file", "write_file"]
WORDS = [
    *(opener.text for notation in NOTATIONS for opener in notation.openers),
    *(notation.example for notation in NOTATIONS if notation.example),
    *(
        "get_weather",
        "bash",
        '{"name": "bash", "arguments": {"command": "ls"}}',
        "\n",
        " ",
        '"',
        "'",
        "{",
        "}",
        "[",
        "]",
    ),
    *(
        "</parameter>",
        "</function>",
        "</arg_value>",
        "<arg_key>",
        "```",
        "\\",
        "\ud800",
        "\x00",
        "é",
        "🎉",
        ":",
        ",",
    ),
    *(
        "(",
        ")",
        "Some prose here. ",
        "For example: ",
        "Observation: 4\n",
        "Action Input: ",
        "[ARGS]",
        "<|message|>",
    ),
]
SOUP = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=14).map("".join)
SURROGATES = st.text(st.characters(), max_size=200)


def check(text, tools, cuts):
    whole = parse_tool_calls(text, tools)
    scanner = ReplyScanner(tools)
    parts, last = [], 0
    for cut in sorted({min(cut, len(text)) for cut in cuts}):
        parts.append(scanner.feed(text[last:cut]))
        last = cut
    parts += [scanner.feed(text[last:]), scanner.finish()]
    assert [call for part in parts for call in part.calls] == whole.calls
    assert "".join(part.text for part in parts) == whole.text
    assert "".join(part.reasoning for part in parts) == whole.reasoning
    assert [(r.reason, r.name, r.text) for part in parts for r in part.rejected] == [
        (r.reason, r.name, r.text) for r in whole.rejected
    ]
    for call in whole.calls:
        assert call.tool in {tool if isinstance(tool, str) else tool["function"]["name"] for tool in tools}
        assert 0 <= call.source.span[0] <= call.source.span[1] <= len(text)


@settings(max_examples=250, deadline=None)
@given(text=SOUP, cuts=st.lists(st.integers(0, 400), max_size=12))
def test_notations_in_any_order(text, cuts):
    check(text, TOOLS, cuts)


@settings(max_examples=150, deadline=None)
@given(text=SOUP)
def test_one_character_at_a_time(text):
    check(text, TOOLS, range(len(text)))


@settings(max_examples=200, deadline=None)
@given(text=SURROGATES, cuts=st.lists(st.integers(0, 200), max_size=5))
def test_any_characters(text, cuts):
    check(text, TOOLS, cuts)
    rescue_tool_call(text, TOOLS)
    extract_think_tags(text)


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_corpus_cases_cut_doubled_spliced_and_shuffled(data):
    case, other = data.draw(st.sampled_from(CASES)), data.draw(st.sampled_from(CASES))
    text = case["text"]
    change = data.draw(st.sampled_from(["cut", "drop", "double", "splice", "shuffle", "replace"]))
    at = data.draw(st.integers(0, len(text)))
    to = data.draw(st.integers(at, min(len(text), at + 30)))
    if change == "cut":
        text = text[:at]
    elif change == "drop":
        text = text[:at] + text[to:]
    elif change == "double":
        text = text[:to] + text[at:]
    elif change == "splice":
        text = text[:at] + other["text"] + text[at:]
    elif change == "replace":
        text = text[:at] + data.draw(st.sampled_from(WORDS)) + text[to:]
    else:
        lines = text.split("\n")
        text = "\n".join(data.draw(st.permutations(lines)) if len(lines) < 12 else lines[::-1])
    check(text, case["tools"], data.draw(st.lists(st.integers(0, len(text)), max_size=8)))


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(max_size=300).filter(
        lambda text: (
            not (
                set(text) & set("<[{(`>:=|◁｛［\u200b\ufeff\u2060")
                or text.lstrip().startswith(("/think\n", "analysis"))
            )
        )
    )
)
def test_text_without_markup_is_released_unaltered(text):
    assert parse_tool_calls(text, TOOLS).text == text
