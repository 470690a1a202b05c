"""What the scanner promises whatever the notation."""

import pytest
from costs import grows_linearly

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.automaton import automaton

CALL = '<tool_call>{"name": "ping", "arguments": {"a": 1}}</tool_call>'
TOOLS = ["ping", "read_file"]


def calls(reply):
    return [(call.tool, call.args) for call in reply.calls]


class TestRelease:
    def test_text_is_released_at_once(self):
        scanner = ReplyScanner(TOOLS)
        assert scanner.feed("Hello ").text == "Hello "
        assert scanner.feed("there").text == "there"

    def test_what_may_begin_a_call_is_held_and_released_unaltered(self):
        scanner = ReplyScanner(TOOLS)
        assert scanner.feed("if a <tool").text == "if a "
        assert scanner.feed("box").text == "<toolbox"

    def test_held_text_is_never_longer_than_the_longest_opener(self):
        longest = automaton(tuple(TOOLS)).literals.longest
        text = (
            "Some words, read_file and <tool_calls_ and [TOOL_REQUES and `code` more <|tool_calls_sectio x "
            * 3
        )
        scanner = ReplyScanner(TOOLS)
        shown = 0
        for at, char in enumerate(text):
            shown += len(scanner.feed(char).text)
            assert at + 1 - shown <= longest

    def test_a_call_is_released_when_it_closes(self):
        scanner = ReplyScanner(TOOLS)
        assert calls(scanner.feed(CALL[: -len("</tool_call>")] + "</tool_call>")) == [("ping", {"a": 1})]

    def test_a_candidate_that_is_none_comes_back_as_text_in_order(self):
        text = 'See {"name": "x", "size": 3} and [1, 2] and <tool> and ```js\nf({a: 1})\n``` end'
        assert parse_tool_calls(text, TOOLS).text == text

    def test_finish_may_be_called_twice_and_feed_not_after_it(self):
        scanner = ReplyScanner(TOOLS)
        scanner.feed("x")
        scanner.finish()
        assert scanner.finish().segments == ()
        with pytest.raises(ValueError, match="finished"):
            scanner.feed("y")


class TestThinking:
    def test_a_reply_that_begins_inside_a_think_block(self):
        text = f"I could call {CALL} now.\n</think>\nDone. {CALL}"
        reply = parse_tool_calls(text, TOOLS, thinking=True)
        assert (calls(reply), reply.text.strip()) == ([("ping", {"a": 1})], "Done.")
        assert reply.reasoning.startswith("I could call")

    def test_reasoning_is_released_as_it_comes(self):
        scanner = ReplyScanner(TOOLS)
        assert scanner.feed("<think>one ").reasoning == "one "
        assert scanner.feed("two </thi").reasoning == "two "
        assert scanner.feed("nk>three").text == "three"

    def test_a_block_that_never_closes_and_ends_in_a_call(self):
        reply = parse_tool_calls(f"<think>\nI need it.\n{CALL}", TOOLS)
        assert calls(reply) == [("ping", {"a": 1})]

    def test_a_rehearsal_in_a_block_that_never_closes_is_none(self):
        assert parse_tool_calls(f"<think>\nMaybe {CALL}", TOOLS).calls == []


class TestRejected:
    @pytest.mark.parametrize(
        ("text", "reason", "name"),
        [
            pytest.param(CALL.replace("ping", "pong"), "unknown_tool", "pong", id="unknown tool"),
            pytest.param(
                '{"name": "pong", "arguments": {"a": 1}}', "unknown_tool", "pong", id="bare unknown tool"
            ),
            pytest.param('<tool_call>{"name": "ping", "arguments": {"a": ', "cut_off", "ping", id="cut off"),
            pytest.param('{"name": "ping", "arguments": {"a": "', "cut_off", "ping", id="bare, cut off"),
            pytest.param("<tool_call>not json</tool_call>", "unreadable", None, id="unreadable"),
            pytest.param('[TOOL_CALLS]pong[ARGS]{"a": 1}', "unknown_tool", "pong", id="mistral"),
            pytest.param("<function=ping>\n<parameter=a>\n1", "cut_off", "ping", id="xml, cut off"),
        ],
    )
    def test_failed_attempts_are_reported_and_shown(self, text, reason, name):
        reply = parse_tool_calls(text, TOOLS)
        assert [(r.reason, r.name) for r in reply.rejected] == [(reason, name)]
        assert (reply.calls, reply.text) == ([], text)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param('```json\n{"name": "alice", "age": 30}\n```', id="data"),
            pytest.param('{"name": "pong", "age": 3}', id="a name without arguments"),
            pytest.param("When it sees `<tool_call>` the server waits.", id="inline code"),
            pytest.param(f"A call looks like this: {CALL}", id="example"),
            pytest.param('{"name": "ping", "arguments": {"city": "<city>"}}', id="placeholder"),
        ],
    )
    def test_text_about_calls_is_text(self, text):
        reply = parse_tool_calls(text, TOOLS)
        assert (reply.calls, reply.rejected, reply.text) == ([], [], text)

    def test_siblings_of_a_failed_call_count(self):
        reply = parse_tool_calls(f"{CALL}\n{CALL.replace('ping', 'pong')}", TOOLS)
        assert calls(reply) == [("ping", {"a": 1})]
        assert [r.name for r in reply.rejected] == ["pong"]


