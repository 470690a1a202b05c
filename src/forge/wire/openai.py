"""The chat-completions protocol: requests and answers, both ways, sans-I/O. The front of the ``openai_*`` modules."""

from forge.wire.openai_body import encode_messages, encode_request, encode_tool, mended_messages
from forge.wire.openai_emit import (
    DONE_EVENT,
    AnswerBuilder,
    ChunkEncoder,
    Identity,
    encode_error,
    encode_error_event,
    encode_usage,
)
from forge.wire.openai_functions_emit import FunctionChunkEncoder, with_function_call
from forge.wire.openai_request import REASONING_FIELDS, decode_request, top_level_fields
from forge.wire.openai_response import ChunkDecoder, decode_response, read_usage

__all__ = [
    "DONE_EVENT",
    "REASONING_FIELDS",
    "AnswerBuilder",
    "ChunkDecoder",
    "ChunkEncoder",
    "FunctionChunkEncoder",
    "Identity",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_error_event",
    "encode_messages",
    "encode_request",
    "encode_tool",
    "encode_usage",
    "mended_messages",
    "read_usage",
    "top_level_fields",
    "with_function_call",
]
