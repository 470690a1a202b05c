import pytest

from forge.proxy.limits import Limits
from forge.proxy.settings import Settings, SettingsError

URL = "http://localhost:8080"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        pytest.param({}, "backend_url", id="neither"),
        pytest.param({"backend": "llamaserver"}, "backend_url", id="kind-without-url"),
        pytest.param({"backend": "openai"}, "backend='openai' requires backend_url", id="not-to-be-started"),
        pytest.param({"backend": "tgi", "backend_url": URL}, "tgi", id="unknown-kind"),
        pytest.param(
            {"backend": "vllm", "backend_url": URL, "backend_capability": "prompt"},
            "vllm",
            id="no-prompt-mode",
        ),
        pytest.param({"backend": "embedded", "backend_url": URL}, "backend_url", id="embedded-with-url"),
        pytest.param({"backend_url": "localhost:8080"}, "backend_url", id="no-scheme"),
        pytest.param({"backend_url": "ftp://h"}, "backend_url", id="other-scheme"),
        pytest.param({"backend_url": "http://h:99999"}, "backend_url", id="url-port"),
        pytest.param({"backend_url": "http://[::1"}, "backend_url", id="broken-ipv6"),
        pytest.param(
            {"backend_url": URL, "max_retries": -1}, "max_retries must be nonnegative", id="retries"
        ),
        pytest.param(
            {"backend_url": URL, "max_tool_errors": -1}, "max_tool_errors must be nonnegative", id="errors"
        ),
        pytest.param({"backend_url": URL, "backend_timeout": 0.0}, "backend_timeout", id="timeout-zero"),
        pytest.param(
            {"backend_url": URL, "backend_timeout": float("nan")}, "backend_timeout", id="timeout-nan"
        ),
        pytest.param({"backend_url": URL, "port": 99999}, "port", id="port"),
        pytest.param({"backend_url": URL, "budget_tokens": 0}, "budget_tokens must be positive", id="window"),
        pytest.param({"backend_url": URL, "budget_mode": "backend"}, "do not accept budget_mode", id="mode"),
        pytest.param({"backend_url": URL, "backend_port": 70000}, "backend_port", id="other-port"),
        pytest.param({"backend_url": URL, "backend_capability": "x"}, "backend_capability", id="capability"),
        pytest.param({"backend_url": URL, "text_policy": "x"}, "text_policy", id="policy"),
        pytest.param(
            {"backend_url": URL, "text_policy": "trust", "inject_respond_tool": True},
            "inject_respond_tool",
            id="contradiction",
        ),
        pytest.param({"backend_url": URL, "api_key": "a\nb"}, "api_key", id="line-break-in-key"),
        pytest.param(
            {"backend_url": URL, "backend_api_key": "k\r\nX-Other: y", "allow_anonymous": True},
            "backend_api_key",
            id="header-in-key",
        ),
        pytest.param({"backend_url": URL, "host": "0.0.0.0"}, "host", id="open-to-the-network"),
        pytest.param({"backend_url": URL, "backend_api_key": "k"}, "backend_api_key", id="key-for-everybody"),
        pytest.param({"backend_url": URL, "host": "", "api_key": "k"}, "host", id="no-host"),
        pytest.param({"backend_url": "http://127.0.0.1:8081/v1"}, "backend_url", id="itself"),
        pytest.param(
            {"backend_url": "http://[::1]:9", "port": 9, "host": "localhost"},
            "backend_url",
            id="itself-by-another-name",
        ),
        pytest.param(
            {"backend_url": "http://localhost:9", "port": 9, "host": "0.0.0.0", "api_key": "k"},
            "backend_url",
            id="itself-everywhere",
        ),
        pytest.param(
            {"backend_url": "https://gpu", "port": 443, "host": "gpu", "api_key": "k"},
            "backend_url",
            id="itself-by-default-port",
        ),
        pytest.param({"backend_url": URL, "cors_origins": ("example.com",)}, "cors_origins", id="no-origin"),
        pytest.param(
            {"backend_url": URL, "cors_origins": ("https://A.example",)},
            "cors_origins",
            id="no-browser-writes-that",
        ),
        pytest.param(
            {"backend_url": URL, "allowed_hosts": ("a.example:443",)}, "allowed_hosts", id="with-a-port"
        ),
        pytest.param(
            {"backend_url": URL, "allowed_hosts": ("http://a",)}, "allowed_hosts", id="with-a-scheme"
        ),
        pytest.param({"backend_url": URL, "allowed_hosts": ("*",)}, "allowed_hosts", id="no-wildcards"),
        pytest.param(
            {"backend_url": URL, "cors_origins": ("https://a.example/x",)},
            "cors_origins",
            id="more-than-an-origin",
        ),
        pytest.param({"backend_url": URL, "max_concurrent": 0}, "max_concurrent", id="nobody-at-once"),
        pytest.param(
            {"backend_url": URL, "max_concurrent": 2, "serialize": True}, "serialize", id="two-one-by-one"
        ),
        pytest.param({"backend_url": URL, "limits": Limits(queue=-1)}, "queue", id="limit"),
    ],
)
def test_check_names_the_setting_at_fault(fields, named):
    with pytest.raises(SettingsError) as caught:
        Settings(**fields).check()
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"backend_url": URL}, id="external"),
        pytest.param({"backend": "embedded"}, id="embedded"),
        pytest.param({"backend_url": URL, "host": "0.0.0.0", "api_key": "k"}, id="network-with-key"),
        pytest.param({"backend_url": URL, "backend_api_key": "k", "allow_anonymous": True}, id="anonymous"),
        pytest.param({"backend_url": "https://u:p@h/pfx/v1"}, id="credentials-in-url"),
        pytest.param({"backend_url": "http://gpu:8081"}, id="the-same-port-elsewhere"),
        pytest.param({"backend_url": "http://localhost:8080", "port": 0}, id="a-free-port"),
        pytest.param({"backend_url": URL, "cors_origins": ("https://a.example", "*")}, id="origins"),
    ],
)
def test_check_accepts(fields):
    Settings(**fields).check()


