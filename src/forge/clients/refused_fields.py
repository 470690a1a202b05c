"""Fields that a server refuses although it has another name for them, or only wishes to be asked without them. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from forge.core.request import Request
from forge.errors import BackendError

_LIMIT: Final = "max_tokens"
_NEW_LIMIT: Final = "max_completion_tokens"
_WISH: Final = "reasoning_effort"
"""More of a wish than an order: a model that cannot think answers without it."""


def without_refused(request: Request, error: BackendError) -> Request | None:
    """``request`` as the server wants it that refused it with ``error``; None where that was for another reason.

    OpenAI's newer models take no ``max_tokens`` and say so; its models that cannot think, and servers that are
    strict about fields, take no ``reasoning_effort``. Both fields come with every request of another protocol.
    """
    if error.status_code not in (400, 422):
        return None
    options = request.options
    if _LIMIT in options and _NEW_LIMIT not in options and _NEW_LIMIT in error.body:
        named = {_NEW_LIMIT if name == _LIMIT else name: value for name, value in options.items()}
        return msgspec.structs.replace(request, options=named)
    if _WISH in options and _WISH in error.body:
        rest = {name: value for name, value in options.items() if name != _WISH}
        return msgspec.structs.replace(request, options=rest)
    return None
