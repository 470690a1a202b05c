"""What is kept of what was read of bytes."""

from __future__ import annotations

import pytest

from forge.core.remembered import LONGEST, remembered


@pytest.mark.parametrize(
    ("size", "times"),
    [
        pytest.param(0, 1, id="nothing"),
        pytest.param(LONGEST, 1, id="as-long-as-may-be"),
        pytest.param(LONGEST + 1, 2, id="longer"),
    ],
)
def test_read_once_unless_it_is_long(size: int, times: int) -> None:
    seen: list[bytes] = []

    @remembered(maxsize=2)
    def read(data: bytes) -> int:
        """Counts."""
        seen.append(data)
        return len(data)

    assert [read(b"x" * size), read(b"x" * size)] == [size, size]
    assert len(seen) == times
    assert read.__doc__ == "Counts."


def test_the_least_used_goes_first() -> None:
    seen: list[bytes] = []
    read = remembered(maxsize=2)(seen.append)
    for data in (b"a", b"b", b"a", b"c", b"a", b"b"):
        read(data)
    assert seen == [b"a", b"b", b"c", b"b"]
