import pytest

from forge.dialects import parse_tool_calls
from forge.dialects.context import Context, has_placeholder, is_placeholder


def after(text):
    context = Context()
    context.shown(text)
    return context


@pytest.mark.parametrize(
    "text",
    [
        "A call looks like this: ",
        "For example:\n",
        "FOR EXAMPLE:\n",
        "I will not run ",
        "You would send\n\n",
        "Here's how you can use it:\n",
        "The template is ",
        "If you had agreed, I would have called ",
        'It printed "',
        "> ",
        "Should I run ",
        "Models write calls such as\n",
        "You'd send something like:\n\n",
        "The call would then be:\n\n",
        "A request has this form:\n",
        "Their calls look as follows:\n\n",
        "One way to do it is:\n\n",
        "Use it this way:\n\n",
        "Here's how to call it yourself:\n\n",
        "The README says to use\n\n",
        "Your code should produce\n\n",
        "In the log I see:\n",
        "Did you mean\n",
        "What does this do?\n\n",
        "Expected output:\n",
        "In my last message I wrote\n",
    ],
)
def test_example(text):
    assert after(text).example()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let me look that up.\n",
        "I'll check what is in the folder:\n",
        "Calling: ",
        "I can't see the file yet, so I will read it.\n",
        "I would like to read the file first.\n",
        "For example, Monday works. Let me book it.\n",
        "First the schema:\n",
        "Let me check what the file looks like:\n",
        "I can't answer without looking, so I'll run the query:\n",
        "I don't want to run the whole suite, so I'll run one test:\n",
        "I couldn't find it in the first file; trying the second one now:\n",
        "I'll call it like this:\n\n",
        "I'm looking this up like you asked.\n",
        "As you can see, I need the dictionary.\n",
        "Based on the docs you sent, I'll look it up:\n\n",
        "You can ask me for more later. For now:\n\n",
        "The user wants to know what it means.\n",
        "Here is the tool call:\n\n",
        "Executing:\n",
        "I'll create an example file for you:\n",
        "Instead of running everything, I will call one:\n",
        "Let me look at the previous run's log:\n",
        "Here is the function call to get the weather:\n",
        "You need to use the tool for this, so I'm going to call it:\n",
    ],
)
def test_real(text):
    context = Context()
    if text:
        context.shown(text)
    assert not context.example()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("city", "<city>", True),
        ("email", "<your email>", True),
        ("path", "{{path}}", True),
        ("user_id", "[USER_ID]", True),
        ("selector", "<button>", False),
        ("content", "<html>", False),
        ("city", "Oslo", False),
        ("count", 3, False),
    ],
)
def test_placeholder(key, value, expected):
    assert is_placeholder(key, value) is expected
    assert has_placeholder({key: value, "other": "x"}) is expected


@pytest.mark.parametrize(
    ("text", "expected"), [("", True), ("a\n", True), ("a\n  ", True), ("a ", False), ("a\n- ", False)]
)
def test_at_line_start(text, expected):
    context = Context()
    if text:
        context.shown(text)
    assert context.at_line_start() is expected


def test_a_call_between_two_words_parts_them():
    context = after("before")
    context.cut(call=True)
    assert context.shown("after") == "\nafter"
    context.cut()
    assert context.shown("more") == "more"


def test_nothing_before_a_lone_closing_think_tag_speaks_about_what_follows():
    reply = parse_tool_calls(
        'I must not run f. For example:\n</think>\n<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        ["f"],
    )

    assert [call.tool for call in reply.calls] == ["f"]
