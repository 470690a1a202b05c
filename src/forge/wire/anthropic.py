"""Anthropic's Messages API, sans-I/O. The front of the ``anthropic_*`` modules."""

from forge.wire.anthropic_body import Defaults, VerbatimRequest, encode_request, encode_tool
from forge.wire.anthropic_messages import encode_messages
from forge.wire.anthropic_response import EventDecoder, decode_response

__all__ = [
    "Defaults",
    "EventDecoder",
    "VerbatimRequest",
    "decode_response",
    "encode_messages",
    "encode_request",
    "encode_tool",
]
