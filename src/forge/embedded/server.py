"""``python -m forge.embedded.server``: llama.cpp's HTTP server from the xllamacpp wheel, as a process of its own.

Takes the flags of ``llama-server`` that Forge uses. When the server listens, one JSON line with its address goes
to standard output; everything else, llama.cpp's own log included, goes to standard error. It exits with 0 on
SIGTERM once it listens (a signal while it loads ends it on the spot), with 1 when it cannot start, and never stays behind: ``serving/guard.py`` runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m forge.embedded.server", allow_abbrev=False)
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--alias", help="model name to report")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ctx-size", type=int, default=0, help="tokens; 0 takes the model's")
    parser.add_argument(
        "--predict",
        type=int,
        default=-1,
        help="tokens of an answer whose request sets no limit; -1: all that fit",
    )
    parser.add_argument("--threads", type=int, default=0, help="0 lets llama.cpp choose")
    parser.add_argument("--parallel", type=int, default=1, help="requests served at once")
    parser.add_argument("--chat-template-file", help="Jinja template used in place of the model's own")
    return parser.parse_args()


def _parameters(options: argparse.Namespace) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.ctx_size
    params.n_predict = options.predict
    params.n_parallel = options.parallel
    params.kv_unified = options.parallel > 1  # every request may use the whole context
    if options.threads > 0:
        params.cpuparams.n_threads = options.threads
    if options.alias:
        params.model_alias = {options.alias}
    if options.chat_template_file:
        params.chat_template = Path(options.chat_template_file).read_text(encoding="utf-8")
    params.ui = False
    # llama.cpp would let any web page that the user has open talk to the server.
    params.cors_origins = "localhost"
    params.cors_credentials = False
    return params


def _keep_stdout_for_the_address() -> int:
    """A private copy of standard output; from here on whatever writes to it, C++ included, writes to stderr."""
    copy = os.dup(1)
    os.dup2(2, 1)
    return copy


def main() -> int:
    """Serve until told to stop."""
    options = _arguments()
    announcements = _keep_stdout_for_the_address()
    stop = threading.Event()
    try:
        # Loading is one long call into C++, in which no handler of ours would run: until it returns, signals end us.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        import xllamacpp

        server = xllamacpp.Server(_parameters(options))
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    os.write(announcements, json.dumps({"listening": server.listening_address}).encode() + b"\n")
    stop.wait()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    if code == 0:
        # Not sys.exit: taking llama.cpp's threads down in order can take longer than anyone wants to wait.
        os._exit(0)
    # llama.cpp writes its log on a thread of its own; an orderly exit lets it finish saying why it could not start.
    sys.exit(code)
