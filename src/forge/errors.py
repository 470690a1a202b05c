"""Every error that Forge raises, as one tree.

::

    ForgeError
    ├── RequestError                    the caller's request cannot be served as written
    │   ├── MissingModelError           no model named, in the request or at start
    │   ├── UnsupportedModelError       no sampling settings are known for this model
    │   ├── MultipleCredentialsError    more than one credential for one call
    │   └── MissingCredentialError      none, where one is needed
    ├── RunError                        a run ended without its result
    │   ├── ToolCallError               no usable answer within the retry budget
    │   ├── ToolExecutionError          a tool kept failing
    │   ├── StepEnforcementError        the model kept skipping required steps
    │   ├── PrerequisiteError           the model kept calling a tool too early
    │   ├── MaxIterationsError          the iteration budget is spent
    │   ├── WorkflowCancelledError      someone cancelled it
    │   └── ContextBudgetExceeded       the conversation fits no more, even compacted
    ├── ToolTimeoutError                a tool took longer than it may
    ├── WorkerStoppedError              work was given to a SlotWorker that was stopped
    ├── BackendError                    the model server answered with an error
    │   ├── MalformedOutputError        ... because it could not read what its model wrote
    │   └── ThinkingNotSupportedError   ... because the model cannot think
    ├── BackendUnreachableError         nothing answers, or the connection broke
    │   └── BackendGivenUpError         ... and the server, one that Forge started, does not start any more
    ├── StreamError                     a stream ended without its end
    ├── BackendDiscoveryError           the server's metadata cannot be read
    ├── ContextDiscoveryError           the context length cannot be found out
    ├── HardwareDetectionError          the GPU tool's answer cannot be read
    ├── BudgetResolutionError           no context budget can be chosen
    ├── ServerStartError                a model server did not come up
    ├── EmbeddedModelError              the embedded server or its model is not usable
    └── ProtocolMisuseError             a driver or client of the engine breaks its contract (a bug there)

    ToolResolutionError (Exception)     raised *by tools*: a right call whose data did not resolve

Each class has ``code`` (a stable name for logs and wire), ``hint`` (what to do about it, or ""), ``status`` (the HTTP
status under which the proxy reports it) and its own fields. An error that leaves ``WorkflowRunner.run`` also has
``messages`` (the whole conversation, the failed answer included, to go on from), ``turn``, ``completed_steps``, ``report``.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any, ClassVar

__all__ = [
    "BackendDiscoveryError", "BackendError", "BackendGivenUpError", "BackendUnreachableError", "BudgetResolutionError",
    "ContextBudgetExceeded", "ContextDiscoveryError", "EmbeddedModelError", "ForgeError",
    "HardwareDetectionError", "MalformedOutputError", "MaxIterationsError",
    "MissingCredentialError", "MissingModelError", "MultipleCredentialsError", "PrerequisiteError",
    "ProtocolMisuseError", "RequestError", "RunError", "ServerStartError", "StepEnforcementError",
    "StreamError", "ThinkingNotSupportedError", "ToolCallError", "ToolExecutionError",
    "ToolResolutionError", "ToolTimeoutError", "UnsupportedModelError", "WorkerStoppedError",
    "WorkflowCancelledError",
]  # fmt: skip


class ForgeError(Exception):
    """Base of all errors of Forge; ``messages``, ``turn`` and so on are set on what leaves a run."""

    code: ClassVar[str] = "forge_error"
    status: int = 500
    hint: str = ""
    turn: int | None = None
    messages: list[Any] | None = None
    completed_steps: list[str] | None = None
    report: Any = None

    def __init__(self, *args: object, hint: str = "") -> None:
        super().__init__(*args)
        self.hint = hint or self.hint
        if self.hint:
            self.add_note(self.hint)  # for whoever only sees the traceback

    def __reduce__(self) -> tuple[Any, ...]:
        # Constructors take fields, not the finished text in ``args``, so the default way to unpickle fails.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # not in its stub


class RequestError(ForgeError):
    """The request cannot be served as it is written; ``param`` names the field at fault, if it is one."""

    code = "invalid_request"
    status = 400

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class MissingModelError(RequestError):
    """Neither the request nor the start-up options name a model."""

    code = "missing_model"

    def __init__(self) -> None:
        super().__init__("no model: name one in the request's 'model' field or start with --model", "model")


class UnsupportedModelError(RequestError):
    """Recommended sampling was asked for a model that none is known for."""

    code = "unsupported_model"
    hint = "Pass sampling values yourself, or leave recommended_sampling off."

    def __init__(self, model: str) -> None:
        super().__init__(f"no recommended sampling is known for model {model!r}", "model")
        self.model = model


class MultipleCredentialsError(RequestError):
    """More than one credential came with one call, and it is not said which one counts."""

    code = "multiple_credentials"

    def __init__(self, sources: Sequence[str]) -> None:
        super().__init__(f"more than one credential given: {', '.join(sources)}; send exactly one")
        self.sources = sources


class MissingCredentialError(RequestError):
    """The backend needs a credential and none is configured or was sent."""

    code = "missing_credential"
    status = 401

    def __init__(self, backend: str = "backend") -> None:
        super().__init__(f"no credential for {backend}: configure one or send it with the request")
        self.backend = backend


class RunError(ForgeError):
    """A run ended without its result."""

    code = "run_failed"


class ToolCallError(RunError):
    """The model gave no usable answer within the retry budget; ``raw_response`` is its last one."""

    code = "no_valid_call"
    hint = "Raise max_retries, simplify the tool's schema, or use a backend that constrains decoding."

    def __init__(
        self, message: str, raw_response: str | None = None, cause: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self.raw_response, self.cause = raw_response, cause


class ToolExecutionError(RunError):
    """A tool kept raising; ``cause`` is its last exception."""

    code = "tool_failed"

    def __init__(self, tool_name: str, cause: BaseException) -> None:
        super().__init__(f"Tool '{tool_name}' raised: {cause}")
        self.tool_name, self.cause = tool_name, cause


class StepEnforcementError(RunError):
    """The model kept calling ``terminal_tool`` while required steps were open."""

    code = "steps_skipped"

    def __init__(self, terminal_tool: str, attempts: int, pending_steps: Sequence[str]) -> None:
        pending = ", ".join(pending_steps)
        super().__init__(
            f"the model called {terminal_tool!r} {attempts} times before the required steps: {pending}"
        )
        self.terminal_tool, self.attempts, self.pending_steps = terminal_tool, attempts, pending_steps


class PrerequisiteError(RunError):
    """The model kept calling ``tool_name`` before the tools that it depends on."""

    code = "prerequisite_missing"

    def __init__(self, tool_name: str, violations: int, missing_prereqs: Sequence[str]) -> None:
        missing = ", ".join(missing_prereqs)
        super().__init__(
            f"the model called {tool_name!r} too early {violations} times; still missing: {missing}"
        )
        self.tool_name, self.violations, self.missing_prereqs = tool_name, violations, missing_prereqs


class MaxIterationsError(RunError):
    """The run did not end within its iterations.

    ``iterations`` is the configured limit, ``used`` how many model calls were made.
    """

    code = "max_iterations"
    hint = "Raise max_iterations if the work is really that long; the report shows where the calls went."

    def __init__(
        self,
        iterations: int,
        completed_steps: Sequence[str],
        pending_steps: Sequence[str],
        used: int | None = None,
    ) -> None:
        pending = ", ".join(pending_steps) or "none"
        super().__init__(f"no result after {iterations} iterations; required steps still open: {pending}")
        self.iterations, self.used = iterations, iterations if used is None else used
        self.completed_steps = list(completed_steps)
        self.pending_steps = pending_steps


class WorkflowCancelledError(RunError):
    """The run was cancelled. ``messages`` is its conversation so far, ``iteration`` the model calls made."""

    code = "cancelled"
    status = 499

    def __init__(self, messages: list[Any], completed_steps: Sequence[str], iteration: int) -> None:
        super().__init__(f"cancelled after {iteration} iterations")
        self.messages, self.iteration = messages, iteration
        self.completed_steps = list(completed_steps)


class ContextBudgetExceeded(RunError):  # noqa: N818 - a name of the public contract
    """The conversation does not fit the context, even after the last phase of compaction."""

    code = "context_budget_exceeded"
    status = 413
    hint = "Raise budget_tokens (and the server's context), or let tools return less."

    def __init__(self, estimated_tokens: int, budget_tokens: int) -> None:
        super().__init__(f"about {estimated_tokens} tokens do not fit the budget of {budget_tokens}")
        self.estimated_tokens, self.budget_tokens = estimated_tokens, budget_tokens


class ToolTimeoutError(ForgeError):
    """A tool ran longer than its timeout of ``seconds``; shown to the model as that tool's failure."""

    code = "tool_timeout"

    def __init__(self, tool_name: str, seconds: float) -> None:
        super().__init__(f"tool {tool_name!r} did not finish within {seconds:g} s")
        self.tool_name, self.seconds = tool_name, seconds


