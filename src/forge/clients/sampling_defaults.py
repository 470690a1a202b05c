"""Sampling that model makers recommend, by the names under which their models are served. Pure data.

Keys are Ollama tags and the stems of GGUF and llamafile files. Sources: the model cards and generation configs of
the makers. Llama 3.1, Mistral 7B v0.3 and base Phi-4 are left out, since none is published for them. gpt-oss must
not get repeat or presence penalties. Granite 4.1 takes over the values of 4.0, which nobody has confirmed.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Final

_VALUES: Final[tuple[tuple[dict[str, Any], tuple[str, ...]], ...]] = (
    (
        {"min_p": 0.0, "temperature": 0.7, "top_k": 20, "top_p": 0.8},
        (
            "qwen3:4b-instruct-2507-q4_K_M",
            "qwen3-next:80b-a3b-instruct-q4_K_M",
            "Qwen3-Next-80B-A3B-Instruct-Q4_K_M",
        ),
    ),
    (
        {"min_p": 0.0, "temperature": 0.6, "top_k": 20, "top_p": 0.95},
        (
            "qwen3:4b-thinking-2507-q4_K_M",
            "qwen3:8b-q4_K_M",
            "Qwen3-8B-Q4_K_M",
            "qwen3:8b-q8_0",
            "Qwen3-8B-Q8_0",
            "qwen3:14b-q4_K_M",
            "Qwen3-14B-Q4_K_M",
        ),
    ),
    (
        {"min_p": 0.0, "presence_penalty": 1.5, "temperature": 1.0, "top_k": 20, "top_p": 0.95},
        (
            "qwen3.5:27b-q4_K_M",
            "Qwen3.5-27B-Q4_K_M",
            "qwen3.5:35b-a3b-q4_K_M",
            "Qwen3.5-35B-A3B-Q4_K_M",
            "qwen3.6:35b-a3b-ud-q4_K_M",
            "Qwen3.6-35B-A3B-UD-Q4_K_M",
        ),
    ),
    (
        {"min_p": 0.0, "presence_penalty": 0.0, "temperature": 1.0, "top_k": 20, "top_p": 0.95},
        (
            "qwen3.6:27b-q4_K_M",
            "Qwen3.6-27B-Q4_K_M",
        ),
    ),
    (
        {
            "min_p": 0.0,
            "presence_penalty": 1.5,
            "repeat_penalty": 1.0,
            "temperature": 1.0,
            "top_k": 20,
            "top_p": 0.95,
        },
        (
            "ornith-1.5:9b",
            "Ornith-1.5-9B-Q4_K_M",
            "Ornith-1.5-122B-UD-Q4_K_XL",
        ),
    ),
    (
        {
            "chat_template_kwargs": {"reasoning_effort": "xhigh"},
            "min_p": 0.0,
            "presence_penalty": 0.0,
            "repeat_penalty": 1.0,
            "temperature": 1.0,
            "top_k": 20,
            "top_p": 0.95,
        },
        (
            "Qwen3.8-27B-UD-Q4_K_XL",
            "Qwen3.8-Flash-Next-UD-Q4_K_XL",
        ),
    ),
    (
        {"temperature": 0.6, "top_k": 20, "top_p": 0.95},
        (
            "Ornith-1.5-35B-Q4_K_M",
            "Mellum2-12B-A2.5B-Thinking-Q4_K_M",
            "Mellum2-12B-A2.5B-Instruct-Q4_K_M",
            "Mellum2.1-12B-A2.5B-Thinking-Q4_K_M",
        ),
    ),
    (
        {"repeat_penalty": 1.05, "temperature": 0.7, "top_k": 20, "top_p": 0.8},
        (
            "qwen3-coder:30b-a3b-instruct-q4_K_M",
            "Qwen3-Coder-30B-A3B-Instruct-Q4_K_M",
        ),
    ),
    (
        {"temperature": 1.0, "top_k": 40, "top_p": 0.95},
        (
            "qwen3-coder-next:80b-a3b-q4_K_M",
            "Qwen3-Coder-Next-Q4_K_M",
        ),
    ),
    (
        {"temperature": 1.0, "top_k": 64, "top_p": 0.95},
        (
            "gemma4:31b-it-q4_K_M",
            "gemma-4-31B-it-Q4_K_M",
            "gemma4:26b-a4b-it-q4_K_M",
            "gemma-4-26B-A4B-it-UD-Q4_K_M",
            "gemma4:26b-a4b-it-q8_0",
            "gemma-4-26B-A4B-it-Q8_0",
            "gemma4:e4b-it-q4_K_M",
            "gemma-4-E4B-it-Q4_K_M",
            "gemma4:e4b-it-q8_0",
            "gemma-4-E4B-it-Q8_0",
            "Muse-Glimmer-30B-UD-Q4_K_XL",
        ),
    ),
    (
        {"chat_template_kwargs": {"reasoning_effort": "high"}, "temperature": 0.7},
        (
            "mistral-small-4:119b-2603-q4_K_M",
            "Mistral-Small-4-119B-2603-UD-Q4_K_M",
        ),
    ),
    (
        {"temperature": 0.7, "top_k": 20, "top_p": 0.8},
        ("Qwen3.5-122B-A10B-Q4_K_M",),
    ),
    (
        {
            "chat_template_kwargs": {"enable_thinking": True},
            "min_p": 0.0,
            "temperature": 1.0,
            "top_k": 20,
            "top_p": 1.0,
        },
        (
            "Laguna-S-2.1-UD-Q4_K_XL",
            "Laguna-XS-2.1-Q4_K_M",
        ),
    ),
    (
        {"chat_template_kwargs": {"reasoning_effort": "low"}, "temperature": 1.0, "top_p": 0.95},
        (
            "DeepSeek-V4-Flash-0731-UD-Q4_K_XL",
            "GLM-5.3-Flash-UD-IQ4_XS",
        ),
    ),
    (
        {"chat_template_kwargs": {"reasoning_effort": "max"}, "min_p": 0.0, "temperature": 1.0, "top_p": 1.0},
        ("Inkling-Small-UD-IQ4_XS",),
    ),
    (
        {
            "chat_template_kwargs": {"reasoning_effort": "medium"},
            "min_p": 0.0,
            "temperature": 1.0,
            "top_k": 0,
            "top_p": 1.0,
        },
        (
            "gpt-oss:120b-q4_K_M",
            "gpt-oss-120b-Q4_K_M",
        ),
    ),
    (
        {
            "chat_template_kwargs": {
                "enable_thinking": True,
                "force_nonempty_content": True,
                "low_effort": True,
            },
            "temperature": 1.0,
            "top_p": 0.95,
        },
        (
            "nemotron-3-super:120b-a12b-q4_K_M",
            "NVIDIA-Nemotron-3-Super-120B-A12B-UD-Q4_K_M",
        ),
    ),
    (
        {
            "chat_template_kwargs": {"enable_thinking": True, "truncate_history_thinking": False},
            "temperature": 1.0,
            "top_p": 0.95,
        },
        ("NVIDIA-Nemotron-3.5-Bolt-74B-A9B-24GB",),
    ),
    (
        {
            "chat_template_kwargs": {"enable_thinking": True, "truncate_history_thinking": True},
            "temperature": 1.0,
            "top_p": 0.95,
        },
        ("NVIDIA-Nemotron-3.5-Super-VL-120B-A12B-UD-Q4_K_XL",),
    ),
    (
        {"chat_template_kwargs": {"enable_thinking": True}, "temperature": 0.6, "top_p": 0.95},
        ("Nemotron-3-Nano-30B-A3B-Q4_K_M",),
    ),
    (
        {"temperature": 0.15},
        (
            "mistral-small-3.2:24b-instruct-2506-q4_K_M",
            "Mistral-Small-3.2-24B-Instruct-2506-Q4_K_M",
            "mistral-small-3.2:24b-instruct-2506-q8_0",
            "Mistral-Small-3.2-24B-Instruct-2506-Q8_0",
            "devstral-small-2:24b-instruct-2512-q4_K_M",
            "Devstral-Small-2-24B-Instruct-2512-Q4_K_M",
            "devstral-small-2:24b-instruct-2512-q8_0",
            "Devstral-Small-2-24B-Instruct-2512-Q8_0",
        ),
    ),
    (
        {"temperature": 0.05},
        (
            "ministral-3:8b-instruct-2512-q4_K_M",
            "Ministral-3-8B-Instruct-2512-Q4_K_M",
            "ministral-3:8b-instruct-2512-q8_0",
            "Ministral-3-8B-Instruct-2512-Q8_0",
            "ministral-3:14b-instruct-2512-q4_K_M",
            "Ministral-3-14B-Instruct-2512-Q4_K_M",
        ),
    ),
    (
        {"temperature": 0.7},
        (
            "ministral-3:8b-reasoning-2512-q4_K_M",
            "Ministral-3-8B-Reasoning-2512-Q4_K_M",
            "ministral-3:8b-reasoning-2512-q8_0",
            "Ministral-3-8B-Reasoning-2512-Q8_0",
        ),
    ),
    (
        {"temperature": 1.0},
        (
            "ministral-3:14b-reasoning-2512-q4_K_M",
            "Ministral-3-14B-Reasoning-2512-Q4_K_M",
        ),
    ),
    (
        {"temperature": 0.3},
        (
            "mistral-nemo:12b-instruct-2407-q4_K_M",
            "Mistral-Nemo-Instruct-2407-Q4_K_M",
            "Mistral-Nemo-Instruct-2407.Q4_K_M",
        ),
    ),
    (
        {"repeat_penalty": 1.05, "temperature": 0.2, "top_k": 80},
        ("LFM2.5-8B-A1B-Q4_K_M",),
    ),
    (
        {"temperature": 0.0, "top_k": 0, "top_p": 1.0},
        (
            "granite-4.0:h-micro-q4_K_M",
            "granite-4.0-h-micro-Q4_K_M",
            "granite-4.0:h-tiny-q4_K_M",
            "granite-4.0-h-tiny-Q4_K_M",
            "granite4.1:8b-q4_K_M",
            "granite-4.1-8b-Q4_K_M",
            "granite4.1:8b-q8_0",
            "granite-4.1-8b-Q8_0",
        ),
    ),
)

RECOMMENDED_SAMPLING: Final[dict[str, dict[str, Any]]] = {
    key: values for values, keys in _VALUES for key in keys
}
"""Sampling fields by model name."""

_QUANTISATION = re.compile(r"[-.](?:ud-)?(?:i?q\d\w*|bf16|f16|f32|fp16|mxfp4)$", re.IGNORECASE)


def _fold(model: str) -> str:
    return _QUANTISATION.sub("", model).lower()


_BY_STEM: Final[dict[str, dict[str, Any]]] = {
    _fold(key): values for key, values in RECOMMENDED_SAMPLING.items()
}


def recommended_sampling(model: str) -> dict[str, Any] | None:
    """The sampling fields for ``model``, or None where none are known. The caller's own copy.

    The name is looked up as it is first, then without regard to case and quantisation suffix: another
    quantisation of the same model wants the same sampling.
    """
    values = RECOMMENDED_SAMPLING.get(model) or _BY_STEM.get(_fold(model))
    return copy.deepcopy(values) if values is not None else None
