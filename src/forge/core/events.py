"""Events of a model turn.

A client decodes a backend's answer, streamed or whole, into *deltas*. The engine turns deltas into *outputs*
for whoever drives it (proxy, runner, middleware). ``TextDelta``, ``ReasoningDelta`` and ``BlockDelta`` are both.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from msgspec import Struct

from forge.core.ledger import Fix
from forge.core.request import Protocol, Request


class Started(Struct, frozen=True, kw_only=True, tag="started"):
    """The backend's envelope: response id, served model, creation time and fields without a neutral name.

    ``usage`` is what some backends say of the prompt before they answer; a :class:`Usage` of the whole call follows.
    """

    id: str | None = None
    model: str | None = None
    created: int | None = None
    extra: dict[str, Any] = {}
    usage: Usage | None = None


class TextDelta(Struct, frozen=True, tag="text"):
    """A piece of visible text. ``extra`` holds choice-level fields that came with it (logprobs)."""

    text: str
    extra: dict[str, Any] | None = None


class ReasoningDelta(Struct, frozen=True, tag="reasoning"):
    """A piece of thinking. ``field`` is the wire name it came under (vLLM says ``reasoning``).

    A ``signature`` comes with the last piece of a block, whose text may be empty, and ends the block. ``redacted``
    is a whole block without text. Both are as in :class:`forge.core.request.Reasoning`.
    """

    text: str
    field: str = "reasoning_content"
    signature: str = ""
    redacted: str = ""


class BlockDelta(Struct, frozen=True, tag="block"):
    """A part of the answer that only its own ``protocol`` has a form for, decoded; other doors leave it out.

    Of Anthropic's: a whole content block (of a tool that the server runs), a ``citations_delta`` for the text
    before it, or ``content_block_stop`` where one text ends and another begins.
    """

    value: dict[str, Any]
    protocol: Protocol


class CallDelta(Struct, frozen=True, kw_only=True, tag="call"):
    """A piece of a structured call. Pieces of one call share ``index``; ``arguments`` is a piece of JSON text."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class Usage(Struct, frozen=True, kw_only=True, tag="usage"):
    """Tokens of one backend call. ``extra`` keeps the fields of the usage object without a neutral name."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_creation_tokens: int = 0
    extra: dict[str, Any] = {}


class Finish(Struct, frozen=True, kw_only=True, tag="finish"):
    """Why generation ended, in OpenAI's words: stop, length, tool_calls, content_filter, or the backend's own.

    ``extra`` holds top-level fields of the last chunk (llama-server's ``timings``). ``body`` is the backend's
    whole answer, undecoded, when it was not streamed; ``protocol`` is that of the body and of ``extra``.
    """

    reason: str
    extra: dict[str, Any] = {}
    body: bytes | None = None
    protocol: Protocol = Protocol.OPENAI


Delta: TypeAlias = Started | TextDelta | ReasoningDelta | BlockDelta | CallDelta | Usage | Finish


class Send(Struct, frozen=True, kw_only=True, tag="send"):
    """The driver must run this request on the backend and feed its deltas. ``attempt`` counts from 1."""

    request: Request
    attempt: int


class CallReady(Struct, frozen=True, kw_only=True, tag="call_ready"):
    """A call that passed every check; the client may have it. ``arguments`` is JSON text of an object."""

    id: str
    name: str
    arguments: str
    notation: str = "native"
    fixes: tuple[Fix, ...] = ()


class Retrying(Struct, frozen=True, kw_only=True, tag="retrying"):
    """The attempt was rejected and another one follows. ``reason`` is a stable code, ``detail`` one sentence."""

    attempt: int
    reason: str
    detail: str


GUARD_FAILED: Final = "guard_failed"
"""The verdict of an attempt on which Forge itself failed: from there on the backend's answer passed through."""


class Attempt(Struct, frozen=True, kw_only=True):
    """The record of one backend call inside a turn."""

    number: int
    verdict: str
    detail: str = ""
    usage: Usage | None = None
    finish_reason: str | None = None
    constrained: bool = False
    fixes: tuple[Fix, ...] = ()


class Finished(Struct, frozen=True, kw_only=True, tag="finished"):
    """The turn is over. ``usage`` is the sum over attempts; ``reason`` is in OpenAI's words.

    ``body`` is the backend's own answer when it was not streamed and nothing in it had to be changed: a door of
    the same ``protocol`` passes it on byte for byte.
    """

    reason: str
    usage: Usage | None
    attempts: tuple[Attempt, ...]
    started: Started | None = None
    extra: dict[str, Any] = {}
    body: bytes | None = None
    protocol: Protocol = Protocol.OPENAI

    def body_in(self, protocol: Protocol) -> bytes | None:
        """The backend's own answer, if a caller who speaks ``protocol`` can have it as it is."""
        return self.body if self.protocol is protocol else None


Output: TypeAlias = Send | TextDelta | ReasoningDelta | BlockDelta | CallReady | Retrying | Finished
