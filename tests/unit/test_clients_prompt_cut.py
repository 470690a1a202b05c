import pytest

from forge.clients.prompt_cut import estimate_prompt, seems_cut
from forge.core.request import Call, ChatMessage, Reasoning, Request, Result, Text, Tool


def test_everything_that_a_template_writes_is_estimated():
    message = ChatMessage(
        role="user",
        parts=(Text("a" * 400), Reasoning("b" * 400), Call("1", "f" * 40, "c" * 360), Result("1", "d" * 400)),
    )
    tool = Tool(name="f", description="e" * 400, parameters={"x": "y" * 392})

    assert estimate_prompt(Request(messages=(message,))) == 300
    assert estimate_prompt(Request(messages=(message,), tools=(tool,))) == pytest.approx(500, abs=5)


@pytest.mark.parametrize(
    ("estimated", "counted", "context", "cut"),
    [
        pytest.param(9000, 2050, 4096, True, id="half of the context was kept"),
        pytest.param(9000, 4090, 4096, True, id="all of the context was kept"),
        pytest.param(9000, 6000, 8192, False, id="a generous estimate"),
        pytest.param(3000, 1000, 4096, False, id="it fits"),
        pytest.param(9000, 4000, None, False, id="unknown context, within the error"),
        pytest.param(9000, 3000, None, True, id="unknown context, most is missing"),
        pytest.param(400, 10, 100, False, id="too small to tell"),
        pytest.param(9000, 0, 4096, False, id="not counted"),
    ],
)
def test_verdicts(estimated, counted, context, cut):
    assert seems_cut(estimated, counted, context) is cut
