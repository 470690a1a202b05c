"""Where a bracketed value ends is for a judge to say; how often it is asked is bounded."""

import pytest

from forge.dialects.cursor import Cursor
from forge.dialects.delimited import delimited
from forge.dialects.literals import Literals
from forge.dialects.tape import Tape
from forge.dialects.toolbox import Toolbox

MARKS = Literals(("</x>",))


def read(text, accept, **options):
    """The result, where the cursor stands, and the offsets at which the judge was asked."""
    tape = Tape()
    tape.append(text)
    tape.closed = True
    cursor = Cursor(tape, 0, Toolbox(None))
    asked = []

    def attempt(stop, lexer, explicit):
        asked.append((stop, lexer is None, explicit))
        if not accept(text[:stop]):
            return None
        cursor.pos = stop
        return text[:stop]

    reader = delimited(cursor, attempt, MARKS, **options)
    with pytest.raises(StopIteration) as stopped:
        next(reader)
    return stopped.value.value, cursor.pos, asked


def test_the_first_balanced_end():
    assert read('{"a": {}} x', lambda _: True) == ('{"a": {}}', 9, [(9, True, True)])


def test_a_later_end_where_the_first_is_refused():
    text = "{'a': 'it's } here'}"
    value, _, asked = read(text, lambda part: part == text)
    assert value == text
    assert len(asked) > 1


def test_a_mark_ends_a_value_whose_closers_are_missing():
    value, pos, asked = read("{1</x>", lambda part: part == "{1")
    assert (value, pos) == ("{1", 2)
    assert asked == [(2, False, True)]


def test_the_end_of_the_reply_is_no_mark():
    value, pos, asked = read("{1", lambda _: False)
    assert (value, pos) == ("cut_off", 2)
    assert asked == [(2, False, False)]


def test_what_is_plainly_over_and_cannot_be_read():
    value, _, _ = read("{1}\nText.", lambda _: False)
    assert value == "unreadable"


def test_an_end_before_a_forbidden_character_is_none():
    text = "(a)'b)"
    value, _, _ = read(text, lambda _: True, closer=")", never_before="'")
    assert value == text


def test_the_judge_is_asked_a_bounded_number_of_times():
    _, _, asked = read("{" + "a} " * 10_000, lambda _: False)
    assert len(asked) < 40
