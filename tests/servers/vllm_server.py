"""``vllm serve MODEL FLAGS...``, as an installed vLLM for the CPU can be started: its own command looks for a
distribution of another name and gives up. Run with the interpreter of that environment.
"""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    command, model, *flags = sys.argv[1:]
    if command != "serve":
        sys.exit(f"unknown command: {command}")
    sys.argv = ["vllm", "--model", model, *flags]
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)
