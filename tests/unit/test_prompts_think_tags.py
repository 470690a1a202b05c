import time

import pytest

from forge.prompts.think_tags import THINK_TAG_RE, extract_think_tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain text ", ("", "plain text "), id="no tags: unchanged"),
        pytest.param("<think>a</think>b", ("a", "b"), id="think"),
        pytest.param("[THINK]a[/THINK] b ", ("a", "b"), id="brackets"),
        pytest.param("<think> a </think>x<think>b</think>y", ("a\n\nb", "xy"), id="two blocks"),
        pytest.param("<thinking>a</thinking>b", ("a", "b"), id="thinking"),
        pytest.param("a</think>b", ("a", "b"), id="lone closing tag"),
        pytest.param("<think>a", ("", "<think>a"), id="never closed: unchanged"),
        pytest.param("<think>a\nb</think>", ("a\nb", ""), id="lines"),
        pytest.param("<THINK>a</THINK>b", ("", "<THINK>a</THINK>b"), id="case matters"),
    ],
)
def test_extract(text, expected):
    assert extract_think_tags(text) == expected


def test_the_pattern_finds_closed_blocks():
    assert THINK_TAG_RE.search("x<think>a</think>").group() == "<think>a</think>"
    assert THINK_TAG_RE.search("x<think>a") is None


def test_many_open_tags_cost_little():
    started = time.process_time()
    extract_think_tags("<think>" * 50_000 + "[/THINK]")
    assert time.process_time() - started < 2
