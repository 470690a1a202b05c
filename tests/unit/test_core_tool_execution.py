"""One tool, called."""

import asyncio
import contextvars
import functools
import threading

import pytest

from forge.core.tool_execution import execute_tool, is_async
from forge.core.workflow import ToolDef, ToolSpec
from forge.errors import ToolTimeoutError

pytestmark = pytest.mark.anyio

SPEC = ToolSpec.from_json_schema("t", "", {"type": "object"})


async def coroutine(a: int = 0) -> int:
    return a + 1


class AsyncObject:
    async def __call__(self, a: int = 0) -> int:
        return a + 1


class SyncObject:
    def __call__(self, a: int = 0) -> int:
        return a + 1


@pytest.mark.parametrize(
    ("function", "async_"),
    [
        pytest.param(coroutine, True, id="coroutine"),
        pytest.param(functools.partial(coroutine, a=1), True, id="partial"),
        pytest.param(AsyncObject(), True, id="async-object"),
        pytest.param(lambda a=0: coroutine(a), False, id="returns-a-coroutine"),
        pytest.param(lambda a=0: a + 1, False, id="sync"),
        pytest.param(SyncObject(), False, id="sync-object"),
    ],
)
async def test_every_kind_of_callable(function, async_):
    assert is_async(function) is async_
    assert await execute_tool(ToolDef(SPEC, function), {"a": 1}) == 2


@pytest.mark.parametrize("error", [StopIteration("x"), ValueError("x"), KeyError("x")])
async def test_what_a_sync_tool_raises_arrives(error):
    def tool() -> None:
        raise error

    with pytest.raises((type(error), RuntimeError)) as caught:
        await execute_tool(ToolDef(SPEC, tool), {})
    assert error in (caught.value, caught.value.__cause__)


async def test_a_thread_sees_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("here")
    assert await execute_tool(ToolDef(SPEC, variable.get), {}) == "here"


async def test_a_tools_own_timeout_error_is_not_ours():
    async def tool() -> None:
        raise TimeoutError("theirs")

    with pytest.raises(TimeoutError, match="theirs"):
        await execute_tool(ToolDef(SPEC, tool), {}, 5)


async def test_the_tools_own_limit_goes_before_the_default():
    with pytest.raises(ToolTimeoutError) as caught:
        await execute_tool(ToolDef(SPEC, asyncio.Event().wait, timeout=0.01), {}, 60)
    assert (caught.value.tool_name, caught.value.seconds) == ("t", 0.01)


async def test_a_late_result_is_dropped():
    release, left = threading.Event(), threading.Event()

    def tool() -> str:
        release.wait(10)
        left.set()
        return "late"

    with pytest.raises(ToolTimeoutError):
        await execute_tool(ToolDef(SPEC, tool), {}, 0.01)
    release.set()
    assert await asyncio.to_thread(left.wait, 10)
