"""Think blocks in every spelling: reasoning, and never a source of calls."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.candidate import Candidate
from forge.dialects.context import Context
from forge.dialects.literals import Literals
from forge.dialects.marks import CHAT_TOKENS
from forge.dialects.notation import Notation, Opener, Reader, Where
from forge.dialects.reply import CallSegment

_WORDS = (
    "think",
    "thinking",
    "thought",
    "reasoning",
    "seed:think",
    "antml:thinking",
    "mm:think",
    "reflection",
    "think:opensource",
    "ifm|think",
    "ifm|think_fast",
    "ifm|think_faster",
)
_PAIRS = {
    **{f"<{word}>": f"</{word}>" for word in _WORDS},
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "◁think▷": "◁/think▷",
    "[unused16]": "[unused17]",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
}
THINK_OPENERS = Literals((*_PAIRS, "/think\n"))
THINK_CLOSERS = Literals(_PAIRS.values())
_NATIVE = Literals(
    (
        *("<tool_call>", "<function=", "<function_calls>", "<invoke name=", "[TOOL_CALLS]", "<tool_calls>"),
        *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "<|tool_call>"),
        *("<minimax:tool_call>", "<seed:tool_call>", "<|tool_call_start|>", "<|python_tag|>", "<TOOLCALL>"),
        *("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<|START_ACTION|>", "<longcat_tool_call>"),
    )
)
_TAG = re.compile(r"<([A-Za-z][\w:]*)")
_CHAT_TOKEN = re.compile("|".join(map(re.escape, (*CHAT_TOKENS, "</s>"))))
_TRIES = 4
_SCOPE = 1 << 16


def _reader(closer: str) -> Reader:
    stops = Literals((closer,))

    def read(cur: Candidate) -> Generator[None, None, bool]:
        yield from cur.literal(THINK_OPENERS)
        start = cur.pos
        if (yield from cur.pass_thinking(stops)) is None:
            _swallowed(cur, start)
        return True

    return read


def open_block(cur: Candidate) -> Generator[None, None, bool]:
    """A block whose opening tag stood in the prompt: the reply begins inside of it."""
    if (yield from cur.pass_thinking(THINK_CLOSERS)) is None:
        _swallowed(cur, cur.start)
    return True


def _swallowed(cur: Candidate, start: int) -> None:
    """The block never closed. If it ends with complete calls in a native notation, those count.

    Not where a limit cut the reply off: the model was still thinking.
    """
    if cur.tape.cut:
        return
    start = max(start, cur.tape.end - _SCOPE)
    text = cur.tape.slice(start, cur.tape.end)
    from forge.dialects.scanner import parse_tool_calls

    tries = 0
    ends: dict[str, int] = {}
    inside = 0
    for match in _NATIVE.pattern.finditer(text):
        at = match.start()
        if at < inside:
            continue
        tag = _TAG.match(text, at)
        if tag is not None and _final_end(text, f"</{tag[1]}>", ends) < at:
            # More likely a block that was cut off than one whose call was meant, and so is what stands inside of it.
            closed = text.find(f"</{tag[1]}>", at)
            inside = closed if closed >= 0 else len(text)
            continue
        if not _begins_a_line(text[max(0, at - 400) : at].lstrip()) or THINK_OPENERS.pattern.search(text, at):
            continue
        tries += 1
        if tries > _TRIES:
            return
        reply = parse_tool_calls(text[at:], cur.tools)
        if reply.calls and not reply.text.strip() and not reply.rejected:
            for call in reply.calls:
                cur.out.append(CallSegment(call))
                cur.context.calls += 1
            return


def _final_end(text: str, end: str, known: dict[str, int]) -> int:
    """Where the end tag stands with which ``text`` ends, but for chat tokens; -1 where it does not end so."""
    if end not in known:
        before, found, rest = text.rpartition(end)
        known[end] = len(before) if found and not _CHAT_TOKEN.sub("", rest).strip() else -1
    return known[end]


def _begins_a_line(before: str) -> bool:
    if not before or before.rstrip().endswith(_NATIVE.words):
        return False  # a block that begins with a call holds no thought that led to it: a draft
    context = Context()
    context.shown(before)
    ends = before.rstrip(" \t")[-1:]
    return (context.at_line_start() or ends in (".", "!", "?", "。")) and not context.example()


def _lone(cur: Candidate) -> Generator[None, None, bool]:
    """A closing tag whose opening tag stood in the prompt. What came before was released already."""
    yield from cur.literal(THINK_CLOSERS)
    cur.drop()
    cur.context.forget()
    return True


THINKING = (
    *(
        Notation(
            name=f"think {opener}",
            title="Think block",
            seen_in="reasoning models",
            openers=(Opener(opener),),
            read=_reader(closer),
            quotable=False,
        )
        for opener, closer in _PAIRS.items()
    ),
    Notation(
        name="think /think",
        title="Think block",
        seen_in="HyperCLOVA X SEED Think",
        openers=(Opener("/think\n", Where.MESSAGE),),
        read=_reader("<|im_end|>"),
        quotable=False,
    ),
    Notation(
        name="think end",
        title="Lone closing think tag",
        seen_in="models whose template opens the block",
        openers=tuple(Opener(word, Where.ANYWHERE) for word in THINK_CLOSERS.words),
        read=_lone,
        quotable=False,
    ),
)
