"""Repair of broken JSON arguments, measured: exact, wrong and refused for Forge and for json-repair.

    python benchmarks/repair.py [--rounds 150] [--seed 5] [--failures KIND]

Each kind of damage is applied to random realistic tool arguments, whose texts come from the standard library's
sources. ``exact`` is the undamaged value; ``wrong`` is any other value that would be executed; ``refused`` would be
asked again. Text that is cut off must be refused: there is nothing exact in it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json_repair

from forge.core.request import Tool
from forge.schema.arguments import read_arguments

SOURCES = [Path(json.__file__), Path(argparse.__file__), Path(string.__file__), Path(random.__file__)]
PROSE = (
    "Fix the parser's edge case",
    'He said "later", then left',
    "C'est la vie, non?",
    "Meeting at 10:30 (room 4), bring the {draft}",
    "naïve café, 東京, emoji 🙂",
    "a,}b",
    "https://example.com//a?b=1#c",
    "SELECT * FROM t WHERE name = 'x'; -- note",
    "rm -rf build/ && make -j4",
    'print("hello, world")',
    "",
)
PROPERTIES: dict[str, Any] = {
    "path": {"type": "string"},
    "content": {"type": "string"},
    "query": {"type": "string"},
    "limit": {"type": "integer"},
    "ratio": {"type": "number"},
    "recursive": {"type": "boolean"},
    "owner": {"type": ["string", "null"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "items": {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "integer"}, "note": {"type": "string"}}},
    },
    "options": {"type": "object", "properties": {"mode": {"type": "string"}, "dry_run": {"type": "boolean"}}},
}
TOOL = Tool(
    name="apply",
    parameters={
        "type": "object",
        "properties": PROPERTIES,
        "required": ["path"],
        "additionalProperties": False,
    },
)
Damage = Callable[[random.Random, dict[str, Any]], str]


def snippets(rng: random.Random) -> str:
    lines = rng.choice(SOURCES).read_text(encoding="utf-8").splitlines()
    start = rng.randrange(len(lines) - 8)
    return "\n".join(lines[start : start + rng.randint(1, 6)])


def arguments(rng: random.Random) -> dict[str, Any]:
    def text() -> str:
        return rng.choice(PROSE) if rng.random() < 0.6 else snippets(rng)

    makers: dict[str, Callable[[], Any]] = {
        "content": text,
        "query": text,
        "limit": lambda: rng.randrange(1000),
        "ratio": lambda: round(rng.random() * 10, 3) + 0.0005,
        "recursive": lambda: rng.random() < 0.5,
        "owner": lambda: rng.choice([None, "kim", "o'neil"]),
        "tags": lambda: [rng.choice(PROSE) for _ in range(rng.randrange(4))],
        "items": lambda: [{"id": rng.randrange(99), "note": text()} for _ in range(rng.randrange(3))],
        "options": lambda: {"mode": rng.choice(["fast", "slow"]), "dry_run": rng.random() < 0.5},
    }
    chosen = rng.sample(list(makers), rng.randint(1, 5))
    result: dict[str, Any] = {"path": rng.choice(["src/app.py", "notes/to do.md", "C:\\Temp\\x.txt"])}
    result.update((name, makers[name]()) for name in chosen)
    return result


def plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def outside(text: str, change: Callable[[str], str]) -> str:
    """``change`` applied to what stands between the strings."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def keys_only(text: str, change: Callable[[str], str]) -> str:
    return re.sub(r'"([a-z_]+)":', lambda match: change(match[1]) + ":", text)


def inner_quotes(_: random.Random, value: dict[str, Any]) -> str:
    return re.sub(r'\\"', '"', plain(value))


def commas_missing(rng: random.Random, value: dict[str, Any]) -> str:
    return outside(plain(value), lambda part: part.replace(",", "", 1) if rng.random() < 0.5 else part)


def comments(rng: random.Random, value: dict[str, Any]) -> str:
    styles = [" // as asked\n", " /* see above */", "\n# note\n"]
    return outside(
        json.dumps(value, ensure_ascii=False, indent=1),
        lambda part: part.replace(",", "," + rng.choice(styles)),
    )


def concatenated(rng: random.Random, value: dict[str, Any]) -> str:
    def cut(match: re.Match[str]) -> str:
        inside = match[1]
        at = rng.randrange(len(inside))
        if "\\" in inside[max(at - 6, 0) : at]:
            return match[0]
        return f': "{inside[:at]}" + "{inside[at:]}"'

    return re.sub(r': "((?:[^"\\]|\\.){4,})"', cut, plain(value))


def raw_breaks(_: random.Random, value: dict[str, Any]) -> str:
    return re.sub(r"(?<!\\)((?:\\\\)*)\\n", r"\1\n", plain(value))


def raw_breaks_and_tabs(rng: random.Random, value: dict[str, Any]) -> str:
    return re.sub(r"(?<!\\)((?:\\\\)*)\\t", r"\1\t", raw_breaks(rng, {**value, "query": "a\tb\n\tc"}))


def html_inside(rng: random.Random, value: dict[str, Any]) -> str:
    page = f'<a href="{rng.choice(PROSE[6:7])}" class="x">{{"k": "v", "n": [1, 2]}}</a>'
    return inner_quotes(rng, {**value, "content": page})


def drive_paths(_: random.Random, value: dict[str, Any]) -> str:
    return plain({**value, "path": "C:\\Projects\\App.cs", "query": "\\d+\\.\\w{2}"}).replace("\\\\", "\\")


def bare_words(_: random.Random, value: dict[str, Any]) -> str:
    return re.sub(
        r'"mode": "(\w+)"', r'"mode": \1', plain({**value, "options": {"mode": "fast", "dry_run": True}})
    )


