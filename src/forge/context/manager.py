"""Watches how full a conversation's context is, and compacts it in time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from forge.context.estimate import estimate_tokens, estimate_tool_tokens
from forge.context.observations import ContextUsage, utc_now
from forge.context.strategies import CompactStrategy, NoCompact, SlidingWindowCompact, TieredCompact
from forge.context.token_counts import TokenCounts
from forge.core.messages import Message
from forge.errors import ContextBudgetExceeded
from forge.schema.spec import as_tools

_BUILT_IN_HOOKS = frozenset(
    cls._compact_with_initial_usage for cls in (CompactStrategy, SlidingWindowCompact, TieredCompact)
)


@dataclass(frozen=True)
class CompactEvent:
    """What a compaction did."""

    step_index: int
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    messages_before: int
    messages_after: int
    phase_reached: int


@dataclass(frozen=True)
class _Measured:
    """The messages that the last observed usage belongs to, known by their number and their two ends."""

    count: int
    first: Message
    last: Message

    def is_prefix_of(self, messages: Sequence[Message]) -> bool:
        if len(messages) < self.count:
            return False
        return messages[0] == self.first and messages[self.count - 1] == self.last


class ContextManager:
    """The token budget of one conversation.

    A server's own count is taken for the messages that it was given, and what was appended since is estimated and
    added; long texts by the server's tokenizer, where the client is a ``Tokenizer``. A count does not outlive its conversation: messages that do not begin with the counted ones are
    estimated anew, on the scale that earlier counts showed.

    Args:
        strategy: how to compact.
        budget_tokens: tokens that the conversation may take; None (with ``NoCompact`` only) means no limit.
        on_compact: told about each compaction that changed something.
        context_thresholds: fractions of the budget at which ``on_context_threshold`` is asked for a warning.
        on_context_threshold: given tokens, budget and fraction, returns a text for the model, or None.

    Raises:
        ValueError: no budget together with something that needs one, or a negative threshold.
    """

    def __init__(
        self,
        strategy: CompactStrategy,
        budget_tokens: int | None,
        on_compact: Callable[[CompactEvent], None] | None = None,
        context_thresholds: Iterable[float] | None = None,
        on_context_threshold: Callable[[int, int, float], str | None] | None = None,
    ) -> None:
        self._thresholds = sorted(context_thresholds or ())
        if budget_tokens is None:
            if not isinstance(strategy, NoCompact):
                raise ValueError("budget_tokens=None requires NoCompact")
            if self._thresholds or on_context_threshold is not None:
                raise ValueError("budget_tokens=None requires NoCompact without thresholds")
        if any(not threshold >= 0 for threshold in self._thresholds):
            raise ValueError("context_thresholds must not be negative")
        self.strategy = strategy
        self.budget_tokens = budget_tokens
        self.on_compact = on_compact
        self._on_threshold = on_context_threshold
        self._fired: set[float] = set()
        self._usage: ContextUsage | None = None
        self._published: ContextUsage | None = None
        self._seen: _Measured | None = None
        self._measured: _Measured | None = None
        self._scale = 1.0
        self._calibrated = False
        self._tools: tuple[object, ...] = ()
        self._tool_tokens = 0
        self._counts = TokenCounts()

    # -- observed usage ---------------------------------------------------------------------------------

    @property
    def usage(self) -> ContextUsage | None:
        """The last observed usage, if it still holds."""
        return self._usage

    def record_usage(self, usage: ContextUsage) -> None:
        """Take note of a server's count for the messages that were last given to :meth:`maybe_compact`."""
        self._usage = usage
        self._measured = self._seen

    def update_token_count(self, tokens: int) -> None:
        """Take note of a server's count; a negative one means that there is none."""
        if tokens < 0:
            self.invalidate_usage()
        else:
            self.record_usage(ContextUsage(tokens, utc_now()))

    def invalidate_usage(self) -> None:
        """The last observed usage says nothing about what comes now."""
        self._usage = None
        self._measured = None

    @property
    def published_usage(self) -> ContextUsage | None:
        """Usage for display, kept apart from the one that compaction goes by."""
        return self._published

    def record_published_usage(self, usage: ContextUsage) -> None:
        """Set the usage for display."""
        self._published = usage

    def clear_published_usage(self) -> None:
        """Forget the usage for display."""
        self._published = None

    # -- estimating -------------------------------------------------------------------------------------

    def count_tools(self, tools: Sequence[object]) -> None:
        """Include the descriptions of these tools in estimates from now on."""
        if tuple(tools) != self._tools:
            self._tools = tuple(tools)
            self._tool_tokens = estimate_tool_tokens(as_tools(tools))

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """How many tokens the messages take, with everything that is known."""
        if self._usage is None:
            return self._from_scratch(messages)
        counted = self._usage.current_usage_tokens
        if self._measured is None:
            return counted  # somebody else's count; it is for whatever they say it is for
        if not self._measured.is_prefix_of(messages):
            return self._from_scratch(messages)
        return counted + sum(self._counts.split(messages[self._measured.count :]))

    def _from_scratch(self, messages: Iterable[Message]) -> int:
        counted, estimated = self._counts.split(messages)
        return counted + int((estimated + self._tool_tokens) * self._scale)

    def uncounted(self, messages: Sequence[Message]) -> list[str]:
        """Long texts whose tokens are only estimated although it matters, since the budget is half used.

        For a caller that can ask the server's tokenizer; it answers with :meth:`learn_tokens`.
        """
        budget = self.budget_tokens
        if not budget or 2 * self.estimate_tokens(messages) < budget:
            return []
        measured = self._measured
        known = measured.count if measured is not None and measured.is_prefix_of(messages) else 0
        return self._counts.unknown(messages[known:])

    def learn_tokens(self, text: str, tokens: int) -> None:
        """Take note of how many tokens the server's tokenizer makes of a message's text."""
        self._counts.learn(text, tokens)

    # -- acting -----------------------------------------------------------------------------------------

    def check_thresholds(self, messages: Sequence[Message]) -> str | None:
        """A warning for the model if a threshold was crossed since the last call.

        A jump over several thresholds asks once, for the highest. Falling below a threshold arms it again.
        """
        if (
            not self.budget_tokens
            or self.budget_tokens <= 0
            or not self._thresholds
            or self._on_threshold is None
        ):
            return None
        tokens = self.estimate_tokens(messages)
        fraction = tokens / self.budget_tokens
        crossed = {threshold for threshold in self._thresholds if threshold <= fraction}
        fresh = crossed - self._fired
        # A threshold that was passed on the way up must not fire later at the same level.
        self._fired = crossed
        return self._on_threshold(tokens, self.budget_tokens, fraction) if fresh else None

    def maybe_compact(
        self, messages: list[Message], step_index: int = 0, step_hint: str = ""
    ) -> list[Message]:
        """The messages to go on with: the same list if nothing had to be done, else a new one.

        Raises:
            ContextBudgetExceeded: they do not fit the budget, even after the strategy's last phase.
        """
        budget = self.budget_tokens
        if budget is None or budget <= 0:
            return messages
        self._calibrate(messages)
        before = self.estimate_tokens(messages)
        compacted, phase = self._run_strategy(messages, budget, before, step_hint)
        if phase == 0:
            self._see(messages)
            return messages
        after = before
        if compacted != messages:
            self.invalidate_usage()
            after = self._from_scratch(compacted)
            if self.on_compact is not None:
                self.on_compact(
                    CompactEvent(step_index, before, after, budget, len(messages), len(compacted), phase)
                )
        # Without a server's count, the guess about the tools' descriptions is no reason to give up.
        certain = after if self._calibrated else after - self._tool_tokens
        if certain > budget:
            raise ContextBudgetExceeded(after, budget)
        self._see(compacted)
        return compacted

    def _run_strategy(
        self, messages: list[Message], budget: int, tokens: int, step_hint: str
    ) -> tuple[list[Message], int]:
        hook = self.strategy._compact_with_initial_usage  # noqa: SLF001 - made for the manager
        if self._usage is not None and type(self.strategy)._compact_with_initial_usage not in _BUILT_IN_HOOKS:  # noqa: SLF001
            # Strategies that replaced the hook were promised the last observed figure as it was observed.
            tokens = self._usage.current_usage_tokens
        return hook(messages, budget, initial_tokens=tokens, step_hint=step_hint)

    def _see(self, messages: Sequence[Message]) -> None:
        self._seen = _Measured(len(messages), messages[0], messages[-1]) if messages else None

    def _calibrate(self, messages: Sequence[Message]) -> None:
        """Learn how the server's count compares with the estimate of the same messages."""
        if self._usage is None or self._measured is None or not self._measured.is_prefix_of(messages):
            return
        estimated = estimate_tokens(messages[: self._measured.count]) + self._tool_tokens
        if estimated > 0:
            # Chat templates and dense tokenisers explain a factor of a few; more is a count of something else.
            self._scale = min(max(self._usage.current_usage_tokens / estimated, 0.25), 4.0)
            self._calibrated = True


def default_context_warning(tokens: int, budget: int, fraction: float) -> str:
    """A warning for a model, sharper the fuller its context is."""
    usage = f"Context usage: {fraction:.0%} ({tokens} of {budget} tokens)."
    if fraction >= 0.80:
        return f"{usage} The context is nearly full: finish now, with what you have."
    if fraction >= 0.65:
        return f"{usage} The context is filling up: read only what you still need, and work towards the end."
    return f"{usage} Plan the remaining work with that in mind."
