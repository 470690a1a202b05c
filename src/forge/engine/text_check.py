"""The judgement on an answer without calls: is its text an answer, or a failure, and what is the model told? Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from forge.core.request import Tool
from forge.dialects.reply import RejectedSegment
from forge.engine import wording
from forge.engine.announce import announces_action
from forge.engine.tone import PLAIN, Tone

TextReason: TypeAlias = Literal["broken_call", "unknown_tool", "cut_off", "empty", "no_call", "announced"]


class TextFault(Struct, frozen=True, kw_only=True):
    """Why a text is no answer. ``broken`` is the call notation in it that gave no call."""

    reason: TextReason
    broken: RejectedSegment | None = None


def text_fault(
    text: str,
    rejected: Sequence[RejectedSegment],
    *,
    must_call: bool,
    trust_text: bool = False,
    nudge_announcements: bool = True,
) -> TextFault | None:
    """What is wrong with a text; None where it is a good answer.

    Args:
        text: the visible text, broken calls included.
        rejected: call notations in it that gave no call.
        must_call: no text is a good answer.
        trust_text: every text is, unless ``must_call``.
        nudge_announcements: a text that only announces an action is none.
    """
    if trust_text and not must_call:
        return None
    if rejected:
        broken = rejected[0]
        known: dict[str, TextReason] = {"unknown_tool": "unknown_tool", "cut_off": "cut_off"}
        return TextFault(reason=known.get(broken.reason, "broken_call"), broken=broken)
    if not text.strip():
        return TextFault(reason="empty")
    if must_call:
        return TextFault(reason="no_call")
    if nudge_announcements and announces_action(text):
        return TextFault(reason="announced")
    return None


def text_correction(fault: TextFault, tools: Sequence[Tool], *, must_call: bool, tone: Tone = PLAIN) -> str:
    """What the model is told about ``fault``."""
    if fault.broken is not None:
        return wording.broken_call(tools, reason=fault.broken.reason, name=fault.broken.name, tone=tone)
    if must_call:
        return wording.must_call(tools, tone=tone, empty=fault.reason == "empty")
    return wording.empty_answer() if fault.reason == "empty" else wording.announced_action()
