"""What llama-server says about itself in ``GET /props``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from forge.core.capabilities import Capabilities


class Props(Struct, frozen=True, kw_only=True):
    """``context_length`` is in tokens per slot. ``tools``: the chat template renders tools, so calling is native."""

    tools: bool = True
    context_length: int | None = None
    model: str | None = None


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
    tools = caps.get("supports_tools") if isinstance(caps, dict) else None
    return Props(
        tools=tools is not False,
        context_length=_context_length(settings),
        model=_model(answer),
    )


def _context_length(settings: Any) -> int | None:
    n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
    return n_ctx if isinstance(n_ctx, int) and not isinstance(n_ctx, bool) and n_ctx > 0 else None


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
    return Capabilities(
        native_tools=native and (props is None or props.tools),
        tool_choice_modes=frozenset({"auto", "none"}),
        constrains=True,
        constrained_by="response_format",
        context_length=props.context_length if props is not None else None,
        model=props.model if props is not None else None,
    )
