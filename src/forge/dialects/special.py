"""What no user should see: chat tokens, stray end tags, and what a model invents after its turn."""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.candidate import Candidate
from forge.dialects.cursor import Need
from forge.dialects.literals import Literals, spellings
from forge.dialects.marks import CHAT_TOKENS, END_TAGS
from forge.dialects.notation import Notation, Opener, Where

_TOKENS = Literals(CHAT_TOKENS)
_TURN_OPENERS = (
    *(
        "<|im_start|>",
        "<|start_header_id|>",
        "<start_of_turn>",
        "<|turn>",
        "<|START_OF_TURN_TOKEN|>",
        "<|header_start|>",
    ),
)
_OWN = Literals(("assistant", "model", "<|CHATBOT_TOKEN|>", "ai", "bot"))
_OTHERS = Literals(
    (
        "user",
        "human",
        "tool",
        "system",
        "ipython",
        "function",
        "observation",
        "developer",
        "environment",
        "<|USER_TOKEN|>",
    )
)
_CALLS = Literals((" -> tool/function_call\n",))
"""HyperCLOVA: the role of a turn that is a list of calls."""
_INVENTED = (
    *(
        "<tool_response>",
        "<tool_result>",
        "<tool_results>",
        "<function_results>",
        "<function_response>",
        "[TOOL_RESULTS]",
    ),
    *(
        "<|START_TOOL_RESULT|>",
        "<|user|>",
        "<|observation|>",
        "[INST]",
        "<|im_user|>",
        "<start_function_response>",
    ),
    *("<|tool_response>", "<|tool_result|>", "<|python_output|>", "<observation>"),
    *spellings("<|tool_outputs_begin|>"),
    *("<｜User｜>", "<|User|>"),
)
_LINES = (
    "Observation:",
    "OBSERVATION:",
    "observation:",
    "Tool result:",
    "Tool Result:",
    "Tool output:",
    "Function result:",
)
_PROSE = " \t,.;:!?)'\"`’”"
_STRAY = Literals((*END_TAGS, "</function>", "</invoke>", "</parameter>", "</s>"))


def _token(cur: Candidate) -> Generator[None, None, bool]:
    """A chat token is dropped; a turn of somebody else that the model opens is dropped with all that follows."""
    token = yield from cur.literal(_TOKENS)
    behind = cur.pos
    if token in _TURN_OPENERS:
        yield from cur.space()
        if (yield from cur.literal(_OTHERS)) is not None:
            yield from _drop_all(cur)
            return True
        if (yield from cur.literal(_OWN)) is not None:
            yield from cur.literal(_CALLS)
            return True
        cur.pos = behind
    if cur.context.seam or cur.context.at_line_start():
        return True
    # In the middle of a sentence the text is about the token.
    following = yield from cur.peek()
    return not (following.isalnum() or (following != "" and following in _PROSE))


def _invented(cur: Candidate) -> Generator[None, None, bool]:
    """The result that the model made up for its own call."""
    if not cur.context.calls:
        return False
    yield from _drop_all(cur)
    return True


def _drop_all(cur: Candidate) -> Need[None]:
    while True:
        cur.pos = cur.tape.end
        cur.drop()
        if cur.tape.closed:
            return
        yield


def _invisible(cur: Candidate) -> Generator[None, None, bool]:
    """Marks without width before any text."""
    yield from cur.space()
    return True


def _stray(cur: Candidate) -> Generator[None, None, bool]:
    """An end tag that no call was left for: dropped right behind a call, text elsewhere."""
    found = yield from cur.literal(_STRAY)
    if found == "</s>" and not cur.context.seam:
        yield from cur.space()
        return (yield from cur.at_end()) or (yield from cur.peek()) == "<"
    return cur.context.seam and cur.context.calls > 0


SPECIAL = (
    Notation(
        name="chat token",
        title="Chat token",
        seen_in="all",
        openers=tuple(Opener(token) for token in CHAT_TOKENS),
        read=_token,
        quotable=False,
    ),
    Notation(
        name="invented result",
        title="Invented observation or turn",
        seen_in="all",
        openers=(
            *(Opener(text) for text in _INVENTED),
            *(Opener(text, Where.LINE) for text in _LINES),
        ),
        read=_invented,
        quotable=False,
    ),
    Notation(
        name="invisible",
        title="Byte order mark or zero-width space at the start",
        seen_in="all",
        openers=(
            Opener("\u200b", Where.MESSAGE),
            Opener("\ufeff", Where.MESSAGE),
            Opener("\u2060", Where.MESSAGE),
        ),
        read=_invisible,
        quotable=False,
    ),
    Notation(
        name="stray end tag",
        title="End tag without an opening one",
        seen_in="models whose opening tag was lost",
        openers=tuple(Opener(text) for text in _STRAY.words),
        read=_stray,
        quotable=False,
    ),
)
