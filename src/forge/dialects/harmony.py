"""OpenAI Harmony (gpt-oss): channels, recipients, and what is left of them when a server strips the tokens."""

from __future__ import annotations

import re
from collections.abc import Generator

from forge.dialects.candidate import Candidate, Found, Missed
from forge.dialects.cursor import Need
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals
from forge.dialects.notation import Notation, Opener, Where, anywhere

_ENDS = Literals(("<|end|>", "<|eom|>", "<|eot|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"))
_MESSAGE = Literals(("<|message|>",))
_HEADER_ENDS = Literals(("<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|start|>", "\n\n"))
_RECIPIENT = re.compile(r"to=([\w.:$/-]+)")
_HEADER = 300
_NAME_RUN = re.compile(r"[\w.:$/-]*")
_TYPES = Literals(("commentary", "analysis", "json", "code", "JSON", "<|constrain|>json", "<|constrain|>"))
_STRIPPED_FINAL = Literals(("assistantfinal",))
_STRIPPED_THINK_END = Literals(("assistantfinal", "assistantcommentary"))
_STRIPPED_CALL = Literals(
    (
        "assistantcommentary to=",
        "commentary to=functions.",
        "assistant to=functions.",
        "assistantanalysis to=",
    )
)


def _channel(cur: Candidate) -> Generator[None, None, bool]:
    """A header up to its message token, then reasoning, a call, or visible text."""
    begin = cur.pos
    cur.pos += 1
    stop, found = yield from cur.until(_HEADER_ENDS, _HEADER)
    header = cur.tape.slice(begin, stop)
    recipient = _RECIPIENT.search(header)
    if found != "<|message|>":
        if found is None and recipient is None and not (yield from cur.at_end()):
            return False
        if found is None and recipient is not None and (yield from cur.at_end()):
            cur.missed(Missed("cut_off", recipient.group(1)), begin)
            return True
        cur.pos = stop
        return found is not None and header.startswith("<|")
    if recipient is not None:
        yield from _to(cur, recipient.group(1), begin)
    elif "analysis" in header:
        yield from cur.pass_thinking(_ENDS)
    return True


def _to(cur: Candidate, name: str, start: int) -> Need[None]:
    """A message to ``name``: a tool, or in Muse also the user and the model itself."""
    if name == "self" and cur.tools.get(name) is None:
        yield from cur.pass_thinking(_ENDS)
    elif name == "user" and cur.tools.get(name) is None:
        return  # what follows is the visible text
    elif (yield from cur.sees(_MUSE_CALLS)) is None:
        yield from _call(cur, name, start)


_MUSE_CALLS = Literals(("<atem:function_calls>", "<atem:invoke name="))


def _first_message(cur: Candidate) -> Generator[None, None, bool]:
    """Muse: the first message, whose role stood in the prompt."""
    yield from cur.literal(_FIRST)
    name = yield from cur.run(_NAME_RUN)
    if (yield from cur.literal(_MESSAGE)) is None:
        return False
    yield from _to(cur, name, cur.start)
    return True


_FIRST = Literals(("to=",))


def _call(cur: Candidate, name: str, start: int) -> Need[None]:
    """The arguments of a call to ``name``."""
    yield from cur.space()
    tool = cur.tools.get(name)
    body = cur.pos
    if begins_arguments((yield from cur.peek())):
        yield from arguments(cur, name, start, _ENDS)
        yield from cur.space()
        yield from cur.literal(_ENDS_CALL)
        return
    stop, found = yield from cur.until(_ENDS)
    text = cur.tape.slice(body, stop).strip()
    if found not in _ENDS_CALL.words:
        cur.pos = stop
    required = cur.tools.required(tool) if tool else ()
    if tool is not None and not text and found is not None:
        cur.found(Found(tool, {}), start)
    elif tool is not None and found is not None and len(required) == 1:
        cur.found(Found(tool, {required[0]: text}, text_values=True), start)
    else:
        cur.missed(
            Missed(
                "cut_off" if found is None and tool else "unknown_tool" if tool is None else "unreadable",
                name,
            ),
            start,
        )


