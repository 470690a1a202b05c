"""Strings that end something, shared by the notations: end tags of wrappers, chat tokens, fences."""

from __future__ import annotations

from forge.dialects.literals import Literals, spellings

ML_BARS = ("｜", "|", "｜｜", "||")
ML_WORDS = ("DSML", "GCML")
"""DeepSeek's and GigaChat's markup, ``<｜DSML｜invoke name="N">``: the bars come in several spellings."""
ML_BLOCKS = ("function_calls", "tool_calls", " calls", "calls")

TAG_NAMES = [
    "tool_call",
    "function_call",
    "tool_calls",
    "function_calls",
    "tools",
    "tool",
    "TOOLCALL",
    "response",
    "json",
    "JSON",
    "xml",
    "tool_use",
    "longcat_tool_call",
    "seed:tool_call",
    "minimax:tool_call",
    "antml:function_calls",
    "atem:function_calls",
    "tool_call:opensource",
    "tool_calls:opensource",
    "ifm|tool_call",
    "ifm|tool_calls",
    "iquest_tool_call",
]

END_TAGS = (
    *(f"</{name}>" for name in TAG_NAMES),
    *[
        "<|/tool_call|>",
        "<|/tool_calls|>",
        "[END_TOOL_REQUEST]",
        "<|tools_suffix|>",
        "<|action_end|>",
        "<|END_ACTION|>",
    ],
    *[
        "<|python_end|>",
        "<|tool_call_end|>",
        "[/TOOL_CALLS]",
        "<|tool_calls_section_end|>",
        "<|tool_call_argument_end|>",
    ],
    *["<end_function_call>", "<tool_call|>", "<end_of_tool_call:opensource>", "[unused12]"],
    *["<|tool_call:end|>", "<|plamo:end_tool_request:plamo|>", "<|plamo:end_tool_requests:plamo|>"],
    *spellings("<|tool_call_end|>"),
    *spellings("<|tool_calls_end|>"),
    *(f"</{bar}{word}{bar}{block}>" for word in ML_WORDS for bar in ML_BARS for block in ML_BLOCKS),
)
"""End tags of the wrappers that hold calls."""

CHAT_TOKENS = (
    *[
        "<|im_end|>",
        "<|im_start|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|end|>",
        "<|begin_of_text|>",
    ],
    *[
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|header_start|>",
        "<|header_end|>",
        "<end_of_turn>",
        "<start_of_turn>",
    ],
    *[
        "<eos>",
        "<bos>",
        "<|return|>",
        "<|call|>",
        "<|eos|>",
        "<turn|>",
        "<|turn>",
        "<|user|>",
        "<|assistant|>",
        "<|observation|>",
    ],
    *[
        "<|END_OF_TURN_TOKEN|>",
        "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
    ],
    *["<|START_TEXT|>", "<|END_TEXT|>", "<|eom|>", "<|eot|>", "<|message_sep|>", "<|plamo:tag|>"],
    *["<|ifm|im_end|>", "<|ifm|im_start|>", "<|ifm|endoftext|>", "<|ifm|end_of_text|>"],
    *["<|end_message|>", "<|content_text|>", "<|content_model_end_sampling|>"],
    *spellings("<|end_of_sentence|>"),
    *spellings("<|begin_of_sentence|>"),
)
"""Tokens that end or begin a turn."""

CALL_END = Literals((*END_TAGS, *CHAT_TOKENS, "</s>"))
"""Anything that may stand right behind a call and end it."""
