"""Every option does something, and only what it is named for: on the command line and in a profile alike."""

import dataclasses
import sys

import pytest

from forge.proxy.launch import chosen_settings, command
from forge.proxy.limits import Limits
from forge.proxy.options import OPTIONS
from forge.proxy.settings import Settings

URL = ["--backend-url", "http://h"]
RULES = '[[workflows]]\nname = "w"\nrequired_steps = ["look"]\n'

# option: (words beside it, its value as it is typed, as TOML, the settings that it changes)
CASES = {
    "backend_url": ([], "http://x", '"http://x"', {"backend_url": "http://x"}),
    "backend": (URL, "vllm", '"vllm"', {"backend": "vllm"}),
    "model": (URL, "m", '"m"', {"model": "m"}),
    "backend_capability": (URL, "prompt", '"prompt"', {"backend_capability": "prompt"}),
    "backend_timeout": (URL, "1.5", "1.5", {"backend_timeout": 1.5}),
    "backend_api_key": ([*URL, "--allow-anonymous"], "k", None, {"backend_api_key": "k"}),
    "backend_api_key_file": ([*URL, "--allow-anonymous"], "FILE", '"FILE"', {"backend_api_key": "from-file"}),
    "wait": (URL, None, "true", {"wait": True}),
    "gguf": (["--backend", "llamaserver"], "g", '"g"', {"gguf": "g"}),
    "model_path": (["--backend", "vllm"], "p", '"p"', {"model_path": "p"}),
    "backend_port": (URL, "5", "5", {"backend_port": 5}),
    "budget_mode": (
        ["--backend", "llamaserver", "--gguf", "g"],
        "forge-fast",
        '"forge-fast"',
        {"budget_mode": "forge-fast"},
    ),
    "budget_tokens": (URL, "5", "5", {"budget_tokens": 5}),
    "extra_flags": (["--backend", "llamaserver", "--gguf", "g"], "-t", '["-t"]', {"extra_flags": ("-t",)}),
    "host": (URL, "::1", '"::1"', {"host": "::1"}),
    "port": (URL, "5", "5", {"port": 5}),
    "workers": (URL, "2", "2", {"workers": 2}),
    "api_key": (URL, "k", None, {"api_key": "k"}),
    "api_key_file": (URL, "FILE", '"FILE"', {"api_key": "from-file"}),
    "allow_anonymous": (URL, None, "true", {"allow_anonymous": True}),
    "allowed_hosts": (URL, "a", '["a"]', {"allowed_hosts": ("a",)}),
    "cors_origins": (URL, "https://a", '["https://a"]', {"cors_origins": ("https://a",)}),
    "max_retries": (URL, "5", "5", {"max_retries": 5}),
    "max_tool_errors": (URL, "5", "5", {"max_tool_errors": 5}),
    "text_policy": (URL, "nudge", '"nudge"', {"text_policy": "nudge"}),
    "inject_respond_tool": (URL, None, "true", {"inject_respond_tool": True}),
    "no_rescue": (URL, None, "true", {"rescue": False}),
    "no_constrain": (URL, None, "true", {"constrain": False}),
    "reasoning_replay": (URL, "none", '"none"', {"reasoning_replay": "none"}),
    "loop_limit": (URL, "5", "5", {"loop_limit": 5}),
    "workflow": (URL, "RULES", '"RULES"', {"workflows": ("w",)}),
    "serialize": (URL, None, "true", {"serialize": True}),
    "max_concurrent": (URL, "5", "5", {"max_concurrent": 5}),
    "verbose": (URL, None, "true", {"verbose": True}),
    "log_level": (URL, "error", '"error"', {"log_level": "error"}),
    "log_format": (URL, "json", '"json"', {"log_format": "json"}),
}
LIMITS = {
    "queue_limit": "queue",
    "max_connections": "connections",
    "max_header_bytes": "header_bytes",
    "max_headers": "header_count",
    "max_body": "body_bytes",
    "max_bodies": "bodies_bytes",
    "connect_timeout": "connect_seconds",
    "first_byte_timeout": "first_byte_seconds",
    "between_bytes_timeout": "between_bytes_seconds",
    "total_timeout": "total_seconds",
    "queue_timeout": "queue_seconds",
    "header_timeout": "header_seconds",
    "body_timeout": "body_seconds",
    "write_timeout": "write_seconds",
    "keep_alive_timeout": "keep_alive_seconds",
    "drain_timeout": "drain_seconds",
    "heartbeat": "heartbeat_seconds",
}
for _name, _field in LIMITS.items():
    _value = 7 * 1024 * 1024 if _field in ("body_bytes", "bodies_bytes") else 7
    CASES[_name] = ([*URL, "--serialize"], "7", "7", {"limits": Limits(**{_field: _value})})


@pytest.fixture(autouse=True)
def own_files(monkeypatch, tmp_path):
    if sys.platform == "win32":
        pytest.skip("paths in TOML")
    monkeypatch.chdir(tmp_path)
    for name in ("FORGE_API_KEY", "FORGE_BACKEND_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "FILE").write_text("from-file\n")
    (tmp_path / "RULES").write_text(RULES)


def chosen(*arguments):
    return chosen_settings(command.make_context("x", list(arguments)))


def changed(settings, plain):
    """What of ``settings`` is not as in ``plain``; rules by their names."""
    fields = {each.name for each in dataclasses.fields(Settings)}
    found = {n: getattr(settings, n) for n in fields if getattr(settings, n) != getattr(plain, n)}
    return found | ({"workflows": tuple(r.name for r in settings.workflows)} if "workflows" in found else {})


def said(words):
    """Settings as the words of a command line say them, flags without a value too."""
    fields = {}
    rest = list(words)
    while rest:
        name = rest.pop(0)[2:].replace("-", "_")
        fields[name] = rest.pop(0) if rest and not rest[0].startswith("--") else True
    return fields


def test_every_option_is_looked_at():
    assert set(CASES) == {str(option.name) for option in OPTIONS}


@pytest.mark.parametrize("name", CASES)
def test_on_the_command_line(name):
    beside, typed, _, expected = CASES[name]
    flag = next(option.opts[0] for option in OPTIONS if option.name == name)
    settings = chosen(*beside, flag, *([typed] if typed is not None else []))
    assert changed(settings, dataclasses.replace(Settings(), **said(beside))) == expected


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_in_a_profile(name, tmp_path):
    beside, _, toml, expected = CASES[name]
    lines = [
        f"{key} = {str(value).lower() if value is True else repr(value)}"
        for key, value in said(beside).items()
    ]
    path = tmp_path / "p.toml"
    path.write_text("\n".join(["schema_version = 1", *lines, f"{name} = {toml}"]))
    settings = chosen("--config", str(path))
    assert changed(settings, dataclasses.replace(Settings(), **said(beside))) == expected
