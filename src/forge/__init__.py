"""Forge: a reliability layer for self-hosted LLM tool calling.

Names are imported on first use, so that ``import forge`` costs next to nothing and needs no dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.clients.base import ChunkType as ChunkType
    from forge.clients.base import LLMClient as LLMClient
    from forge.clients.base import StreamChunk as StreamChunk
    from forge.clients.base import TokenUsage as TokenUsage
    from forge.clients.llamafile import LlamafileClient as LlamafileClient
    from forge.clients.ollama import OllamaClient as OllamaClient
    from forge.clients.openai_compat import OpenAICompatClient as OpenAICompatClient
    from forge.clients.vllm import VLLMClient as VLLMClient
    from forge.context.hardware import HardwareProfile as HardwareProfile
    from forge.context.hardware import detect_hardware as detect_hardware
    from forge.context.manager import CompactEvent as CompactEvent
    from forge.context.manager import ContextManager as ContextManager
    from forge.context.manager import default_context_warning as default_context_warning
    from forge.context.observations import ContextSession as ContextSession
    from forge.context.observations import ContextUsage as ContextUsage
    from forge.context.strategies import CompactStrategy as CompactStrategy
    from forge.context.strategies import NoCompact as NoCompact
    from forge.context.strategies import SlidingWindowCompact as SlidingWindowCompact
    from forge.context.strategies import TieredCompact as TieredCompact
    from forge.core.calls import LLMResponse as LLMResponse
    from forge.core.calls import TextResponse as TextResponse
    from forge.core.calls import ToolCall as ToolCall
    from forge.core.inference import InferenceResult as InferenceResult
    from forge.core.inference import prepare_backend_messages as prepare_backend_messages
    from forge.core.inference import run_inference as run_inference
    from forge.core.messages import Message as Message
    from forge.core.messages import MessageMeta as MessageMeta
    from forge.core.messages import MessageRole as MessageRole
    from forge.core.messages import MessageType as MessageType
    from forge.core.messages import ToolCallInfo as ToolCallInfo
    from forge.core.reasoning import DEFAULT_REASONING_REPLAY as DEFAULT_REASONING_REPLAY
    from forge.core.reasoning import REASONING_REPLAY_CHOICES as REASONING_REPLAY_CHOICES
    from forge.core.reasoning import ReasoningReplay as ReasoningReplay
    from forge.core.reasoning import fold_and_serialize as fold_and_serialize
    from forge.core.runner import WorkflowRunner as WorkflowRunner
    from forge.core.slot_worker import SlotWorker as SlotWorker
    from forge.core.steps import StepTracker as StepTracker
    from forge.core.workflow import ToolDef as ToolDef
    from forge.core.workflow import ToolSpec as ToolSpec
    from forge.core.workflow import Workflow as Workflow
    from forge.dialects.scanner import ReplyScanner as ReplyScanner
    from forge.dialects.scanner import parse_tool_calls as parse_tool_calls
    from forge.errors import BackendError as BackendError
    from forge.errors import BackendUnreachableError as BackendUnreachableError
    from forge.errors import BudgetResolutionError as BudgetResolutionError
    from forge.errors import ContextBudgetExceeded as ContextBudgetExceeded
    from forge.errors import ContextDiscoveryError as ContextDiscoveryError
    from forge.errors import ForgeError as ForgeError
    from forge.errors import HardwareDetectionError as HardwareDetectionError
    from forge.errors import MaxIterationsError as MaxIterationsError
    from forge.errors import PrerequisiteError as PrerequisiteError
    from forge.errors import StepEnforcementError as StepEnforcementError
    from forge.errors import StreamError as StreamError
    from forge.errors import ThinkingNotSupportedError as ThinkingNotSupportedError
    from forge.errors import ToolCallError as ToolCallError
    from forge.errors import ToolExecutionError as ToolExecutionError
    from forge.errors import ToolResolutionError as ToolResolutionError
    from forge.errors import WorkflowCancelledError as WorkflowCancelledError
    from forge.guardrails.error_tracker import ErrorTracker as ErrorTracker
    from forge.guardrails.guardrails import CheckResult as CheckResult
    from forge.guardrails.guardrails import Guardrails as Guardrails
    from forge.guardrails.nudge import Nudge as Nudge
    from forge.guardrails.response_validator import ResponseValidator as ResponseValidator
    from forge.guardrails.response_validator import ValidationResult as ValidationResult
    from forge.guardrails.step_enforcer import StepCheck as StepCheck
    from forge.guardrails.step_enforcer import StepEnforcer as StepEnforcer
    from forge.prompts.nudges import retry_nudge as retry_nudge
    from forge.prompts.nudges import step_nudge as step_nudge
    from forge.prompts.templates import extract_tool_call as extract_tool_call
    from forge.prompts.templates import rescue_tool_call as rescue_tool_call
    from forge.prompts.tool_prompt import build_tool_prompt as build_tool_prompt
    from forge.server import ServerManager as ServerManager
    from forge.server import setup_backend as setup_backend
    from forge.serving.budget import BudgetMode as BudgetMode
    from forge.serving.rpc_config import LlamaCppRpcConfig as LlamaCppRpcConfig
    from forge.serving.rpc_config import LlamaCppRpcWorkerConfig as LlamaCppRpcWorkerConfig
    from forge.tools.decorator import tool as tool
    from forge.tools.respond import RESPOND_TOOL_NAME as RESPOND_TOOL_NAME
    from forge.tools.respond import respond_spec as respond_spec
    from forge.tools.respond import respond_tool as respond_tool

    __version__: str

# Where each public name lives; kept beside the imports above, which are the same table for type checkers.
_MODULE_OF: dict[str, str] = {
    name: module
    for module, names in {
        "forge.clients.base": "ChunkType LLMClient StreamChunk TokenUsage",
        "forge.clients.llamafile": "LlamafileClient",
        "forge.clients.ollama": "OllamaClient",
        "forge.clients.openai_compat": "OpenAICompatClient",
        "forge.clients.vllm": "VLLMClient",
        "forge.core.inference": "InferenceResult prepare_backend_messages run_inference",
        "forge.core.runner": "WorkflowRunner",
        "forge.guardrails.error_tracker": "ErrorTracker",
        "forge.guardrails.guardrails": "CheckResult Guardrails",
        "forge.guardrails.nudge": "Nudge",
        "forge.guardrails.response_validator": "ResponseValidator ValidationResult",
        "forge.guardrails.step_enforcer": "StepCheck StepEnforcer",
        "forge.context.hardware": "HardwareProfile detect_hardware",
        "forge.context.manager": "CompactEvent ContextManager default_context_warning",
        "forge.context.observations": "ContextSession ContextUsage",
        "forge.context.strategies": "CompactStrategy NoCompact SlidingWindowCompact TieredCompact",
        "forge.core.calls": "LLMResponse TextResponse ToolCall",
        "forge.core.messages": "Message MessageMeta MessageRole MessageType ToolCallInfo",
        "forge.core.reasoning": "DEFAULT_REASONING_REPLAY REASONING_REPLAY_CHOICES ReasoningReplay fold_and_serialize",
        "forge.core.workflow": "ToolDef ToolSpec Workflow",
        "forge.core.slot_worker": "SlotWorker",
        "forge.core.steps": "StepTracker",
        "forge.dialects.scanner": "ReplyScanner parse_tool_calls",
        "forge.prompts.nudges": "retry_nudge step_nudge",
        "forge.prompts.templates": "extract_tool_call rescue_tool_call",
        "forge.prompts.tool_prompt": "build_tool_prompt",
        "forge.server": "ServerManager setup_backend",
        "forge.serving.budget": "BudgetMode",
        "forge.serving.rpc_config": "LlamaCppRpcConfig LlamaCppRpcWorkerConfig",
        "forge.tools.decorator": "tool",
        "forge.tools.respond": "RESPOND_TOOL_NAME respond_spec respond_tool",
        "forge.errors": (
            "BackendError BackendUnreachableError BudgetResolutionError ContextBudgetExceeded ContextDiscoveryError ForgeError HardwareDetectionError "
            "MaxIterationsError PrerequisiteError StepEnforcementError StreamError ThinkingNotSupportedError "
            "ToolCallError ToolExecutionError ToolResolutionError WorkflowCancelledError"
        ),
    }.items()
    for name in names.split()
}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # noqa: PLE0604 - computed from the table


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _installed_version()
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'forge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _installed_version() -> str:
    # importlib.metadata is slow to import, and few callers ask.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("forge-guardrails")
    except PackageNotFoundError:
        return "0.0.0+unknown"
