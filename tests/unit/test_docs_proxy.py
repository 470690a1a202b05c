"""``docs/proxy.md`` says what is so: its flags, its commands, its profile, its routes."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from forge.proxy.check_command import command as check
from forge.proxy.description import description
from forge.proxy.init_command import command as init
from forge.proxy.launch import command as launch
from forge.proxy.options import OPTIONS
from forge.proxy.profile import parse_profile

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")


def flags_table():
    spec = importlib.util.spec_from_file_location("flags_table", ROOT / "scripts" / "flags_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_flags_are_those_of_the_command():
    assert flags_table().written(PAGE) == PAGE, "run: python scripts/flags_table.py"


def test_every_flag_is_in_the_page():
    for option in OPTIONS:
        assert f"`{option.opts[0]}" in PAGE


COMMANDS = [
    line for line in re.findall(r"^python -m forge\.proxy(?: .*)?$", PAGE, re.MULTILINE) if "..." not in line
]


@pytest.mark.parametrize("line", COMMANDS)
def test_its_commands_are_accepted(line):
    words = shlex.split(line, comments=True)[3:]
    command = {"init": init, "check": check}.get(words[0] if words else "", launch)
    context = command.make_context("x", words[1:] if command is not launch else words)
    assert context.args == []


def test_there_are_commands():
    assert len(COMMANDS) > 10


def test_its_profiles_can_be_read():
    profiles = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert [parse_profile(text)["backend"] for text in profiles] == ["llamaserver"]


def test_every_route_is_in_the_page():
    for path in json.loads(description())["paths"]:
        assert f"{path}`" in PAGE, path


def test_what_it_shows_as_json_is_json():
    for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL):
        json.loads(text)
