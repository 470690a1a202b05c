"""The tools of a request, sorted once."""

import msgspec
import pytest

from forge.core.request import Tool
from forge.engine.offer import Offer, offer_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FETCH = Tool(name="fetch", parameters=SCHEMA)
SEARCH = Tool(name="web_search", kind="web_search")


def test_tools_are_sorted():
    offer = Offer((SEARCH, FETCH, Tool(name="")))

    assert offer.functions == (FETCH,)
    assert offer.unguarded == {"web_search"}
    assert offer.by_name == {"fetch": FETCH}


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [('{"n": 1}', None), ('{"n": "x"}', "invalid_arguments"), ({}, "invalid_arguments")],
)
def test_calls_are_checked(arguments, fault):
    assert Offer((FETCH,)).check("fetch", arguments).fault == fault


def test_the_same_tools_have_one_offer():
    assert offer_of((FETCH, SEARCH)) is offer_of((FETCH, SEARCH))


def test_equal_tools_are_not_taken_for_the_same():
    """Whoever changes a schema in place makes new tools of it; only identity is known without comparing schemas."""
    other = msgspec.structs.replace(FETCH)

    assert other == FETCH
    assert offer_of((other,)) is not offer_of((FETCH,))


def test_other_tools_under_the_same_names_are_checked_by_their_own_schemas():
    for kind, fault in (("string", None), ("integer", "invalid_arguments")):
        tool = Tool(name="fetch", parameters={"type": "object", "properties": {"n": {"type": kind}}})
        assert offer_of((tool,)).check("fetch", {"n": "x"}).fault == fault