class WorkerStoppedError(ForgeError):
    """Work was given to a worker that was stopped; start it again first."""

    code = "worker_stopped"

    def __init__(self) -> None:
        super().__init__("the worker is stopped; call start() before submit()")


class ToolResolutionError(Exception):
    """For tools to raise: the call was right, but what it asked for does not exist.

    The model reads the text as the tool's result. It is no failure of the tool, so it costs no error budget and
    completes no step. Not a :class:`ForgeError`: it belongs to tools, and ``except ForgeError`` around a run must
    not catch it.
    """

    def __init__(self, message: str, tool_name: str | None = None) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class BackendError(ForgeError):
    """The model server answered with an error.

    ``body`` is what it sent. It may hold private text, so only ``detail`` becomes part of the message.
    """

    code = "backend_error"

    def __init__(self, status_code: int, detail: str = "", *, raw_body: str | None = None) -> None:
        reason = f": {detail}" if detail else ""
        super().__init__(f"Backend returned {status_code}{reason}")
        self.status_code, self.detail = status_code, detail
        self.body = detail if raw_body is None else raw_body
        # The backend's Retry-After header as it came, and its x-should-retry; whoever read the answer sets them.
        self.retry_after: str | None = None
        self.should_retry: bool | None = None
        # An error status is passed on; an error inside a good response (a stream) is a bad gateway.
        self.status = status_code if status_code >= 400 else 502


