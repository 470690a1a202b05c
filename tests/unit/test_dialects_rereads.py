"""What counts as read again, and when that was too much."""

import pytest
from costs import grows_linearly

from forge.core.request import Tool
from forge.dialects import ReplyScanner
from forge.dialects.rereads import Rereads
from forge.dialects.toolbox import Toolbox

CALL = '{"name": "read", "arguments": {"path": "a"}}'
FREE = 1 << 16
TOOLS = Toolbox(
    [Tool(name="read", parameters={"type": "object", "properties": {"path": {}}, "required": ["path"]})]
)


def test_what_is_read_for_the_first_time_costs_nothing():
    rereads = Rereads()
    for start in range(0, 4 * FREE, FREE):
        rereads.read(start, start + FREE)
    assert not rereads.too_many(0)


def test_what_was_read_before_counts_and_a_longer_reply_may_have_more_of_it():
    rereads = Rereads()
    rereads.read(0, FREE)
    rereads.read(10, FREE + 5)
    assert (rereads.high, rereads.too_many(0)) == (FREE + 5, False)
    rereads.again(11)
    assert (rereads.too_many(0), rereads.too_many(1)) == (True, False)


# Each of these once took the square of its length: from every opener the reply was read to its end, and of that little
# was used.
REPEATED = [
    pytest.param("", '<|tool calls begin|>{"name": "read"', id="arguments that a mark ends in a section"),
    pytest.param(
        "", '{"name": "read"<｜DSML｜invoke name=[unused17]', id="arguments that a mark ends in an element"
    ),
    pytest.param(
        "<|tool▁sep|>true",
        f'{{"name": "read"<longcat_tool_call>{CALL}</longcat_tool_call><｜tool\\_calls\\_begin｜>',
        id="calls in arguments",
    ),
    pytest.param(
        "</｜｜DSML｜｜function_calls><function_calls>read(path='a')</function_calls>",
        '<|tool calls begin|>{"name": "read"',
        id="behind a call",
    ),
]


def segments(text, piece):
    """What a scanner gives, pieces of text joined."""
    scanner = ReplyScanner(TOOLS)
    parts = [scanner.feed(text[at : at + piece]) for at in range(0, len(text), piece)]
    joined = []
    for segment in [segment for part in (*parts, scanner.finish()) for segment in part.segments]:
        if (
            joined
            and type(segment) is type(joined[-1])
            and type(segment).__name__.startswith(("Text", "Reason"))
        ):
            joined[-1] = type(segment)(joined[-1].text + segment.text)
        else:
            joined.append(segment)
    return joined


@pytest.mark.parametrize(("before", "unit"), REPEATED)
@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_time_grows_with_the_text_and_not_faster(before, unit, piece):
    assert grows_linearly(lambda size: segments(before + unit * (size // len(unit)), piece), 12_000)


@pytest.mark.parametrize(("before", "unit"), REPEATED)
def test_what_is_given_up_does_not_depend_on_the_pieces(before, unit):
    text = before + unit * (24_000 // len(unit))
    whole = segments(text, len(text))
    assert segments(text, 7) == whole
    assert segments(text, 64) == whole


@pytest.mark.parametrize(("before", "unit"), REPEATED)
def test_nothing_of_the_text_is_lost_or_shown_twice(before, unit):
    text = "So: " + before + unit * (24_000 // len(unit))
    shown = "".join(getattr(segment, "text", "") for segment in segments(text, len(text)))
    assert len(text) / 2 < len(shown) <= len(text)
