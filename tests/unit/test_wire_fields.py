"""What is said of a field that cannot be read."""

import msgspec
import pytest

from forge.errors import RequestError
from forge.wire.fields import read_field


class Message(msgspec.Struct):
    role: str


decode = msgspec.json.Decoder(list[Message]).decode


def deep(_):
    raise RecursionError


@pytest.mark.parametrize(
    ("decoder", "raw", "where"),
    [
        pytest.param(decode, b'[{"role": "a"}, {"role": 1}]', "m[1].role", id="type"),
        pytest.param(decode, b"3", "m", id="whole"),
        pytest.param(decode, b"[{}]", "m[0]", id="missing"),
        pytest.param(msgspec.json.Decoder(str).decode, b'"\xff"', "m", id="no-utf-8"),
        pytest.param(deep, b"[]", "m", id="too-deep"),
    ],
)
def test_the_path_of_what_is_wrong_is_named(decoder, raw, where):
    with pytest.raises(RequestError) as error:
        read_field(decoder, raw, "m")
    assert error.value.param == where
    assert f"'{where}'" in str(error.value)