class MalformedOutputError(BackendError):
    """The server's own parser could not read what the model wrote (llama-server then answers 500); a right request."""

    code = "malformed_output"


class ThinkingNotSupportedError(BackendError):
    """Thinking was asked of a model that cannot think."""

    code = "thinking_not_supported"
    hint = "Switch think off for this model."

    def __init__(self, model: str, status_code: int = 400, body: str = "") -> None:
        super().__init__(status_code, raw_body=body)
        self.args = (f"model {model!r} does not support thinking",)
        self.model = model


class BackendUnreachableError(ForgeError):
    """Nothing answers at ``url``, or the connection broke; ``cause`` is the network's own error."""

    code = "backend_unreachable"
    status = 502
    hint = "Is the model server running, and is the URL right?"
    _what = "no backend at {url}"

    def __init__(self, url: str, cause: BaseException | None = None) -> None:
        reason = (str(cause) or type(cause).__name__) if cause is not None else "no answer"
        super().__init__(f"{self._what.format(url=url)}: {reason}")
        self.url, self.cause = url, cause


class BackendGivenUpError(BackendUnreachableError):
    """The server that Forge started died and did not start again; ``cause`` is the last failure. It is not tried again."""

    code = "backend_given_up"
    hint = "Mend the cause and start Forge anew; its log has what the server wrote last."
    _what = "the model server that Forge started was given up"


class StreamError(ForgeError):
    """A stream ended without saying that it was finished."""

    code = "stream_broken"
    status = 502

    def __init__(self, message: str = "the stream ended without a FINAL chunk") -> None:
        super().__init__(message)


class BackendDiscoveryError(ForgeError):
    """The server's own description (models, properties) cannot be read."""

    code = "backend_discovery_failed"
    status = 502

    def __init__(self, status_code: int | None = None) -> None:
        answer = "no usable answer" if status_code is None else f"status {status_code}"
        super().__init__(f"the backend's metadata cannot be read: {answer}")
        self.status_code = status_code


class ContextDiscoveryError(ForgeError):
    """The backend's context length cannot be found out, because of ``cause``."""

    code = "context_discovery_failed"

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"the context length cannot be found out: {cause}")
        self.cause = cause


class HardwareDetectionError(ForgeError):
    """A GPU tool ran, but what it said cannot be read, because of ``cause``."""

    code = "hardware_detection_failed"

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"the GPU's description cannot be read: {cause}")
        self.cause = cause


class BudgetResolutionError(ForgeError):
    """No context budget can be chosen."""

    code = "budget_unresolved"
    hint = "Give the budget in tokens explicitly."

    def __init__(self, cause: BaseException | None = None) -> None:
        super().__init__(f"no context budget: {cause or 'no GPU was found and no explicit budget was given'}")
        self.cause = self.__cause__ = cause


class ServerStartError(ForgeError, RuntimeError):
    """A model server did not come up. ``log`` holds the last lines that it wrote. By contract a RuntimeError too."""

    code = "server_start_failed"

    def __init__(self, message: str, *, log: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.log = log


class EmbeddedModelError(ForgeError):
    """The embedded server or its model is missing, broken or cannot be fetched."""

    code = "embedded_model"


class ProtocolMisuseError(ForgeError):
    """A driver or a client broke its contract with the engine: a bug there, not the model's or backend's fault."""

    code = "protocol_misuse"
