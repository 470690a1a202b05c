"""A reply's views of its segments."""

from forge.core.calls import ToolCall
from forge.dialects.reply import CallSegment, ReasoningSegment, RejectedSegment, Reply, TextSegment

CALL = ToolCall("ping", {})
BROKEN = RejectedSegment("<x>", "unreadable", "hermes")
REPLY = Reply(
    (ReasoningSegment("hm "), TextSegment("a "), CallSegment(CALL), BROKEN, ReasoningSegment("so"), TextSegment("b"))
)  # fmt: skip


def test_views():
    assert REPLY.calls == [CALL]
    assert REPLY.text == "a <x>b"
    assert REPLY.reasoning == "hm so"
    assert REPLY.rejected == [BROKEN]


def test_nothing():
    assert (Reply().calls, Reply().text, Reply().reasoning, Reply().rejected) == ([], "", "", [])
