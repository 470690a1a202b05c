from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from forge.clients.retries import Retries, retry_after_seconds
from forge.errors import BackendError, BackendUnreachableError, MalformedOutputError, StreamError

THREE = Retries(limit=3)


def failure(status, *, hint=None, should=None):
    error = BackendError(status)
    error.retry_after, error.should_retry = hint, should
    return error


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_passes_by_itself_is_tried_again(status):
    assert THREE.delay(failure(status), 0) is not None
    assert THREE.delay(failure(status, should=False), 0) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_does_not_pass_is_not(status):
    assert THREE.delay(failure(status), 0) is None
    assert THREE.delay(failure(status, should=True), 0) is not None


def test_other_failures():
    assert THREE.delay(BackendUnreachableError("u", ConnectionError("reset")), 0) is not None
    assert THREE.delay(BackendUnreachableError("u", TimeoutError()), 0) is None
    assert THREE.delay(MalformedOutputError(500), 0) is None
    assert THREE.delay(StreamError(), 0) is None


def test_the_wait_doubles_and_is_bounded():
    waits = [Retries(limit=10).delay(failure(500), tries) for tries in range(10)]

    assert all(0.375 * 2**n <= wait <= 0.5 * 2**n for n, wait in enumerate(waits[:4]))
    assert all(6 <= wait <= 8 for wait in waits[5:])


def test_no_more_than_the_limit():
    assert THREE.delay(failure(500), 2) is not None
    assert THREE.delay(failure(500), 3) is None
    assert Retries().delay(failure(500), 0) is None


@pytest.mark.parametrize(("hint", "wait"), [("7", 7.0), ("0.25", 0.25), ("60", 60.0), ("61", None)])
def test_the_servers_own_hint_counts(hint, wait):
    assert THREE.delay(failure(429, hint=hint), 0) == wait


@pytest.mark.parametrize("hint", ["0", "-3", "soon", ""])
def test_a_hint_that_says_nothing_is_none(hint):
    assert 0 < THREE.delay(failure(429, hint=hint), 0) <= 0.5


def test_a_date_is_a_hint_too():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)

    assert 25 < retry_after_seconds(date) <= 30
