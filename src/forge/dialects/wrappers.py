"""Notations that are a pair of marks around calls: Hermes and its many look-alikes, list tags, action tags.

Between the marks anything a call can be written as is read (see :mod:`forge.dialects.units`), so one table row
is enough for each.
"""

from __future__ import annotations

from collections.abc import Generator

from forge.dialects.between_marks import between, wrapper
from forge.dialects.candidate import Candidate
from forge.dialects.json_arguments import arguments, begins_arguments
from forge.dialects.literals import Literals
from forge.dialects.marks import CHAT_TOKENS, ML_BARS, ML_BLOCKS
from forge.dialects.notation import Notation, Opener, Where


def _attributed(cur: Candidate) -> Generator[None, None, bool]:
    """``<tool_call name="N">{arguments}</tool_call>`` and the same with other words."""
    start = cur.pos
    yield from cur.literal(_NAMED_OPENERS)
    name = yield from cur.attribute()
    yield from cur.space()
    if not name or (yield from cur.literal(_GT)) is None:
        return False
    yield from cur.space()
    if not begins_arguments((yield from cur.peek())):
        return False
    yield from arguments(cur, name, start, _NAMED_MARKS)
    yield from cur.space()
    yield from cur.literal(_NAMED_CLOSERS)
    return True


_GT = Literals((">",))
_NAMED_OPENERS = Literals(("<tool_call name=", "<tool name=", "<function_call name="))
_NAMED_CLOSERS = Literals(("</tool_call>", "</tool>", "</function_call>"))
_NAMED_MARKS = Literals((*_NAMED_CLOSERS.words, *CHAT_TOKENS))

_CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'


def _pair(
    name: str, title: str, seen_in: str, opens: str | tuple[str, ...], close: str, **more: object
) -> Notation:
    opens = (opens,) if isinstance(opens, str) else opens
    sample = more.pop("body", _CALL)
    where = more.pop("where", Where.ANYWHERE)
    assert isinstance(where, Where)
    reader = wrapper(opens, (close,) if close else (), marked=bool(more.pop("marked", True)))
    return Notation(
        name=name,
        title=title,
        seen_in=seen_in,
        openers=tuple(Opener(text, where) for text in opens),
        read=reader,
        quick=between(opens, (close,) if close else ()),
        repeats=len(opens) == 1,
        example=f"{opens[0]}{sample}{close}",
    )


_LIST = f"[{_CALL}]"