_ENDS_CALL = Literals(("<|end|>", "<|call|>", "<|return|>"))


def _recipient(cur: Candidate) -> Generator[None, None, bool]:
    """``to=functions.N<|channel|>...<|message|>{...}`` at the start of the message."""
    start = cur.pos
    stop, found = yield from cur.until(_MESSAGE, _HEADER)
    header = cur.tape.slice(start, stop)
    recipient = _RECIPIENT.search(header)
    if recipient is None or "\n" in header:
        return False
    if found is None:
        cur.pos = start + recipient.end()
        return (yield from _plain(cur, recipient.group(1), start))
    yield from _call(cur, recipient.group(1), start)
    return True


def _plain(cur: Candidate, name: str, start: int) -> Need[bool]:
    """`` json{...}`` behind a recipient whose tokens were stripped."""
    while True:
        yield from cur.space()
        if (yield from cur.literal(_TYPES)) is None:
            break
    if not begins_arguments((yield from cur.peek())):
        if (yield from cur.at_end()):
            cur.missed(Missed("cut_off", name), start)
            return True
        return False
    yield from _call(cur, name, start)
    return True


def _stripped_call(cur: Candidate) -> Generator[None, None, bool]:
    start = cur.pos
    yield from cur.literal(_STRIPPED_CALL)
    name = yield from cur.run(_NAME_RUN)
    if name.endswith("json") and cur.tools.get(name) is None:
        name = name[: -len("json")]
    if not name or not (yield from _plain(cur, name, start)):
        return False
    yield from cur.space()
    yield from cur.literal(_STRIPPED_FINAL)
    return True


def _stripped_analysis(cur: Candidate) -> Generator[None, None, bool]:
    """``analysisWe need...`` : the channel's name glued to the thinking."""
    cur.pos += len("analysis")
    first = yield from cur.peek()
    if not first.isalpha():
        return False
    if (yield from cur.pass_thinking(_STRIPPED_THINK_END)) == "assistantcommentary":
        start = cur.pos
        yield from cur.space()
        if (yield from cur.literal(_TO)) is not None:
            name = yield from cur.run(_NAME_RUN)
            if (yield from _plain(cur, name, start)):
                yield from cur.space()
                yield from cur.literal(_STRIPPED_FINAL)
            else:
                cur.pos = start
    return True


_TO = Literals(("to=",))


HARMONY = (
    Notation(
        name="harmony",
        title="Harmony channels",
        seen_in="gpt-oss",
        openers=anywhere("<|channel|>", "<|start|>"),
        read=_channel,
        example='<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
    ),
    Notation(
        name="harmony_role",
        title="Harmony, recipient in the role header",
        seen_in="gpt-oss",
        openers=(Opener("to=functions.", Where.MESSAGE),),
        read=_recipient,
        example='to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{"city": "Oslo"}',
    ),
    Notation(
        name="harmony_stripped",
        title="Harmony without its tokens",
        seen_in="gpt-oss behind servers that strip special tokens",
        openers=anywhere(*_STRIPPED_CALL.words),
        read=_stripped_call,
        example='assistantcommentary to=functions.get_weather json{"city": "Oslo"}',
    ),
    Notation(
        name="muse message",
        title="Muse message, its role in the prompt",
        seen_in="Muse Glimmer",
        openers=(Opener("to=", Where.MESSAGE),),
        read=_first_message,
        quotable=False,
    ),
    Notation(
        name="harmony analysis",
        title="Harmony analysis without its tokens",
        seen_in="gpt-oss behind servers that strip special tokens",
        openers=(Opener("analysis", Where.MESSAGE),),
        read=_stripped_analysis,
        quotable=False,
    ),
)
