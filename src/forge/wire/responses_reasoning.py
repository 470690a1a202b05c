"""Thinking in a form that clients keep and send back without reading it: ``encrypted_content``.

A client that has nothing stored on the server's side asks for it, and some send only such items back. Nothing is
encrypted here: the same text stands beside it. Signatures, by which Anthropic knows its own thinking, travel in it too.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import msgspec

from forge.core.request import Reasoning
from forge.wire.json_text import dumps

_MARK = "forge1."
_decode = msgspec.json.Decoder(list[tuple[str, str, str, str]]).decode


def sealed(blocks: Iterable[Reasoning]) -> str:
    """``blocks`` as an ``encrypted_content``."""
    plain = [(block.text, block.field, block.signature, block.redacted) for block in blocks]
    return _MARK + base64.urlsafe_b64encode(dumps(plain)).decode()


def read_reasoning(encrypted: str | None, shown: str) -> list[Reasoning] | None:
    """The thinking of an item, from its ``encrypted_content`` and the text that it shows.

    None where there was some, and only its author can read it.
    """
    if encrypted and encrypted.startswith(_MARK):
        try:
            plain = _decode(base64.urlsafe_b64decode(encrypted[len(_MARK) :]))
        except (binascii.Error, ValueError, msgspec.DecodeError, UnicodeError):
            pass
        else:
            return [Reasoning(*fields) for fields in plain]
    if shown:
        return [Reasoning(shown)]
    return None if encrypted else []
