"""A candidate: what it found is given out when the reader says so, and never twice."""

import pytest
from note_tools import TOOLS

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.context import Context
from forge.dialects.repeats import Repeats
from forge.dialects.reply import CallSegment, ReasoningSegment, RejectedSegment, TextSegment
from forge.dialects.tape import Tape
from forge.dialects.toolbox import Toolbox

BOX = Toolbox(TOOLS)
PING = Found(BOX.tools["ping"], {})


def candidate(text, *, before="", repeats=None, notation="hermes"):
    tape = Tape()
    tape.append(text)
    context = Context()
    if before:
        context.shown(before)
    made = Candidate(tape, 0, BOX, context, repeats or Repeats())
    made.notation = notation
    made.pos = len(text)
    return made


def kinds(made):
    return [type(segment) for segment in made.out]


def test_nothing_leaves_before_it_is_final():
    made = candidate("call")
    made.found(PING, 0)
    assert made.out == []
    made.flush()
    assert kinds(made) == [CallSegment]
    assert made.done == 4


def test_what_is_forgotten_never_leaves():
    made = candidate("call")
    made.found(PING, 0)
    made.forget()
    made.flush()
    assert made.out == []
    assert not made.anything


def test_a_candidate_on_hold_waits_for_its_end():
    made = candidate("call")
    made.hold = True
    made.found(PING, 0)
    made.flush()
    assert made.out == []
    made.finish()
    assert kinds(made) == [CallSegment]


def test_a_failed_attempt_is_rejected_with_all_of_its_text():
    made = candidate("<x>call</x>")
    made.missed(Missed("unknown_tool", "fly"), 3)
    made.finish()
    assert made.out == [RejectedSegment("<x>call</x>", "unknown_tool", "hermes", "fly")]


def test_a_failed_attempt_beside_a_call_keeps_its_own_text():
    made = candidate("bad good")
    made.pos = 3
    made.missed(Missed("unreadable"), 0)
    made.pos = 8
    made.found(PING, 4)
    made.finish()
    assert [segment.text for segment in made.out if isinstance(segment, RejectedSegment)] == ["bad"]
    assert kinds(made) == [RejectedSegment, CallSegment]


@pytest.mark.parametrize("before", ["For example: ", "It printed “"])
def test_an_example_is_shown_as_it_was_written(before):
    made = candidate("call", before=before)
    made.found(PING, 0)
    made.flush()
    made.finish()
    assert made.out == [TextSegment("call")]


def test_a_placeholder_makes_an_example():
    made = candidate("call")
    made.found(Found(BOX.tools["note"], {"text": "<text>"}), 0)
    made.finish()
    assert made.out == [TextSegment("call")]


def test_the_same_call_in_another_notation_is_one_call():
    repeats = Repeats()
    for notation, count in (("hermes", 1), ("hermes", 1), ("json", 0)):
        made = candidate("call", repeats=repeats, notation=notation)
        made.found(PING, 0)
        made.finish()
        assert len(made.out) == count


def test_thinking_is_reasoning_and_what_stands_before_it_is_dropped():
    made = candidate("<t>deep")
    made.think(3, 7)
    assert made.out == [ReasoningSegment("deep")]
    assert made.done == 7


def test_it_gives_up_after_many_failed_attempts_in_a_row():
    made = candidate("x")
    for _ in range(40):
        made.missed(Missed("unreadable"), 0)
    assert made.hopeless
    made.found(PING, 0)
    assert not made.hopeless
