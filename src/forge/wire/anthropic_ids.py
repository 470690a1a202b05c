"""Ids in the form that the Messages API has for them.

A backend's own ids stay as they are wherever that API could take them back. Others (Kimi's ``functions.f:0``) travel
inside an id of the right form, and come out again when the conversation comes back: some models read them.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

import msgspec

from forge.core.request import Call, Part, Result

_FIT = re.compile(r"[a-zA-Z0-9_-]+")
_CARRIED = "toolu_as_"


def fit_call_id(call_id: str) -> str:
    """``call_id`` as a caller of the Messages API may see it."""
    if _FIT.fullmatch(call_id):
        return call_id
    return _CARRIED + urlsafe_b64encode(call_id.encode()).decode().rstrip("=")


def own_call_id(call_id: str) -> str:
    """The backend's id that :func:`fit_call_id` was given; any other id is its own."""
    if not call_id.startswith(_CARRIED):
        return call_id
    carried = call_id[len(_CARRIED) :]
    try:
        return urlsafe_b64decode(carried + "=" * (-len(carried) % 4)).decode()
    except (Error, ValueError):
        return call_id


def original_id(part: Part) -> Part:
    """A call or a result under its backend's own id."""
    if isinstance(part, Call) and part.id.startswith(_CARRIED):
        return msgspec.structs.replace(part, id=own_call_id(part.id))
    if isinstance(part, Result) and part.call_id.startswith(_CARRIED):
        return msgspec.structs.replace(part, call_id=own_call_id(part.call_id))
    return part
