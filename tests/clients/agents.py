"""The coding agents that are driven for real: how each installs, is pointed at Forge, and runs without a terminal.

Versions are pinned: what an agent sends and how it is called changes between them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODEL = "scripted"
PROMPT = "Read the file README.md and tell me the secret word that is in it."

NPM_PACKAGES = {
    "pi": "@mariozechner/pi-coding-agent@0.73.1",
    "opencode": "opencode-ai@1.18.33",
    "claude": "@anthropic-ai/claude-code@2.1.197",
    "codex": "@openai/codex@0.171.0",
    "qwen": "@qwen-code/qwen-code@0.15.10",
    "cn": "@continuedev/cli@1.5.47",
}
SDK_PACKAGES = {"openai": "openai@6.49.0", "@anthropic-ai/sdk": "@anthropic-ai/sdk@1.14.0"}
PIP_PACKAGES = {"aider": "aider-chat==0.86.2"}


@dataclass(frozen=True)
class Place:
    """Where one agent runs: its own home, its project folder and the proxy's root URL."""

    home: Path
    project: Path
    url: str
    model: str = MODEL
    prompt: str = PROMPT
    context: int = 32_768

    def write(self, path: str, content: object) -> Path:
        """A file below the home; what is not text becomes JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return file


@dataclass(frozen=True)
class Agent:
    """``launch`` writes the agent's settings and gives its arguments and environment.

    ``reading`` is what the scripted model writes to read a file, given the file's path: a call as text, broken in the way
    that models break them, of the tool that this agent offers.
    """

    name: str
    program: str
    launch: Callable[[Place], tuple[list[str], dict[str, str]]]
    reading: Callable[[str], str]


def environment(home: Path) -> dict[str, str]:
    """What an agent sees: nothing of the user's settings, keys or proxies."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "NO_COLOR": "1",
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _pi(place: Place) -> tuple[list[str], dict[str, str]]:
    model = {"id": place.model, "name": "local", "contextWindow": place.context, "maxTokens": 1024}
    provider = {
        "baseUrl": f"{place.url}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [model],
    }
    place.write(".pi/agent/models.json", {"providers": {"forge": provider}})
    argv = ["-p", "--provider", "forge", "--model", place.model, place.prompt]
    return argv, {"PI_OFFLINE": "1"}


def _opencode(place: Place) -> tuple[list[str], dict[str, str]]:
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "forge": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Forge",
                "options": {"baseURL": f"{place.url}/v1", "apiKey": "none"},
                "models": {
                    place.model: {"name": "local", "limit": {"context": place.context, "output": 1024}}
                },
            }
        },
    }
    path = place.write("opencode.json", config)
    argv = ["run", "-m", f"forge/{place.model}", place.prompt]
    return argv, {"OPENCODE_CONFIG": str(path), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _claude(place: Place) -> tuple[list[str], dict[str, str]]:
    argv = ["-p", place.prompt, "--model", place.model, "--tools", "Read,Bash", "--allowedTools", "Read"]
    return argv, {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "none",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(place: Place) -> tuple[list[str], dict[str, str]]:
    place.write(
        ".codex/config.toml",
        f"""model = "{place.model}"
model_provider = "forge"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.forge]
name = "Forge"
base_url = "{place.url}/v1"
wire_api = "responses"
""",
    )
    argv = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", place.prompt]
    return argv, {"CODEX_HOME": str(place.home / ".codex")}


def _qwen(place: Place) -> tuple[list[str], dict[str, str]]:
    place.write(".qwen/settings.json", {"privacy": {"usageStatisticsEnabled": False}})
    argv = ["--auth-type", "openai", "--approval-mode", "yolo", "-p", place.prompt]
    return argv, {
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": place.model,
    }


def _continue(place: Place) -> tuple[list[str], dict[str, str]]:
    path = place.write(
        "continue.yaml",
        f"""name: local
version: 1.0.0
schema: v1
models:
  - name: local
    provider: openai
    model: {place.model}
    apiBase: {place.url}/v1
    apiKey: none
    roles: [chat]
    capabilities: [tool_use]
""",
    )
    argv = ["-p", "--config", str(path), "--auto", place.prompt]
    return argv, {"CONTINUE_TELEMETRY_ENABLED": "0", "CONTINUE_ALLOW_ANONYMOUS_TELEMETRY": "0"}


def aider(place: Place) -> tuple[list[str], dict[str, str]]:
    """Aider offers no tools: it edits by blocks in the text, which must come through untouched."""
    argv = [
        *("--model", f"openai/{place.model}", "--message", "Change the secret word to HERON.", "README.md"),
        *("--yes-always", "--no-git", "--no-auto-commits", "--no-check-update", "--no-show-model-warnings"),
        *("--no-analytics", "--edit-format", "diff", "--map-tokens", "0", "--no-show-release-notes"),
    ]
    return argv, {"OPENAI_API_BASE": f"{place.url}/v1", "OPENAI_API_KEY": "none", "AIDER_ANALYTICS": "false"}


def _xml(path: str) -> str:
    return f"I will read it.\n<function=Read>\n<parameter=file_path>\n{path}\n</parameter>\n</function>\n</tool_call>"


AGENTS = (
    Agent(
        "pi",
        "pi",
        _pi,
        lambda path: '<tools>\n{"name": "read", "arguments": {"path": "README.md"}}\n</tools>',
    ),
    Agent(
        "opencode",
        "opencode",
        _opencode,
        lambda path: (
            f'```json\n{{"name": "read", "arguments": {{"filePath": "{path}", "limit": "20",}}}}\n```'
        ),
    ),
    Agent("claude-code", "claude", _claude, _xml),
    Agent(
        "codex",
        "codex",
        _codex,
        lambda path: (
            "<tool_call>\n{'name': 'exec_command', 'arguments': {'cmd': 'cat README.md'}}\n</tool_call>"
        ),
    ),
    Agent(
        "qwen-code",
        "qwen",
        _qwen,
        lambda path: f'[TOOL_CALLS][{{"name": "read_file", "arguments": {{"file_path": "{path}"}}}}]',
    ),
    Agent(
        "continue",
        "cn",
        _continue,
        lambda path: f'{{{{"name": "Read", "arguments": {{"filepath": "{path}"}}}}}}',
    ),
)


def program(folder: Path, name: str) -> Path:
    """An agent's executable in the folder that ``scripts/clients.py`` filled; for an SDK, its package's folder."""
    if name in SDK_PACKAGES:
        return folder / "node_modules" / name
    if name in PIP_PACKAGES:
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        return folder / name / scripts / name
    return folder / "node_modules" / ".bin" / name
