"""Fixtures that every test may use. Only fixtures: no behaviour of Forge is replaced here."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import AsyncIterator, Generator
from importlib.util import find_spec
from typing import Any

import hypothesis
import pytest

from forge.embedded import store
from forge.embedded.launch import EmbeddedServer, start
from forge.embedded.models import DEFAULT_MODEL, MODELS

collect_ignore_glob = ["fixtures/*"]
MODEL = "tests/integration/"

# Who runs the tests in the background of a script has them ignore Ctrl-C, and all programs that they start with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine must not fail a property; pytest's own timeout watches over examples that hang. Nor must luck: the
# examples of a test are the same every time, and `--hypothesis-profile=explore` looks at others.
hypothesis.settings.register_profile(
    "explore", deadline=None, derandomize=False, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "forge", hypothesis.settings.get_profile("explore"), derandomize=True, database=None
)
hypothesis.settings.load_profile("forge")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file goes to one worker, so that what it prepares is prepared once; those with the model all go to one, first.

    Two model servers on two cores only slow one another down. ``xdist_group`` does not do that: pytest-xdist 3.8 writes
    the group into a node's id, where pytest 9 no longer sees it. The order is that of the collection, in which the
    tests that start processes come long before the many small ones.
    """
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

    class OneWorkerForTheModel(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return MODEL if path.startswith(MODEL) else path

        def _assign_work_unit(self, node: WorkerController) -> None:
            if MODEL in self.workqueue:
                self.workqueue.move_to_end(MODEL, last=False)
            super()._assign_work_unit(node)

        def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
            """Forgets what is done: after each test all that a worker ever had would be counted anew."""
            super().mark_test_complete(node, item_index, duration)
            work = self.assigned_work[node]
            for scope in [scope for scope, tests in work.items() if all(tests.values())]:
                del work[scope]

    config.option.loadscopereorder = False
    return OneWorkerForTheModel(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: no garbage collection need look through it, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, on one loop for the session, so that a server can serve many tests."""
    return "asyncio"


@pytest.fixture(scope="session")
def embedded_installed() -> None:
    """Skips, with the command that helps, where the embedded server or its model is missing.

    With ``FORGE_TEST_EMBEDDED=required`` (the Makefile sets it) it fails instead, so that no check passes by
    skipping what it is for.
    """
    missing = pytest.fail if os.environ.get("FORGE_TEST_EMBEDDED") == "required" else pytest.skip
    if find_spec("xllamacpp") is None:
        missing("needs the embedded extra: pip install -e '.[embedded]'")
    if not store.installed(MODELS[DEFAULT_MODEL]):
        missing("needs the embedded model: python -m forge.embedded install")


@pytest.fixture(scope="session")
async def embedded_server(anyio_backend: object, embedded_installed: None) -> AsyncIterator[EmbeddedServer]:
    """The embedded model server with Forge's tool-calling template; one for the whole session.

    Its answers are short, so that a model that goes on for ever does so for seconds, not for minutes.
    """
    async with await start(threads=1, parallel=2, context_length=4096, answer_length=400) as server:
        yield server


@pytest.fixture(scope="session")
async def toolless_server(anyio_backend: object, embedded_installed: None) -> AsyncIterator[EmbeddedServer]:
    """The same model with the chat template in its file, which knows no tools."""
    async with await start(threads=1, own_template=True) as server:
        yield server
