"""Reading what a model wrote: one module per family of notations, a registry, and the streaming scanner."""

from forge.dialects.reply import (
    CallSegment,
    ReasoningSegment,
    RejectedSegment,
    Reply,
    Segment,
    TextSegment,
)
from forge.dialects.scanner import ReplyScanner, parse_tool_calls

__all__ = [
    "CallSegment",
    "ReasoningSegment",
    "RejectedSegment",
    "Reply",
    "ReplyScanner",
    "Segment",
    "TextSegment",
    "parse_tool_calls",
]
