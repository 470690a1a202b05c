import pytest

from forge.proxy.limits import Limits


def test_the_defaults_can_be():
    assert Limits().fault() is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"queue": 0}, id="no-queue"),
        pytest.param({"drain_seconds": 0.0}, id="no-drain"),
        pytest.param({"total_seconds": None, "queue_seconds": None}, id="no-bounds"),
    ],
)
def test_what_may_be_nothing(fields):
    assert Limits(**fields).fault() is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", -1),
        ("connections", 0),
        ("connect_seconds", 0.0),
        ("total_seconds", float("nan")),
        ("body_bytes", 0),
        ("write_seconds", float("inf")),
        ("drain_seconds", -0.1),
        ("header_seconds", None),
    ],
)
def test_a_bound_that_cannot_be_is_named(field, value):
    assert Limits(**{field: value}).fault().startswith(f"{field} ")
