from __future__ import annotations

import pytest

from forge.schema.names import closest_names, resolve_name, without_tokens

NAMES = ["get_weather", "send-email", "listDir", "math.add"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("get_weather", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("function.get_weather", "get_weather"),
        ("tools.get_weather", "get_weather"),
        ("default_api.get_weather", "get_weather"),
        ("default_api:get_weather", "get_weather"),
        ("functions.get_weather:0", "get_weather"),
        ("get_weather:12", "get_weather"),
        ("get_weather<|channel|>commentary", "get_weather"),
        ("<|channel|>get_weather", "get_weather"),
        ("get\\_weather", "get_weather"),
        ("getWeather", "get_weather"),
        ("GET-WEATHER", "get_weather"),
        ("GetWeather", "get_weather"),
        (" `get_weather` ", "get_weather"),
        ("get_weather()", "get_weather"),
        ("send_email", "send-email"),
        ("list_dir", "listDir"),
        ("math.add", "math.add"),
        ("functions.math.add", "math.add"),
    ],
)
def test_decoration_is_taken_off(written, name):
    assert resolve_name(written, NAMES) == name


@pytest.mark.parametrize(
    "written", ["get_wether", "weather", "get_weather_2", "add", "", "functions.", "_", "get weather now"]
)
def test_likeness_is_not_enough(written):
    assert resolve_name(written, NAMES) is None


def test_an_exact_name_wins_over_one_that_could_be_meant():
    assert resolve_name("functions.read", ["read", "functions.read"]) == "functions.read"
    assert resolve_name("readFile", ["read_file", "readFile"]) == "readFile"


def test_two_candidates_are_none():
    assert resolve_name("READ-FILE", ["read_file", "readFile"]) is None


def test_the_closest_names_help_a_correction():
    assert closest_names("functions.get_wether", NAMES) == ["get_weather"]
    assert closest_names("zzz", NAMES) == []


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("read", "read"),
        ("read<|channel|>commentary", "read"),
        ("<|start|>read", "read"),
        ("<tool_call>read", "read"),
        ("read</tool_call>", "read"),
        ("read<｜tool▁sep｜>x", "read"),
        (" <|x|> ", " <|x|> "),
        ("a<b", "a<b"),
    ],
)
def test_tokens_leave_a_name(written, left):
    assert without_tokens(written) == left
