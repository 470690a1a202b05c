import json

import pytest

from forge.core.events import Usage
from forge.proxy.answer_usage import answering_model, spent


def sse(*documents):
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in documents)


OPENAI = {"prompt_tokens": 20, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}
TIMINGS = {"cache_n": 3, "prompt_n": 17, "predicted_n": 7}
START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 12}}}
DELTA = {"type": "message_delta", "usage": {"output_tokens": 7}}
RESPONSES = {"input_tokens": 20, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 3}}


@pytest.mark.parametrize(
    ("first", "last", "tokens"),
    [
        pytest.param(json.dumps({"usage": OPENAI}).encode(), b"", (20, 7, 3), id="whole"),
        pytest.param(json.dumps({"timings": TIMINGS}).encode(), b"", (20, 7, 3), id="timings"),
        pytest.param(sse({"usage": None}, {"usage": OPENAI, "choices": []}), b"", (20, 7, 3), id="stream"),
        pytest.param(sse({"choices": []}), sse({"timings": TIMINGS}), (20, 7, 3), id="end-of-a-stream"),
        pytest.param(
            sse({"a": 1}), b'ut off"}\n\n' + sse({"usage": OPENAI}), (20, 7, 3), id="cut-in-between"
        ),
        pytest.param(b"event: x\n" + sse(START), sse(DELTA), (17, 7, 12), id="messages"),
        pytest.param(sse({"response": {"usage": RESPONSES}}), b"", (20, 7, 3), id="responses"),
    ],
)
def test_tokens_are_found(first, last, tokens):
    usage = spent(first, last)
    assert isinstance(usage, Usage)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == tokens


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"data: [DONE]\n\n",
        b'data: {"usage": "x"}\n\n',
        b'{"usage": [1]}',
        b'{"usage"',
        b'data: [{"usage": 1}]\n',
    ],
)
def test_an_answer_that_does_not_say_it(data):
    assert spent(data) is None


@pytest.mark.parametrize(
    ("first", "model"),
    [
        pytest.param(b'{"choices": [], "model": "m\\u00fc"}', "m\u00fc", id="whole"),
        pytest.param(b'data: {"model" : "a\\"b"}', 'a"b', id="stream"),
        pytest.param(rb'{"content": "{\"model\": \"x\"}", "model": "m"}', "m", id="not-in-a-text"),
        pytest.param(b'{"model": null}', None, id="null"),
        pytest.param(b'{"model": "cut', None, id="cut-off"),
        pytest.param(b'{"model": "\xff"}', None, id="not-utf-8"),
    ],
)
def test_the_model_that_answers(first, model):
    assert answering_model(first) == model
