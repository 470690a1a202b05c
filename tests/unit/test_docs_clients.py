"""The settings that the client pages show are well-formed and lead to the proxy."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "clients").glob("*.md"))
READERS = {"json": json.loads, "python": ast.parse, "toml": tomllib.loads}


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_settings_can_be_copied(page):
    shown = blocks(page)

    assert (
        any(re.search(r"http://(localhost|127\.0\.0\.1):8081", text) for _, text in shown)
        or page.stem == "README"
    )
    for language, text in shown:
        READERS.get(language, str)(text)


def test_the_index_names_every_page():
    index = next(page for page in PAGES if page.stem == "README").read_text(encoding="utf-8")

    assert {page.name for page in PAGES} - {"README.md"} <= set(re.findall(r"\(([\w-]+\.md)\)", index))
