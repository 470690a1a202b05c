"""The command ``llama-server`` for tests: llama.cpp's real HTTP server from the xllamacpp wheel, with its flags.

``FORGE_TEST_LAUNCHES`` names a file to which each start adds its command line as one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("-c", "--ctx-size", type=int, default=0)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-ngl", "--n-gpu-layers")
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("--jinja", action="store_true")
    parser.add_argument("--kv-unified", action="store_true")
    parser.add_argument("--cache-type-k")
    parser.add_argument("--cache-type-v")
    parser.add_argument("--chat-template-file")
    parser.add_argument("--api-key")
    # Topology of RPC: accepted, since this build has no worker to share with.
    for flag in ("--rpc", "--device", "--split-mode", "--tensor-split"):
        parser.add_argument(flag)
    return parser.parse_args()


def main() -> int:
    launches = os.environ.get("FORGE_TEST_LAUNCHES")
    if launches:
        with Path(launches).open("a") as file:
            file.write(json.dumps(sys.argv[1:]) + "\n")
    given = options()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = given.model
    params.hostnames = [given.host]
    params.port = given.port
    params.n_ctx = given.ctx_size
    params.n_parallel = given.parallel
    params.kv_unified = given.kv_unified
    params.cpuparams.n_threads = given.threads
    for name in ("cache_type_k", "cache_type_v"):
        kind = getattr(given, name)
        if kind:
            setattr(params, name, getattr(xllamacpp.ggml_type, f"GGML_TYPE_{kind.upper()}"))
    if given.chat_template_file:
        params.chat_template = Path(given.chat_template_file).read_text(encoding="utf-8")
    if given.api_key:
        params.api_keys = [given.api_key]
    params.ui = False
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = xllamacpp.Server(params)  # serves until it is collected
    except RuntimeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stderr.write(f"listening on {server.listening_address}\n")
    stop.wait()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