class TestOrder:
    def test_segments_keep_their_order(self):
        reply = parse_tool_calls(f"<think>a</think>one {CALL} two", TOOLS)
        kinds = [type(segment).__name__ for segment in reply.segments]
        assert kinds == ["ReasoningSegment", "TextSegment", "CallSegment", "TextSegment"]

    def test_what_is_invented_after_a_call_is_dropped(self):
        reply = parse_tool_calls(f"{CALL}\nObservation: 4\n{CALL}\nThe answer is 4.", TOOLS)
        assert (len(reply.calls), reply.text.strip()) == (1, "")

    def test_the_same_call_in_two_notations_is_one(self):
        text = f'```json\n{{"name": "ping", "arguments": {{"a": 1}}}}\n```\n{CALL}'
        assert len(parse_tool_calls(text, TOOLS).calls) == 1

    def test_the_same_call_twice_in_one_notation_is_two(self):
        assert len(parse_tool_calls(CALL + CALL, TOOLS).calls) == 2

    def test_fixes_travel_with_the_call(self):
        (call,) = parse_tool_calls(
            "<tool_call>{'name': 'ping', 'arguments': {'a': True,}}</tool_call>", TOOLS
        ).calls
        assert call.args == {"a": True}
        assert call.source.fixes


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "[",
        "<tool_call>",
        'ping[ARGS]{"a": "',
        "<function=ping>",
        "```json\n",
        '{"name": "',
        "<think>",
        "`",
        "~",
        "ping ",
        "(",
    ],
)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_time_grows_with_the_text_and_not_faster(unit, piece):
    def read(size):
        text = unit * (size // len(unit))
        scanner = ReplyScanner(TOOLS)
        for at in range(0, len(text), piece):
            scanner.feed(text[at : at + piece])
        scanner.finish()

    assert grows_linearly(read, 8_000)


@pytest.mark.timeout(30)  # once it goes round in circles, it does for ever
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("\n[TOOL_CALLS]<tool_results>", id="a-call-and-a-result"),
        pytest.param(r"<tool_calls:opensource><|User|><|begin\_of\_sentence|>", id="calls-and-a-turn"),
        pytest.param(r"<｜DSML｜tool_calls>[INST]<｜begin\_of\_sentence｜>", id="calls-and-an-instruction"),
    ],
)
@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_a_model_that_repeats_its_tokens_for_ever_is_read_to_its_end(unit, piece):
    text = unit * 4_000
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(text[at : at + piece]) for at in range(0, len(text), piece)]
    parts.append(scanner.finish())
    assert not any(part.calls for part in parts)
    assert len("".join(part.text for part in parts)) > len(text) / 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "function call<|role_sep|>function call<|role_sep|><end_function_call>",
            id="openers that begin alike",
        ),
        pytest.param("<tools>]~b]", id="an anchor near the edge of a window"),
        pytest.param("<<think>", id="a run before an opener"),
        pytest.param("[[TOOL_CALLS]", id="a run before a bracket opener"),
        pytest.param("~~~~~~: <|im_end|>", id="an opener that is the beginning of a run"),
        pytest.param(
            '[unused11]{"f": {' * 6 + "f([", id="a mark that begins with a bracket, behind a bracket"
        ),
    ],
)
def test_every_split_gives_the_same(text):
    whole = parse_tool_calls(text, TOOLS)
    for cut in range(len(text)):
        scanner = ReplyScanner(TOOLS)
        parts = [scanner.feed(text[:cut]), scanner.feed(text[cut:]), scanner.finish()]
        assert "".join(part.text for part in parts) == whole.text
        assert "".join(part.reasoning for part in parts) == whole.reasoning
        assert [rejected for part in parts for rejected in part.rejected] == whole.rejected


CUT_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "save",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "tags": {"type": "array"}},
                "required": ["text"],
            },
        },
    }
]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "<tool_call>\n<function=save>\n<parameter=text>\nif x == '</function>",
            id="the call's end in a value",
        ),
        pytest.param(
            '<minimax:tool_call>\n<invoke name="save">\n<parameter name="text">see </tool_call>',
            id="another wrapper's end in a value",
        ),
        pytest.param(
            "<think>a draft:\n<tool_call>\n<function=save>\n<parameter=text>\nx\n</parameter>",
            id="a draft, open",
        ),
        pytest.param(
            "<think>a draft:\n<tool_call>\n<function=save>\n<parameter=text>\nx\n</parameter>\n</function>",
            id="a draft whose wrapper is open",
        ),
    ],
)
def test_where_several_end_tags_are_missing_at_the_end_the_text_was_cut_off(text):
    assert parse_tool_calls(text, CUT_TOOLS).calls == []


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n<function=save>\n<parameter=text>\nx\n</function>\n</tool_call>",
        "<tool_call>\n<function=save>\n<parameter=text>\nx\n</tool_call>",
        "<function=save>\n<parameter=text>\nx\n</function>",
        "<tool_call>\n<function=save>\n<parameter=text>\nx\n</parameter>\n</function>",
        "<think>so:\n<tool_call>\n<function=save>\n<parameter=text>\nx\n</parameter>\n</function>\n</tool_call><|im_end|>",
    ],
)
def test_a_missing_end_tag_is_forgiven_where_the_outermost_is_there(text):
    assert [call.args for call in parse_tool_calls(text, CUT_TOOLS).calls] == [{"text": "x"}]