WRAPPERS = (
    _pair(
        "hermes",
        "Hermes tool_call tag",
        "Qwen 2.5/3, Hermes 2/3, Granite 4, GLM, ERNIE",
        "<tool_call>",
        "</tool_call>",
    ),
    _pair(
        "function_call_tag",
        "function_call tag",
        "Granite 20b, Hermes 2 Pro",
        "<function_call>",
        "</function_call>",
    ),
    _pair(
        "function_calls_tag",
        "function_calls tag",
        "OLMo 3, Claude-like data",
        "<function_calls>",
        "</function_calls>",
        body="get_weather(city='Oslo')",
    ),
    _pair(
        "tool_calls_tag",
        "tool_calls tag",
        "Hunyuan, MiniMax M1, Jamba, Apriel",
        "<tool_calls>",
        "</tool_calls>",
        body=_LIST,
    ),
    _pair(
        "tools_tag", "tools tag (the prompt's, echoed)", "Hermes 2 Pro", "<tools>", "</tools>", marked=False
    ),
    _pair("tool_tag", "tool tag", "Hermes 2 Pro", "<tool>", "</tool>", marked=False),
    _pair("response_tag", "response tag", "Hermes 2 Pro", "<response>", "</response>", marked=False),
    _pair("json_tag", "json tag", "Hermes 2 Pro", ("<json>", "<JSON>"), "</json>", marked=False),
    _pair("xml_tag", "xml tag", "Hermes 2 Pro", "<xml>", "</xml>", marked=False),
    _pair(
        "tool_use_tag",
        "tool_use element",
        "Claude-like prompts",
        "<tool_use>",
        "</tool_use>",
        body='<name>get_weather</name><arguments>{"city": "Oslo"}</arguments>',
    ),
    _pair("toolcall_tag", "TOOLCALL tag", "Nemotron v2", "<TOOLCALL>", "</TOOLCALL>", body=_LIST),
    _pair("granite", "Granite 3 token", "Granite 3.x", "<|tool_call|>", "", body=_LIST),
    _pair("longcat", "LongCat tag", "LongCat", "<longcat_tool_call>", "</longcat_tool_call>"),
    _pair(
        "seed",
        "Seed tool_call tag",
        "Seed-OSS",
        "<seed:tool_call>",
        "</seed:tool_call>",
        body="<function=get_weather><parameter=city>Oslo</parameter></function>",
    ),
    _pair(
        "minimax",
        "MiniMax M2 block",
        "MiniMax M2",
        "<minimax:tool_call>",
        "</minimax:tool_call>",
        body='<invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke>',
    ),
    _pair(
        "dsml",
        "DSML block",
        "DeepSeek V3.2 to V4.1",
        tuple(f"<{bar}DSML{bar}{block}>" for bar in ML_BARS for block in ML_BLOCKS),
        "</｜DSML｜function_calls>",
        body='<｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="city" string="true">Oslo'
        "</｜DSML｜parameter></｜DSML｜invoke>",
    ),
    _pair(
        "gcml",
        "GCML block",
        "GigaChat 3.5",
        tuple(f"<{bar}GCML{bar}{block}>" for bar in ML_BARS for block in ML_BLOCKS),
        "</｜GCML｜tool_calls>",
        body='<｜GCML｜invoke name="get_weather"><｜GCML｜parameter name="city" string="true">Oslo'
        "</｜GCML｜parameter></｜GCML｜invoke>",
    ),
    _pair(
        "muse",
        "Muse function_calls block",
        "Muse Glimmer",
        "<atem:function_calls>",
        "</atem:function_calls>",
        body='<atem:invoke name="get_weather"><atem:parameter name="city">Oslo</atem:parameter></atem:invoke>',
    ),
    _pair(
        "k2_horizon",
        "K2 Horizon block",
        "K2 Horizon",
        ("<ifm|tool_calls>", "<ifm|tool_call>"),
        "</ifm|tool_calls>",
        body="<ifm|tool_call>get_weather\n<ifm|arg_key>city</ifm|arg_key>\n<ifm|arg_value>Oslo</ifm|arg_value>\n"
        "</ifm|tool_call>",
    ),
    _pair(
        "hunyuan3",
        "Hunyuan 3 tags with their suffix",
        "Hy3 (open checkpoints)",
        ("<tool_call:opensource>", "<tool_calls:opensource>"),
        "</tool_call:opensource>",
        body="get_weather<tool_sep:opensource><arg_key:opensource>city</arg_key:opensource>"
        "<arg_value:opensource>Oslo</arg_value:opensource>",
    ),
    _pair(
        "iquest",
        "IQuest tag",
        "IQuest Q1",
        "<iquest_tool_call>",
        "</iquest_tool_call>",
        body="get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>",
    ),
    _pair("pangu", "Pangu tokens", "openPangu", "[unused11]", "[unused12]", body=_LIST),
    Notation(
        name="hyperclova",
        title="HyperCLOVA function call role",
        seen_in="HyperCLOVA X SEED Think",
        openers=(Opener("-> tool/function_call\n", Where.MESSAGE),),
        read=wrapper(("-> tool/function_call\n",), ()),
        example=f"-> tool/function_call\n{_LIST}",
    ),
    Notation(
        name="rwkv",
        title="RWKV label and block",
        seen_in="RWKV 7",
        openers=(Opener("**Tool Call:**", Where.LINE),),
        read=wrapper(("**Tool Call:**",), ()),
        example=f"**Tool Call:**\n```json\n{_CALL}\n```",
    ),
    _pair(
        "lm_studio",
        "LM Studio default",
        "models without a native format",
        "[TOOL_REQUEST]",
        "[END_TOOL_REQUEST]",
    ),
    Notation(
        name="gigachat_plain",
        title="GigaChat 3, token stripped",
        seen_in="GigaChat 3 behind servers that strip special tokens",
        openers=(Opener("function call{", Where.LINE), Opener("function call<|role_sep|>", Where.LINE)),
        read=wrapper(("function call<|role_sep|>", "function call"), ()),
        example=f"function call{_CALL}",
    ),
    Notation(
        name="functools",
        title="functools list",
        seen_in="Phi-4-mini, Firefunction",
        openers=(Opener("functools["),),
        read=wrapper(("functools",), ()),
        example=f"functools{_LIST}",
    ),
    _pair(
        "apertus",
        "Apertus tools block",
        "Apertus",
        "<|tools_prefix|>",
        "<|tools_suffix|>",
        body='[{"get_weather": {"city": "Oslo"}}]',
    ),
    _pair(
        "internlm",
        "InternLM action",
        "InternLM",
        ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>"),
        "<|action_end|>",
    ),
    _pair(
        "cohere", "Cohere action", "Command R7B, Command A", "<|START_ACTION|>", "<|END_ACTION|>", body=_LIST
    ),
    _pair("gigachat", "GigaChat 3 token", "GigaChat 3", "<|function_call|>", ""),
    _pair("llama", "Llama python_tag", "Llama 3.1 to 3.3", "<|python_tag|>", ""),
    _pair(
        "llama4",
        "Llama 4 python tokens",
        "Llama 4",
        "<|python_start|>",
        "<|python_end|>",
        body="[get_weather(city='Oslo')]",
    ),
    _pair(
        "lfm2",
        "LFM2 tokens",
        "LFM2",
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        body="[get_weather(city='Oslo')]",
    ),
    Notation(
        name="named_tag",
        title="Tag with the name as an attribute",
        seen_in="Hermes 2 Pro variants, Claude-like data",
        openers=tuple(Opener(text) for text in _NAMED_OPENERS.words),
        read=_attributed,
        example='<tool_call name="get_weather">{"city": "Oslo"}</tool_call>',
    ),
)
