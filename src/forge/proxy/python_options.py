"""Arguments of the Python API as settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from forge.core.reasoning import ReasoningReplay
from forge.engine.policy import TextPolicy
from forge.proxy.limits import Limits
from forge.proxy.settings import Settings
from forge.proxy.workflows import load_workflows


class ProxyOptions(TypedDict, total=False):
    """The arguments of :class:`forge.proxy.ProxyServer`, all but the port."""

    backend_url: str | None
    backend: str | None
    model: str | None
    gguf: str | Path | None
    model_path: str | Path | None
    backend_port: int | None
    budget_mode: str | None
    budget_tokens: int | None
    extra_flags: Sequence[str] | None
    host: str
    serialize: bool | None
    max_retries: int
    max_tool_errors: int
    rescue_enabled: bool
    backend_capability: str
    inject_respond_tool: bool
    backend_timeout: float
    reasoning_replay: ReasoningReplay
    backend_api_key: str | None
    text_policy: TextPolicy
    constrain: bool
    loop_limit: int
    workflow: str | Path | None
    api_key: str | None
    allow_anonymous: bool
    allowed_hosts: Sequence[str]
    cors_origins: Sequence[str]
    max_concurrent: int | None
    limits: Limits | None


def settings_from(given: Mapping[str, Any]) -> Settings:
    """Arguments of the Python API by name (some or all) as settings, not checked yet."""
    fields = {name: value for name, value in given.items() if name in Settings.__dataclass_fields__}
    for name in ("gguf", "model_path"):
        if fields.get(name) is not None:
            fields[name] = str(fields[name])
    for name in ("api_key", "backend_api_key"):
        fields[name] = (given.get(name) or "").strip() or None
    workflow = given.get("workflow")
    return Settings(
        **fields
        | {
            **{
                name: tuple(given.get(name) or ())
                for name in ("extra_flags", "allowed_hosts", "cors_origins")
            },
            "workflows": load_workflows(Path(workflow).expanduser()) if workflow is not None else (),
            "rescue": given.get("rescue_enabled", True),
            "limits": given.get("limits") or Limits(),
        }
    )
