"""Names, addresses and URLs: what they mean, and how they may be shown. Pure."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit, urlunsplit


def url_fault(url: str) -> str | None:
    """Why ``url`` is no absolute http(s) URL with a host and a valid port; None if it is one."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a valid URL: {error}"
    if parts.scheme not in {"http", "https"} or not host:
        return f"must look like http://host:port, not {mask_url(url)!r}"
    return None


def is_origin(text: str) -> bool:
    """Whether ``text`` is an origin as browsers write it in their ``Origin`` header: in lower case, without a path."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and text == f"{parts.scheme}://{parts.netloc.lower()}"


def is_host_name(text: str) -> bool:
    """Whether ``text`` is a name or an address, without scheme, port or brackets around it."""
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return bool(text) and not set(text) & set(":/@[]?#*, ")
    return True


def mount_root(url: str) -> str:
    """The backend's root: ``url`` without trailing slashes and without one trailing ``/v1``.

    Query and fragment are dropped, since paths are appended to the result.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    path = path.removesuffix("/v1") if path.endswith("/v1") else path
    return urlunsplit(SplitResult(parts.scheme, parts.netloc, path.rstrip("/"), "", ""))


def with_port(url: str, port: int | None) -> str:
    """``url`` with its port replaced by ``port``, or as it is for None. User info and brackets stay."""
    if port is None:
        return url
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    host = parts.netloc[len(user) + len(at) :]
    bare = host if host.endswith("]") or ":" not in host else host.rpartition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{user}{at}{bare}:{port}"))


def mask_url(url: str) -> str:
    """``url`` as it may be shown: user, password and query replaced or dropped."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "<unreadable URL>"
    netloc = parts.netloc
    if "@" in netloc:
        netloc = "***@" + netloc.rpartition("@")[2]
    return urlunsplit(SplitResult(parts.scheme, netloc, parts.path, "***" if parts.query else "", ""))


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether ``host`` (a name or an address, with or without brackets) can only mean this machine."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
