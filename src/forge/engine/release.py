"""What may leave for the client and when. What was shown is never taken back.

In a live attempt text leaves at once. It is held from a rejected candidate on, in an attempt whose text may not
be acceptable, and in every attempt after the first: those continue after what was shown, and their text only
counts when it ends the turn.
"""

from __future__ import annotations

from forge.core.events import Output, ReasoningDelta, TextDelta
from forge.engine.respond import MessageReader


class Release:
    """Keeps account of what was shown and what is held back."""

    def __init__(self, *, live: bool, shows_reasoning: bool = True) -> None:
        self._live = live
        self._shows_reasoning = shows_reasoning
        self._attempt = 0
        self._shown: list[str] = []
        self._held: list[TextDelta] = []
        self._held_reasoning: list[ReasoningDelta] = []
        self._held_of_first: list[TextDelta] = []
        self._message = MessageReader()
        self._separate = False

    def begin(self) -> None:
        """A new attempt starts; the last one's held text is not shown unless the turn falls back on it."""
        if self._attempt == 1:
            self._held_of_first = self._held
            self._live = False
        self._attempt += 1
        self._held = []
        self._held_reasoning = []
        self._message = MessageReader()
        self._separate = bool(self._shown)

    def text(self, delta: TextDelta) -> list[Output]:
        """A piece of visible text of the running attempt."""
        if not delta.text and not delta.extra:
            return []
        if not self._live:
            self._held.append(delta)
            return []
        return self._show(delta)

    def hold(self, text: str) -> None:
        """A rejected candidate: it and what follows waits for the verdict."""
        self._live = False
        self._held.append(TextDelta(text))

    def reasoning(self, delta: ReasoningDelta) -> list[Output]:
        """Thinking is live in the first attempt; a later attempt's counts when the attempt is accepted."""
        if not self._shows_reasoning:
            return []
        if self._attempt > 1:
            self._held_reasoning.append(delta)
            return []
        return [delta]

    def message(self, arguments: str) -> list[Output]:
        """A piece of the ``respond`` tool's arguments; its message is text for the user."""
        text = self._message.feed(arguments)
        return self._show(TextDelta(text)) if text else []

    def rest_of_message(self, message: str) -> list[Output]:
        """The whole message is known: show what was not shown while it was generated."""
        shown = self._message.released
        self._message = MessageReader()
        text = message.removeprefix(shown)
        return self._show(TextDelta(text)) if text else []

    def drop(self) -> None:
        """The attempt counts for nothing: what is held of it is not shown."""
        self._held = []
        self._held_reasoning = []

    def end(self, *, keep_text: bool) -> list[Output]:
        """The attempt is accepted. Text beside calls is kept unless an earlier attempt has shown text already."""
        outputs: list[Output] = list(self._held_reasoning)
        if keep_text or not self._separate:
            for delta in self._held:
                outputs += self._show(delta)
        self._held = []
        return outputs

    def fall_back(self, text_of_last: str) -> list[Output]:
        """No attempt was accepted: the rest of the first answer, or the last one's text if there was none."""
        held = self._held if self._attempt == 1 else self._held_of_first
        self._separate = False  # this is the very text that the shown one began
        outputs: list[Output] = []
        for delta in held:
            outputs += self._show(delta)
        if not self._shown and text_of_last:
            outputs += self._show(TextDelta(text_of_last))
        return outputs

    def everything(self, raw_text: str) -> list[Output]:
        """Stop holding anything back: show the part of the raw text that was not shown, and all that follows."""
        self._live = True
        self._held = []
        shown = "".join(self._shown)
        rest = raw_text.removeprefix(shown)
        return self._show(TextDelta(rest)) if rest else []

    def _show(self, delta: TextDelta) -> list[Output]:
        if self._separate:
            self._separate = False
            delta = TextDelta("\n\n" + delta.text.lstrip(), delta.extra)
        self._shown.append(delta.text)
        return [delta]
