"""URLs of model servers: joined without losing prefix or query, shown without their credentials."""

from __future__ import annotations

import re

from yarl import URL

from forge.errors import BackendUnreachableError

_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")


def masked(url: str) -> str:
    """``url`` fit for messages and logs: user name and password replaced, query dropped."""
    return _USER_INFO.sub("***@", url).partition("?")[0].partition("#")[0]


def parse_url(url: str) -> URL:
    """``url`` parsed.

    Raises:
        BackendUnreachableError: it is no http(s) URL with a host.
    """
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BackendUnreachableError(masked(url), ValueError("not an http:// or https:// URL"))
    return parsed


def join(base: URL, path: str) -> URL:
    """``path`` (starting with ``/``) below ``base``; the base's prefix and query stay."""
    return base.with_path(base.raw_path.rstrip("/") + path, encoded=True, keep_query=True)


def without_v1(base: URL) -> URL:
    """The server's root for an API base: one terminal ``/v1`` segment removed."""
    path = base.raw_path.rstrip("/")
    return base.with_path(path.removesuffix("/v1") or "/", encoded=True, keep_query=True)
