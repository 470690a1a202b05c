#!/usr/bin/env python3
"""Coverage-guided fuzzing of the reply parser.

    pip install atheris
    PYTHONPATH=src python tests/fuzz/fuzz_reply_parser.py -max_total_time=600 [CORPUS_DIR]

Each input is a text and the places where it is split. The parser must not raise, must give the same result for
one piece and for many, must only call offered tools, and must show text that holds no markup as it is.
"""

import sys

import atheris

with atheris.instrument_imports(include=["forge"]):
    from forge.dialects import ReplyScanner, parse_tool_calls
    from forge.dialects.registry import NOTATIONS
    from forge.prompts.templates import rescue_tool_call
    from forge.prompts.think_tags import extract_think_tags

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    {
        "name": "bash",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]
WORDS = sorted(
    {opener.text for notation in NOTATIONS for opener in notation.openers}
    | {notation.example for notation in NOTATIONS if notation.example}
    | {
        "get_weather",
        "bash",
        "ping",
        '{"name": "bash", "arguments": {"command": "ls"}}',
        "\n",
        "</parameter>",
        "</function>",
    }
)


def build(data: "atheris.FuzzedDataProvider") -> str:
    parts = []
    for _ in range(data.ConsumeIntInRange(0, 12)):
        if data.ConsumeBool():
            parts.append(WORDS[data.ConsumeIntInRange(0, len(WORDS) - 1)])
        else:
            parts.append(data.ConsumeUnicode(12))
    return "".join(parts)


def one_input(raw: bytes) -> None:
    data = atheris.FuzzedDataProvider(raw)
    cuts = [data.ConsumeIntInRange(0, 200) for _ in range(data.ConsumeIntInRange(0, 6))]
    text = build(data)
    whole = parse_tool_calls(text, TOOLS)
    scanner = ReplyScanner(TOOLS)
    parts, last = [], 0
    for cut in sorted({min(cut, len(text)) for cut in cuts}):
        parts.append(scanner.feed(text[last:cut]))
        last = cut
    parts += [scanner.feed(text[last:]), scanner.finish()]
    if [call for part in parts for call in part.calls] != whole.calls:
        raise AssertionError(f"calls depend on the split: {text!r} {cuts}")
    if "".join(part.text for part in parts) != whole.text:
        raise AssertionError(f"text depends on the split: {text!r} {cuts}")
    if "".join(part.reasoning for part in parts) != whole.reasoning:
        raise AssertionError(f"reasoning depends on the split: {text!r} {cuts}")
    if any(call.tool not in {"get_weather", "bash", "ping"} for call in whole.calls):
        raise AssertionError(f"a tool that was not offered: {text!r}")
    rescue_tool_call(text, TOOLS)
    extract_think_tags(text)


def main() -> None:
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
