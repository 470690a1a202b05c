import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.core.request import Call, Result, Text
from forge.wire.anthropic_ids import fit_call_id, original_id, own_call_id


@pytest.mark.parametrize("call_id", ["toolu_01A", "call_9", "y5UT8hB7OF5maZQTHo66Ac4um4AmuZwl", "a-b_c"])
def test_an_id_that_fits_stays(call_id):
    assert fit_call_id(call_id) == call_id
    assert own_call_id(call_id) == call_id


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_id_comes_back(call_id):
    fit = fit_call_id(call_id)
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", fit)
    assert own_call_id(fit) == call_id


@given(st.text(alphabet="AZaz09_-"))
def test_what_only_looks_carried_does_no_harm(rest):
    assert isinstance(own_call_id(f"toolu_as_{rest}"), str)


def test_calls_and_results_find_each_other_again():
    fit = fit_call_id("functions.f:0")
    assert original_id(Call(fit, "f", "{}")) == Call("functions.f:0", "f", "{}")
    assert original_id(Result(fit, "x")) == Result("functions.f:0", "x")
    assert original_id(Text("x")) == Text("x")
