"""Who may speak to the proxy: ``Host`` and ``Origin`` checks, and the callers' key.

A web page in the user's browser can send requests to a loopback port. It cannot hide its ``Origin``, and a
rebound DNS name shows in ``Host``; so both are looked at, and no CORS header is ever sent.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from forge.errors import MultipleCredentialsError
from forge.proxy.error_response import HttpError
from forge.proxy.settings import Settings, is_loopback

RawHeaders = Iterable[tuple[bytes, bytes]]


def check_origin(settings: Settings, host: bytes | None, origin: bytes | None) -> None:
    """Refuse requests that a web page of another site could have made.

    On a loopback bind, ``Host`` must name this machine. Everywhere, an ``Origin`` must be a page of this machine
    or of the host that the request was sent to.

    Raises:
        HttpError: 403, naming the header.
    """
    name = host_name(host)
    if is_loopback(settings.host) and name is not None and not is_loopback(name) and name != settings.host:
        raise HttpError(
            403, "the Host header does not name this machine", param="Host", code="host_not_allowed"
        )
    if origin is None:
        return
    source = _origin_host(origin)
    if source is None or not (is_loopback(source) or (source == name and not is_loopback(settings.host))):
        raise HttpError(
            403,
            "requests from web pages of other sites are refused",
            param="Origin",
            code="origin_not_allowed",
        )


def host_name(host: bytes | None) -> str | None:
    """The name in a ``Host`` header, without port and brackets, in lower case."""
    if host is None:
        return None
    text = host.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text


def _origin_host(origin: bytes) -> str | None:
    try:
        parts = urlsplit(origin.decode("latin-1"))
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def caller_credentials(headers: RawHeaders) -> dict[str, str]:
    """The credential that came with a request, as the header(s) to send on.

    A blank value, or a scheme without a token, is no credential.

    Raises:
        MultipleCredentialsError: a header came twice, or two headers hold different tokens.
        HttpError: 400 for a value that no HTTP header may hold.
    """
    found: dict[str, str] = {}
    for name, value in headers:
        if name not in (b"authorization", b"x-api-key"):
            continue
        slot = name.decode("ascii")
        try:
            text = value.decode("ascii").strip()
        except UnicodeDecodeError:
            raise HttpError(400, f"the {slot} header holds characters outside ASCII", param=slot) from None
        if slot in found:
            raise MultipleCredentialsError([slot, slot])
        if text and text.lower() != "bearer":
            found[slot] = text
    if len(found) == 2 and token(found["authorization"]) != found["x-api-key"]:
        raise MultipleCredentialsError(sorted(found))
    return found


def token(authorization: str) -> str:
    """The token of an ``Authorization`` value; a scheme other than Bearer is part of it."""
    scheme, _, rest = authorization.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else authorization


def admit(settings: Settings, found: Mapping[str, str]) -> dict[str, str]:
    """Check the caller's key, and return the credential that the backend gets from the caller.

    With a callers' key the caller's credential is Forge's own and goes no further. The backend's key is the
    client's business and is never part of the result.

    Raises:
        HttpError: 401 without the right callers' key.
        MultipleCredentialsError: a caller's credential beside a configured backend key.
    """
    if settings.api_key is not None:
        given = token(found["authorization"]) if "authorization" in found else found.get("x-api-key", "")
        if not hmac.compare_digest(given.encode(), settings.api_key.encode()):
            raise HttpError(
                401,
                "this proxy needs its API key: send it as 'Authorization: Bearer'",
                code="invalid_api_key",
            )
        return {}
    if found and settings.backend_api_key is not None:
        raise MultipleCredentialsError([*sorted(found), "the configured backend key"])
    return dict(found)
