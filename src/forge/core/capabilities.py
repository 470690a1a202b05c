"""What a backend can do, as known or probed. Pure data; clients fill it, the engine decides by it."""

from __future__ import annotations

from msgspec import Struct


class Capabilities(Struct, frozen=True, kw_only=True):
    """Abilities of one backend with the model it serves. None and "" mean that nobody knows.

    ``native_tools``: the server's template understands the ``tools`` field; without it tools are described in
    the prompt. ``tool_choice_modes``: the modes that the backend really honours (llama-server accepts
    ``required`` and named choices and does not keep them). ``parallel_calls``: the model may call several tools in
    one answer. ``constrains``: it can restrict decoding to a JSON schema, or to calls of the tools offered;
    ``constrained_by`` names the means on the wire.

    ``context_length``: tokens per request. ``slots``: requests that it works on at once. ``model``: the served model.
    ``counts_tokens``: it tells how many tokens a text has. ``reports_cached``: its usage says how much of a prompt came
    from its cache.

    ``thinks``: whether the model can think. ``thinking_by``: the field of a request that controls thinking.
    ``reasoning_field``: the field of an answer that thinking comes in.

    ``takes_turns``: the chat template refuses conversations in which user and assistant do not take turns.
    ``strict_ids``: it refuses ids of calls that are not nine letters and digits.
    """

    native_tools: bool = True
    tool_choice_modes: frozenset[str] = frozenset({"auto", "none"})
    parallel_calls: bool | None = None
    constrains: bool = False
    constrained_by: str = ""
    context_length: int | None = None
    slots: int | None = None
    model: str | None = None
    counts_tokens: bool = False
    reports_cached: bool = False
    thinks: bool | None = None
    thinking_by: str = ""
    reasoning_field: str = ""
    takes_turns: bool = False
    strict_ids: bool = False

    def described(self) -> str:
        """All of it in one line, for a log."""
        parts = [self.model or "a model that it does not name"]
        if self.context_length is not None:
            parts.append(f"{self.context_length} tokens")
        if self.slots is not None:
            parts.append(f"{self.slots} slot{'s' if self.slots != 1 else ''}")
        parts += [
            "native tools" if self.native_tools else "tools described in the prompt",
            f"tool_choice {'/'.join(sorted(self.tool_choice_modes))}",
        ]
        if self.parallel_calls is not None:
            parts.append("parallel calls" if self.parallel_calls else "one call at a time")
        parts.append(f"constrained by {self.constrained_by}" if self.constrains else "cannot be constrained")
        parts.append(self._thinking())
        demands = {"roles must alternate": self.takes_turns, "call ids of nine letters": self.strict_ids}
        parts += [name for name, yes in demands.items() if yes]
        told = {"counts tokens": self.counts_tokens, "reports cached tokens": self.reports_cached}
        return ", ".join([*parts, *(name for name, yes in told.items() if yes)])

    def _thinking(self) -> str:
        if self.thinks is False:
            return "no thinking"
        known = {"by": self.thinking_by, "in": self.reasoning_field}
        return " ".join(["thinking", *(f"{word} {field}" for word, field in known.items() if field)])
