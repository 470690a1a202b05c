import json

import pytest

from forge.errors import BackendError, MalformedOutputError
from forge.wire.backend_errors import echoed_output, error_from_answer, error_from_body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"error": {"message": "m", "type": "t"}}, "m", id="openai"),
        pytest.param({"error": "m"}, "m", id="ollama"),
        pytest.param({"error": '{"error":{"message":"m","code":400}}'}, "m", id="ollama's engine"),
        pytest.param({"error": "{m"}, "{m", id="ollama, a brace"),
        pytest.param({"detail": "m"}, "m", id="fastapi"),
        pytest.param({"message": "m", "code": 400}, "m", id="flat"),
        pytest.param({"object": "error", "message": "m"}, "m", id="old vllm"),
        pytest.param(
            {"detail": [{"loc": ["body"], "msg": "m"}]}, '[{"loc":["body"],"msg":"m"}]', id="validation"
        ),
        pytest.param({"error": {"message": None}}, "", id="null"),
        pytest.param({"error": None}, "", id="null error"),
        pytest.param([], "", id="a list"),
        pytest.param("m", "m", id="a json string"),
    ],
)
def test_messages_are_found_in_every_shape(body, message):
    error = error_from_body(400, json.dumps(body).encode())

    assert str(error) == (f"Backend returned 400: {message}" if message else "Backend returned 400")
    assert error.status_code == 400
    assert json.loads(error.body) == body


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"plain text", "plain text"), (b"<html><b>Bad</b></html>", ""), (b"", ""), (b"\xff", "\ufffd")],
    ids=["text", "web page", "empty", "no utf-8"],
)
def test_bodies_that_are_no_json(body, words):
    error = error_from_body(502, body)

    assert str(error) == (f"Backend returned 502: {words}" if words else "Backend returned 502")


def test_long_messages_are_cut_but_kept_in_the_body():
    error = error_from_body(500, json.dumps({"error": {"message": "x" * 5000}}).encode())

    assert len(str(error)) < 600
    assert "x" * 5000 in error.body


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (
            500,
            "The model produced output that does not match the expected peg-native format",
            MalformedOutputError,
        ),
        (500, "Failed to parse input at pos 12: <tool_call>", MalformedOutputError),
        (500, "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]", BackendError),
        (500, "Failed to parse tools: Missing tool function", BackendError),
        (500, "out of memory", BackendError),
        (400, "value does not match the expected type", BackendError),
    ],
)
def test_output_that_the_server_could_not_read_is_told_apart(status, message, kind):
    assert type(error_from_answer(status, {"error": {"message": message, "code": status}})) is kind


def test_an_event_without_a_code_is_a_500():
    assert error_from_answer(None, {"error": {"message": "m"}}).status_code == 500
    assert error_from_answer(None, {"error": {"message": "m", "code": 429}}).status_code == 429


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Failed to parse: <tool_call>{</tool_call>", "<tool_call>{</tool_call>"),
        ("Failed: <function=f></function> <tool_call>", "<function=f></function> <tool_call>"),
        ("The model produced output that does not match the expected format", None),
    ],
)
def test_echoed_output(message, text):
    error = error_from_body(500, json.dumps({"error": {"message": message}}).encode())

    assert echoed_output(error) == text


def test_other_errors_echo_nothing():
    assert echoed_output(BackendError(500, "x <tool_call>")) is None
