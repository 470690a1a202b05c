"""Long new results, cut as little as possible."""

import pytest

from forge.context.oversize import LONG_RESULT, fit_recent
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType


def result(content):
    return Message(MessageRole.TOOL, content, MessageMeta(MessageType.TOOL_RESULT), "f", "c")


@pytest.mark.parametrize(
    ("sizes", "excess", "cut"),
    [
        pytest.param([10_000], 500, [True], id="one"),
        pytest.param([10_000, 4000], 500, [True, False], id="the-longest-first"),
        pytest.param([4000, 5000], 100_000, [True, True], id="all-there-is"),
        pytest.param([LONG_RESULT], 100_000, [False], id="short-ones-stay"),
        pytest.param([10_000], 0, [False], id="nothing-to-save"),
    ],
)
def test_what_is_cut(sizes, excess, cut):
    messages = [result("a" * (size // 2) + "z" * (size - size // 2)) for size in sizes]
    fitted = fit_recent(messages, 0, excess)
    assert [new is not old for new, old in zip(fitted, messages, strict=True)] == cut
    for new, old in zip(fitted, messages, strict=True):
        assert (new.tool_name, new.tool_call_id, new.content[0], new.content[-1]) == ("f", "c", "a", "z")
        if new is not old:
            assert len(new.content) >= 1000


def test_old_messages_are_not_its_business():
    messages = [result("x" * 10_000), result("y" * 10_000)]
    fitted = fit_recent(messages, 1, 100_000)
    assert fitted[0] is messages[0]
    assert fitted[1] is not messages[1]


def test_it_saves_what_is_asked():
    (fitted,) = fit_recent([result("x" * 40_000)], 0, 5000)
    assert 18_000 < len(fitted.content) <= 20_000
