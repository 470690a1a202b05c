"""What the header of a GGUF file says about the model in it: enough to know what a context costs.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3). Only metadata is read, never
a tensor, and a header of any content costs a bounded amount of memory and time.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING, _ARRAY = 8, 9
# Type number -> struct code (gguf.md, "gguf_metadata_value_type").
_SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MOST_PAIRS: Final = 65_536
_MOST_ITEMS: Final = 4_000_000
_LONGEST_KEY: Final = 65_535
_LONGEST_KEPT: Final = 1024
_LONGEST_SKIP: Final = 1 << 32

# Bytes per number in llama.cpp's cache types: blocks of 32 numbers with their scale (ggml-common.h).
BYTES_PER_NUMBER: Final[dict[str, float]] = {
    "f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
    "q4_1": 20 / 32, "q4_0": 18 / 32, "iq4_nl": 18 / 32,
}  # fmt: skip


class GgufError(ValueError):
    """The file is no GGUF file, or its header is damaged."""


class GgufModel(Struct, frozen=True, kw_only=True):
    """A model as its file describes it.

    ``size`` of the file in bytes. ``kv_heads``: heads of keys and values per layer (0 for a layer that keeps
    none, as recurrent ones). ``key_length``, ``value_length``: numbers per head and token.
    """

    architecture: str
    size: int
    name: str | None = None
    context_length: int | None = None
    layers: int | None = None
    heads: int | None = None
    kv_heads: tuple[int, ...] = ()
    key_length: int | None = None
    value_length: int | None = None

    def kv_bytes_per_token(self, type_k: str | None = None, type_v: str | None = None) -> float | None:
        """Bytes that a token costs in the cache; None where the header does not say enough.

        An upper bound for models in which some layers only look back over a window.
        """
        if not self.kv_heads or self.key_length is None or self.value_length is None:
            return None
        per_head = self.key_length * _width(type_k) + self.value_length * _width(type_v)
        return sum(self.kv_heads) * per_head


def _width(cache_type: str | None) -> float:
    return BYTES_PER_NUMBER.get(cache_type or "f16", BYTES_PER_NUMBER["f16"])


def read_gguf(path: Path) -> GgufModel:
    """The model described by the header of the file.

    Raises:
        GgufError: it is not a GGUF file of a known version, or is cut.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return _model(_Reader(file).metadata(), path.stat().st_size)


def _model(data: dict[str, Any], size: int) -> GgufModel:
    architecture = data.get("general.architecture")
    if not isinstance(architecture, str):
        raise GgufError("its header names no architecture")

    def number(key: str) -> int | None:
        value = data.get(f"{architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None

    layers, heads, width = number("block_count"), number("attention.head_count"), number("embedding_length")
    default_length = width // heads if width and heads else None
    name = data.get("general.name")
    return GgufModel(
        architecture=architecture,
        size=size,
        name=name if isinstance(name, str) else None,
        context_length=number("context_length"),
        layers=layers,
        heads=heads,
        kv_heads=_kv_heads(data.get(f"{architecture}.attention.head_count_kv"), layers, heads),
        key_length=number("attention.key_length") or default_length,
        value_length=number("attention.value_length") or default_length,
    )


def _kv_heads(said: Any, layers: int | None, heads: int | None) -> tuple[int, ...]:
    if isinstance(said, list):
        return tuple(n for n in said if isinstance(n, int))
    per_layer = said if isinstance(said, int) else heads
    # A header with an absurd number of layers must not cost memory.
    return (per_layer,) * layers if per_layer is not None and layers is not None and layers <= 4096 else ()


class _Reader:
    """Reads the pairs of a header one after another."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._items_left = _MOST_ITEMS

    def metadata(self) -> dict[str, Any]:
        if self._file.read(4) != _MAGIC:
            raise GgufError("it is not a GGUF file")
        version = self._number("I")
        if version not in _VERSIONS:
            raise GgufError(f"its GGUF version {version} is not known")
        self._number("Q")  # tensors
        pairs = self._number("Q")
        if pairs > _MOST_PAIRS:
            raise GgufError("its header is damaged")
        data: dict[str, Any] = {}
        for _ in range(pairs):
            key = self._string(_LONGEST_KEY)
            if key is None:
                raise GgufError("its header is damaged")
            data[key] = self._value(self._number("I"))
        return data

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string(_LONGEST_KEPT)
        if kind == _ARRAY:
            return self._array()
        return self._number(_code(kind))

    def _array(self) -> list[Any] | None:
        """The items; None for long ones (vocabularies), which are passed over."""
        kind, count = self._number("I"), self._number("Q")
        self._items_left -= count
        if self._items_left < 0 or kind == _ARRAY:
            raise GgufError("its header is damaged")
        if count <= _LONGEST_KEPT:
            return [self._value(kind) for _ in range(count)]
        if kind == _STRING:
            for _ in range(count):
                self._skip(self._number("Q"))
        else:
            self._skip(struct.calcsize("<" + _code(kind)) * count)
        return None

    def _skip(self, size: int) -> None:
        if size > _LONGEST_SKIP:
            raise GgufError("its header is damaged")
        self._file.seek(size, 1)

    def _string(self, longest: int) -> str | None:
        """The text; None for one that is longer, which is passed over."""
        size = self._number("Q")
        if size > longest:
            self._skip(size)
            return None
        return self._exactly(size).decode("utf-8", "replace")

    def _number(self, code: str) -> Any:
        return struct.unpack("<" + code, self._exactly(struct.calcsize("<" + code)))[0]

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) != size:
            raise GgufError("the file is cut in its header")
        return data


def _code(kind: int) -> str:
    try:
        return _SCALARS[kind]
    except KeyError:
        raise GgufError("its header is damaged") from None
