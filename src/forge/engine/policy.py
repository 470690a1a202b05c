"""How strict a turn is: one frozen value that every face (proxy, runner, middleware) fills in."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from forge.core.reasoning import REASONING_REPLAY_CHOICES, ReasoningReplay
from forge.engine.workflow_rules import WorkflowRules

TextPolicy: TypeAlias = Literal["auto", "nudge", "respond", "trust"]
TEXT_POLICIES: tuple[str, ...] = get_args(TextPolicy)


class Policy(Struct, frozen=True, kw_only=True):
    """Options of a guarded turn.

    ``max_retries`` bounds corrections of text, broken calls and unknown tools; ``max_tool_errors`` bounds
    corrections of invalid arguments. A limit of N tolerates N failures; 0 means no correction at all.

    ``text_policy``: ``auto`` accepts plain text unless it is empty, is a broken call or only announces an
    action; ``nudge`` accepts no bare text while tools are offered; ``respond`` is ``nudge`` with a synthetic
    ``respond`` tool to answer by; ``trust`` takes any text as the answer.

    ``rescue``: calls written as text become calls. ``constrain``: the last attempt (and a ``tool_choice`` that
    the backend does not honour) may restrict decoding to the calls' schemas.

    ``reasoning_replay``: which thinking passes, on answers here and on the history that a door sends: ``full`` all of
    it, ``keep-last`` that of answers and of the last one in the history, ``none`` none.

    ``loop_limit``: so many equal results of equal calls in a row, and one more such call is corrected; 0 corrects none.
    ``workflows``: rules for the order of calls; the first that holds for the offered tools counts.
    """

    max_retries: int = 3
    max_tool_errors: int = 2
    text_policy: TextPolicy = "auto"
    inject_respond_tool: bool = False
    rescue: bool = True
    constrain: bool = True
    reasoning_replay: ReasoningReplay = "full"
    loop_limit: int = 3
    workflows: tuple[WorkflowRules, ...] = ()

    def __post_init__(self) -> None:
        """Refuse values that make no sense, naming the option."""
        if self.max_retries < 0:
            raise ValueError("max_retries must be nonnegative")
        if self.max_tool_errors < 0:
            raise ValueError("max_tool_errors must be nonnegative")
        if self.loop_limit < 0:
            raise ValueError("loop_limit must be nonnegative")
        if self.text_policy not in TEXT_POLICIES:
            raise ValueError(f"text_policy must be one of: {', '.join(TEXT_POLICIES)}")
        if self.reasoning_replay not in REASONING_REPLAY_CHOICES:
            raise ValueError(f"reasoning_replay must be one of: {', '.join(REASONING_REPLAY_CHOICES)}")

    @property
    def offers_respond(self) -> bool:
        """Whether the synthetic ``respond`` tool is added to the caller's tools."""
        return self.inject_respond_tool or self.text_policy == "respond"

    @property
    def rejects_bare_text(self) -> bool:
        """Whether text without a call is a failed answer while tools are offered."""
        return self.text_policy in ("nudge", "respond") or self.inject_respond_tool
