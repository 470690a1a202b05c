import pytest

from forge.proxy.limit_options import LIMIT_OPTIONS, by_option, limits_of
from forge.proxy.limits import Limits


def test_every_limit_has_an_option_that_sets_it():
    names = {option.name for option in LIMIT_OPTIONS} - {"serialize", "max_concurrent"}
    flags = dict.fromkeys(names, 7)
    limits = limits_of(flags)
    assert flags == {}
    assert {field for field in Limits.__dataclass_fields__ if getattr(limits, field) == 7} == set(
        Limits.__dataclass_fields__
    ) - {"body_bytes", "bodies_bytes"}
    assert limits.body_bytes == limits.bodies_bytes == 7 * 1024 * 1024


def test_what_is_not_given_has_its_default():
    assert limits_of({"serialize": True}) == Limits()


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1.0, 0.0])
def test_a_body_of_no_size_is_a_fault_of_the_limits(number):
    assert "body_bytes" in limits_of({"max_body": number}).fault()
    assert "bodies_bytes" in limits_of({"max_bodies": number}).fault()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("queue must be at least 0", "queue_limit must be at least 0"),
        ("queue_seconds must be more", "queue_timeout must be more"),
        ("body_bytes must be more", "max_body must be more"),
        ("bodies_bytes must be more", "max_bodies must be more"),
        ("max_retries must be more", "max_retries must be more"),
    ],
)
def test_faults_name_the_option(message, said):
    assert by_option(message) == said
