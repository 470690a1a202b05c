import pytest

from forge.clients.urls import join, masked, parse_url, without_v1
from forge.errors import BackendUnreachableError


@pytest.mark.parametrize(
    ("base", "chat", "props"),
    [
        ("http://h/v1", "http://h/v1/chat", "http://h/props"),
        ("http://h/v1/", "http://h/v1/chat", "http://h/props"),
        ("http://h", "http://h/chat", "http://h/props"),
        ("http://h/p%2Fx/v1", "http://h/p%2Fx/v1/chat", "http://h/p%2Fx/props"),
        ("http://h/v11", "http://h/v11/chat", "http://h/v11/props"),
        ("http://h/v1?key=1", "http://h/v1/chat?key=1", "http://h/props?key=1"),
        ("https://[::1]:8080/v1", "https://[::1]:8080/v1/chat", "https://[::1]:8080/props"),
    ],
)
def test_paths_below_a_base(base, chat, props):
    url = parse_url(base)

    assert str(join(url, "/chat")) == chat
    assert str(join(without_v1(url), "/props")) == props


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h:1/v1", "http://h:1/v1"),
        ("http://user:pa@ss@h/v1", "http://***@h/v1"),
        ("http://h/v1?api_key=s3cret", "http://h/v1"),
        ("http://h/a@b", "http://h/a@b"),
        ("nonsense", "nonsense"),
    ],
)
def test_masked(url, shown):
    assert masked(url) == shown


@pytest.mark.parametrize(
    "url", ["", "h", "h:8080", "ftp://h", "http://", "http://user:s3cret@", "http://h:x"]
)
def test_what_is_no_url_is_said_without_its_secrets(url):
    with pytest.raises(BackendUnreachableError) as caught:
        parse_url(url)
    assert "s3cret" not in str(caught.value)