def several(rng: random.Random, value: dict[str, Any]) -> str:
    """A JavaScript object as a model would explain it: bare keys, comments, a trailing comma, raw breaks."""
    text = keys_only(comments(rng, value), lambda key: key)
    text = outside(text, lambda part: re.sub(r"(?<=.)([}\]])", r",\1", part))
    return re.sub(r"(?<!\\)((?:\\\\)*)\\n", r"\1\n", text)


DAMAGES: dict[str, Damage] = {
    "valid": lambda _, v: plain(v),
    "fenced": lambda _, v: f"```json\n{json.dumps(v, indent=2)}\n```",
    "prose around": lambda _, v: f"Here you go:\n{plain(v)}\nDone.",
    "extra brace": lambda _, v: plain(v) + "}",
    "printed twice": lambda _, v: plain(v) + plain(v),
    "trailing comma": lambda _, v: outside(plain(v), lambda p: re.sub(r"(?<=.)([}\]])", r",\1", p)),
    "doubled comma": lambda _, v: outside(plain(v), lambda p: p.replace(",", ",,", 1)),
    "Python repr": lambda _, v: repr(v),
    "single quotes, apostrophes escaped": lambda _, v: (
        "{"
        + ", ".join(
            f"'{k}': "
            + (
                ("'" + plain(x)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'")
                if isinstance(x, str)
                else plain(x)
            )
            for k, x in v.items()
        )
        + "}"
    ),
    "raw newlines": raw_breaks,
    "raw newlines and tabs": raw_breaks_and_tabs,
    "inner quotes": inner_quotes,
    "unquoted keys": lambda _, v: keys_only(plain(v), lambda k: k),
    "smart quotes on keys": lambda _, v: keys_only(plain(v), lambda k: f"“{k}”"),
    "full-width punctuation": lambda _, v: outside(
        plain(v), lambda p: p.replace(":", "：").replace(",", "，")
    ),
    "commas missing": commas_missing,
    "comments": comments,
    "escaped apostrophes": lambda _, v: plain(v).replace("'", "\\'"),
    "encoded twice": lambda _, v: json.dumps(plain(v)),
    "escaped line breaks between": lambda _, v: outside(plain(v), lambda p: p.replace(",", ",\\n")),
    "concatenation": concatenated,
    "inner quotes of markup": html_inside,
    "single backslashes": drive_paths,
    "bare words": bare_words,
    "several at once": several,
    "brace missing before end mark": lambda _, v: plain(v)[:-1] + "\n</tool_call>",
    "cut off": lambda rng, v: plain(v)[: rng.randrange(1, len(plain(v)))],
    "cut off, inner quotes": lambda rng, v: (t := inner_quotes(rng, v))[: rng.randrange(1, len(t))],
    "cut off, Python repr": lambda rng, v: repr(v)[: rng.randrange(1, len(repr(v)))],
}


# What a damage puts into the value before it damages it.
CHANGES: dict[str, dict[str, Any]] = {
    "raw newlines and tabs": {"query": "a\tb\n\tc"},
    "inner quotes of markup": {
        "content": '<a href="https://example.com//a?b=1#c" class="x">{"k": "v", "n": [1, 2]}</a>'
    },
    "single backslashes": {"path": "C:\\Projects\\App.cs", "query": "\\d+\\.\\w{2}"},
    "bare words": {"options": {"mode": "fast", "dry_run": True}},
}


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=False, default=str) == json.dumps(other, sort_keys=False, default=str)


def forge_reads(text: str) -> tuple[bool, Any]:
    checked = read_arguments(TOOL, text)
    return checked.trusted, checked.value


def json_repair_reads(text: str) -> tuple[bool, Any]:
    value = json_repair.loads(text)
    return isinstance(value, dict), value


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=150)
    options.add_argument("--seed", type=int, default=5)
    options.add_argument(
        "--failures", metavar="KIND", help="print what Forge got wrong or refused of this kind"
    )
    chosen = options.parse_args()
    readers = {"forge": forge_reads, "json-repair": json_repair_reads}
    totals = {name: [0, 0, 0] for name in readers}
    seconds = dict.fromkeys(readers, 0.0)
    print(f"{'exact / wrong / refused':<38}" + "".join(f"{name:>20}" for name in readers))
    for kind, damage in DAMAGES.items():
        rng = random.Random(f"{chosen.seed} {kind}")
        counts = {name: [0, 0, 0] for name in readers}
        for _ in range(chosen.rounds):
            value = arguments(rng)
            text = damage(rng, value)
            value = {**value, **CHANGES.get(kind, {})}
            for name, reader in readers.items():
                started = time.perf_counter()
                accepted, got = reader(text)
                seconds[name] += time.perf_counter() - started
                cut = kind.startswith("cut off")
                outcome = 2 if not accepted else 0 if same(got, value) and not cut else 1
                counts[name][outcome] += 1
                if name == "forge" and kind == chosen.failures and outcome != (2 if cut else 0):
                    print(
                        f"--- {'wrong' if outcome == 1 else 'refused'}\n{text}\n  want {value}\n  got  {got}"
                    )
        for name, row in counts.items():
            totals[name] = [a + b for a, b in zip(totals[name], row, strict=True)]
        print(f"{kind:<38}" + "".join(f"{'/'.join(map(str, row)):>20}" for row in counts.values()))
    print(f"{'total':<38}" + "".join(f"{'/'.join(map(str, row)):>20}" for row in totals.values()))
    runs = len(DAMAGES) * chosen.rounds
    print(f"{'µs each':<38}" + "".join(f"{spent / runs * 1e6:>20.0f}" for spent in seconds.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
