"""What is kept of the attempts of one turn: a record of each, and what they cost together."""

from __future__ import annotations

from forge.core.events import Attempt, Finished, Started, Usage
from forge.core.request import Protocol
from forge.engine.answer import Answer
from forge.engine.judge import CheckedCall
from forge.engine.usage import add_usage


class Records:
    """The attempts so far, in order, and the sum of their usage."""

    def __init__(self) -> None:
        self._attempts: list[Attempt] = []
        self._last: Answer | None = None
        self.usage: Usage | None = None

    def __len__(self) -> int:
        return len(self._attempts)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The records."""
        return tuple(self._attempts)

    def finished(
        self, answer: Answer, reason: str, *, started: Started | None, untouched: bool = False
    ) -> Finished:
        """The end of the turn, with ``answer`` as the one that counts; ``untouched``: it may pass as it came."""
        finish = answer.finish
        return Finished(
            reason=reason,
            usage=self.usage,
            attempts=self.attempts,
            started=started,
            extra=finish.extra if finish else {},
            body=finish.body if finish and untouched else None,
            protocol=finish.protocol if finish else Protocol.OPENAI,
        )

    def add(
        self, answer: Answer, verdict: str, *, detail: str = "", calls: tuple[CheckedCall, ...] = ()
    ) -> None:
        """Note how an attempt ended. A second verdict on the same answer takes the place of the first."""
        if self._last is answer:
            self._attempts.pop()
        else:
            self.usage = add_usage(self.usage, answer.usage)
        self._last = answer
        self._attempts.append(
            Attempt(
                number=len(self._attempts) + 1,
                verdict=verdict,
                detail=detail,
                usage=answer.usage,
                finish_reason=answer.finish.reason if answer.finish else None,
                constrained=answer.constrained is not None,
                fixes=tuple(fix for call in calls for fix in call.fixes),
            )
        )
