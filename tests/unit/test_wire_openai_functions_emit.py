import json

import pytest

from forge.core.events import CallReady, Finished
from forge.wire.openai import FunctionChunkEncoder, Identity, with_function_call

IDENTITY = Identity(id="c", model="m", created=1)


def call(name):
    return CallReady(id=f"id_{name}", name=name, arguments='{"a": 1}')


def test_the_first_call_is_one_chunk_and_another_one_has_no_place():
    encoder = FunctionChunkEncoder(IDENTITY)

    event = encoder.call(0, call("f"))

    delta = json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"]
    assert delta == {"function_call": {"name": "f", "arguments": '{"a": 1}'}}
    assert encoder.call(1, call("g")) == b""


def test_only_the_reason_for_a_call_has_another_name():
    def reason(given):
        event = FunctionChunkEncoder(IDENTITY).finish(Finished(reason=given, usage=None, attempts=()))
        return json.loads(event.removeprefix(b"data: "))["choices"][0]["finish_reason"]

    assert [reason(given) for given in ("tool_calls", "stop", "length")] == [
        "function_call",
        "stop",
        "length",
    ]


def test_all_else_in_a_whole_answer_stays():
    message = {
        "role": "assistant",
        "content": "so",
        "x": 1.50,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    answer = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}],
        "y": 2,
    }

    [choice] = json.loads(with_function_call(json.dumps(answer).encode()))["choices"]

    assert choice == {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": "so",
            "x": 1.50,
            "function_call": {"name": "f", "arguments": "{}"},
        },
        "finish_reason": "function_call",
        "logprobs": None,
    }


def test_an_answer_in_the_older_form_already_stays():
    answer = {"choices": [{"message": {"function_call": {"name": "f"}}, "finish_reason": "function_call"}]}

    assert json.loads(with_function_call(json.dumps(answer).encode())) == answer


CALL = b'{"tool_calls": [{"function": {"name": "f", "arguments": "%b"}}]}'
PLAIN = CALL % b"{}"


@pytest.mark.parametrize(
    ("choices", "becomes"),
    [
        pytest.param(
            b'{"message": %b, "finish_reason": "tool_calls"}, {"message": {"tool_calls": null, "content": "x"}}'
            % PLAIN,
            [
                {
                    "message": {"function_call": {"name": "f", "arguments": "{}"}},
                    "finish_reason": "function_call",
                },
                {"message": {"tool_calls": None, "content": "x"}},
            ],
            id="another-choice-with-null-for-calls",
        ),
        pytest.param(
            b'{"message": %b}' % PLAIN,
            [{"message": {"function_call": {"name": "f", "arguments": "{}"}}}],
            id="no-reason",
        ),
        pytest.param(
            b'{"message": %b, "finish_reason": null}, {"index": 1}, 5' % PLAIN,
            [
                {"message": {"function_call": {"name": "f", "arguments": "{}"}}, "finish_reason": None},
                {"index": 1},
                5,
            ],
            id="no-choices-at-all-beside-it",
        ),
        pytest.param(
            b'{"message": %b, "logprobs": NaN}' % (CALL % rb"\ud83d"),
            [{"message": {"function_call": {"name": "f", "arguments": "\ufffd"}}, "logprobs": None}],
            id="half-an-emoji-and-nan",
        ),
    ],
)
def test_a_backends_odd_answer_is_still_an_answer(choices, becomes):
    assert json.loads(with_function_call(b'{"choices": [%b]}' % choices))["choices"] == becomes
