"""What a turn is set up with: which tools are offered and guarded, what text is worth, what may be constrained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from forge.core.capabilities import Capabilities
from forge.core.events import CallReady
from forge.core.request import ChatMessage, Constraint, Request, Tool, written_bytes
from forge.core.same_objects import OfSameObjects
from forge.dialects.reply import TextSegment
from forge.engine import wording
from forge.engine.answer import Answer
from forge.engine.course import Course
from forge.engine.judge import CheckedCall, Rules, Verdict, readable_arguments
from forge.engine.offer import offer_of
from forge.engine.policy import Policy
from forge.engine.respond import RESPOND_TOOL, RESPOND_TOOL_NAME
from forge.engine.tone import Tone
from forge.engine.workflow_rules import rules_for
from forge.errors import ForgeError, RequestError

_SINGLE: Final = "parallel_tool_calls"


class Plan:
    """Derived once from request, policy and capabilities; never changes during the turn.

    ``request`` is the caller's, with the ``respond`` tool added at the end where the policy offers it.
    ``guards`` is False when there is nothing to guard: no tools, or ``tool_choice`` none. ``fault`` says why there is
    nothing although there should be, "" as a rule.

    Raises:
        RequestError: ``tool_choice`` names a tool that is not offered.
    """

    def __init__(self, request: Request, policy: Policy, capabilities: Capabilities) -> None:
        self.fault = ""
        choice = request.tool_choice
        mode = choice.mode if choice else "auto"
        offer = offer_of(request.tools)
        functions = offer.functions
        self._forced = choice.name if choice and mode == "named" else None
        if self._forced and all(tool.name != self._forced for tool in request.tools):
            offered = ", ".join(tool.name for tool in functions) or "none"
            raise RequestError(
                f"tool_choice names {self._forced!r}, which is not among the tools ({offered})", "tool_choice"
            )
        # A forced tool that only passes through leaves nothing to guard.
        callable_ = self._forced is None or any(tool.name == self._forced for tool in functions)
        self.guards = bool(functions) and mode != "none" and callable_
        self.forbids_calls = bool(request.tools) and mode == "none"
        self.respond_injected = (
            self.guards
            and policy.offers_respond
            and mode == "auto"  # whoever demands a call wants no text
            and all(tool.name != RESPOND_TOOL_NAME for tool in request.tools)
        )
        if self.respond_injected:
            request = msgspec.structs.replace(request, tools=(*request.tools, RESPOND_TOOL))
            offer = offer_of(request.tools)
            functions = offer.functions
        self.request = request
        self.offer = offer
        self._policy = policy
        self.hides_reasoning = policy.reasoning_replay == "none"
        self._demands_call = mode in ("required", "named")
        self.scans = self.guards and policy.rescue
        self._course = self._course_of(request) if self.guards else None
        pending = self._course.pending if self._course else []
        self._pending = tuple(pending)
        self.holds_text = self.guards and (
            self._demands_call or policy.rejects_bare_text or bool(self._pending)
        )
        self.streams_respond = self.respond_injected and not self._pending
        self.callable_tools: tuple[Tool, ...] = self._callable()
        self.can_constrain = policy.constrain and capabilities.constrains and bool(self.callable_tools)
        honoured = mode in capabilities.tool_choice_modes
        self.constrain_first = self.guards and self._demands_call and self.can_constrain and not honoured
        self._single = bytes(request.options.get(_SINGLE, b"")) == b"false"

    def _course_of(self, request: Request) -> Course | None:
        """The course of the conversation, where there are rules for it. What a caller demands by name needs none."""
        policy = self._policy
        rules = rules_for(policy.workflows, self.offer.by_name) if policy.workflows else None
        if self._forced or (rules is None and not policy.loop_limit):
            return None
        ends = frozenset({RESPOND_TOOL_NAME}) if self.respond_injected else frozenset()
        return Course(request.messages, rules, policy.loop_limit, ends)

    def _callable(self) -> tuple[Tool, ...]:
        functions = self.offer.functions
        if self._forced:
            return tuple(tool for tool in functions if tool.name == self._forced)
        course = self._course
        if course is None or not course.has_rules:
            return functions
        return tuple(t for t in functions if course.may_call(t.name))

    def rules(self, *, announced: bool) -> Rules:
        """The rules for the running attempt; ``announced``: an announcement was nudged already."""
        return Rules(
            offer=self.offer,
            must_call=self._demands_call or self._policy.rejects_bare_text or bool(self._pending),
            pending=self._pending,
            course=self._course,
            forced=self._forced,
            trust_text=self._policy.text_policy == "trust",
            nudge_announcements=not announced,
            single_call=self._single,
            examples=not self.can_constrain,
        )

    def has_place_for(self, calls: Sequence[CallReady]) -> bool:
        """Whether calls that are right by themselves may be made here and now, for all that can be said at once."""
        if self._single and len(calls) > 1:
            return False
        if self._forced and any(call.name != self._forced for call in calls):
            return False
        return self._course is None or self._course.is_free(calls)

    def request_of(
        self, appended: tuple[ChatMessage, ...], *, constrained: bool, text_bound: int | None
    ) -> Request:
        """The request of one attempt, with what Forge ``appended`` to the conversation."""
        request = self.request
        if not appended and not constrained and request.constraint is None:
            return request
        constraint = Constraint(tools=self.callable_tools, longest_text=text_bound) if constrained else None
        return msgspec.structs.replace(request, messages=request.messages + appended, constraint=constraint)

    def forbidden(self, answer: Answer) -> Verdict:
        """The verdict on calls where none may be made."""
        text = wording.no_calls()
        calls = tuple(
            CheckedCall(
                name=call.name,
                id=call.id,
                arguments=readable_arguments(call),
                is_object=True,
                notation=call.notation,
                fault="forbidden",
                correction=text,
            )
            for call in answer.native_calls
        )
        names = ", ".join(call.name for call in calls)
        return Verdict(accepted=False, reason="forbidden", calls=calls, detail=f"called {names}"[:500])

    def malformed(self, *, level: int) -> Verdict:
        """The verdict when the server itself could not read what the model wrote."""
        text = wording.broken_call(
            self.offer.functions, reason="unreadable", tone=Tone(level, not self.can_constrain)
        )
        detail = "the server could not parse the model's output"
        return Verdict(accepted=False, reason="broken_call", correction=text, detail=detail)

    def is_untouched(self, answer: Answer, verdict: Verdict, reason: str) -> bool:
        """Whether the backend's whole answer may be passed on byte for byte."""
        if self.hides_any_of(answer) or reason != answer.finish_reason:
            return False
        if (answer.raw_text or answer.segments) and (
            not all(isinstance(segment, TextSegment) for segment in answer.segments)
            or answer.text != "".join(answer.raw_text)
        ):
            return False
        given = answer.native_calls
        if len(verdict.calls) != len(given):
            return False
        for call, native in zip(verdict.calls, given, strict=True):
            if not call.id or call.fixes or call.name != native.name or call.arguments != native.arguments:
                return False
        return True

    def reads_calls_in(self, answer: Answer) -> bool:
        """Whether a call may stand in the answer's text."""
        return self.scans or answer.constrained is not None

    def hides_any_of(self, answer: Answer) -> bool:
        """Whether the client does not get to see the backend's answer as it is."""
        return self.respond_injected or (self.hides_reasoning and answer.thinks)

    def unguarded(self) -> Plan:
        """The same plan with every guard off. A call of the tool that Forge offered stays Forge's own matter."""
        plan = object.__new__(Plan)
        plan.__dict__.update(self.__dict__)
        plan.guards = plan.scans = plan.holds_text = False
        plan.streams_respond = plan.respond_injected
        return plan

    def for_(self, request: Request) -> Plan:
        """The same plan for another request with the same tools, and nothing else that a plan depends on."""
        if self.respond_injected:
            request = msgspec.structs.replace(request, tools=self.request.tools)
        plan = object.__new__(Plan)
        plan.__dict__.update(self.__dict__)
        plan.request = request
        plan._course = plan._course_of(request) if self.guards else None
        return plan

    @classmethod
    def of(cls, request: Request, policy: Policy, capabilities: Capabilities) -> Plan:
        """The plan of a turn; one without guards where a fault of ours keeps it from being made."""
        try:
            if request.tool_choice is None and not policy.workflows and _SINGLE not in request.options:
                return _usual_plan((policy, capabilities, *request.tools)).for_(request)
            return cls(request, policy, capabilities)
        except ForgeError:
            raise
        except Exception as error:  # noqa: BLE001 -- a fault of ours must never cost the user the answer
            bare = msgspec.structs.replace(request, tools=(), tool_choice=None)
            plan = cls(bare, Policy(reasoning_replay=policy.reasoning_replay), capabilities)
            plan.request = request
            plan.fault = f"{type(error).__name__}: {error}"
            return plan


def _make_usual(objects: tuple[Any, ...]) -> Plan:
    policy, capabilities, *tools = objects
    return Plan(Request(messages=(), tools=tuple(tools)), policy, capabilities)


_usual_plan: Final = OfSameObjects[Any, Plan](_make_usual, size=32, written=written_bytes)
"""The plan of requests with the same tools under the same policy, as they come by the hundred in a session."""
