"""Finding openers, and pieces in which none can begin."""

import pytest

from forge.dialects.automaton import Automaton, held_name, name_before
from forge.dialects.toolbox import Toolbox

TOOLS = Toolbox(["get_weather", "ping"])


@pytest.mark.parametrize(
    ("text", "at", "word", "waits"),
    [
        pytest.param("a <tool_call>{", 2, "<tool_call>", False, id="tag"),
        pytest.param("a <tool_ca", 2, "<", True, id="tag that has not arrived whole"),
        pytest.param("x[ARGS]{}", 1, "[ARGS]", False, id="token behind a name"),
        pytest.param("So.\nAction: ping", 4, "Action:", False, id="anchor inside the opener"),
        pytest.param("a <ping>", 2, "<ping>", False, id="tag of an offered tool"),
    ],
)
def test_the_first_opener(text, at, word, waits):
    hit = Automaton(tuple(TOOLS.tools)).find(text, 0, 0)
    assert hit is not None
    assert (hit.start, hit.word, hit.waits) == (at, word, waits)


@pytest.mark.parametrize("text", ["", "plain words", "a - b", "no tag of ours: <b>"])
def test_no_opener(text):
    automaton = Automaton(tuple(TOOLS.tools))
    hit = automaton.find(text, 0, 0)
    assert hit is None or len(hit.word) == 1


@pytest.mark.parametrize(
    ("piece", "plain"),
    [
        pytest.param(" harbour", True, id="word"),
        pytest.param("get", False, id="may become a tool's name"),
        pytest.param("ping\n", False, id="a name and a line break"),
        pytest.param("<", False, id="may begin a tag"),
        pytest.param("Act", False, id="may begin a line's label"),
        pytest.param(" {", False, id="may begin an object"),
        pytest.param("x" * 100, False, id="longer than a token"),
    ],
)
def test_pieces_in_which_no_opener_begins(piece, plain):
    automaton = Automaton(tuple(TOOLS.tools))
    automaton.note(piece, TOOLS)
    assert (piece in automaton.plain) is plain


def test_a_name_before_an_opener():
    assert name_before("So ping(", 7, 0, "", TOOLS) == 3
    assert name_before("So pong(", 7, 0, "", TOOLS) is None
    assert name_before("ping\n{", 5, 0, "", TOOLS, across_lines=True) == 0


def test_a_name_is_held_until_it_cannot_be_one():
    assert held_name("So get_we", 0, 9, "", TOOLS) == len("get_we")
    assert held_name("So get_fo", 0, 9, "", TOOLS) == 0
