"""One request as the proxy will serve it: what its door read, under the policy that it runs under."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Struct

from forge.core.request import ChatMessage, Request
from forge.engine import Policy
from forge.proxy.overrides import overridden
from forge.wire.healthy_history import healthy
from forge.wire.reasoning_history import with_reasoning

_log = logging.getLogger("forge.proxy")


class Inbound(Struct, frozen=True, kw_only=True):
    """``body`` is what the caller sent; ``changed`` when ``request`` is no longer the same. ``sent_headers`` go to
    the backend: the caller's credential, if it gets one, and what else its protocol has headers for. ``mended`` are the
    kinds of faults that were put right in its history.
    """

    request: Request
    policy: Policy
    body: bytes
    sent_headers: Mapping[str, str]
    changed: bool = False
    mended: tuple[str, ...] = ()

    @property
    def may_be_forwarded(self) -> bool:
        """Whether body and answer may pass as bytes: nothing in them is guarded, withheld or kept from happening."""
        if is_guarded(self.request):
            return False
        if has_several_choices(self.request):
            return True
        return self.policy.reasoning_replay != "none" and not forbids_calls(self.request)


def inbound(
    request: Request,
    policy: Policy,
    suited: Callable[[Request], Request],
    *,
    body: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    sent_headers: Mapping[str, str],
) -> Inbound:
    """``request`` as it will be served: under its own policy, in the backend's terms (``suited``), its history in order.

    Raises:
        RequestError: it cannot be.
    """
    policy, own = overridden(policy, request, headers)
    asked = suited(own)
    messages, mended = _in_order(asked.messages, policy)
    if messages is not asked.messages:
        asked = msgspec.structs.replace(asked, messages=messages)
    return Inbound(
        request=asked,
        policy=policy,
        body=body,
        sent_headers=sent_headers,
        changed=asked is not request,
        mended=mended,
    )


def _in_order(
    messages: tuple[ChatMessage, ...], policy: Policy
) -> tuple[tuple[ChatMessage, ...], tuple[str, ...]]:
    """A history without faults and without the thinking that may not pass; the same object where nothing changes."""
    try:
        health = healthy(messages)
        kept = with_reasoning(health.messages, policy.reasoning_replay)
    except Exception:  # noqa: BLE001 - a fault of ours must not cost the caller the answer: the backend judges the history itself
        _log.exception("a history could not be put in order, so it is sent as it came")
        return messages, ()
    return (messages if kept == messages else kept), health.changes


def is_guarded(request: Request) -> bool:
    """Whether there is anything to guard: function tools that may be called, and one answer.

    With several choices (``n``) there is no single conversation to correct, so they pass through.
    """
    if forbids_calls(request):
        return False
    return not has_several_choices(request) and any(tool.kind == "function" for tool in request.tools)


def forbids_calls(request: Request) -> bool:
    """Whether there are tools that must not be called. Not every server keeps that."""
    choice = request.tool_choice
    return bool(request.tools) and choice is not None and choice.mode == "none"


def has_several_choices(request: Request) -> bool:
    """Whether more than one answer was asked for."""
    return bytes(request.options["n"]).strip() not in (b"1", b"null") if "n" in request.options else False
