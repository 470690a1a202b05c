"""One JSON value off the tape: where it ends and when it is not whole."""

import pytest

from forge.dialects.candidate import Candidate
from forge.dialects.context import Context
from forge.dialects.json_unit import json_unit
from forge.dialects.literals import Literals
from forge.dialects.repeats import Repeats
from forge.dialects.tape import Tape
from forge.dialects.toolbox import Toolbox

END = Literals(("</end>",))


def read(pieces):
    tape = Tape()
    cur = Candidate(tape, 0, Toolbox(None), Context(), Repeats())
    reader = json_unit(cur, END)
    for piece in pieces:
        tape.append(piece)
        try:
            next(reader)
        except StopIteration as stop:
            return stop.value, cur.pos
    tape.closed = True
    try:
        next(reader)
    except StopIteration as stop:
        return stop.value, cur.pos
    raise AssertionError("it waits for more")


CASES = [
    pytest.param('{"a": [1, 2]} x', "read", {"a": [1, 2]}, id="valid"),
    pytest.param("{'a': True,} x", "read", {"a": True}, id="Python"),
    pytest.param('{"a": {"b": 1</end>', "read", {"a": {"b": 1}}, id="closers forgotten before a mark"),
    pytest.param('{"a": "x</end>y"}', "read", {"a": "x</end>y"}, id="mark in a string"),
    pytest.param('{"a": "say "x"}</end>', "read", {"a": 'say "x'}, id="quotes broken before a mark"),
    pytest.param('{{"a": {{"b": 1}}}}', "read", {"a": {"b": 1}}, id="doubled braces"),
    pytest.param('{"a": "x', "cut_off", None, id="cut off in a string"),
    pytest.param('{"a": ', "cut_off", None, id="cut off behind a key"),
    pytest.param("{what is this}\n", "unreadable", None, id="no JSON"),
]


@pytest.mark.parametrize(("text", "state", "value"), CASES)
def test_whole(text, state, value):
    unit, _ = read([text])
    assert (unit.state, unit.value) == (state, value)


@pytest.mark.parametrize(("text", "state", "value"), CASES)
def test_character_by_character(text, state, value):
    unit, end = read(list(text))
    assert (unit.state, unit.value) == (state, value)
    if state == "read":
        assert end == read([text])[1]
