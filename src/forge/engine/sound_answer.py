"""The answer about which there is nothing to judge: whole, structured, every call right as it stands.

It is what a good model gives nearly always. Such an answer is accepted here at a fifth of what judging it costs; of
any other nothing is said, and it is judged (:mod:`forge.engine.judge`). Both must come to the same outputs, which
``tests/properties/test_sound_answer.py`` holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from forge.core.events import CallDelta, CallReady, Delta, Finish, Started, Usage
from forge.engine.plan import Plan
from forge.engine.respond import RESPOND_TOOL_NAME
from forge.schema.arguments import fit_as_written


class SoundAnswer(Struct, frozen=True):
    """The deltas of such an answer, by what they are."""

    started: Started | None
    calls: list[CallReady]
    usage: Usage | None
    finish: Finish


def sound_answer(deltas: Sequence[Delta], plan: Plan) -> SoundAnswer | None:
    """All ``deltas`` of an answer as one that is sound, else None."""
    finish = deltas[-1] if deltas else None
    if not isinstance(finish, Finish) or finish.reason != "tool_calls":
        return None
    started = usage = None
    calls: list[CallReady] = []
    for delta in deltas:
        if isinstance(delta, CallDelta):
            # Another piece of one call has its index; calls out of order would be put in order.
            if delta.index != len(calls) or not _is_sound(delta, plan):
                return None
            calls.append(CallReady(id=delta.id or "", name=delta.name or "", arguments=delta.arguments))
        elif isinstance(delta, Started) and started is None:
            started = delta
        elif isinstance(delta, Usage) and usage is None:
            usage = delta
        elif delta is not finish:
            return None
    if not calls or not plan.has_place_for(calls):
        return None
    return SoundAnswer(started, calls, usage, finish)


def _is_sound(call: CallDelta, plan: Plan) -> bool:
    """Whether a call needs nothing: no id, no other name, no other arguments."""
    name = call.name or ""
    tool = plan.offer.by_name.get(name)
    if tool is None or not call.id or (plan.respond_injected and name == RESPOND_TOOL_NAME):
        return False
    return fit_as_written(call.arguments, plan.offer.toolbox.compiled(tool))
