"""Sends tool-calling requests to an OpenAI-compatible server and judges the calls that come back."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
import jsonschema_rs
from cases import Case

MAX_TOKENS = 256
_TIMEOUT = aiohttp.ClientTimeout(total=600)


@dataclass(frozen=True)
class Answer:
    """What one request gave.

    ``wrote``: the model's text or calls, for a person to read. ``valid``: there is a call, and every call names
    an offered tool and fits its schema. ``right``: the first one is also of the tool that the request was for.
    """

    wrote: str
    valid: bool
    right: bool
    seconds: float
    prompt_tokens: int
    tokens: int
    finish_reason: str = ""


async def ask(
    session: aiohttp.ClientSession, base_url: str, case: Case, tool_choice: str, max_tokens: int = MAX_TOKENS
) -> Answer:
    """Send one request, not streamed, at temperature 0."""
    body = {
        "messages": [
            {
                "role": "system",
                "content": "You are a helpful assistant. Use the tools to do what the user asks.",
            },
            {"role": "user", "content": case.prompt},
        ],
        "tools": list(case.tools),
        "tool_choice": tool_choice,
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    started = time.perf_counter()
    async with session.post(f"{base_url}/v1/chat/completions", json=body, timeout=_TIMEOUT) as response:
        status, payload = response.status, await response.read()
    return judge(case, status, payload, time.perf_counter() - started)


def judge(case: Case, status: int, payload: bytes, seconds: float) -> Answer:
    """Read a response; an error is an answer without calls."""
    if status != 200:
        return Answer(f"HTTP {status}: {payload.decode('utf-8', 'replace')}", False, False, seconds, 0, 0)
    reply = json.loads(payload)
    message = reply["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    usage = reply.get("usage") or {}
    valid = bool(calls) and all(fits(case, call) for call in calls)
    return Answer(
        wrote=" ".join(f"{call['name']}({call['arguments']})" for call in calls)
        or message.get("content")
        or "",
        valid=valid,
        right=valid and calls[0]["name"] == case.right,
        seconds=seconds,
        prompt_tokens=usage.get("prompt_tokens", 0),
        tokens=usage.get("completion_tokens", 0),
        finish_reason=reply["choices"][0].get("finish_reason") or "",
    )


def fits(case: Case, call: dict[str, Any]) -> bool:
    """Whether a call names an offered tool and its arguments are JSON that fits that tool's schema."""
    schema = case.schemas.get(call.get("name", ""))
    if schema is None:
        return False
    try:
        arguments = json.loads(call.get("arguments") or "")
    except ValueError:
        return False
    return jsonschema_rs.validator_for(schema).is_valid(arguments)
