"""Conversations in the shape that a strict chat template demands. Each message depends only on those before it.

Some templates refuse a conversation in which the user and the assistant do not take turns (Mistral's and Gemma's), or
ids of calls that are not nine letters and digits (older ones of Mistral's). Where a server says that its template does,
its client sends the conversation in that shape; nobody else's is touched.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from msgspec import structs

from forge.core.capabilities import Capabilities
from forge.core.request import Call, ChatMessage, Part, Result, Text
from forge.wire.raw_edit import with_parts

_SYSTEM_ROLES: Final = ("system", "developer")
_FILLERS: Final = {"user": "(continue)", "assistant": "(no answer)"}
_ALPHABET: Final = string.ascii_letters + string.digits
_ID_LENGTH: Final = 9


def as_demanded(messages: tuple[ChatMessage, ...], able: Capabilities) -> tuple[ChatMessage, ...]:
    """``messages`` as the template of a backend demands them; the same object where it demands nothing."""
    if not (able.takes_turns or able.strict_ids):
        return messages
    shaped: Iterable[ChatMessage] = messages
    if able.takes_turns:
        shaped = _taking_turns(shaped)
    if able.strict_ids:
        shaped = (with_parts(message, [_strict(part) for part in message.parts]) for message in shaped)
    return tuple(shaped)


def _taking_turns(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """``messages`` with a short one put in wherever the same side speaks twice.

    Calls and their results stand outside the turns, as they do in those templates. Nothing is joined with what was
    before it: that would change what a server has read already.
    """
    shaped: list[ChatMessage] = []
    last = "assistant"
    for given in _results_apart(messages):
        # Only the first message may be the system's.
        late = given.role in _SYSTEM_ROLES and bool(shaped)
        message = structs.replace(given, role="user", raw=None) if late else given
        role = message.role
        if role in _FILLERS and not any(isinstance(part, Call | Result) for part in message.parts):
            if role == last:
                other = "user" if role == "assistant" else "assistant"
                shaped.append(ChatMessage(role=other, parts=(Text(_FILLERS[other]),)))
            last = role
        shaped.append(message)
    return shaped


def _results_apart(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """What a user says beside results as a message of its own, which it becomes for the template anyway."""
    for message in messages:
        results = tuple(part for part in message.parts if isinstance(part, Result))
        if message.role == "user" and 0 < len(results) < len(message.parts):
            yield structs.replace(message, role="tool", parts=results, raw=None)
            rest = tuple(part for part in message.parts if not isinstance(part, Result))
            yield structs.replace(message, parts=rest, raw=None)
        else:
            yield message


def _strict(part: Part) -> Part:
    """A call or a result whose id is nine letters and digits: the same one for the same id, always."""
    if isinstance(part, Call):
        return structs.replace(part, id=_strict_id(part.id))
    if isinstance(part, Result):
        return structs.replace(part, call_id=_strict_id(part.call_id))
    return part


def _strict_id(call_id: str) -> str:
    if len(call_id) == _ID_LENGTH and all(char in _ALPHABET for char in call_id):
        return call_id
    number = int.from_bytes(blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    digits = []
    for _ in range(_ID_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
