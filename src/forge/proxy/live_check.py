"""Asking a backend what it can do: two short answers from it, and what Forge makes of them."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, cast

import msgspec

from forge.clients.backend import Backend
from forge.clients.model_catalog import read_catalog
from forge.core.calls import ToolCall
from forge.core.capabilities import Capabilities
from forge.core.events import CallDelta, Delta, Finish, ReasoningDelta, Started, TextDelta
from forge.core.request import ChatMessage, Request, Text, Tool
from forge.dialects import parse_tool_calls
from forge.errors import ForgeError
from forge.proxy.check_report import Finding
from forge.proxy.courier import Courier
from forge.proxy.lifecycle import loop_factory, why
from forge.proxy.runtime import Runtime
from forge.proxy.server import BindError
from forge.proxy.settings import Settings

_TOOL: Final = Tool(
    name="get_weather",
    description="Get the current weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Name of the city."}},
        "required": ["city"],
    },
)
_MOST_TOKENS: Final = msgspec.Raw(b"512")  # room for a model that thinks first


@dataclass(slots=True)
class Answer:
    """What came back for one request: what it was made of, and when (seconds since it was sent)."""

    text: str = ""
    reasoning: str = ""
    pieces: int = 0
    calls: dict[int, list[str]] = field(default_factory=dict)
    model: str | None = None
    finish: str = ""
    first_after: float | None = None
    seconds: float = 0.0

    def take(self, delta: Delta, after: float) -> None:
        """Add one delta, that came ``after`` seconds."""
        match delta:
            case TextDelta(text=text):
                self.text += text
            case ReasoningDelta(text=text):
                self.reasoning += text
            case CallDelta():
                call = self.calls.setdefault(delta.index, ["", ""])
                call[0] += delta.name or ""
                call[1] += delta.arguments
            case Started(model=model):
                self.model = model
                return
            case Finish(reason=reason):
                self.finish = reason
                return
            case _:
                return
        self.pieces += 1
        self.first_after = after if self.first_after is None else self.first_after


def examine(settings: Settings) -> list[Finding]:
    """Look at the backend of ``settings``; one that Forge starts is started for it, and ended.

    Nothing is raised for a backend that fails: that is a finding.
    """
    # No port is needed, and a proxy that runs on the wanted one must not be in the way.
    quiet = dataclasses.replace(settings, host="127.0.0.1", port=0, wait=False)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(findings_of(quiet))


async def findings_of(settings: Settings) -> list[Finding]:
    """The same for who has an event loop already; ``settings`` also say where it may listen for a moment."""
    runtime = Runtime(settings)
    began = time.monotonic()
    try:
        await runtime.open(require_backend=True)
        found = [Finding("reachable", "ok", f"{runtime.backend_url} answers after {_since(began)}")]
        return found + await examine_backend(runtime.backend, settings, await _listed(runtime.courier))
    except (ForgeError, BindError) as error:
        return [Finding("reachable", "error", why(error, settings.kind))]
    finally:
        await runtime.aclose()


async def examine_backend(backend: Backend, settings: Settings, listed: Sequence[str] = ()) -> list[Finding]:
    """What a backend that answers can do; ``listed`` are the models that it names."""
    try:
        known = await backend.capabilities()
    except (ForgeError, TimeoutError) as error:
        return [Finding("model", "error", why(error, settings.kind))]
    findings = [_context(known)]
    # A server of many models must be told which; whoever checks it need not have thought of that.
    model = settings.model or known.model or next(iter(listed), None)
    try:
        words = await ask(backend, "Count from one to five, in words.", model)
        findings.insert(0, _model(known, words, settings, listed))
        findings.append(_streaming(words))
        call = await ask(backend, "What is the weather in Paris? Use the tool.", model, _TOOL)
    except (ForgeError, TimeoutError) as error:
        return [*findings, Finding("answer", "error", why(error, settings.kind))]
    return [*findings, _tools(call, settings), _shaping(known, settings), _choice(known, settings)]


async def ask(backend: Backend, question: str, model: str | None, *tools: Tool) -> Answer:
    """Send one streamed request past all guards.

    Raises:
        ForgeError: the backend failed.
    """
    request = Request(
        messages=(ChatMessage(role="user", parts=(Text(question),)),),
        tools=tools,
        model=model,
        stream=True,
        options={"max_tokens": _MOST_TOKENS, "temperature": msgspec.Raw(b"0")},
    )
    answer, began = Answer(), time.monotonic()
    async with _exchange(backend, request) as deltas:
        async for delta in deltas:
            answer.take(delta, time.monotonic() - began)
    answer.seconds = time.monotonic() - began
    return answer


async def _listed(courier: Courier) -> list[str]:
    """The models that the backend names; none where it has no list, or does not show it."""
    try:
        async with courier.send("GET", "/v1/models", headers={}) as answer:
            body = await answer.read()
            return [each.id for each in read_catalog(body)] if answer.status == 200 else []
    except (ForgeError, TimeoutError):
        return []


@asynccontextmanager
async def _exchange(backend: Backend, request: Request) -> AsyncIterator[AsyncIterator[Delta]]:
    exchange = cast("AsyncGenerator[Delta, None]", backend.exchange(request))
    async with aclosing(exchange) as deltas:
        yield deltas


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.2f} s"


def _model(known: Capabilities, answer: Answer, settings: Settings, listed: Sequence[str]) -> Finding:
    name = settings.model or known.model or answer.model
    thinks = "; it thinks before it answers" if answer.reasoning or known.thinks else ""
    others = f" (of {len(listed)} that the backend lists)" if len(listed) > 1 else ""
    if name is None:
        return Finding(
            "model", "weak", "the backend does not name it", "passes on the name that a request gives"
        )
    return Finding("model", "ok", f"{name}{others}{thinks}")


def _context(known: Capabilities) -> Finding:
    if known.context_length is None:
        return Finding(
            "context",
            "weak",
            "the backend does not say how long it is",
            "/forge/usage stays empty, unless --budget-tokens says it",
        )
    return Finding("context", "ok", f"{known.context_length:,} tokens for one request")


def _streaming(answer: Answer) -> Finding:
    if answer.pieces == 0:
        return Finding("streaming", "error", f"the answer is empty (finish reason {answer.finish or 'none'})")
    if answer.pieces == 1:
        return Finding(
            "streaming",
            "weak",
            "the answer came in one piece",
            "sends comments, so that no client gives up waiting",
        )
    first = f"first after {answer.first_after:.2f} s" if answer.first_after is not None else ""
    return Finding("streaming", "ok", f"{answer.pieces} pieces, {first}, all after {answer.seconds:.2f} s")


def _tools(answer: Answer, settings: Settings) -> Finding:
    for name, arguments in answer.calls.values():
        if name == _TOOL.name and _is_object(arguments):
            return Finding("tool calling", "ok", f"a structured call: {name}({arguments})")
        return Finding(
            "tool calling",
            "weak",
            f"a structured call that is broken: {name}({arguments})",
            "mends it, or asks again",
        )
    reply = parse_tool_calls(answer.text, [_TOOL])
    if reply.calls:
        written = _written(reply.calls[0])
        if settings.rescue:
            return Finding("tool calling", "weak", written, "makes it a structured call")
        return Finding("tool calling", "error", written, "nothing: --no-rescue leaves it in the text")
    if reply.rejected:
        return Finding(
            "tool calling",
            "weak",
            f"a broken call in the text: {reply.rejected[0].text!r:.200}",
            "asks again",
        )
    end = "cut off by the token limit" if answer.finish == "length" else f"finish reason {answer.finish}"
    found = f"no call: {answer.text!r:.200} ({end})" if answer.text else f"no call and no text ({end})"
    return Finding(
        "tool calling", "weak", found, "asks again where a call is demanded; plain text is an answer else"
    )


def _written(call: ToolCall) -> str:
    notation = f" ({call.source.notation})" if call.source is not None else ""
    return f"a call written as text{notation}: {call.tool}"


def _shaping(known: Capabilities, settings: Settings) -> Finding:
    if not known.constrains:
        what = "only corrections in words" if settings.max_retries else "nothing"
        return Finding("constrained decoding", "weak", "not offered", what)
    means = f"by {known.constrained_by}" if known.constrained_by else "offered"
    if not settings.constrain:
        return Finding("constrained decoding", "ok", means, "does not use it (--no-constrain)")
    return Finding("constrained decoding", "ok", means, "the last attempt cannot be a broken call")


def _choice(known: Capabilities, settings: Settings) -> Finding:
    missing = sorted({"required", "named"} - known.tool_choice_modes)
    if not missing:
        return Finding("tool_choice", "ok", "auto, none, required and named are kept")
    means = "constrained decoding" if known.constrains and settings.constrain else "corrections"
    return Finding(
        "tool_choice",
        "weak",
        f"{' and '.join(missing)} not kept by the backend",
        f"sees to it by {means}",
    )


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except msgspec.DecodeError:
        return False
