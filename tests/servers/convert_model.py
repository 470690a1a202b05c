"""``convert_model.py GGUF TEMPLATE FOLDER``: a GGUF model in the form that vLLM serves, with a chat template.

Run with the interpreter of vLLM's environment, which has transformers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM


def main(source: str, template: str, target: str) -> None:
    path = Path(source)
    loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    # What was loaded from a GGUF file refuses to be saved; a fresh model with the same weights does not.
    config = loaded.config
    del config.quantization_config
    fresh = LlamaForCausalLM(config)
    fresh.load_state_dict(loaded.state_dict())
    partial = f"{target}.{os.getpid()}"
    fresh.to(torch.bfloat16).save_pretrained(partial)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    tokenizer.chat_template = Path(template).read_text(encoding="utf-8")
    tokenizer.save_pretrained(partial)
    Path(partial).rename(target)  # whole, or not there


if __name__ == "__main__":
    main(*sys.argv[1:])
