"""``import forge`` is cheap and gives every public name."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import forge


@pytest.mark.parametrize("name", forge.__all__)
def test_each_public_name_is_importable(name):
    assert getattr(forge, name) is not None


def test_type_checkers_see_the_same_table():
    tree = ast.parse(Path(forge.__file__).read_text())
    seen = {
        alias.asname: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == forge._MODULE_OF


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = forge.no_such_name
    assert "ToolSpec" in dir(forge)


def test_importing_forge_imports_no_dependency():
    program = "import sys, forge; print(sorted({m.split('.')[0] for m in sys.modules} & %r))"
    heavy = {
        "pydantic",
        "aiohttp",
        "msgspec",
        "jsonschema_rs",
        "starlette",
        "uvicorn",
        "rich",
        "click",
        "asyncio",
    }
    output = subprocess.run(
        [sys.executable, "-c", program % heavy], capture_output=True, text=True, check=True
    )
    assert output.stdout.strip() == "[]"


@pytest.mark.parametrize("package", ["clients", "core", "guardrails", "context", "prompts", "tools"])
def test_sub_packages_export_what_they_list(package):
    module = import_module(f"forge.{package}")
    assert [name for name in getattr(module, "__all__", []) if getattr(module, name, None) is None] == []
