"""Ollama's chat protocol, sans-I/O. The front of the ``ollama_*`` modules."""

from forge.wire.ollama_request import effort, encode_request, thinking, unsupported
from forge.wire.ollama_response import ObjectDecoder

__all__ = ["ObjectDecoder", "effort", "encode_request", "thinking", "unsupported"]
