#!/usr/bin/env python3
"""How fast the reply parser reads: MB/s and cost per byte from 1 KB to 10 MB, for prose, every notation and worst cases.

    PYTHONPATH=src python benchmarks/parsing.py [--quick] [--only WORD]

Prints one row per case and size. `x prose` is the cost per byte against `prose` of the same size fed the same way:
text with Markdown (links, lists, inline code), as models write it; `plain prose` has none of it and is read faster.
`doubling` is the factor by which the time grows from half the size. The first rows scan the same prose with
`str.find`, the least that any parser could do, and feed it word by word, as a server streams it. One core, no input
or output.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable

from forge.dialects import ReplyScanner
from forge.dialects.registry import NOTATIONS

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    {
        "name": "write_file",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        },
    },
]
PROSE = (
    "The harbour office opens at seven (eight on Sundays). Ask for the tide table: it lists high water, low water and "
    "the range in metres.\n\nIn spring the current runs at up to 3 knots; see [the chart](docs/chart.md), which says "
    '`current = 2 * range`.\n- Take the north channel.\n- Keep "Old Tom" to port.\n\n'
)
PLAIN = PROSE.split("\n\n", maxsplit=1)[0] + "\n\n"
"""Without Markdown; `prose` above is what models write: with links, lists and inline code."""
LONG = "Oslo by the fjord, " * 150
"""A value of 2,850 characters: a call of the size that writing or editing a file has."""
CODE = "export function f(x) {\\n  return x < 10 ? \\\"low\\\" : 'high';\\n}\\n"


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[: max(size, len(unit))]


def whole_units(unit: str) -> Callable[[int], str]:
    return lambda size: unit * max(1, size // len(unit))


def long_argument(before: str, after: str, unit: str = CODE) -> Callable[[int], str]:
    return lambda size: before + unit * max(1, size // len(unit)) + after


CASES: dict[str, Callable[[int], str]] = {
    "prose": repeated(PROSE),
    "plain prose": repeated(PLAIN),
    **{
        f"notation {n.name}": whole_units(n.example.replace("Oslo", LONG) + "\n")
        for n in NOTATIONS
        if n.example
    },
    "tiny calls, hermes": whole_units(
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>\n'
    ),
    "tiny calls, function_xml": whole_units(
        "<function=get_weather><parameter=city>Oslo</parameter></function>\n"
    ),
    "long argument, hermes": long_argument(
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "', '"}}</tool_call>'
    ),
    "long argument, bare": long_argument(
        '{"name": "write_file", "arguments": {"path": "a", "content": "', '"}}'
    ),
    "long argument, one plain string": long_argument(
        '[TOOL_CALLS]write_file[ARGS]{"path": "a", "content": "', '"}', "abcdefgh ijklmnop "
    ),
    "long argument, xml": long_argument(
        "<function=write_file><parameter=content>\n", "\n</parameter></function>", "if (a < b) { call(a); }\n"
    ),
    "long argument, source": long_argument("[write_file(path='a', content='", "')]", "print(1 + 2)\\n"),
    "{ repeated": repeated("{"),
    "[ nested": repeated("["),
    "[ nested in a call": lambda size: '<tool_call>{"name": "get_weather", "arguments": ' + "[" * size,
    "openers": repeated("<tool_call>"),
    "openers, fetch[ARGS]{": repeated("get_weather[ARGS]{"),
    "openers, function=": repeated("<function=get_weather>"),
    "openers, broken calls": repeated('<tool_call>{"name": "get_weather", "arguments": {"city": "'),
    "openers, bare broken": repeated('{"name": "get_weather", "arguments": {"city"\n'),
    "end tags in a string": long_argument(
        '<tool_call>{"name": "write_file", "arguments": {"content": "', "", "</tool_call> "
    ),
    "end tags in a value": long_argument("<function=write_file><parameter=content>", "", "</parameter> x "),
    "json data": lambda size: (
        '{"rows": [' + repeated('{"id": 7, "name": "Old Tom", "tags": ["a", "b"]}, ')(size)
    ),
    "json data, deep": lambda size: '{"rows": ' + "[" * size,
    "json data, one string": lambda size: '{"rows": "' + PLAIN.replace("\n", " ") * (size // len(PLAIN)),
    "unclosed fences": repeated("```json\n"),
    "unclosed fence, prose": lambda size: "```json\n" + repeated(PROSE)(size),
    "backticks": repeated("`"),
    "unclosed think": lambda size: "<think>" + repeated(PROSE)(size),
    "think openers": repeated("<think>"),
    "quotes": repeated('{"name": "'),
    "less-than signs": repeated("<"),
    "newlines": repeated("\n"),
    "names": repeated("get_weather "),
    "source, closing brackets": lambda size: "[get_weather(city=" + ")" * size,
}


def run(text: str, piece: int) -> float:
    gc.collect()
    gc.disable()
    scanner = ReplyScanner(TOOLS)
    started = time.process_time()
    if piece >= len(text):
        scanner.feed(text)
    else:
        for at in range(0, len(text), piece):
            scanner.feed(text[at : at + piece])
    scanner.finish()
    spent = time.process_time() - started
    gc.enable()
    return spent


def best(text: str, piece: int) -> float:
    """CPU seconds of the fastest of several runs: what other processes cost is in the others."""
    times = [run(text, piece)]
    while len(times) < 3 or (sum(times) < 0.05 and len(times) < 20):
        times.append(run(text, piece))
    return min(times)


def find_reference(size: int) -> float:
    text = repeated(PROSE)(size)
    started = time.process_time()
    at = text.find("<")
    while at >= 0:
        at = text.find("<", at + 1)
    return max(time.process_time() - started, 1e-9)


def per_word(text: str) -> float:
    """Seconds per piece when ``text`` is fed word by word."""
    words = [word + " " for word in text.split(" ")]
    times = []
    for _ in range(5):
        scanner = ReplyScanner(TOOLS)
        started = time.process_time()
        for word in words:
            scanner.feed(word)
        times.append((time.process_time() - started) / len(words))
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="up to 1 MB only")
    parser.add_argument("--only", default="", help="cases whose name holds this word")
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    options = parser.parse_args()
    sizes = [1_000, 100_000, 1_000_000] if options.quick else [1_000, 100_000, 1_000_000, 10_000_000]
    run(PROSE, 1 << 30)
    print(f"{'case':38} {'piece':>6} {'size':>9} {'MB/s':>8} {'x prose':>8} {'doubling':>8}")
    for size in sizes:
        print(f"{'str.find over prose':38} {'whole':>6} {size:9} {size / find_reference(size) / 1e6:8.1f}")
    for name in ("prose", "plain prose"):
        print(f"{name + ', word by word':38} {1e6 * per_word(CASES[name](100_000)):.2f} us per word")
    prose: dict[tuple[int, int], float] = {}
    for name, make in CASES.items():
        if options.only and options.only not in name and name != "prose":
            continue
        for piece, limit in ((1 << 30, sizes[-1]), (1, 200_000)):
            for size in [s for s in sizes if s <= limit]:
                text = make(size)
                spent = best(text, piece)
                per_byte = spent / len(text)
                if name == "prose":
                    prose[piece, size] = per_byte
                growth = spent / best(make(size // 2), piece) if size > 50_000 else 0.0
                row = {
                    "case": name,
                    "piece": "1" if piece == 1 else "whole",
                    "size": len(text),
                    "mb_s": 1e-6 / per_byte,
                    "x_prose": per_byte / prose[piece, size],
                    "doubling": growth,
                }
                if options.json:
                    print(json.dumps(row))
                else:
                    print(
                        f"{name:38} {row['piece']:>6} {row['size']:9} {row['mb_s']:8.1f} {row['x_prose']:8.1f} "
                        f"{growth:8.1f}" if growth else
                        f"{name:38} {row['piece']:>6} {row['size']:9} {row['mb_s']:8.1f} {row['x_prose']:8.1f}"
                    )  # fmt: skip


if __name__ == "__main__":
    main()
