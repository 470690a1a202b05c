"""Headers of GGUF files, written by hand."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.serving.gguf import GgufError, read_gguf

UINT32, FLOAT, STRING, ARRAY, UINT64 = 4, 6, 8, 9, 10


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind: int, content: object) -> bytes:
    if kind == STRING:
        return text(str(content))
    if kind == ARRAY:
        item, items = content
        return struct.pack("<IQ", item, len(items)) + b"".join(value(item, each) for each in items)
    return struct.pack({UINT32: "<I", UINT64: "<Q", FLOAT: "<f"}[kind], content)


def gguf(*pairs: tuple[str, int, object], version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs))
    return head + b"".join(
        text(key) + struct.pack("<I", kind) + value(kind, content) for key, kind, content in pairs
    )


def model(*more: tuple[str, int, object]) -> bytes:
    given = {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "Tiny"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, [f"t{n}" for n in range(2000)])),
        "tokenizer.ggml.scores": (ARRAY, (FLOAT, [0.0] * 2000)),
        "llama.context_length": (UINT32, 8192),
        "llama.block_count": (UINT32, 30),
        "llama.embedding_length": (UINT32, 576),
        "llama.attention.head_count": (UINT32, 9),
        "llama.attention.head_count_kv": (UINT32, 3),
    }
    given |= {key: (kind, content) for key, kind, content in more}
    return gguf(*((key, kind, content) for key, (kind, content) in given.items()))


@pytest.fixture
def read(tmp_path: Path):
    def read(data: bytes):
        path = tmp_path / "m.gguf"
        path.write_bytes(data)
        return read_gguf(path)

    return read


def test_a_model(read):
    data = model()
    found = read(data)

    assert (found.architecture, found.name, found.size) == ("llama", "Tiny", len(data))
    assert (found.context_length, found.layers, found.heads) == (8192, 30, 9)
    # 30 layers x 3 heads x (64 + 64) numbers
    assert found.kv_bytes_per_token() == 30 * 3 * 128 * 2
    assert found.kv_bytes_per_token("q8_0", "q4_0") == 30 * 3 * 64 * (34 + 18) / 32
    assert found.kv_bytes_per_token("unheard-of") == found.kv_bytes_per_token("f16")


@pytest.mark.parametrize(
    ("more", "cost"),
    [
        pytest.param(
            [("llama.attention.key_length", UINT32, 128)], 30 * 3 * (128 + 64) * 2, id="own lengths"
        ),
        pytest.param(
            [("llama.attention.head_count_kv", ARRAY, (UINT32, [0, 0, 2]))],
            2 * 128 * 2,
            id="some layers keep none",
        ),
        pytest.param([("llama.block_count", UINT32, 0)], None, id="no layers"),
        pytest.param([("llama.block_count", UINT32, 4_000_000_000)], None, id="absurd layers"),
        pytest.param([("llama.embedding_length", UINT32, 0)], None, id="no width"),
        pytest.param([("llama.block_count", UINT64, 30)], 30 * 3 * 128 * 2, id="a wider number"),
    ],
)
def test_costs(read, more, cost):
    assert read(model(*more)).kv_bytes_per_token() == cost


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"GGML" + bytes(100), id="another format"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 1, 0, 0), id="too old"),
        pytest.param(b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), id="too many pairs"),
        pytest.param(gguf(("a", UINT32, 1)), id="no architecture"),
        pytest.param(model()[:300], id="cut"),
        pytest.param(gguf() [:-8] + struct.pack("<Q", 1) + text("k") + struct.pack("<I", 77), id="unknown type"),
        pytest.param(
            gguf()[:-8] + struct.pack("<Q", 1) + text("k") + struct.pack("<IIQ", ARRAY, UINT32, 1 << 62), id="endless array"
        ),
        pytest.param(
            gguf()[:-8] + struct.pack("<Q", 1) + struct.pack("<Q", 1 << 63), id="endless key"
        ),
    ],
)  # fmt: skip
def test_files_that_are_none(read, data):
    with pytest.raises(GgufError):
        read(data)


@given(data=st.binary(max_size=200), cut=st.integers(0, 400))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, cut):
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(model()[:cut] + data)

    with contextlib.suppress(GgufError):
        read_gguf(path)
