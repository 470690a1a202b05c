"""A request's own policy: what is taken, what wins, and what is refused under which name."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from forge.core.request import Request
from forge.engine import Policy
from forge.engine.workflow_rules import WorkflowRules
from forge.errors import RequestError
from forge.proxy.overrides import overridden

TEMPERATURE = Raw(b"0.5")


def apply(policy=None, body=None, headers=None):
    options = {"temperature": TEMPERATURE}
    if body is not None:
        options["forge"] = Raw(json.dumps(body).encode())
    given = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return overridden(policy or Policy(), Request(messages=(), options=options), [(b"host", b"here"), *given])


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("text_policy", "nudge", "nudge"),
        ("inject_respond_tool", True, "true"),
        ("reasoning_replay", "keep-last", "keep-last"),
        ("max_retries", 1, "1"),
        ("max_tool_errors", 0, "0"),
        ("rescue", False, "off"),
        ("constrain", False, "FALSE"),
        ("loop_limit", 0, "0"),
    ],
)
def test_each_name_works_in_body_and_header(name, value, written):
    by_body, request = apply(body={name: value})
    by_header, _ = apply(headers={f"X-Forge-{name.replace('_', '-').title()}": written})

    assert getattr(by_body, name) == value != getattr(Policy(), name)
    assert by_header == by_body
    assert request.options == {"temperature": TEMPERATURE}


def test_the_body_wins_over_the_header_and_the_header_over_the_flag():
    policy = Policy(max_retries=7, max_tool_errors=7, rescue=False)
    policy, _ = apply(
        policy, {"max_retries": 1}, {"X-Forge-Max-Retries": "2", "X-Forge-Max-Tool-Errors": "2"}
    )

    assert (policy.max_retries, policy.max_tool_errors, policy.rescue) == (1, 2, False)


def test_a_request_that_says_nothing_is_left_as_it_is():
    policy = Policy(max_retries=2)
    request = Request(messages=(), options={"temperature": TEMPERATURE})

    same, kept = overridden(policy, request, [(b"x-forgery", b"1")])

    assert same is policy
    assert kept is request


def test_null_is_nothing_said():
    policy, request = overridden(Policy(), Request(messages=(), options={"forge": Raw(b"null")}), [])
    assert policy == Policy()
    assert request.options == {}


@pytest.mark.parametrize(
    ("base", "said", "expected"),
    [
        (Policy(inject_respond_tool=True), {"text_policy": "trust"}, ("trust", False)),
        (Policy(text_policy="respond"), {"inject_respond_tool": False}, ("auto", False)),
        (Policy(text_policy="trust"), {"inject_respond_tool": True}, ("respond", True)),
        (Policy(text_policy="nudge"), {"inject_respond_tool": False}, ("nudge", False)),
    ],
)
def test_one_of_two_names_for_the_same_thing_says_both(base, said, expected):
    policy, _ = apply(base, said)
    assert (policy.text_policy, policy.inject_respond_tool) == expected


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ([], "forge"),
        ("nudge", "forge"),
        ({"text_polcy": "nudge"}, "forge.text_polcy"),
        ({"text_policy": "strict"}, "forge.text_policy"),
        ({"text_policy": ["nudge"]}, "forge.text_policy"),
        ({"text_policy": None}, "forge.text_policy"),
        ({"max_retries": "1"}, "forge.max_retries"),
        ({"max_retries": True}, "forge.max_retries"),
        ({"max_retries": 1.0}, "forge.max_retries"),
        ({"max_retries": -1}, "forge.max_retries"),
        ({"max_retries": 11}, "forge.max_retries"),
        ({"rescue": 1}, "forge.rescue"),
        ({"rescue": "false"}, "forge.rescue"),
        ({"text_policy": "trust", "inject_respond_tool": True}, "forge.inject_respond_tool"),
        ({"text_policy": "respond", "inject_respond_tool": False}, "forge.inject_respond_tool"),
    ],
)
def test_what_cannot_be_is_refused_under_its_name(body, where):
    with pytest.raises(RequestError) as caught:
        apply(body=body)
    assert caught.value.param == where
    assert where.rpartition(".")[2] in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Forge-Duplicate-Auth", "1"),
        ("X-Forge-Max-Retries", "many"),
        ("X-Forge-Max-Retries", "-1"),
        ("X-Forge-Max-Retries", "9" * 5000),
        ("X-Forge-Rescue", "maybe"),
        ("X-Forge-Text-Policy", ""),
    ],
)
def test_a_header_that_cannot_be_is_refused_under_its_name(name, value):
    with pytest.raises(RequestError) as caught:
        apply(headers={name: value})
    assert caught.value.param == name


RULES = WorkflowRules(name="careful", required_steps=("look",), terminal_tools=("act",))
OTHER = WorkflowRules(name="other", required_steps=("think",))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (False, ()),
        ("none", ()),
        ("careful", (RULES,)),
        ({"required_steps": ["think"], "name": "other"}, (OTHER,)),
        ([{"required_steps": ["think"], "name": "other"}], (OTHER,)),
    ],
)
def test_a_workflow_is_given_named_or_switched_off(said, expected):
    policy, _ = apply(Policy(workflows=(OTHER, RULES)), {"workflow": said})
    assert policy.workflows == expected


def test_a_body_may_name_the_workflow_that_a_header_switched_off():
    policy, _ = apply(Policy(workflows=(RULES,)), {"workflow": "careful"}, {"X-Forge-Workflow": "none"})
    assert policy.workflows == (RULES,)


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ("fast", "forge.workflow"),
        (True, "forge.workflow"),
        (None, "forge.workflow"),
        ([3], "forge.workflow[0]"),
        ({"required": ["a"]}, "forge.workflow.required"),
        ({"required_steps": "a"}, "forge.workflow.required_steps"),
    ],
)
def test_a_workflow_that_cannot_be_is_refused_under_its_name(said, where):
    with pytest.raises(RequestError) as caught:
        apply(Policy(workflows=(RULES,)), {"workflow": said})
    assert caught.value.param == where


def test_an_object_that_no_reader_takes_is_refused():
    deep = Raw(b"[" * 100_000 + b"]" * 100_000)
    with pytest.raises(RequestError) as caught:
        overridden(Policy(), Request(messages=(), options={"forge": deep}), [])
    assert caught.value.param == "forge"


def test_a_header_given_twice_is_refused():
    twice = [(b"x-forge-rescue", b"on"), (b"x-forge-rescue", b"off")]
    with pytest.raises(RequestError) as caught:
        overridden(Policy(), Request(messages=()), twice)
    assert caught.value.param == "X-Forge-Rescue"


def test_a_caller_may_ask_for_as_many_corrections_as_the_proxy_makes():
    policy, _ = apply(Policy(max_retries=50), {"max_retries": 50})
    assert policy.max_retries == 50
