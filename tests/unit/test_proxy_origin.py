import pytest

from forge.errors import MultipleCredentialsError
from forge.proxy.error_response import HttpError
from forge.proxy.origin import admit, caller_credentials, check_origin, host_name
from forge.proxy.settings import Settings

LOCAL = Settings(backend_url="http://b")
OPEN = Settings(backend_url="http://b", host="0.0.0.0", allow_anonymous=True)
CALLED = Settings(backend_url="http://b", allowed_hosts=("forge.example",))
SHOUTED = Settings(backend_url="http://b", host="Box", allowed_hosts=("FORGE.example",), api_key="k")
LET_IN = Settings(backend_url="http://b", cors_origins=("https://app.example",))
ALL = Settings(backend_url="http://b", cors_origins=("*",))
NAMED = Settings(backend_url="http://b", host="0.0.0.0", api_key="k")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (b"localhost:8081", "localhost"),
        (b"LocalHost", "localhost"),
        (b"127.0.0.1:1", "127.0.0.1"),
        (b"[::1]:8081", "::1"),
        (b"[::1]", "::1"),
        (None, None),
    ],
)
def test_host_name(host, name):
    assert host_name(host) == name


@pytest.mark.parametrize(
    ("settings", "host", "origin"),
    [
        pytest.param(LOCAL, b"localhost:8081", None, id="plain-client"),
        pytest.param(LOCAL, b"127.0.0.1:8081", None, id="address"),
        pytest.param(LOCAL, b"[::1]:8081", None, id="ipv6"),
        pytest.param(LOCAL, None, None, id="http-1.0"),
        pytest.param(LOCAL, b"localhost:8081", b"http://localhost:3000", id="local-page"),
        pytest.param(NAMED, b"gpu-box:8081", None, id="network-name"),
        pytest.param(NAMED, b"gpu-box:8081", b"http://gpu-box:8081", id="same-origin"),
        pytest.param(NAMED, b"llm.corp.example", None, id="any-name-with-a-key"),
        pytest.param(OPEN, b"10.0.0.5:8081", None, id="open-address"),
        pytest.param(OPEN, b"[fe80::1]:8081", None, id="open-ipv6"),
        pytest.param(OPEN, b"forge:8081", b"http://forge:8081", id="open-container-name"),
        pytest.param(OPEN, b"forge.ns.svc.cluster.local", None, id="open-cluster-name"),
        pytest.param(CALLED, b"forge.example", b"https://forge.example", id="allowed-host"),
        pytest.param(SHOUTED, b"Forge.Example", b"https://forge.example", id="allowed-host-in-capitals"),
        pytest.param(SHOUTED, b"BOX:8081", None, id="own-name-in-capitals"),
        pytest.param(LET_IN, b"localhost:8081", b"https://app.example", id="let-in-page"),
        pytest.param(ALL, b"localhost:8081", b"null", id="all-pages"),
    ],
)
def test_admitted(settings, host, origin):
    check_origin(settings, host, origin)


@pytest.mark.parametrize(
    ("settings", "host", "origin", "header"),
    [
        pytest.param(LOCAL, b"evil.example:8081", None, "Host", id="rebound-name"),
        pytest.param(LOCAL, b"localhost.evil.example", None, "Host", id="lookalike"),
        pytest.param(LOCAL, b"evil.example", b"http://evil.example", "Host", id="rebound-same-origin"),
        pytest.param(LOCAL, b"localhost", b"https://evil.example", "Origin", id="foreign-page"),
        pytest.param(LOCAL, b"localhost", b"null", "Origin", id="sandboxed-page"),
        pytest.param(LOCAL, b"localhost", b"http://[", "Origin", id="unreadable"),
        pytest.param(NAMED, b"gpu-box:8081", b"https://evil.example", "Origin", id="network-foreign-page"),
        pytest.param(OPEN, b"evil.example:8081", b"http://evil.example:8081", "Host", id="open-rebound-name"),
        pytest.param(CALLED, b"evil.forge.example", None, "Host", id="part-of-an-allowed-host"),
        pytest.param(
            LET_IN, b"localhost", b"https://app.example.evil.example", "Origin", id="like-a-let-in-page"
        ),
        pytest.param(LET_IN, b"localhost", b"http://app.example", "Origin", id="let-in-page-without-tls"),
        pytest.param(ALL, b"evil.example", b"null", "Host", id="all-pages-but-no-rebound-name"),
    ],
)
def test_refused(settings, host, origin, header):
    with pytest.raises(HttpError) as caught:
        check_origin(settings, host, origin)
    assert (caught.value.status, caught.value.param) == (403, header)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        pytest.param([], {}, id="none"),
        pytest.param([(b"authorization", b"Bearer t")], {"authorization": "Bearer t"}, id="bearer"),
        pytest.param([(b"x-api-key", b"t")], {"x-api-key": "t"}, id="x-api-key"),
        pytest.param(
            [(b"authorization", b"bearer t"), (b"x-api-key", b"t")],
            {"authorization": "bearer t", "x-api-key": "t"},
            id="equal-pair",
        ),
        pytest.param([(b"authorization", b"Bearer")], {}, id="scheme-only"),
        pytest.param([(b"authorization", b"Bearer "), (b"x-api-key", b"  ")], {}, id="blank"),
        pytest.param([(b"cookie", b"t")], {}, id="other-headers"),
    ],
)
def test_caller_credentials(headers, found):
    assert caller_credentials(headers) == found


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer a")], id="repeated"),
        pytest.param([(b"authorization", b"Bearer a"), (b"x-api-key", b"b")], id="different"),
        pytest.param([(b"authorization", b""), (b"authorization", b"Bearer a")], id="repeated-after-a-blank"),
        pytest.param(
            [(b"authorization", b"Bearer a"), (b"authorization", b"")], id="repeated-before-a-blank"
        ),
    ],
)
def test_conflicting_credentials_never_show_values(headers):
    with pytest.raises(MultipleCredentialsError) as caught:
        caller_credentials(headers)
    assert caught.value.status == 400
    assert "Bearer" not in str(caught.value)


def test_credentials_outside_ascii_are_the_callers_fault():
    with pytest.raises(HttpError) as caught:
        caller_credentials([(b"authorization", b"Bearer \xff")])
    assert caught.value.status == 400


def test_callers_key_goes_no_further():
    settings = Settings(backend_url="http://b", api_key="mine", backend_api_key="theirs")
    assert admit(settings, {"authorization": "Bearer mine"}) == {}
    assert admit(settings, {"x-api-key": "mine"}) == {}


@pytest.mark.parametrize("found", [{}, {"authorization": "Bearer other"}, {"x-api-key": "mine2"}])
def test_wrong_callers_key(found):
    with pytest.raises(HttpError) as caught:
        admit(Settings(backend_url="http://b", api_key="mine"), found)
    assert caught.value.status == 401


def test_two_identities_for_the_backend_are_refused():
    settings = Settings(backend_url="http://b", backend_api_key="theirs", allow_anonymous=True)
    assert admit(settings, {}) == {}
    with pytest.raises(MultipleCredentialsError):
        admit(settings, {"authorization": "Bearer mine"})
