"""The guarded turn: one model turn, driven through as many attempts as the policy allows.

``Turn`` is a pure state machine. :meth:`Turn.start` gives the first ``Send``; the driver runs that request on a
backend and feeds every delta; the outputs of :meth:`Turn.feed` go to the client, except a further ``Send``,
which starts the next attempt. ``Finished`` is always the last output.

    IDLE -> SAMPLING -> (next attempt: SAMPLING)* -> DONE
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from forge.core.capabilities import Capabilities
from forge.core.events import (
    GUARD_FAILED,
    BlockDelta,
    CallDelta,
    CallReady,
    Delta,
    Finish,
    Finished,
    Output,
    ReasoningDelta,
    Retrying,
    Send,
    Started,
    TextDelta,
    Usage,
)
from forge.core.request import ChatMessage, Request
from forge.dialects.reply import ReasoningSegment, RejectedSegment, Segment, TextSegment
from forge.engine.answer import Answer
from forge.engine.correction import call_ids, correction_messages
from forge.engine.judge import CheckedCall, Verdict, best_of, finish_reason, judge
from forge.engine.ladder import Ladder
from forge.engine.plan import Plan
from forge.engine.policy import Policy
from forge.engine.records import Records
from forge.engine.release import Release
from forge.engine.respond import RESPOND_TOOL_NAME, respond_message
from forge.engine.sound_answer import SoundAnswer, sound_answer
from forge.errors import ForgeError, MalformedOutputError, ProtocolMisuseError


class Turn:
    """One guarded turn. Feed deltas in order; read :attr:`done` to know when it is over.

    ``new_id`` makes ids for calls that came without one. The default counts; a driver that talks to real
    clients passes something unique.

    Raises:
        RequestError: ``tool_choice`` names a tool that is not offered.
    """

    def __init__(
        self,
        request: Request,
        policy: Policy | None = None,
        capabilities: Capabilities | None = None,
        *,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        policy = policy or Policy()
        self._plan = Plan.of(request, policy, capabilities or Capabilities())
        self._ladder = Ladder(policy)
        self._new_id = new_id or _counting_ids()
        self._appended: tuple[ChatMessage, ...] = ()
        self._records = Records()
        self._rejected_calls: list[tuple[CheckedCall, ...]] = []
        self._answer: Answer | None = None
        self._first: Answer | None = None
        self._started: Started | None = None
        self._fault = self._plan.fault
        self._release = Release(
            live=not self._plan.holds_text, shows_reasoning=not self._plan.hides_reasoning
        )
        self.done = False

    @property
    def started(self) -> Started | None:
        """The backend's envelope of the first attempt that gave one: streams take their identity from it."""
        return self._started

    # -- driving ----------------------------------------------------------------------------------------

    def start(self) -> list[Output]:
        """Begin the turn; the result is one ``Send``.

        Raises:
            ProtocolMisuseError: the turn was started before.
        """
        if self._answer is not None:
            raise ProtocolMisuseError("the turn was started before")
        return [self._send(constrained=self._plan.constrain_first)]

    def take(self, deltas: Sequence[Delta]) -> list[Output]:
        """All deltas of an answer that came at once: as :meth:`feed` for each of them, up to its end.

        Raises:
            ProtocolMisuseError: as :meth:`feed`.
        """
        answer = self._answer
        if answer is not None and not answer.begun and self._plan.guards and not (self._records or self.done):
            try:
                sound = sound_answer(deltas, self._plan)
            except Exception:  # noqa: BLE001 -- a fault of ours: it shows, and costs nothing, where answers are judged
                sound = None
            if sound is not None:
                return self._accept_sound(answer, sound)
        outputs: list[Output] = []
        for delta in deltas:
            outputs += self.feed(delta)
            if isinstance(delta, Finish):
                break
        return outputs

    def feed(self, delta: Delta) -> list[Output]:
        """Take the next delta of the running attempt; return what follows from it.

        Raises:
            ProtocolMisuseError: the turn is over, or was not started.
        """
        answer = self._answer
        if self.done or answer is None:
            raise ProtocolMisuseError("the turn is not waiting for deltas")
        if isinstance(delta, Started):
            answer.started = delta
            self._started = self._started or delta
            return []
        if isinstance(delta, Usage):
            answer.feed_usage(delta)
            return []
        try:
            outputs = self._guarded(answer, delta)
        except Exception as error:  # noqa: BLE001 -- a fault of ours must never cost the user the answer
            outputs = self._bypass(answer, delta, error)
        self._release.handed_over()
        return outputs

    def fail(self, error: ForgeError) -> list[Output]:
        """The backend call failed with ``error``; return what follows from it.

        A malformed answer (the server could not parse what the model wrote) is a rejected attempt. After an
        earlier attempt the best answer so far is given out.

        Raises:
            ForgeError: ``error`` itself, when there is nothing else to give.
        """
        if self.done or self._answer is None:
            raise error
        try:
            outputs = self._failed(self._answer, error)
        except Exception as fault:  # as in feed; what the backend said is all that is left
            if fault is error:
                raise
            raise error from fault
        self._release.handed_over()
        return outputs

    def _failed(self, answer: Answer, error: ForgeError) -> list[Output]:
        if isinstance(error, MalformedOutputError) and self._plan.guards:
            outputs = self._reject(answer, self._plan.malformed(level=self._ladder.level))
            if isinstance(outputs[0], Finished) and self._nothing_came():
                raise error  # an empty answer would hide that there is none
            return outputs
        first = self._first
        if len(self._records) == 0 or first is None:
            raise error
        if first.finish is None and not first.text and not best_of(self._rejected_calls):
            raise error  # the first one failed as well
        self._records.add(answer, "backend_failed", detail=str(error))
        self._rejected_calls.append(())
        self._release.drop()
        return self._give_up(torn=True)

    # -- one attempt --------------------------------------------------------------------------------------

    def _guarded(self, answer: Answer, delta: Delta) -> list[Output]:
        if isinstance(delta, TextDelta):
            if not self._plan.guards:
                answer.raw_text.append(delta.text)
                return [] if self._is_muted(answer) else self._release.text(delta)
            return self._text(answer, delta)
        if isinstance(delta, ReasoningDelta):
            answer.feed_reasoning(delta)
            return self._release.reasoning(delta)
        if isinstance(delta, CallDelta):
            call = answer.feed_call(delta)
            if self._plan.streams_respond and call.name == RESPOND_TOOL_NAME:
                return self._release.message(delta.arguments)
            return []
        if isinstance(delta, BlockDelta):
            before = self._segments(answer, answer.feed_block()) if self._plan.guards else []
            return before + self._release.block(delta)
        assert isinstance(delta, Finish)
        answer.finish = delta
        if not self._plan.guards:
            return self._pass_on(answer)
        outputs = self._segments(answer, answer.end_text()) + self._beside(answer)
        return outputs + self._judge(answer)

    def _text(self, answer: Answer, delta: TextDelta) -> list[Output]:
        if delta.extra is not None:
            answer.feed_beside(delta.extra)
        segments = answer.feed_text(delta.text)
        if self._plan.streams_respond and self._plan.reads_calls_in(answer):
            # The message stands where its call does: what comes behind the call follows it, however it was split.
            call = next(
                (i for i, segment in enumerate(segments) if not isinstance(segment, TextSegment)), None
            )
            outputs = self._segments(answer, segments[:call], delta)
            outputs += self._release.message(answer.respond.feed(delta.text))
            outputs += self._segments(answer, () if call is None else segments[call:], delta)
        else:
            outputs = self._segments(answer, segments, delta)
        return outputs if delta.text else outputs + self._beside(answer)

    def _beside(self, answer: Answer) -> list[Output]:
        """What came beside texts, where no text followed to go with it."""
        return self._release.text(TextDelta("", answer.take_beside())) if answer.beside else []

    def _segments(
        self, answer: Answer, segments: tuple[Segment, ...], delta: TextDelta | None = None
    ) -> list[Output]:
        outputs: list[Output] = []
        for segment in segments:
            if isinstance(segment, TextSegment):  # nearly always, and nearly always what just came
                if answer.beside:
                    outputs += self._release.text(TextDelta(segment.text, answer.take_beside()))
                elif delta is None or delta.text != segment.text:
                    outputs += self._release.text(TextDelta(segment.text))
                else:
                    outputs += self._release.text(delta)
            elif isinstance(segment, ReasoningSegment):
                answer.thinks = True
                outputs += self._release.reasoning(ReasoningDelta(segment.text), written=True)
            elif isinstance(segment, RejectedSegment):
                # A constrained answer is in a form that Forge asked for; a piece of it is nothing to show.
                if not answer.in_our_form:
                    self._release.hold(segment.text)
            else:
                self._release.hold()
        return outputs

    def _judge(self, answer: Answer) -> list[Output]:
        verdict = judge(answer, self._plan.rules(announced=self._ladder.announced), level=self._ladder.level)
        return self._accept(answer, verdict) if verdict.accepted else self._reject(answer, verdict)

    # -- verdicts -----------------------------------------------------------------------------------------

    def _accept_sound(self, answer: Answer, sound: SoundAnswer) -> list[Output]:
        self._started = answer.started = sound.started
        answer.usage, answer.finish = sound.usage, sound.finish
        self._records.add(answer, "accepted")
        untouched = not self._plan.respond_injected
        return [*sound.calls, self._finished(answer, "tool_calls", untouched=untouched)]

    def _accept(self, answer: Answer, verdict: Verdict) -> list[Output]:
        if self._records and answer.shows_nothing and not verdict.calls:
            # Cut off before it said anything: an earlier attempt is more than that.
            self._records.add(answer, "cut_off")
            self._rejected_calls.append(())
            return self._give_up()
        self._records.add(answer, "accepted", calls=verdict.calls)
        outputs = self._release.end(keep_text=not verdict.calls)
        real = [call for call in verdict.calls if not self._answers_by_respond(call)]
        outputs += self._given_out(verdict.calls)
        reason = finish_reason(answer, real)
        untouched = len(self._records) == 1 and self._plan.is_untouched(answer, verdict, reason)
        return [*outputs, self._finished(answer, reason, untouched=untouched)]

    def _reject(self, answer: Answer, verdict: Verdict) -> list[Output]:
        self._records.add(answer, verdict.reason, detail=verdict.detail, calls=verdict.calls)
        self._rejected_calls.append(verdict.calls)
        step = self._ladder.next(verdict)
        if step is None:
            return self._give_up()
        if step.correct:
            taken = call_ids((*self._plan.request.messages, *self._appended))
            self._appended += correction_messages(answer, verdict, self._new_id, taken)
        retrying = Retrying(attempt=len(self._records), reason=verdict.reason, detail=verdict.detail)
        # Where the backend does not keep to the caller's tool_choice, no attempt is left to it.
        constrained = (step.constrain and self._plan.can_constrain) or self._plan.constrain_first
        return [retrying, self._send(constrained=constrained, text_bound=step.text_bound)]

    def _give_up(self, *, torn: bool = False) -> list[Output]:
        """Never worse than without Forge: the best calls so far, else the first answer as it was written.

        ``torn``: the last answer broke off, so its text is none.
        """
        calls = best_of(self._rejected_calls)
        answer = self._answer
        first = self._first
        assert answer is not None
        assert first is not None
        if calls:
            if calls != best_of(self._rejected_calls[-1:]):
                self._release.drop()
            outputs = self._release.end(keep_text=False) + self._given_out(calls)
            called = any(isinstance(output, CallReady) for output in outputs)
            return [*outputs, self._finished(answer, "tool_calls" if called else "stop")]
        text = "" if answer.in_our_form or torn else answer.text
        if self._plan.forbids_calls:
            text = "\n".join(f"{call.name}({call.arguments})" for call in first.native_calls)
        outputs = self._release.fall_back(text)
        chosen = first if torn or first.text.strip() else answer
        reason = "stop" if chosen.finish_reason == "tool_calls" else chosen.finish_reason
        return [*outputs, self._finished(chosen, reason)]

    def _nothing_came(self) -> bool:
        """Whether the answers to fall back on broke off before they said anything."""
        return all(
            answer is None or (answer.finish is None and not answer.text)
            for answer in (self._first, self._answer)
        )

    # -- without guards -----------------------------------------------------------------------------------

    def _bypass(self, answer: Answer, delta: Delta, error: Exception) -> list[Output]:
        """A guard raised ``error``: from here on the backend's answer passes through unguarded."""
        self._plan = self._plan.unguarded()
        self._fault = f"{type(error).__name__}: {error}"
        if isinstance(delta, TextDelta) and (not answer.raw_text or answer.raw_text[-1] is not delta.text):
            answer.raw_text.append(delta.text)
        outputs = self._release.everything("" if self._is_muted(answer) else "".join(answer.raw_text))
        outputs += self._beside(answer)
        if isinstance(delta, BlockDelta):
            outputs += self._release.block(delta)
        elif isinstance(delta, Finish):
            answer.finish = delta
            outputs += self._pass_on(answer)
        return outputs

    def _pass_on(self, answer: Answer) -> list[Output]:
        """End the turn with the backend's answer as it is; after a fault on a constrained one, with what came before."""
        self._records.add(answer, GUARD_FAILED if self._fault else "unguarded", detail=self._fault)
        if self._is_muted(answer):
            return self._give_up()
        if self._plan.forbids_calls and answer.native_calls and not self._fault:
            return self._without_calls(answer)
        outputs: list[Output] = self._release.end(keep_text=True)
        for call in answer.native_calls:
            if self._plan.respond_injected and call.name == RESPOND_TOOL_NAME:
                outputs += self._release.rest_of_message(respond_message(call.arguments))
            else:
                ready = CallReady(id=call.id or self._new_id(), name=call.name, arguments=call.arguments)
                outputs.append(ready)
        reason = answer.finish_reason
        if reason == "tool_calls" and not any(isinstance(output, CallReady) for output in outputs):
            reason = "stop" if answer.native_calls else reason
        untouched = len(self._records) == 1 and not self._plan.hides_any_of(answer)
        return [*outputs, self._finished(answer, reason, untouched=untouched)]

    def _without_calls(self, answer: Answer) -> list[Output]:
        """End a turn in which no call may be made, although there were some: its text counts, if it has any."""
        if not "".join(answer.raw_text).strip():
            return self._reject(answer, self._plan.forbidden(answer))
        self._records.add(answer, "calls_dropped", detail=self._plan.forbidden(answer).detail)
        outputs = self._release.end(keep_text=True)
        return [*outputs, self._finished(answer, finish_reason(answer, ()))]

    def _is_muted(self, answer: Answer) -> bool:
        """Whether an earlier answer is the better one to show: this one is in a form that only Forge asked for."""
        return answer.constrained is not None and bool(self._rejected_calls)

    # -- small parts --------------------------------------------------------------------------------------

    def _send(self, *, constrained: bool, text_bound: int | None = None) -> Send:
        plan = self._plan
        self._answer = Answer(plan.offer, scan=plan.scans, constrained=constrained, longest_text=text_bound)
        self._first = self._first or self._answer
        self._release.begin()
        request = plan.request_of(self._appended, constrained=constrained, text_bound=text_bound)
        return Send(request=request, attempt=len(self._records) + 1)

    def _given_out(self, calls: tuple[CheckedCall, ...]) -> list[Output]:
        outputs: list[Output] = []
        beside_calls = not all(map(self._answers_by_respond, calls))
        for call in calls:
            if self._answers_by_respond(call):
                message = respond_message(call.arguments)
                outputs += self._release.rest_of_message(message, beside_calls=beside_calls)
            else:
                outputs.append(call.ready(call.id or self._new_id()))
        return outputs

    def _answers_by_respond(self, call: CheckedCall) -> bool:
        return self._plan.respond_injected and call.name == RESPOND_TOOL_NAME

    def _finished(self, answer: Answer, reason: str, *, untouched: bool = False) -> Finished:
        self.done = True
        return self._records.finished(answer, reason, started=self._started, untouched=untouched)


def _counting_ids() -> Callable[[], str]:
    numbers = count()
    return lambda: f"call_{next(numbers):09d}"
