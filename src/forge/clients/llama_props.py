"""What llama-server says about itself in ``GET /props``."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct

from forge.core.capabilities import Capabilities

_COMPLAINT = re.compile(r"raise_exception\(([^)]*)\)")


class Props(Struct, frozen=True, kw_only=True):
    """``context_length`` is in tokens per slot. ``tools``: the chat template renders tools, so calling is native.

    ``parallel_calls``: it renders several calls in one message. None where the server does not say.
    ``takes_turns`` and ``strict_ids`` are as in :class:`Capabilities`.
    """

    tools: bool = True
    parallel_calls: bool | None = None
    context_length: int | None = None
    slots: int | None = None
    model: str | None = None
    takes_turns: bool = False
    strict_ids: bool = False


def read_props(answer: Any) -> Props | None:
    """The properties, or None where the answer is not llama-server's.

    A server too old to tell what its template can do counts as able, as does one whose template was not probed.
    """
    if not isinstance(answer, dict):
        return None
    settings = answer.get("default_generation_settings")
    if not isinstance(settings, dict) and "chat_template" not in answer:
        return None
    caps = answer.get("chat_template_caps")
    caps = caps if isinstance(caps, dict) else {}
    parallel = caps.get("supports_parallel_tool_calls")
    return Props(
        tools=caps.get("supports_tools") is not False,
        parallel_calls=parallel if isinstance(parallel, bool) else None,
        context_length=_positive(settings.get("n_ctx")) if isinstance(settings, dict) else None,
        slots=_positive(answer.get("total_slots")),
        model=_model(answer),
        **_demands(answer.get("chat_template")),
    )


def _demands(template: Any) -> dict[str, bool]:
    """What a template refuses, by the words in which it says so."""
    complaints = " ".join(_COMPLAINT.findall(template)) if isinstance(template, str) else ""
    return {"takes_turns": "alternate" in complaints, "strict_ids": "length 9" in complaints}


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _model(answer: dict[str, Any]) -> str | None:
    alias, path = answer.get("model_alias"), answer.get("model_path")
    # Without an alias of its own a server may repeat the path of the file.
    if isinstance(alias, str) and alias and alias != path:
        return alias
    return PurePath(path).name.removesuffix(".gguf") if isinstance(path, str) and path else None


@lru_cache(maxsize=16)
def capabilities_of(props: Props | None, *, native: bool) -> Capabilities:
    """What the engine may count on.

    llama-server accepts ``required`` without keeping it (text before a call stays allowed, and the reply may be
    all text until the token limit) and treats a named choice as ``auto``. Of a server that is not llama-server
    no more is taken for granted.
    """
    common = Capabilities(native_tools=native, constrains=True, constrained_by="response_format")
    if props is None:
        return common
    return msgspec.structs.replace(
        common,
        native_tools=native and props.tools,
        # Tools in the prompt are no matter of the template's.
        parallel_calls=props.parallel_calls if native and props.tools else None,
        context_length=props.context_length,
        slots=props.slots,
        model=props.model,
        counts_tokens=True,
        reports_cached=True,
        thinking_by="chat_template_kwargs",
        reasoning_field="reasoning_content",
        takes_turns=props.takes_turns,
        strict_ids=props.strict_ids,
    )
