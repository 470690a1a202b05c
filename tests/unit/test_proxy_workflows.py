"""Workflow rules as they are written, and what is said of those that cannot be."""

from __future__ import annotations

import pytest

from forge.engine.workflow_rules import WorkflowRules, rules_for
from forge.proxy.settings import SettingsError
from forge.proxy.workflows import WorkflowError, load_workflows, read_workflows

GOOD = """
# how we publish
[[workflows]]
name = "publish"
tools = ["test", "build", "publish", "read"]
required_steps = ["test", "build"]
terminal_tools = ["publish"]

[workflows.prerequisites]
build = ["test"]
publish = [{ tool = "read", match_arg = "path" }]

[[workflows]]
required_steps = ["look"]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rules.toml"

    def written(text):
        path.write_text(text, encoding="utf-8")
        return path

    return written


def test_a_file_of_rules(file):
    assert load_workflows(file(GOOD)) == (
        WorkflowRules(
            name="publish",
            tools=("test", "build", "publish", "read"),
            required_steps=("test", "build"),
            terminal_tools=("publish",),
            prerequisites={"build": ("test",), "publish": ({"tool": "read", "match_arg": "path"},)},
        ),
        WorkflowRules(required_steps=("look",)),
    )


def test_the_first_rules_that_hold_for_the_offered_tools_count(file):
    first, second = rules = load_workflows(file(GOOD))
    assert rules_for(rules, {"test", "build", "publish", "read", "look"}) is first
    assert rules_for(rules, {"test", "build", "look"}) is second
    assert rules_for(rules, {"test"}) is None


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        pytest.param("[[workflow]]\nrequired_steps = ['a']", "workflow", 1, id="other-table"),
        pytest.param("", "workflows", None, id="empty"),
        pytest.param("workflows = 3", "workflows", 1, id="no-tables"),
        pytest.param(GOOD + "required_step = ['a']", "required_step", 15, id="unknown-key"),
        pytest.param(GOOD + "terminal_tools = 'x'", "terminal_tools", 15, id="wrong-type"),
        pytest.param(GOOD + "terminal_tools = ['look']", "terminal_tools", 15, id="end-and-step"),
        pytest.param(GOOD + "tools = ['see']", "tools", 15, id="tool-not-listed"),
        pytest.param(GOOD + "name = 'publish'", "name", 15, id="name-twice"),
        pytest.param(GOOD + "name = 1", "name", 15, id="name-no-string"),
        pytest.param("[[workflows]]\nname = 'x'", "workflows[0]", 1, id="rules-nothing"),
        pytest.param("[[workflows]]\nterminal_tools = ['x']", "terminal_tools", 2, id="end-without-steps"),
        pytest.param(
            "[[workflows]]\n[workflows.prerequisites]\na = [{tool = 'b', arg = 'c'}]",
            "prerequisites.a",
            3,
            id="entry",
        ),
        pytest.param(
            "[[workflows]]\n[workflows.prerequisites]\na = [1]", "prerequisites.a", 3, id="entry-type"
        ),
        pytest.param("[[workflows]]\nprerequisites = ['a']", "prerequisites", 2, id="no-map"),
        pytest.param(
            "[[workflows]]\n[workflows.prerequisites]\na = ['b']\nb = ['c']\nc = ['a']",
            "prerequisites",
            2,
            id="circle",
        ),
    ],
)
def test_rules_that_cannot_be_are_refused_with_key_and_line(file, text, key, line):
    path = file(text)
    with pytest.raises(SettingsError) as caught:
        load_workflows(path)
    message = str(caught.value)
    assert str(path) in message
    assert f"{key}'" in message
    assert (f"line {line}:" in message) if line else ("line" not in message)


def test_a_file_that_is_no_toml_is_refused_with_its_line(file):
    with pytest.raises(SettingsError, match="line 2"):
        load_workflows(file("[[workflows]]\nname = \n"))


@pytest.mark.parametrize("make", ["missing", "directory", "binary", "huge"])
def test_a_file_that_cannot_be_read_is_refused_under_its_name(tmp_path, make):
    path = tmp_path / "rules.toml"
    if make == "directory":
        path.mkdir()
    elif make != "missing":
        path.write_bytes(b"\xff" if make == "binary" else b"#" * (2 * 1024 * 1024))
    with pytest.raises(SettingsError, match=r"rules\.toml"):
        load_workflows(path)


def test_a_tool_may_depend_on_a_single_name_and_on_itself_never():
    (rules,) = read_workflows({"prerequisites": {"edit": "read"}})
    assert rules.prerequisites == {"edit": ("read",)}
    with pytest.raises(WorkflowError):
        read_workflows({"prerequisites": {"edit": "edit"}})
