"""The command with the embedded model server: a real model behind real HTTP, and nothing left behind."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import openai
import psutil
import pytest

from forge.embedded import store

pytestmark = [pytest.mark.anyio, pytest.mark.integration, pytest.mark.usefixtures("embedded_installed")]

SOURCE = str(Path(__file__).parents[2] / "src")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the current weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["c", "f"]}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]


async def launch(**environment):
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "forge.proxy", "--backend", "embedded", "--port", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
    )


async def gone(processes):
    """Whether all of ``processes`` end within ten seconds."""
    return not (await asyncio.to_thread(psutil.wait_procs, processes, 30))[1]


@pytest.mark.timeout(300)
async def test_a_call_from_a_real_model_and_a_clean_end():
    process = await launch()
    try:
        first = (await asyncio.wait_for(process.stdout.readline(), 200)).decode()
        found = re.fullmatch(r"forge proxy running at (http://\S+)\n", first)
        assert found, (await process.stderr.read()).decode()
        children = psutil.Process(process.pid).children(recursive=True)
        assert children
        async with openai.AsyncOpenAI(base_url=f"{found[1]}/v1", api_key="none", timeout=250) as client:
            for streamed in (False, True):
                arguments = {
                    "model": "smollm2",
                    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
                    "tools": TOOLS,
                    "tool_choice": "required",
                }
                if streamed:
                    async with client.chat.completions.stream(**arguments) as events:
                        answer = await events.get_final_completion()
                else:
                    answer = await client.chat.completions.create(**arguments)
                function = answer.choices[0].message.tool_calls[0].function
                assert function.name == "get_weather"
                assert isinstance(json.loads(function.arguments)["city"], str)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
        assert await gone(children)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture
def read_only_cache(tmp_path):
    """A cache with the model in it and no room for logs, whoever asks: root may write to every real folder."""
    (tmp_path / "models").symlink_to(store.models_dir())
    (tmp_path / "logs").touch()
    return str(tmp_path)


@pytest.mark.timeout(300)
async def test_a_killed_server_is_started_anew_also_where_no_log_can_be_kept(read_only_cache, tmp_path):
    (tmp_path / "tmp").mkdir()
    process = await launch(FORGE_CACHE_DIR=read_only_cache, TMPDIR=str(tmp_path / "tmp"))
    hello = {"model": "m", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
    try:
        first = (await asyncio.wait_for(process.stdout.readline(), 200)).decode()
        url = first.rpartition(" ")[2].strip()
        (guard,) = psutil.Process(process.pid).children()
        (server,) = guard.children()
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=250) as client:
            assert (await client.chat.completions.create(**hello)).choices
            server.kill()
            assert (await client.chat.completions.create(**hello)).choices
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
        assert await gone([server, *children])
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
    logs = sorted((tmp_path / "tmp").glob("forge-embedded-*.log"))
    assert [bool(log.stat().st_size) for log in logs] == [True, True]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
async def test_nothing_is_left_when_it_ends_while_the_model_loads(number):
    process = await launch()
    children = []
    try:
        me = psutil.Process(process.pid)
        while not children:  # until the child is there; there is no event for it from outside
            assert process.returncode is None, (await process.stderr.read()).decode()
            children = me.children(recursive=True)
            await asyncio.sleep(0.01)
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 30) == (0 if number == signal.SIGINT else -number)
        assert await gone(children)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
