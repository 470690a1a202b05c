"""The vendors' SDKs for JavaScript: a call written as text arrives as a call, and an error as their typed exception."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from clients.agents import Place
from clients.reading_model import ReadingModel
from clients.test_agents import run
from servers.running import running_proxy

pytestmark = [pytest.mark.anyio, pytest.mark.clients]

HERE = Path(__file__).parent
CALL = "Let me look.\n```json\n{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}\n```"


@dataclass(frozen=True)
class Case:
    """``path`` is what the SDK wants behind the proxy's URL; ``call`` the call as it shows it."""

    script: str
    package: str
    path: str
    call: dict[str, object]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case("openai_sdk.mjs", "openai", "/v1", {"name": "get_weather", "arguments": '{"city": "Oslo"}'}),
            id="openai",
        ),
        pytest.param(
            Case(
                "anthropic_sdk.mjs",
                "@anthropic-ai/sdk",
                "",
                {"name": "get_weather", "input": {"city": "Oslo"}},
            ),
            id="anthropic",
        ),
    ],
)
async def test_calls_text_and_errors(
    case: Case,
    executable: Callable[[str], Path],
    project: Path,
    tmp_path: Path,
) -> None:
    node = shutil.which("node")
    folder = executable(case.package)
    assert node is not None
    place = Place(home=tmp_path / "home", project=project, url="")
    copy = folder / case.script  # modules are looked for from the script's own folder on
    shutil.copyfile(HERE / case.script, copy)
    async with ReadingModel(CALL) as model, running_proxy(model.url) as proxy:
        status, output = await run(Path(node), [str(copy), proxy.url + case.path], place, {})

    assert status == 0, output
    answer = json.loads(output)
    assert answer["whole"] == [case.call]
    assert answer["calls"] == [case.call]
    assert answer["text"].strip() == "Let me look."
    assert answer["error"]["kind"] == "BadRequestError"
    assert answer["error"]["status"] == 400
    assert "messages" in answer["error"]["message"]
