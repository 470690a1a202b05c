import json

import pytest
from msgspec import Raw

from forge.core.request import Opaque
from forge.wire.anthropic_media import openai_parts

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AA=="}}
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AA=="}}
LINKED = {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}


def read(block):
    lost = set()
    parts = openai_parts(Raw(json.dumps(block).encode()), lost)
    return [json.loads(bytes(p.raw)) if isinstance(p, Opaque) else p.text for p in parts], lost


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(IMAGE, [SHOWN], id="image"),
        pytest.param(
            LINKED, [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}], id="linked-image"
        ),
        pytest.param(
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "body"}},
            ["body"],
            id="text-document",
        ),
        pytest.param(
            {"type": "document", "title": "T", "context": "C", "source": {"type": "text", "data": "body"}},
            ["T\nC\nbody"],
            id="titled-document",
        ),
        pytest.param(
            {"type": "document", "source": {"type": "content", "content": "body"}}, ["body"], id="content"
        ),
        pytest.param(
            {
                "type": "document",
                "source": {"type": "content", "content": [{"type": "text", "text": "a"}, IMAGE]},
            },
            ["a", SHOWN],
            id="content-of-blocks",
        ),
        pytest.param(
            {
                "type": "search_result",
                "title": "T",
                "source": "https://x",
                "content": [{"type": "text", "text": "found"}],
            },
            ["T\nhttps://x\nfound"],
            id="search-result",
        ),
    ],
)
def test_what_has_a_counterpart(block, expected):
    assert read(block) == (expected, set())


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "images from a source of type file"),
        (
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
            "documents of type application/pdf",
        ),
        ({"type": "document", "source": {"type": "url", "url": "https://x"}}, "documents of type url"),
        ({"type": "document"}, "documents of type None"),
    ],
)
def test_the_model_is_told_of_what_it_cannot_see(block, name):
    [text], lost = read(block)
    assert "cannot be shown" in text
    assert lost == {name}


def test_other_blocks_are_named():
    assert read({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}) == (
        [],
        {"content of type server_tool_use"},
    )
