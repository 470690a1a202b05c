"""``check --live`` against a real llama-server."""

import pytest

from forge.proxy.check_report import passed
from forge.proxy.live_check import findings_of
from forge.proxy.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.integration]


async def test_a_real_server_is_described(embedded_server):
    findings = await findings_of(
        Settings(backend_url=embedded_server.base_url, backend="llamaserver", port=0)
    )
    found = {each.about: each for each in findings}
    assert passed(findings), findings
    assert f"{embedded_server.context_length:,}" in found["context"].found
    assert found["model"].found.startswith(embedded_server.model)
    assert found["streaming"].state == "ok"
    assert found["tool calling"].found
    assert found["constrained decoding"].state == "ok"
