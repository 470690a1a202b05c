import pytest

from forge.proxy.settings import Settings, SettingsError, is_loopback, mask_url, mount_root

URL = "http://localhost:8080"


@pytest.mark.parametrize(
    ("given", "root"),
    [
        pytest.param("http://h", "http://h", id="bare"),
        pytest.param("http://h/", "http://h", id="slash"),
        pytest.param("http://h/v1", "http://h", id="v1"),
        pytest.param("http://h/v1/", "http://h", id="v1-slash"),
        pytest.param("http://h/pfx", "http://h/pfx", id="prefix"),
        pytest.param("http://h/pfx/v1", "http://h/pfx", id="prefix-v1"),
        pytest.param("http://h/v11", "http://h/v11", id="not-v1"),
        pytest.param("http://h/v1/v1", "http://h/v1", id="one-segment-only"),
        pytest.param("http://h/v1?key=1#x", "http://h", id="query-and-fragment"),
        pytest.param("http://u:p@[::1]:8080/v1", "http://u:p@[::1]:8080", id="user-and-ipv6"),
    ],
)
def test_mount_root(given, root):
    assert mount_root(given) == root


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param("http://h:1/v1", "http://h:1/v1", id="nothing-to-hide"),
        pytest.param("http://user:s3cret@h:1/x", "http://***@h:1/x", id="user-info"),
        pytest.param("http://h/x?api_key=s3cret#s3cret", "http://h/x?***", id="query"),
    ],
)
def test_mask_url(given, shown):
    assert mask_url(given) == shown


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.1", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_is_loopback(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        pytest.param({}, "backend_url", id="neither"),
        pytest.param({"backend": "llamaserver"}, "backend_url", id="kind-without-url"),
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
    ],
)
def test_check_accepts(fields):
    Settings(**fields).check()


def test_repr_hides_keys():
    shown = repr(Settings(backend_url=URL, backend_api_key="s3cret-a", api_key="s3cret-b"))
    assert "s3cret" not in shown
