"""Anthropic's Messages API: requests and answers, both ways, sans-I/O. The front of the ``anthropic_*`` modules."""

from forge.wire.anthropic_body import Defaults, VerbatimRequest, encode_request, encode_tool, unsupported
from forge.wire.anthropic_emit import (
    ERROR_TYPES,
    PING_EVENT,
    EventEncoder,
    Identity,
    MessageBuilder,
    encode_error,
    encode_error_event,
    encode_usage,
    error_type,
)
from forge.wire.anthropic_messages import encode_messages, own_messages
from forge.wire.anthropic_request import decode_request
from forge.wire.anthropic_response import EventDecoder, decode_response
from forge.wire.anthropic_thinking import ThinkingMeans
from forge.wire.anthropic_to_openai import Converted, as_openai

__all__ = [
    "ERROR_TYPES",
    "PING_EVENT",
    "Converted",
    "Defaults",
    "EventDecoder",
    "EventEncoder",
    "Identity",
    "MessageBuilder",
    "ThinkingMeans",
    "VerbatimRequest",
    "as_openai",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_error_event",
    "encode_messages",
    "encode_request",
    "encode_tool",
    "encode_usage",
    "error_type",
    "own_messages",
    "unsupported",
]
