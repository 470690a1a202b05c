import pytest

from forge.dialects.literals import Literals, spellings


@pytest.mark.parametrize(
    ("text", "held"),
    [
        pytest.param("hello <tool", 5, id="half an opener"),
        pytest.param("hello <", 1, id="its first character"),
        pytest.param("hello <tool_call>", 0, id="a whole one is not pending"),
        pytest.param("hello <toad", 0, id="something else"),
        pytest.param("``", 2, id="two of three"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_pending(text, held):
    assert Literals(("<tool_call>", "```", "<tools>")).pending(text) == held


def test_pending_does_not_look_before_the_limit():
    assert Literals(("abc",)).pending("ab", 1) == 0


def test_the_longest_wins():
    assert Literals(("<a", "<a>")).pattern.match("<a>").group() == "<a>"


def test_no_words_match_nothing():
    assert Literals(()).pattern.search("anything") is None


def test_spellings_cover_bars_and_gaps():
    found = spellings("<|tool_sep|>")
    assert {"<｜tool▁sep｜>", "<|tool_sep|>", "<|tool sep|>", "<｜tool\\_sep｜>"} <= set(found)
