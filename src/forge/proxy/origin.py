"""Who may speak to the proxy: ``Host`` and ``Origin`` checks, and the callers' key.

A web page in the user's browser can send requests to a loopback port. It cannot hide its ``Origin``, and a
rebound DNS name shows in ``Host``; so both are looked at, and no CORS header is sent unless an origin was let in.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from forge.errors import MultipleCredentialsError
from forge.proxy.addresses import is_loopback
from forge.proxy.error_response import HttpError
from forge.proxy.settings import Settings

_LOCAL_SUFFIXES = (".local", ".localdomain", ".lan", ".internal", ".home.arpa", ".test")
"""Reserved for, or only known in, local networks: no name server on the internet answers for them."""
RawHeaders = Iterable[tuple[bytes, bytes]]


def check_origin(settings: Settings, host: bytes | None, origin: bytes | None) -> None:
    """Refuse requests that a web page of another site could have made.

    ``Host`` must be a name by which this machine is called, unless a callers' key keeps pages out that reached the proxy
    by a rebound name. Everywhere, an ``Origin`` must be a page of this machine, of the host that the request was sent to,
    or one that was let in.

    Raises:
        HttpError: 403, naming the header.
    """
    name = host_name(host)
    if name is not None and not _is_our_name(settings, name):
        raise HttpError(
            403,
            "the Host header is no name of this machine (--allowed-host lets one in)",
            param="Host",
            code="host_not_allowed",
        )
    if origin is None:
        return
    source = _origin_host(origin)
    if source is not None and (
        is_loopback(source)
        or (source == name and not is_loopback(settings.host))
        or source in _lowered(settings.allowed_hosts)
    ):
        return
    if is_let_in(settings, origin):
        return
    raise HttpError(
        403,
        "requests from web pages of other sites are refused (--cors-origin lets one in)",
        param="Origin",
        code="origin_not_allowed",
    )


def is_let_in(settings: Settings, origin: bytes) -> bool:
    """Whether pages of ``origin`` were let in by name."""
    return bool(settings.cors_origins) and (
        "*" in settings.cors_origins or origin.decode("latin-1").rstrip("/") in settings.cors_origins
    )


def _is_our_name(settings: Settings, name: str) -> bool:
    if is_loopback(name) or name in _lowered((settings.host, *settings.allowed_hosts)):
        return True
    if is_loopback(settings.host):
        return False
    return settings.api_key is not None or not _is_public(name)


@lru_cache(maxsize=64)
def _lowered(names: tuple[str, ...]) -> frozenset[str]:
    """Names as a ``Host`` header is read here: their case says nothing."""
    return frozenset(name.lower() for name in names)


@lru_cache(maxsize=256)
def _is_public(name: str) -> bool:
    """Whether anyone could make ``name`` mean this machine: neither an address nor a name of a local network."""
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return "." in name.rstrip(".") and not name.rstrip(".").endswith(_LOCAL_SUFFIXES)
    return False


@lru_cache(maxsize=64)
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
    seen: set[str] = set()
    for name, value in headers:
        if name not in (b"authorization", b"x-api-key"):
            continue
        slot = name.decode("ascii")
        try:
            text = value.decode("ascii").strip()
        except UnicodeDecodeError:
            raise HttpError(400, f"the {slot} header holds characters outside ASCII", param=slot) from None
        if slot in seen:
            raise MultipleCredentialsError([slot, slot])
        seen.add(slot)
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
