"""Arguments in parentheses."""

import pytest

from forge.dialects.python_arguments import read_arguments_list


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("()", {}, id="none"),
        pytest.param("(a='x', b=2)", {"a": "x", "b": 2}, id="literals"),
        pytest.param(
            "(a=true, b=None, c=-1.5e2)", {"a": True, "b": None, "c": -150.0}, id="JSON and Python words"
        ),
        pytest.param("(a=007)", {"a": 7}, id="leading zeros"),
        pytest.param("(a={'k': (1, 2)}, b=[None])", {"a": {"k": [1, 2]}, "b": [None]}, id="containers"),
        pytest.param("(a='it's fine')", {"a": "it's fine"}, id="inner quote"),
        pytest.param("(a='x' 'y')", {"a": "xy"}, id="strings side by side"),
        pytest.param("(a='x\ny')", {"a": "x\ny"}, id="raw line break"),
        pytest.param("(a=r'\\d')", {"a": "\\d"}, id="raw string"),
        pytest.param("(from='x', **{'b': 1})", {"from": "x", "b": 1}, id="keyword and unpacking"),
        pytest.param("('a': 1)", {"a": 1}, id="as in a dict"),
        pytest.param("(city=Oslo)", {"city": "Oslo"}, id="bare word"),
    ],
)
def test_named(text, named):
    arguments = read_arguments_list(text, frozenset())
    assert arguments is not None
    assert (arguments.named, arguments.positional) == (named, [])


@pytest.mark.parametrize("text", ["(a=f(x))", "(a=b + c)", "(a='x)", "(a=)"])
def test_what_is_no_value(text):
    assert read_arguments_list(text, frozenset()) is None
