"""The object of a response, and what of a turn's end it tells."""

from __future__ import annotations

from typing import Any, Final

from forge.core.events import Finished, Usage
from forge.wire.json_text import well_formed
from forge.wire.openai_emit import Identity
from forge.wire.responses_request import ResponsesRequest

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is not whole, from the reasons that a chat gives."""


def response_object(request: ResponsesRequest, identity: Identity, state: dict[str, Any]) -> dict[str, Any]:
    """A response's object. ``state`` has its id, status and output, and what else is known by now."""
    served = {**identity.extra, **state.pop("extra", {})}
    return {
        **served,
        "id": state["id"],
        "object": "response",
        "created_at": identity.created,
        "status": state["status"],
        "completed_at": state.get("completed_at"),
        "error": state.get("error"),
        "incomplete_details": state.get("incomplete_details"),
        "model": identity.model,
        "output": state["output"],
        "usage": state.get("usage"),
        **request.given,
        # The tier that served it, which may be another one than was asked for.
        "service_tier": served.get("service_tier") or request.given.get("service_tier"),
    }


def final_state(finished: Finished) -> dict[str, Any]:
    """What the end of a turn says about its response."""
    reason = _INCOMPLETE.get(finished.reason)
    extra = {name: value for name, value in finished.extra.items() if name != "choice"}
    state: dict[str, Any] = {
        "status": "completed" if reason is None else "incomplete",
        "extra": {**(finished.extra.get("choice") or {}), **extra},
        "usage": None if finished.usage is None else encode_usage(finished.usage),
    }
    if reason is not None:
        state["incomplete_details"] = {"reason": reason}
    return state


def encode_usage(usage: Usage) -> dict[str, Any]:
    """The API's usage object. Details that it has no name for stay."""
    given = _details(usage, "prompt_tokens_details")
    written = _details(usage, "completion_tokens_details")
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            **given,
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_creation_tokens,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {**written, "reasoning_tokens": written.get("reasoning_tokens") or 0},
        "total_tokens": usage.extra.get("total_tokens") or usage.prompt_tokens + usage.completion_tokens,
    }


def output_annotations(annotations: Any) -> list[Any]:
    """Annotations of a chat's message as they stand in an output text: without the object named by their type."""
    found: list[Any] = []
    for annotation in annotations if isinstance(annotations, list) else []:
        kind = annotation.get("type") if isinstance(annotation, dict) else None
        inner = annotation.get(kind) if isinstance(kind, str) else None
        found.append({"type": kind, **inner} if isinstance(inner, dict) else annotation)
    return found


def output_logprobs(logprobs: Any) -> list[Any]:
    """The tokens of a chat's ``logprobs``, complete; servers have other forms of it, which have no place here."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return (
        [_token(token) for token in content if isinstance(token, dict)] if isinstance(content, list) else []
    )


def _token(token: dict[str, Any]) -> dict[str, Any]:
    """A token as this API has it: with its bytes, and with its rivals, where a chat may leave them out."""
    written, rivals = token.get("bytes"), token.get("top_logprobs")
    if not isinstance(written, list):
        written = list(well_formed(str(token.get("token") or "")).encode())
    rivals = (
        [_token(rival) for rival in rivals if isinstance(rival, dict)] if isinstance(rivals, list) else []
    )
    return {**token, "bytes": written, "top_logprobs": rivals}


def _details(usage: Usage, name: str) -> dict[str, Any]:
    details = usage.extra.get(name)
    return details if isinstance(details, dict) else {}
