"""The tools of a request as a turn needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from forge.core.request import Tool, written_bytes
from forge.core.same_objects import OfSameObjects
from forge.dialects.toolbox import Toolbox
from forge.schema.check import CallFinding, check_call


class Offer:
    """What was offered. Immutable; made once for as long as the same tools keep coming, as they do in a session.

    ``functions`` are the tools that are guarded, ``unguarded`` the names of those that only pass through.
    """

    __slots__ = ("functions", "toolbox", "unguarded")

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        self.functions = tuple(tool for tool in tools if tool.kind == "function" and tool.name)
        self.unguarded = frozenset(tool.name for tool in tools if tool.kind != "function")
        self.toolbox = Toolbox(self.functions)

    @property
    def by_name(self) -> Mapping[str, Tool]:
        """The guarded tools by name."""
        return self.toolbox.tools

    def check(self, name: str, arguments: object) -> CallFinding:
        """Check a call of one of them; see :func:`forge.schema.check.check_call`."""
        return check_call(name, arguments, self.toolbox.tools, compiled=self.toolbox.compiled)


offer_of: Final = OfSameObjects[Tool, Offer](Offer, size=32, written=written_bytes)
"""The offer of some tools; the same one while the same tools keep coming."""
