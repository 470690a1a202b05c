"""The tests' own tool for many cases in one test: a case that fails is never lost."""

import pytest
from cases import each, each_awaited


def even(number):
    assert number % 2 == 0


def test_cases_that_hold_say_nothing():
    each(even, {"two": 2, "four": 4})


def test_every_case_that_fails_is_named_with_its_error():
    with pytest.raises(ExceptionGroup, match=r"^2 of 3 cases: one, text$") as failed:
        each(even, {"one": 1, "two": 2, "text": "a"})

    assert [type(error) for error in failed.value.exceptions] == [AssertionError, TypeError]
    assert failed.value.exceptions[0].__notes__[-1] == "in the case one"


def test_an_error_that_did_not_come_fails_its_case():
    def refuses(text):
        with pytest.raises(ValueError):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases: number"):
        each(refuses, {"number": "1", "text": "a"})


@pytest.mark.anyio
async def test_cases_that_are_awaited_fail_alike():
    async def later(number):
        even(number)

    await each_awaited(later, {"two": 2})
    with pytest.raises(ExceptionGroup, match=r"^1 of 2 cases: one$"):
        await each_awaited(later, {"one": 1, "two": 2})
