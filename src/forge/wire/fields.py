"""Reading one field of a request, or saying which one is wrong and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from forge.errors import RequestError

T = TypeVar("T")
U = TypeVar("U")


def read_field(decode: Callable[[T], U], raw: T, param: str) -> U:
    """``raw`` decoded. ``param`` is its path in the request.

    Raises:
        RequestError: it is of another type, not UTF-8, or nested too deeply; names the path of what is at fault in it.
    """
    try:
        return decode(raw)
    except msgspec.ValidationError as error:
        # The decoder's own words: Expected `str`, got `int` - at `$.role`
        reason, _, path = str(error).partition(" - at `$")
        where = param + path.rstrip("`")
        text = f"'{where}': {reason[:1].lower()}{reason[1:].replace('`', '')}"
        raise RequestError(text, where) from None
    except RecursionError:
        raise RequestError(f"'{param}' is nested too deeply", param) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RequestError(f"'{param}' is not valid UTF-8", param) from None
