"""What one request says about its own policy: a ``forge`` object in its body, ``X-Forge-*`` headers.

The names are those of the flags. The body wins over a header, a header over the flag that the proxy was started with.
Everything is checked: a name that is not known, or a value of another type, is the caller's mistake and is told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from forge.core.reasoning import REASONING_REPLAY_CHOICES
from forge.core.request import Request
from forge.engine.policy import TEXT_POLICIES, Policy
from forge.engine.workflow_rules import WorkflowRules
from forge.errors import RequestError
from forge.proxy.workflows import WorkflowError, read_workflows
from forge.wire.json_text import loads

BODY_FIELD: Final = "forge"
_PREFIX: Final = b"x-forge-"
MOST_CORRECTIONS: Final = 10
"""A caller may ask for so many corrections, or for as many as the proxy makes by itself if that is more."""

_MOST_REPEATS: Final = 100
_COUNTS: Final[Mapping[str, int]] = {
    "max_retries": MOST_CORRECTIONS,
    "max_tool_errors": MOST_CORRECTIONS,
    "loop_limit": _MOST_REPEATS,
}
_WORKFLOW: Final = "workflow"
_NO_WORKFLOW: Final = "none"
_SWITCHES: Final = frozenset({"inject_respond_tool", "rescue", "constrain"})
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "text_policy": TEXT_POLICIES,
    "reasoning_replay": REASONING_REPLAY_CHOICES,
}
NAMES: Final = (*_CHOICES, *sorted(_SWITCHES), *_COUNTS, _WORKFLOW)
_WORDS: Final = {
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}


def overridden(
    policy: Policy, request: Request, headers: Iterable[tuple[bytes, bytes]]
) -> tuple[Policy, Request]:
    """The policy of one request, and the request without what it said about it.

    Args:
        policy: the proxy's own.
        request: as its door read it; a ``forge`` object is among its options, whatever the protocol.
        headers: of the request, names in lower case.

    Raises:
        RequestError: a name is unknown, a value is of the wrong type or out of range, or two contradict each other.
    """
    said = [header for header in headers if header[0].startswith(_PREFIX)]
    raw = request.options.get(BODY_FIELD)
    if raw is None and not said:
        return policy, request
    own, policy = policy, _applied(policy, _in_headers(policy, said))
    if raw is not None:
        options = {name: value for name, value in request.options.items() if name != BODY_FIELD}
        request = msgspec.structs.replace(request, options=options)
        policy = _applied(policy, _in_body(own, raw))
    return policy, request


def _in_headers(policy: Policy, headers: Iterable[tuple[bytes, bytes]]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for raw_name, raw_value in headers:
        shown = "-".join(part.capitalize() for part in raw_name.decode("latin-1").split("-"))
        name = raw_name.removeprefix(_PREFIX).decode("latin-1").replace("-", "_")
        if name in given:
            raise RequestError(f"the header {shown} was given twice", shown)
        given[name] = _checked(policy, name, _typed(name, raw_value.decode("latin-1").strip()), shown)
    return given


def _typed(name: str, text: str) -> Any:
    """A header's text as the value that the body would have; what is none stays text, and is refused as that."""
    if name in _SWITCHES:
        return _WORDS.get(text.lower(), text)
    if name in _COUNTS and text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text


def _in_body(policy: Policy, raw: Raw) -> dict[str, Any]:
    try:
        value = loads(bytes(raw))
    except ValueError as error:
        raise RequestError(f"'{BODY_FIELD}': {error}", BODY_FIELD) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RequestError(f"'{BODY_FIELD}' must be an object", BODY_FIELD)
    return {name: _checked(policy, name, item, f"{BODY_FIELD}.{name}") for name, item in value.items()}


def _checked(policy: Policy, name: str, value: Any, where: str) -> Any:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise RequestError(f"'{where}' must be one of: {', '.join(_CHOICES[name])}", where)
    elif name in _SWITCHES:
        if not isinstance(value, bool):
            raise RequestError(f"'{where}' must be true or false", where)
    elif name in _COUNTS:
        most = max(_COUNTS[name], getattr(policy, name))
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise RequestError(f"'{where}' must be a whole number from 0 to {most}", where)
    elif name == _WORKFLOW:
        return _workflows(policy, value, where)
    else:
        raise RequestError(f"'{where}' is not known here; known are: {', '.join(NAMES)}", where)
    return value


def _workflows(policy: Policy, value: Any, where: str) -> tuple[WorkflowRules, ...]:
    """Rules that are given, or named, or (false, ``none``) no rules."""
    if value is False or value == _NO_WORKFLOW:
        return ()
    if isinstance(value, str):
        named = tuple(rules for rules in policy.workflows if rules.name == value)
        if not named:
            known = ", ".join(rules.name for rules in policy.workflows if rules.name) or "none"
            raise RequestError(f"'{where}' names no workflow of this proxy (there are: {known})", where)
        return named
    try:
        return read_workflows(value, where)
    except WorkflowError as error:
        raise RequestError(str(error), error.where) from None


def _applied(policy: Policy, given: dict[str, Any]) -> Policy:
    """``policy`` with ``given`` in it. Whoever says one of text policy and ``respond`` tool has said both."""
    if _WORKFLOW in given:
        given["workflows"] = given.pop(_WORKFLOW)
    text, tool = given.get("text_policy"), given.get("inject_respond_tool")
    if (tool and text in ("nudge", "trust")) or (tool is False and text == "respond"):
        raise RequestError(
            f"'inject_respond_tool' contradicts 'text_policy' {text!r}", f"{BODY_FIELD}.inject_respond_tool"
        )
    if text is not None and tool is None:
        given["inject_respond_tool"] = False
    elif tool is not None and text is None:
        given["text_policy"] = (
            "respond" if tool else ("auto" if policy.text_policy == "respond" else policy.text_policy)
        )
    return msgspec.structs.replace(policy, **given) if given else policy
