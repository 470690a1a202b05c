"""``docs/proxy-policies.md`` says what is so: its names, its bounds, its rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

from msgspec import Raw

from forge.core.request import Request
from forge.engine import Policy
from forge.proxy.options import OPTIONS
from forge.proxy.overrides import NAMES, overridden
from forge.proxy.workflows import load_workflows

PAGE = (Path(__file__).parents[2] / "docs" / "proxy-policies.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (.+?) \| `(--[\w-]+)` \|$", PAGE, re.MULTILINE)


def test_every_name_of_a_request_is_there_with_its_flag():
    assert sorted(name for name, _, _ in ROWS) == sorted(NAMES)
    assert {flag for _, _, flag in ROWS} <= {flag for option in OPTIONS for flag in option.opts}


def test_bounds_are_as_they_say():
    bounds = {
        name: int(found[1]) for name, values, _ in ROWS if (found := re.fullmatch(r"0 to (\d+)", values))
    }
    assert bounds
    for name, most in bounds.items():
        options = {"forge": Raw(json.dumps({name: most}).encode())}
        policy, _ = overridden(Policy(), Request(messages=(), options=options), [])
        assert getattr(policy, name) == most


def test_the_rules_shown_can_be_loaded(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    (rules,) = load_workflows(path)
    assert rules.name == "publish"
