"""What open models really wrote: every case read whole, in pieces and cut off, against what it should give."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from cases import each

from forge.dialects import ReplyScanner, parse_tool_calls
from forge.dialects.toolbox import Toolbox

CASES = [
    json.loads(line)
    for name in (
        "cases.jsonl",
        "own_cases.jsonl",
        "variant_cases.jsonl",
        "fresh_cases.jsonl",
        "newer_cases.jsonl",
        "heldout_cases.jsonl",
    )
    for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()
    if line
]
FAMILIES: dict[str, dict[str, dict]] = {}
for case in CASES:
    FAMILIES.setdefault(case["family"], {})[case["id"]] = case

REFUSED = {
    # The text ends right behind a value; nothing tells it from one that was cut off, and a call that was cut off
    # must never run.
    "pub-081",
    "pub-177",
}
SHOWN_BEFORE_CLOSING = {
    # Thinking whose opening tag stood in the prompt: it was streamed as text before the closing tag came.
    "pub-252",
    "pub-268",
}
FAMILY = pytest.mark.parametrize("cases", FAMILIES.values(), ids=FAMILIES)


def plain(calls):
    return [{"name": call.tool, "arguments": call.args} for call in calls]


def squeezed(text):
    return " ".join((text or "").split())


def same(one, other):
    """Equal as JSON: a boolean is no number."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or (
        one == other and str(one).count("True") == str(other).count("True")
    )


def accepted(case):
    return [case["expected"], *case.get("alt", [])]


@FAMILY
def test_calls_and_text(cases):
    each(calls_and_text, cases)


def calls_and_text(case):
    reply = parse_tool_calls(case["text"], case["tools"])
    calls = plain(reply.calls)
    if case["id"] in REFUSED:
        assert calls == []
        return
    assert any(same(calls, wanted) for wanted in accepted(case))
    if (
        case["residual_text"] is not None
        and same(calls, case["expected"])
        and case["id"] not in SHOWN_BEFORE_CLOSING
    ):
        assert squeezed(reply.text) == squeezed(case["residual_text"])


@FAMILY
def test_pieces_give_the_same_segments(cases):
    each(same_segments, cases)


def same_segments(case):
    tools = Toolbox(case["tools"])
    whole = parse_tool_calls(case["text"], tools)
    rng = random.Random(case["id"])
    for sizes in ((1,), (1, 2, 3, 5, 8, 40)):
        scanner = ReplyScanner(tools)
        parts, at = [], 0
        while at < len(case["text"]):
            size = rng.choice(sizes)
            parts.append(scanner.feed(case["text"][at : at + size]))
            at += size
        parts.append(scanner.finish())
        assert plain([call for part in parts for call in part.calls]) == plain(whole.calls)
        assert "".join(part.text for part in parts) == whole.text
        assert "".join(part.reasoning for part in parts) == whole.reasoning


@FAMILY
def test_a_cut_text_gives_no_call_that_the_whole_text_does_not_hold(cases):
    each(only_calls_of_the_whole, cases)


def only_calls_of_the_whole(case):
    text, tools = case["text"], Toolbox(case["tools"])
    allowed = [call for calls in accepted(case) for call in calls]
    most = 120 if case["id"].startswith("pub") else 40
    stops = sorted(random.Random(1).sample(range(len(text) + 1), min(most, len(text) + 1)))
    for stop in stops:
        for call in plain(parse_tool_calls(text[:stop], tools).calls):
            assert any(same(call, other) for other in allowed), text[:stop]


def test_thresholds():
    tally = Counter()
    for case in CASES:
        kind = "positive" if case["expected"] else "negative"
        calls = plain(parse_tool_calls(case["text"], case["tools"]).calls)
        tally[kind] += 1
        tally[f"{kind} right"] += any(same(calls, wanted) for wanted in accepted(case))
    right = tally["positive right"] + tally["negative right"]
    assert right >= 0.98 * len(CASES)
    assert tally["negative right"] >= 0.98 * tally["negative"]
