import json

import pytest
from msgspec import Raw

from forge.clients.refused_fields import without_refused
from forge.core.request import Request
from forge.errors import BackendError

LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
EFFORT = "Unrecognized request argument supplied: reasoning_effort"


def mended(options, message, status=400):
    request = Request(messages=(), options={name: Raw(json.dumps(v).encode()) for name, v in options.items()})
    error = BackendError(status, message, raw_body=json.dumps({"error": {"message": message}}))
    found = without_refused(request, error)
    return None if found is None else {name: json.loads(bytes(raw)) for name, raw in found.options.items()}


@pytest.mark.parametrize(
    ("options", "message", "expected"),
    [
        ({"a": 1, "max_tokens": 9, "b": 2}, LIMIT, {"a": 1, "max_completion_tokens": 9, "b": 2}),
        ({"max_tokens": 9, "max_completion_tokens": 8}, LIMIT, None),
        ({"temperature": 1}, LIMIT, None),
        ({"reasoning_effort": "high", "a": 1}, EFFORT, {"a": 1}),
        ({"a": 1}, EFFORT, None),
        ({"max_tokens": 9, "reasoning_effort": "high"}, "no such model", None),
        ({"max_tokens": 9}, "max_tokens is too large", None),
    ],
)
def test_what_is_sent_instead(options, message, expected):
    assert mended(options, message) == expected


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_other_failures_are_no_refusal(status):
    assert mended({"max_tokens": 9}, LIMIT, status) is None
