"""What may leave for the client and when. What was shown is never taken back.

In a live attempt text leaves at once. It is held from a rejected candidate on, in an attempt whose text may not
be acceptable, and in every attempt after the first: those continue after what was shown, and their text only
counts when it ends the turn.

What is shown is on record until whoever drives the turn has it (:meth:`Release.handed_over`): a fault of ours between
the two would lose it.
"""

from __future__ import annotations

from forge.core.events import BlockDelta, Output, ReasoningDelta, TextDelta
from forge.dialects.thinking import THINK_CLOSERS
from forge.engine.respond import MessageReader


class Release:
    """Keeps account of what was shown and what is held back."""

    def __init__(self, *, live: bool, shows_reasoning: bool = True) -> None:
        self._live = live
        self._shows_reasoning = shows_reasoning
        self._attempt = 0
        self._shown: list[str] = []
        self._held: list[TextDelta] = []
        self._held_reasoning: list[ReasoningDelta | BlockDelta] = []
        self._held_of_first: list[TextDelta] = []
        self._message = MessageReader()
        self._continues = False
        """Whether an earlier attempt has shown text: the running one's only counts where it ends the turn."""
        self._separate = False
        """Whether what is shown next must stand apart from what was shown before."""
        self._not_handed_over: list[Output] = []
        self._written: list[str] = []
        """Pieces of the running attempt's raw text that were shown as they stand in it, in order."""
        self._thought_last = False
        """Whether the last of them was thinking, whose end tag may still be to come."""

    def begin(self) -> None:
        """A new attempt starts; the last one's held text is not shown unless the turn falls back on it."""
        self._attempt += 1
        if self._attempt == 1:
            return  # as it was made
        if self._attempt == 2:
            self._held_of_first = self._held
            self._live = False
        self._held = []
        self._held_reasoning = []
        self._message = MessageReader()
        self._continues = self._separate = bool(self._shown)
        self._written = []
        self._thought_last = False

    def text(self, delta: TextDelta) -> list[Output]:
        """A piece of visible text of the running attempt."""
        if not delta.text and not delta.extra:
            return []
        if not self._live:
            self._held.append(delta)
            return []
        self._written.append(delta.text)
        self._thought_last = False
        return self._show(delta)

    def hold(self, text: str = "") -> None:
        """What follows waits for the verdict, and a rejected candidate (``text``) with it."""
        self._live = False
        # A call whose message was shown while it was written is on show already.
        if text and not self._message.begun:
            self._held.append(TextDelta(text))

    def reasoning(self, delta: ReasoningDelta, *, written: bool = False) -> list[Output]:
        """Thinking is live in the first attempt; a later attempt's counts when the attempt is accepted.

        ``written``: it stood in the text, between tags.
        """
        if written and self._attempt == 1:
            self._written.append(delta.text)
            self._thought_last = True
        if not self._shows_reasoning:
            return []
        if self._attempt > 1:
            self._held_reasoning.append(delta)
            return []
        self._not_handed_over.append(delta)
        return [delta]

    def block(self, delta: BlockDelta) -> list[Output]:
        """A part that only the backend's protocol knows: shown when thinking would be."""
        if self._attempt > 1:
            self._held_reasoning.append(delta)
            return []
        self._not_handed_over.append(delta)
        return [delta]

    def message(self, arguments: str) -> list[Output]:
        """A piece of the ``respond`` tool's arguments; its message is text for the user."""
        if self._continues:
            return []
        begun = self._message.begun
        text = self._message.feed(arguments)
        if not text:
            return []
        before = [] if begun else self._before_message()
        return before + self._show(TextDelta(text))

    def _before_message(self) -> list[Output]:
        """The text that stands before a message: it comes first, if it counts at all."""
        held, self._held = self._held, []
        counts = not self._continues and any(delta.text.strip() for delta in held)
        outputs = [output for delta in held for output in self._show(delta)] if counts else []
        self._separate = self._separate or bool(self._shown and not self._shown[-1][-1].isspace())
        return outputs

    def rest_of_message(self, message: str, *, beside_calls: bool = False) -> list[Output]:
        """The whole message is known: show what was not shown while it was generated.

        A message that an earlier attempt has shown is not shown again, and ``beside_calls`` none is after such a one.
        """
        shown = self._message.released
        self._message = MessageReader()
        if shown:
            text = message.removeprefix(shown) if message.startswith(shown) else ""
            return self._show(TextDelta(text)) if text else []
        if not message or (self._continues and (beside_calls or self._ends_with(message))):
            return []
        return self._before_message() + self._show(TextDelta(message))

    def _ends_with(self, message: str) -> bool:
        return "".join(self._shown).rstrip().endswith(message.strip())

    def drop(self) -> None:
        """The attempt counts for nothing: what is held of it is not shown."""
        self._held = []
        self._held_reasoning = []

    def end(self, *, keep_text: bool) -> list[Output]:
        """The attempt is accepted. Text beside calls is kept unless an earlier attempt has shown text already."""
        outputs: list[Output] = list(self._held_reasoning)
        self._not_handed_over += outputs
        self._held_reasoning = []
        if keep_text or not self._continues:
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
        """Stop guarding: show what is not handed over yet, the part of the raw text that was not shown, all that follows.

        A call that was found in the text is not shown, and what stands behind it is held: so the first of the raw text
        that was not shown yet begins behind the last piece that was. Between two pieces stand tags of thinking only.
        """
        self._live = True
        self._held = []
        lost = [*self._not_handed_over, *self._held_reasoning]
        self._not_handed_over = []
        self._held_reasoning = []
        position = 0
        for piece in self._written:
            found = raw_text.find(piece, position)
            position = found + len(piece) if found >= 0 else position
        rest = raw_text[position:]
        if self._thought_last and (closer := THINK_CLOSERS.pattern.match(rest.lstrip())):
            rest = rest.lstrip()[closer.end() :]
        self._written = [raw_text]
        return lost + (self._show(TextDelta(rest)) if rest else [])

    def handed_over(self) -> None:
        """All that was shown so far is out of our hands."""
        if self._not_handed_over:
            self._not_handed_over.clear()

    def _show(self, delta: TextDelta) -> list[Output]:
        text = delta.text
        if self._separate and (text := text.lstrip()):
            self._separate = False
            text = "\n\n" + text
        if text:
            self._shown.append(text)
        elif not delta.extra:
            return []
        shown = delta if text == delta.text else TextDelta(text, delta.extra)
        self._not_handed_over.append(shown)
        return [shown]
