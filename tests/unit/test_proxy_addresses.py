import pytest

from forge.proxy.addresses import (
    is_host_name,
    is_loopback,
    is_origin,
    mask_url,
    mount_root,
    url_fault,
    with_port,
)


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
    ("url", "port", "expected"),
    [
        pytest.param("http://h:1/p?q=1", None, "http://h:1/p?q=1", id="as-it-is"),
        pytest.param("http://h:1/p?q=1", 2, "http://h:2/p?q=1", id="replaced"),
        pytest.param("http://h/v1", 2, "http://h:2/v1", id="added"),
        pytest.param("http://u:p@[::1]:1/", 2, "http://u:p@[::1]:2/", id="user-and-ipv6"),
        pytest.param("http://[::1]", 2, "http://[::1]:2", id="ipv6"),
    ],
)
def test_another_port(url, port, expected):
    assert with_port(url, port) == expected


@pytest.mark.parametrize("text", ["https://a.example", "http://localhost:3000", "chrome-extension://abc"])
def test_origins(text):
    assert is_origin(text)


@pytest.mark.parametrize(
    "text",
    [
        "a.example",
        "https://a.example/",
        "https://a.example/x",
        "https://A.example",
        "HTTPS://a.example",
        "http://[",
        "",
    ],
)
def test_what_no_browser_sends_as_an_origin(text):
    assert not is_origin(text)


@pytest.mark.parametrize("text", ["a.example", "Box", "10.0.0.1", "::1", "fe80::1%eth0"])
def test_names_of_hosts(text):
    assert is_host_name(text)


@pytest.mark.parametrize("text", ["", "a:80", "http://a", "[::1]", "*", "*.example", "a b", "a/b", "::1:x:y"])
def test_what_is_no_name_of_a_host(text):
    assert not is_host_name(text)


@pytest.mark.parametrize("url", ["http://h", "https://u:p@h:1/v1?x=1", "http://[::1]:8080"])
def test_urls(url):
    assert url_fault(url) is None


@pytest.mark.parametrize("url", ["h:80", "ftp://h", "http://", "http://h:99999", "http://[::1"])
def test_what_is_no_url(url):
    assert url_fault(url)
