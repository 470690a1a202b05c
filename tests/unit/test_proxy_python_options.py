import inspect
from dataclasses import fields
from pathlib import Path

from forge.proxy import ProxyServer
from forge.proxy.python_options import ProxyOptions, settings_from
from forge.proxy.settings import Settings

CONTRACT = [
    "backend_url",
    "backend",
    "model",
    "gguf",
    "model_path",
    "backend_port",
    "budget_mode",
    "budget_tokens",
    "extra_flags",
    "host",
    "port",
    "serialize",
    "max_retries",
    "max_tool_errors",
    "rescue_enabled",
    "backend_capability",
    "inject_respond_tool",
    "backend_timeout",
    "reasoning_replay",
    "backend_api_key",
]


def parameters():
    return list(inspect.signature(ProxyServer).parameters.values())


def test_the_server_takes_its_arguments_in_the_promised_order():
    positional = [each.name for each in parameters() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert positional == CONTRACT


def test_the_application_has_the_same_options_but_for_the_port():
    assert set(ProxyOptions.__annotations__) == {each.name for each in parameters()} - {"port"}


def test_every_default_is_that_of_the_settings():
    given = {each.name: each.default for each in parameters()}
    assert settings_from(given) == Settings()
    assert settings_from({}) == Settings()


def test_paths_and_lists_are_taken():
    settings = settings_from({"gguf": Path("m.gguf"), "extra_flags": ["-t", "4"], "api_key": " k "})
    let_in = settings_from({"allowed_hosts": ["a"], "cors_origins": ["https://b"]})
    assert (let_in.allowed_hosts, let_in.cors_origins) == (("a",), ("https://b",))
    assert (settings.gguf, settings.extra_flags, settings.api_key) == ("m.gguf", ("-t", "4"), "k")


def test_every_option_is_a_setting():
    renamed = {"rescue_enabled", "workflow"}
    assert set(ProxyOptions.__annotations__) - renamed <= {each.name for each in fields(Settings)}


def test_a_file_of_workflow_rules_is_read(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[workflows]]\nrequired_steps = ["look"]', encoding="utf-8")
    (rules,) = settings_from({"workflow": path}).workflows
    assert rules.required_steps == ("look",)
