"""What a profile may say: a flat TOML document whose keys are the command's options. Pure.

A profile holds only what was said; everything else keeps its default. Keys for callers and backends are never
part of it, but it may name the files that hold them. Rules for workflows may stand in it as tables.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from typing import Any, Final

import click
import tomli_w

from forge.proxy.option_groups import REST, GroupedCommand, GroupedOption
from forge.proxy.options import OPTIONS
from forge.proxy.settings import SettingsError
from forge.proxy.workflows import TABLES, read_workflows

SCHEMA_VERSION: Final = 1
_VERSION_KEY: Final = "schema_version"
_ORDER: Final = (
    "backend_url", "backend", "model", "gguf", "model_path", "backend_port", "budget_mode", "budget_tokens",
    "extra_flags", "host", "port", "serialize", "max_retries", "max_tool_errors", "backend_timeout", "no_rescue",
    "backend_capability", "inject_respond_tool", "reasoning_replay", "verbose",
)  # fmt: skip
"""The order in which profiles are written; keys that are not here follow as the options do."""


class ProfileError(SettingsError):
    """A profile that cannot be used; the message says what is wrong with it."""


def _profile_options() -> dict[str, GroupedOption]:
    found = {str(option.name): option for option in OPTIONS if option.in_profile}
    order: list[str] = [name for name in _ORDER if name in found]
    return {name: found[name] for name in dict.fromkeys([*order, *found])}


FIELDS: Final[Mapping[str, GroupedOption]] = _profile_options()
"""The keys of a profile, in the order in which they are written, with the options that they are."""


def parse_profile(text: str) -> dict[str, Any]:
    """The values of a profile by their keys, without its version.

    Raises:
        ProfileError: it is no TOML, has another version, unknown keys, or a value of the wrong type.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"not a TOML document: {error}") from error
    except RecursionError as error:
        raise ProfileError("not a TOML document that can be read: it is nested too deeply") from error
    version = document.pop(_VERSION_KEY, None)
    if type(version) is not int or version != SCHEMA_VERSION:
        missing = f" (add the line {_VERSION_KEY} = {SCHEMA_VERSION})" if version is None else ""
        raise ProfileError(f"{_VERSION_KEY} must be the integer {SCHEMA_VERSION}{missing}")
    workflows = document.pop(TABLES, None)
    unknown = sorted(document.keys() - FIELDS.keys())
    if unknown:
        raise ProfileError(f"unknown profile fields: {', '.join(unknown)}{_about_unknown(unknown)}")
    values = {name: _checked(FIELDS[name], value) for name, value in document.items()}
    return values if workflows is None else values | {TABLES: read_workflows(workflows)}


def workflow_tables(text: str) -> Any:
    """The tables with rules for workflows in a profile, as they stand there; None where there are none that can be read."""
    try:
        tables = tomllib.loads(text).get(TABLES)
        return tables if tables is not None and read_workflows(tables) else None
    except (tomllib.TOMLDecodeError, RecursionError, SettingsError):
        return None


def render_profile(values: Mapping[str, Any], workflows: Any = None) -> str:
    """The TOML document that holds ``values``, and after them the tables of ``workflows``."""
    document: dict[str, Any] = {_VERSION_KEY: SCHEMA_VERSION}
    for name in FIELDS:
        if name in values:
            value = values[name]
            document[name] = list(value) if isinstance(value, tuple) else value
    if workflows is not None:
        document[TABLES] = workflows
    return tomli_w.dumps(document)


def completed(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` with the default of every option that they leave open, and the keys of the environment."""
    command = GroupedCommand("profile", params=list(OPTIONS))
    return command.make_context("profile", []).params | dict(values)


def _about_unknown(unknown: list[str]) -> str:
    keys = sorted(option.name or "" for option in OPTIONS if not option.in_profile and option.name in unknown)
    if keys:
        return f" (keys do not belong in a profile: name a file with {keys[0]}_file)"
    alike = [near for name in unknown for near in difflib.get_close_matches(name, FIELDS, n=1)]
    return f" (did you mean {' and '.join(alike)}?)" if alike else ""


def _checked(option: GroupedOption, value: Any) -> Any:
    expected, types = _type(option)
    right = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    if right and isinstance(value, list):
        right = all(isinstance(item, str) for item in value)
    if not right:
        raise ProfileError(f"profile field {option.name!r} has the wrong TOML type; it is {expected}")
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str):
        return value.strip() or None
    return float(value) if float in types else value


def profile_type(option: GroupedOption) -> str:
    """What a profile holds for ``option``, in words."""
    return _type(option)[0]


def _type(option: GroupedOption) -> tuple[str, tuple[type, ...]]:
    """What a profile holds for ``option``: in words, and as Python types."""
    if option.toml_types is not None:
        return option.toml_types
    if option.is_flag:
        return "a boolean", (bool,)
    if option.multiple or REST in option.opts:
        return "an array of strings", (list,)
    if isinstance(option.type, click.types.IntParamType):
        return "an integer", (int,)
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", (int, float)
    return "a string", (str,)
