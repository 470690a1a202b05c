"""The rules that keep the code as it was designed: the purity line, the layers, the sizes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cases import each

SOURCE = Path(__file__).resolve().parents[2] / "src" / "forge"

MAX_FILE_LINES = 400
USUAL_FILE_LINES = 300
MAX_FUNCTION_LINES = 50

# From the lowest layer to the highest; packages in one row may not import each other unless the row says so
# below. A package may import those of lower rows.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "_version"}),
    frozenset({"core"}),
    frozenset({"repair"}),
    frozenset({"schema"}),
    frozenset({"dialects"}),
    frozenset({"prompts"}),
    frozenset({"wire"}),
    frozenset({"context"}),
    frozenset({"engine"}),
    frozenset({"guardrails", "tools"}),
    # -- purity line --
    frozenset({"clients"}),
    frozenset({"serving"}),
    frozenset({"embedded", "runner"}),
    frozenset({"proxy"}),
)
PURE_LAYERS = frozenset().union(*LAYERS[:9])

# Modules that live in a package of the lower half because users import them from there, and that do I/O or
# drive the engine. They count as the layer named here.
PLACED: dict[str, str] = {
    "core.runner": "runner",
    "core.inference": "runner",
    "core.inference_loop": "runner",
    "core.client_answer": "runner",
    "core.constrained_attempt": "runner",
    "core.batch": "runner",
    "core.tool_execution": "runner",
    "core.sync": "runner",
    "core.drive": "runner",
    "core.slot_worker": "runner",
    "context.hardware": "clients",
    "context.nvml": "clients",
    "tools.mcp": "runner",
}

BANNED_BELOW_THE_LINE = frozenset({
    "asyncio", "socket", "ssl", "subprocess", "threading", "time", "random", "secrets", "logging", "os", "uuid",
    "datetime", "tempfile", "aiohttp", "starlette", "uvicorn", "httpx", "anyio", "multiprocessing", "selectors",
})  # fmt: skip

# Observations are dated, and their public type says so; "date-time" is a format to check. No other clock.
ALLOWED = {"context.observations": {"datetime"}, "schema.validate": {"datetime"}}


def layer_names() -> frozenset[str]:
    return frozenset().union(*LAYERS)


def sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def dotted(path: Path) -> str:
    """``core.runner`` for ``src/forge/core/runner.py``; "" for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    longest = [name for name in PLACED if module == name or module.startswith(f"{name}.")]
    return PLACED[longest[0]] if longest else module.split(".", maxsplit=1)[0]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under ``if TYPE_CHECKING:``."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from runtime_nodes(child)


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that a file imports at run time, lazily or not, as a dotted name."""
    found: list[str] = []
    for node in runtime_nodes(tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.append(module)
            # ``from forge.serving import logs`` imports the module forge.serving.logs.
            found += [f"{module}.{alias.name}" for alias in node.names if is_module(f"{module}.{alias.name}")]
    return tuple(found)


def is_module(name: str) -> bool:
    if not name.startswith("forge."):
        return False
    base = SOURCE.joinpath(*name.split(".")[1:])
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()


ALL = {dotted(path) or "forge": path for path in sources()}
PURE = {name: path for name, path in ALL.items() if dotted(path) and layer_of(dotted(path)) in PURE_LAYERS}


def test_every_module_belongs_to_a_layer() -> None:
    each(every_module_belongs_to_a_layer, ALL)


def every_module_belongs_to_a_layer(path: Path) -> None:
    module = dotted(path)

    assert module == "" or layer_of(module) in layer_names() | {"server", "rpc", "typing", "__main__"}


def test_below_the_purity_line_nothing_touches_the_world() -> None:
    each(below_the_purity_line_nothing_touches_the_world, PURE)


def below_the_purity_line_nothing_touches_the_world(path: Path) -> None:
    banned = BANNED_BELOW_THE_LINE - ALLOWED.get(dotted(path), set())
    touched = sorted({name for name in imports(path) if name.split(".")[0] in banned})

    assert touched == []


def test_below_the_purity_line_nothing_prints_or_opens_files() -> None:
    each(below_the_purity_line_nothing_prints_or_opens_files, PURE)


def below_the_purity_line_nothing_prints_or_opens_files(path: Path) -> None:
    calls = {
        node.func.id for node in nodes(path) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert calls & {"open", "print", "input"} == set()


def test_imports_point_downwards() -> None:
    each(imports_point_downwards, ALL)


def imports_point_downwards(path: Path) -> None:
    module = dotted(path)
    if module in ("", "core"):
        return  # re-exports from above, lazily
    rank = {name: number for number, row in enumerate(LAYERS) for name in row}
    own = layer_of(module)
    upwards = []
    for name in imports(path):
        if not name.startswith("forge."):
            continue
        target = layer_of(name.removeprefix("forge."))
        if target != own and rank.get(target, -1) >= rank.get(own, len(LAYERS)):
            upwards.append(name)

    assert upwards == []


def test_no_file_is_longer_than_a_reader_holds() -> None:
    each(no_file_is_longer_than_a_reader_holds, ALL)


def no_file_is_longer_than_a_reader_holds(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_FILE_LINES


def test_most_files_are_well_below_the_limit() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in sources()]
    long = [length for length in lengths if length > USUAL_FILE_LINES]

    assert len(long) <= len(lengths) // 10


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring: documentation is not complexity."""
    body = node.body
    first = body[0]
    documented = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def test_no_function_is_longer_than_a_screen() -> None:
    each(no_function_is_longer_than_a_screen, ALL)


def no_function_is_longer_than_a_screen(path: Path) -> None:
    functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {
        node.name: function_lines(node) for node in functions if function_lines(node) > MAX_FUNCTION_LINES
    }

    assert long == {}


def test_no_module_swallows_every_error() -> None:
    each(no_module_swallows_every_error, ALL)


def no_module_swallows_every_error(path: Path) -> None:
    lone = [
        node.lineno
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"})
        )
        and all(isinstance(statement, ast.Pass) for statement in node.body)
    ]

    assert lone == []


def test_importing_the_package_is_cheap() -> None:
    """``import forge`` loads none of the dependencies; whoever imports it for one name pays for that name only."""
    import subprocess

    script = "import sys, forge; print([m for m in ('aiohttp','pydantic','msgspec','starlette','rich','jsonschema_rs') if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=SOURCE.parent
    )

    assert result.stdout.strip() == "[]"
