"""At most one credential goes to a backend. Messages name where credentials came from, never their values."""

from __future__ import annotations

from collections.abc import Mapping

from yarl import URL

from forge.errors import MultipleCredentialsError

_SLOTS = ("authorization", "x-api-key")


def credential_slots(headers: Mapping[str, str] | None) -> list[str]:
    """The headers that hold a credential; a blank value, or a scheme without a token, is none."""
    found = []
    for name, value in (headers or {}).items():
        token = value.strip()
        if name.lower() in _SLOTS and token and token.lower() != "bearer":
            found.append(name.lower())
    return found


def static_headers(
    api_key: str, extra_headers: Mapping[str, str] | None, base_url: URL, *, slot: str = "authorization"
) -> dict[str, str]:
    """The headers that every call of a client carries; ``slot`` is the header in which ``api_key`` goes.

    Raises:
        MultipleCredentialsError: two of key, header and user info in the URL were given.
    """
    sources = ["api_key"] if api_key else []
    sources += [f"header {name}" for name in credential_slots(extra_headers)]
    if base_url.user is not None:
        sources.append("user info in the URL")
    if len(sources) > 1:
        raise MultipleCredentialsError(sources)
    headers = dict(extra_headers or {})
    if api_key:
        headers.update(in_slot(api_key, slot))
    return headers


def in_slot(token: str, slot: str) -> dict[str, str]:
    """The header that shows ``token`` to a backend whose keys go in ``slot``."""
    return {"x-api-key": token} if slot == "x-api-key" else {"Authorization": f"Bearer {token}"}


def relocated(headers: Mapping[str, str], slot: str) -> dict[str, str]:
    """A caller's headers with the credential moved to where a backend of another protocol looks for it.

    An authorization of another scheme than Bearer is a token as a whole.
    """
    tokens = {
        name: value.strip() for name, value in headers.items() if name.lower() in credential_slots(headers)
    }
    moved = {name: value for name, value in headers.items() if name not in tokens}
    for token in tokens.values():
        bare = token[7:].strip() if token[:7].lower() == "bearer " else token
        moved.update(in_slot(bare, slot))
    return moved


def call_headers(
    static: Mapping[str, str], extra_headers: Mapping[str, str] | None, base_url: URL
) -> dict[str, str]:
    """The headers of one call: the client's own with the call's over them.

    Raises:
        MultipleCredentialsError: both hold a credential.
    """
    if not extra_headers:
        return dict(static)
    per_call = credential_slots(extra_headers)
    if per_call and credential_slots(static):
        raise MultipleCredentialsError(
            ["the client's own key", *(f"header {name} of the call" for name in per_call)]
        )
    if per_call and base_url.user is not None:
        raise MultipleCredentialsError(
            ["user info in the URL", *(f"header {name} of the call" for name in per_call)]
        )
    merged = {
        name: value
        for name, value in static.items()
        if name.lower() not in {n.lower() for n in extra_headers}
    }
    return {**merged, **extra_headers}
