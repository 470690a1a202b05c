"""When a text only announces an action, and when it is an answer."""

from __future__ import annotations

import pytest

from forge.engine.announce import announces_action

ANNOUNCEMENTS = [
    "Let me read the file:",
    "I'll check the weather in Paris.",
    "I will now run the tests...",
    "Sure! Let me look at the README first.",
    "Okay, I'm going to search for that function:",
    "The tests fail because of a missing import. Let me fix that:",
    "Now I need to update the configuration file.",
    "First, let me list the files in the directory…",
    "Great. Next, I'll create the helper function:",
    "I’ll start by examining the code.",
    "**Let me open the log file:**",
    "The cause: a file is missing. Let me create it.",
    "The error is in line 3.\n\nLet's run it again:",
    "I'll use the search tool.",
    "I will use `read_file` first.",
    "Let me write the answer to a file.",
]

ANSWERS = [
    "It is sunny in Paris.",
    "The capital of France is Paris.",
    "I read the file and it contains three functions.",
    "Let me know if you need anything else.",
    "Would you like me to check the weather?",
    "I'll be happy to help with that!",
    "I will remember that.",
    "Here is the function:\n```python\ndef f(): ...\n```",
    "To read the file, use `cat README.md`.",
    "Done. All tests pass.",
    "I need to know which city you mean.",
    "Let me explain: a monad is a monoid in the category of endofunctors.",
    "If you give me the path, I'll read the file.",
    "I'll check it once you have pushed the branch.",
    "I can read files, run tests and edit code.",
    "Please run the tests; I'll fix what fails.",
    "Let me summarize: the build is green, the docs are updated and the release is tagged.",
    "I cannot open that file without permission.",
    "Let me be clear: this is a bad idea.",
    "The steps are:\n1. Read the file\n2. Fix the bug",
    "The following files changed:",
    "",
    "Got it. I'll use metric units from now on.",
    "Understood. I'll try to be more concise.",
    "Done! I'll see you tomorrow.",
    "I should add that the endpoint is deprecated.",
    "I'll create shorter answers in the future.",
    "Let's start with the basics: photosynthesis turns light into sugar.",
    "I'll wait for your confirmation before I run it.",
    "I need to get your approval first.",
    "Got it, I will use metric units.",
    "OK, I will write in German.",
    "I will call you Bob.",
    "I'll go with option B.",
    (
        "The refactoring is finished: the parser now has its own module, the tests are split by format and the "
        "documentation explains both. I also removed the old entry point, since nothing used it any more, and "
        "moved the constants. The whole suite passes. Next, I'll look at performance."
    ),
]


@pytest.mark.parametrize("text", ANNOUNCEMENTS)
def test_an_announcement_without_its_action_is_seen(text: str) -> None:
    assert announces_action(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_left_alone(text: str) -> None:
    assert not announces_action(text)


def test_long_text_is_judged_quickly() -> None:
    """The rule looks at a bounded text only, so a long answer costs nothing."""
    assert not announces_action("Let me read " * 100_000 + ":")
