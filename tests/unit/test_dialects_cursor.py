"""Reading from a text that is still arriving: every answer is the same however the text was split."""

import re

import pytest

from forge.dialects.cursor import Cursor
from forge.dialects.literals import Literals
from forge.dialects.tape import Tape
from forge.dialects.toolbox import LONGEST_NAME, Toolbox

WORDS = Literals(("<a>", "<a>>", "end"))


def answer(step, text, piece):
    """What ``step(cursor)`` gives and where it leaves the cursor, ``text`` arriving in pieces."""
    tape = Tape()
    cursor = Cursor(tape, 0, Toolbox(None))
    reader = step(cursor)
    at = 0
    while True:
        try:
            next(reader)
        except StopIteration as stop:
            return stop.value, cursor.pos
        if at < len(text):
            tape.append(text[at : at + piece])
            at += piece
        else:
            tape.closed = True


@pytest.mark.parametrize("piece", [1, 2, 100])
@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        pytest.param(lambda cur: cur.peek(), "xy", ("x", 0), id="peek"),
        pytest.param(lambda cur: cur.peek(3), "xy", ("xy", 0), id="peek past the end"),
        pytest.param(lambda cur: cur.run(re.compile("x*")), "xxy", ("xx", 2), id="run"),
        pytest.param(lambda cur: cur.run(re.compile("x*")), "xxx", ("xxx", 3), id="run to the end"),
        pytest.param(lambda cur: cur.space(), " \n\u200bx", (" \n\u200b", 3), id="space"),
        pytest.param(lambda cur: cur.literal(WORDS), "<a>>b", ("<a>>", 4), id="the longer word"),
        pytest.param(lambda cur: cur.literal(WORDS), "<a>b", ("<a>", 3), id="the shorter word"),
        pytest.param(lambda cur: cur.literal(WORDS), "<ab", (None, 0), id="no word"),
        pytest.param(lambda cur: cur.literal(WORDS), "en", (None, 0), id="half a word"),
        pytest.param(lambda cur: cur.sees(WORDS), "end", ("end", 0), id="sees"),
        pytest.param(lambda cur: cur.until(WORDS), "xx<a>>y", ((2, "<a>>"), 6), id="until"),
        pytest.param(lambda cur: cur.until(WORDS), "xxx", ((3, None), 3), id="until the end"),
        pytest.param(lambda cur: cur.until(WORDS, 2), "xxxend", ((2, None), 2), id="until the limit"),
        pytest.param(lambda cur: cur.name(), "a.b\\_c(", ("a.b\\_c", 6), id="name"),
        pytest.param(lambda cur: cur.name(), "(", ("", 0), id="no name"),
        pytest.param(lambda cur: cur.attribute(), '"a b">', ("a b", 5), id="quoted attribute"),
        pytest.param(lambda cur: cur.attribute(), "a>", ("a", 1), id="bare attribute"),
        pytest.param(lambda cur: cur.attribute(), '"a\nb"', (None, 3), id="attribute that does not end"),
        pytest.param(lambda cur: cur.at_end(), "", (True, 0), id="at the end"),
        pytest.param(lambda cur: cur.at_end(), "x", (False, 0), id="not at the end"),
    ],
)
def test_answers(step, text, expected, piece):
    assert answer(step, text, piece) == expected


def test_a_word_longer_than_any_name_is_read_no_further():
    word, stop = answer(lambda cur: cur.name(), "a" * 1000, 1000)
    assert len(word) == stop == LONGEST_NAME + 1


def test_a_pattern_takes_only_what_has_arrived():
    tape = Tape()
    tape.append("abc")
    cursor = Cursor(tape, 1, Toolbox(None))
    assert cursor.matched(re.compile("x")) is None
    assert cursor.matched(re.compile("b")).group() == "b"
    assert cursor.pos == 2