GGUF = {"backend": "llamaserver", "gguf": "m.gguf"}
VLLM = {"backend": "vllm", "model_path": "m"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        pytest.param({"backend": "llamafile"}, "requires gguf", id="no-gguf"),
        pytest.param({"backend": "vllm", "gguf": "m"}, "requires model_path", id="no-model-path"),
        pytest.param({"backend": "ollama"}, "requires model", id="no-model"),
        pytest.param({**GGUF, "model": "m"}, "does not accept model", id="two-names"),
        pytest.param({**GGUF, "model_path": "m"}, "does not accept model_path", id="two-paths"),
        pytest.param({**VLLM, "gguf": "m"}, "does not accept gguf", id="gguf-for-vllm"),
        pytest.param({**GGUF, "backend_port": 65536}, "backend_port", id="port"),
        pytest.param(
            {"backend": "ollama", "model": "m", "backend_port": 1}, "backend_port", id="ollamas-port"
        ),
        pytest.param({**GGUF, "budget_mode": "most"}, "budget_mode must be one of", id="mode"),
        pytest.param({**GGUF, "budget_mode": "manual"}, "positive budget_tokens", id="manual-without"),
        pytest.param({**GGUF, "budget_mode": "manual", "budget_tokens": 0}, "positive", id="manual-nothing"),
        pytest.param({**GGUF, "budget_tokens": 5}, "only accepted with manual", id="tokens-alone"),
        pytest.param({**GGUF, "extra_flags": ("-c", "5")}, "conflicts with a Forge-owned", id="context"),
        pytest.param({**GGUF, "extra_flags": ("--host=x",)}, "conflicts with a Forge-owned", id="host"),
        pytest.param(
            {**GGUF, "extra_flags": ("-m=x",)}, "conflicts with a Forge-owned", id="short-with-value"
        ),
        pytest.param({**VLLM, "extra_flags": ("--max-model-len", "5")}, "Forge-owned", id="vllm-context"),
        pytest.param(
            {"backend": "ollama", "model": "m", "extra_flags": ("-x",)}, "managed Ollama", id="ollama-flags"
        ),
        pytest.param({**VLLM, "backend_capability": "prompt"}, "backend_capability", id="vllm-prompt"),
        pytest.param({"backend_url": URL, "gguf": "m"}, "do not accept gguf", id="unmanaged-gguf"),
        pytest.param(
            {"backend_url": URL, "model_path": "m"}, "do not accept model_path", id="unmanaged-path"
        ),
        pytest.param({"backend_url": URL, "budget_mode": "backend"}, "budget_mode", id="unmanaged-mode"),
        pytest.param({"backend_url": URL, "extra_flags": ("-x",)}, "extra_flags", id="unmanaged-flags"),
        pytest.param(
            {"backend": "embedded", "gguf": "m"}, "'embedded' does not accept gguf", id="embedded-gguf"
        ),
        pytest.param(
            {"backend": "embedded", "extra_flags": ("-t", "2")},
            "'embedded' does not accept extra_flags",
            id="embedded-flags",
        ),
        pytest.param(
            {"backend": "embedded", "budget_mode": "backend"},
            "'embedded' does not accept budget_mode",
            id="embedded-mode",
        ),
    ],
)
def test_servers_to_be_started(fields, named):
    with pytest.raises(SettingsError, match=named):
        Settings(**fields).check()


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({**GGUF, "extra_flags": ("-t", "4"), "backend_port": 0}, id="llama"),
        pytest.param({**GGUF, "budget_mode": "manual", "budget_tokens": 4096}, id="manual"),
        pytest.param({**VLLM, "budget_mode": "forge-fast"}, id="vllm"),
        pytest.param({"backend": "ollama", "model": "m", "budget_mode": "forge-full"}, id="ollama"),
    ],
)
def test_servers_that_can_be_started(fields):
    settings = Settings(**fields)
    settings.check()
    assert settings.managed


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"backend_url": URL}, None),
        ({"backend_url": URL, "serialize": True}, 1),
        ({"backend_url": URL, "max_concurrent": 3}, 3),
        ({"backend": "llamaserver", "gguf": "m.gguf"}, 1),
        ({"backend": "llamaserver", "gguf": "m.gguf", "serialize": False}, None),
        ({"backend": "llamaserver", "gguf": "m.gguf", "max_concurrent": 4}, 4),
        ({"backend": "embedded"}, 1),
    ],
)
def test_how_many_reach_the_backend_at_once(fields, expected):
    assert Settings(**fields).at_once == expected


def test_repr_hides_keys():
    shown = repr(Settings(backend_url=URL, backend_api_key="s3cret-a", api_key="s3cret-b"))
    assert "s3cret" not in shown


def test_secrets_are_the_keys_and_the_urls_password():
    settings = Settings(backend_url="http://u:p%40ss@h", api_key="k")
    assert settings.secrets == ("k", "p%40ss", "p@ss")
    assert Settings(backend_url="http://h").secrets == ()
    assert Settings(backend="embedded").secrets == ()
