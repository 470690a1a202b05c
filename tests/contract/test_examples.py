"""Every example of the documentation runs, as its reader would run it, against a server that answers by script."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from servers.scripted import Script, ScriptedServer, whole_call, whole_text

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"


def report(text: str) -> Script:
    return whole_call("report", f'{{"text": "{text}"}}')


CASES = {
    "workflow": (
        [
            whole_text("I will look that up."),
            whole_call("get_weather", '{"city": "Paris", "days": "2"}'),
            whole_call("respond", '{"message": "22 degrees and clear."}'),
        ],
        ["22 degrees and clear.", "3 model calls, 1 rejected, 1 arguments mended", "retry_nudge"],
    ),
    "sync": ([whole_call("add", '{"a": 19, "b": "23"}')], ["the sum is 42"]),
    "own_loop": (
        [
            whole_text("Let me think."),
            whole_call("answer", '{"text": "too early"}'),
            whole_call("find", "{}"),
            whole_call("search", '{"query": "install"}'),
            whole_call("answer", '{"text": "With pip."}'),
        ],
        ["retry\nstep_blocked\ntool_error\nexecute\nexecute\nWith pip."],
    ),
    "proxy": (
        [
            whole_text(
                '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": "2"}}</tool_call>'
            )
        ],
        ["tool_calls\n", '"days": 2'],
    ),
    "mounted": ([whole_text("Good day.")], ["a service of its own\nGood day."]),
    "mcp_tools": (
        [whole_call("server_add", '{"a": 19, "b": "23"}'), whole_call("respond", '{"message": "It is 42."}')],
        ["tools: server_add, server_greet, server_fail", "It is 42.", "used: server_add, respond"],
    ),
    "chat": (
        [
            whole_call("look_up", '{"topic": "holidays"}'),
            whole_call("respond", '{"message": "30 days."}'),
            whole_call("respond", '{"message": "15 days."}'),
        ],
        ["> How many", "30 days.", "> And if", "15 days."],
    ),
    "slot_worker": ([report("one"), report("two"), report("three")], ["urgent: ", "nightly:"]),
}


def test_every_example_is_here() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(CASES)


async def run(name: str, url: str) -> str:
    environment = {
        **os.environ,
        "FORGE_BACKEND_URL": f"{url}/v1",
        "MCP_SERVER": shlex.join([sys.executable, str(ROOT / "tests" / "servers" / "mcp_server.py")]),
        "PYTHONPATH": str(ROOT / "src"),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        str(EXAMPLES / f"{name}.py"),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


@pytest.mark.parametrize("name", sorted(CASES))
async def test_example(name: str) -> None:
    if name == "mcp_tools":
        pytest.importorskip("mcp", reason="needs the mcp extra")
    scripts, expected = CASES[name]
    async with ScriptedServer(scripts) as backend:
        output = await run(name, backend.url)

    assert [part for part in expected if part not in output] == [], output


async def test_a_failed_run_is_told_with_its_code() -> None:
    async with ScriptedServer([whole_text("no")] * 6) as backend:
        output = await run("sync", backend.url)

    assert output.startswith("failed with no_valid_call after ")


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
