import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.wire.arguments import sound_arguments
from forge.wire.json_text import is_json


@given(
    st.text(st.characters(exclude_categories=()), max_size=30) | st.text("{}[]\"':,\\ud83a1 \n", max_size=30)
)
def test_the_result_is_always_json_and_stays_as_it_is(arguments):
    sound = sound_arguments(arguments)

    assert is_json(sound)
    assert sound_arguments(sound) == sound


@pytest.mark.parametrize("arguments", ['{"a":  1}', "[1]", '"text"', "null", ' {"a":1}\n'])
def test_json_is_not_touched(arguments):
    assert sound_arguments(arguments) == arguments


@pytest.mark.parametrize("arguments", ['{"a":1} {"b":2}', '{"a":1', "{a b c}", '{"a":1} and more'])
def test_what_has_more_than_one_reading_is_quoted_whole(arguments):
    assert list(json.loads(sound_arguments(arguments)).values()) == [arguments]
