import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.dialects.json_lexer import Event, JsonLexer
from forge.dialects.literals import Literals

MARKS = Literals(("</tool_call>", "\n```"))


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        pytest.param('{"a": "}"} rest', 10, id="brace in a string"),
        pytest.param("{'a': '}'} rest", 10, id="single quotes"),
        pytest.param('{"a": "\\""} rest', 11, id="escaped quote"),
        pytest.param('{"a": 1 // }\n} rest', 14, id="line comment"),
        pytest.param('{"a": /* } */ 1} rest', 16, id="block comment"),
        pytest.param("{a: it's} rest", 9, id="apostrophe in a bare word"),
        pytest.param("{“a”: “}”} rest", 10, id="typographic quotes"),
        pytest.param("[[{}]] rest", 6, id="nesting"),
        pytest.param('"text" rest', 6, id="a string is a value"),
    ],
)
def test_proposes_where_the_value_closes(text, stop):
    assert JsonLexer().run(text, 0, final=True) == (stop, Event.CLOSED)


def test_stops_at_a_mark_and_says_whether_it_is_inside_a_string():
    lexer = JsonLexer(MARKS)
    at, event = lexer.run('{"a": "x</tool_call>', 0, final=True)
    assert (at, event, lexer.in_string, lexer.mark) == (8, Event.MARK, True, "</tool_call>")


def test_knows_what_is_missing():
    lexer = JsonLexer()
    lexer.run('{"a": [{"b": 1', 0, final=True)
    assert lexer.closers == "}]}"


def test_a_reopened_value_is_proposed_again_after_the_closers_to_pass():
    lexer = JsonLexer()
    at, _ = lexer.run("{}}}}}", 0, final=True)
    lexer.reopen("}", 2)
    assert lexer.run("{}}}}}", at, final=True) == (5, Event.CLOSED)


@given(text=st.text("{}[]()\"'\\/*`<>:,ab \n“”", max_size=60), cut=st.integers(0, 60))
def test_pieces_change_nothing(text, cut):
    whole = JsonLexer(MARKS, stop_at_tags=True)
    expected = whole.run(text, 0, final=True)
    lexer = JsonLexer(MARKS, stop_at_tags=True)
    at, event = lexer.run(text[:cut], 0, final=False)
    if event is Event.MORE:
        # The next window begins where the lexer stopped.
        rest, event = lexer.run(text[at:], 0, final=True)
        at += rest
    assert (at, event, lexer.state, lexer.stack) == (*expected, whole.state, whole.stack)
