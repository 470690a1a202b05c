"""The head of the answer that a model server gave last, in the task that asked: some of it concerns whoever asked us.

A variable of the context, since all that lies between (retries, turns, events) has no use for it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, TypeAlias

RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]

heard: Final[ContextVar[RawHeaders]] = ContextVar("heard", default=())
