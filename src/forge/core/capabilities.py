"""What a backend can do, as known or probed. Pure data; clients fill it, the engine decides by it."""

from __future__ import annotations

from msgspec import Struct


class Capabilities(Struct, frozen=True, kw_only=True):
    """Abilities of one backend with the model it serves.

    ``native_tools``: the server's template understands the ``tools`` field; without it tools are described in
    the prompt. ``tool_choice_modes``: the modes that the backend really honours (llama-server accepts
    ``required`` and named choices and does not keep them). ``constrains``: it can restrict decoding to a JSON
    schema, or to calls of the tools offered; ``constrained_by`` names the means on the wire. ``context_length``: tokens
    per request, if known. ``model``: the served model, if known. ``thinks``: whether the model can think, if known.
    """

    native_tools: bool = True
    tool_choice_modes: frozenset[str] = frozenset({"auto", "none"})
    constrains: bool = False
    constrained_by: str = ""
    context_length: int | None = None
    model: str | None = None
    thinks: bool | None = None
