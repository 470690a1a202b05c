import json

import pytest

from forge.errors import (
    BackendError,
    BackendGivenUpError,
    BackendUnreachableError,
    ForgeError,
    MissingCredentialError,
    RequestError,
    ServerStartError,
    StreamError,
)
from forge.proxy.error_response import HttpError, describe

OPENAI = '{"error": {"message": "too long", "type": "exceed_context_size_error", "code": 400, "n_ctx": 4096}}'


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        pytest.param(RequestError("bad", "tools[0]"), 400, "invalid_request_error", id="request"),
        pytest.param(MissingCredentialError(), 401, "authentication_error", id="credential"),
        pytest.param(HttpError(413, "big"), 413, "invalid_request_error", id="too-large"),
        pytest.param(TimeoutError(), 504, "timeout_error", id="timeout"),
        pytest.param(BackendUnreachableError("http://h"), 502, "server_error", id="unreachable"),
        pytest.param(StreamError(), 502, "server_error", id="stream"),
        pytest.param(BackendError(429, "slow down"), 429, "rate_limit_error", id="rate"),
        pytest.param(BackendError(200, "error event"), 502, "server_error", id="error-in-good-stream"),
        pytest.param(BackendError(307, ""), 502, "server_error", id="redirect"),
        pytest.param(ForgeError("x"), 500, "server_error", id="own"),
        pytest.param(KeyError("secret detail"), 500, "server_error", id="unexpected"),
    ],
)
def test_status_and_type(error, status, kind):
    failure = describe(error)
    assert (failure.status, failure.type) == (status, kind)


def test_the_fields_of_a_request_error_survive():
    failure = describe(RequestError("'tools[0].function.name' is missing", "tools[0].function.name"))
    assert failure.param == "tools[0].function.name"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(OPENAI, "too long", id="openai"),
        pytest.param('{"error": "model not found"}', "model not found", id="ollama"),
        pytest.param('{"detail": "Not authenticated"}', "Not authenticated", id="fastapi"),
        pytest.param('{"message": "plain"}', "plain", id="bare-message"),
        pytest.param("upstream is down", "upstream is down", id="text"),
        pytest.param(
            "<html><body>Bad Gateway</body></html>", "the backend answered with status 503", id="html"
        ),
        pytest.param("", "the backend answered with status 503", id="empty"),
        pytest.param("[1]", "the backend answered with status 503", id="other-json"),
    ],
)
def test_the_backends_own_message(body, message):
    assert describe(BackendError(503, raw_body=body)).message == message


@pytest.mark.parametrize("body", ["<html>It works!</html>", "", "null", "[]"])
def test_an_answer_that_is_none_is_told_in_our_words(body):
    # The server answered with 200: a status made up by us would send people looking in the wrong place.
    error = BackendError(502, "the answer is no chat completion", raw_body=body)
    assert describe(error).message == "the answer is no chat completion"


def test_a_body_in_openais_shape_passes_whole():
    failure = describe(BackendError(400, raw_body=OPENAI))
    assert failure.own_body is not None
    assert json.loads(failure.own_body)["error"]["n_ctx"] == 4096


def test_a_body_in_another_shape_does_not_pass():
    assert describe(BackendError(400, raw_body='{"error": "x"}')).own_body is None


def test_retry_after_survives():
    error = BackendError(503, "busy")
    error.retry_after = "7"
    assert describe(error).retry_after == "7"


def test_credentials_in_the_url_are_masked():
    failure = describe(
        BackendUnreachableError("http://user:s3cret@h:1", ConnectionRefusedError(111, "Connection refused"))
    )
    assert "s3cret" not in failure.message
    assert "Connection refused" in failure.message


def test_a_server_that_was_given_up_says_why_and_what_to_do():
    failure = describe(BackendGivenUpError("http://127.0.0.1:8080", ServerStartError("out of memory")))
    assert (failure.status, failure.code) == (502, "backend_given_up")
    assert "out of memory" in failure.message
    assert "start Forge anew" in failure.message


def test_an_unexpected_error_tells_the_caller_nothing():
    assert "secret detail" not in describe(KeyError("secret detail")).message
