import pytest
from yarl import URL

from forge.clients.credentials import call_headers, credential_slots, relocated, static_headers
from forge.errors import MultipleCredentialsError

PLAIN, WITH_USER = URL("http://h/v1"), URL("http://u:p@h/v1")


@pytest.mark.parametrize(
    ("headers", "slots"),
    [
        (None, []),
        ({"Accept": "x"}, []),
        ({"Authorization": "Bearer t"}, ["authorization"]),
        ({"X-API-Key": "t"}, ["x-api-key"]),
        ({"authorization": "  ", "x-api-key": ""}, []),
        ({"authorization": "Bearer "}, []),
        ({"authorization": "bearer"}, []),
        ({"authorization": "Basic dTpw"}, ["authorization"]),
    ],
)
def test_where_a_credential_is(headers, slots):
    assert credential_slots(headers) == slots


def test_a_key_is_a_bearer_token():
    assert static_headers("k", {"x-a": "1"}, PLAIN) == {"x-a": "1", "Authorization": "Bearer k"}
    assert static_headers("", None, WITH_USER) == {}


@pytest.mark.parametrize(
    ("static", "call", "url"),
    [
        ({"Authorization": "Bearer s3cret"}, {"x-api-key": "s3cret2"}, PLAIN),
        ({}, {"Authorization": "Bearer s3cret"}, WITH_USER),
    ],
    ids=["client and call", "url and call"],
)
def test_two_credentials_of_one_call(static, call, url):
    with pytest.raises(MultipleCredentialsError) as caught:
        call_headers(static, call, url)
    assert "s3cret" not in str(caught.value)


def test_a_calls_headers_go_over_the_clients_and_change_nothing():
    static = {"X-Team": "blue", "x-b": "1"}

    assert call_headers(static, {"x-team": "red"}, PLAIN) == {"x-b": "1", "x-team": "red"}
    assert call_headers(static, None, PLAIN) == static
    assert static == {"X-Team": "blue", "x-b": "1"}


@pytest.mark.parametrize(
    ("given", "slot", "moved"),
    [
        ({"Authorization": "Bearer k"}, "x-api-key", {"x-api-key": "k"}),
        ({"authorization": "bearer  k "}, "x-api-key", {"x-api-key": "k"}),
        ({"authorization": "Basic dTpw"}, "x-api-key", {"x-api-key": "Basic dTpw"}),
        ({"x-api-key": "k"}, "authorization", {"Authorization": "Bearer k"}),
        ({"x-api-key": "k", "x-other": "o"}, "authorization", {"x-other": "o", "Authorization": "Bearer k"}),
        ({"authorization": "Bearer "}, "x-api-key", {"authorization": "Bearer "}),
        ({}, "x-api-key", {}),
    ],
)
def test_a_credential_moves_to_another_protocols_header(given, slot, moved):
    assert relocated(given, slot) == moved


def test_a_key_goes_in_its_slot():
    assert static_headers("k", None, URL("http://h"), slot="x-api-key") == {"x-api-key": "k"}
    assert static_headers("k", None, URL("http://h")) == {"Authorization": "Bearer k"}
