"""A model server as far as Forge's managed mode can see: it listens where its flags say and describes itself.

For what the real one cannot show at will: another kind of server, a slow start, a start that fails. Settings come
from the environment: ``FORGE_TEST_LAUNCHES`` (file for the command lines), ``FORGE_TEST_FAIL`` (last words of a
start that fails), ``FORGE_TEST_CONTEXT`` (tokens; "none" leaves them unsaid), ``FORGE_TEST_LISTEN`` (another port
than the one asked for; 0 for one that nobody knows), ``FORGE_TEST_STUBBORN`` (it does not end when asked to).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WORDS = sys.argv[1:]


def value(*flags: str, default: str = "") -> str:
    return next((WORDS[place + 1] for place, word in enumerate(WORDS) if word in flags), default)


def context() -> int | None:
    said = os.environ.get("FORGE_TEST_CONTEXT", "8192")
    given = value("-c", "--max-model-len")
    return None if said == "none" else int(given or said)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        key = value("--api-key")
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer(401, {"error": "who are you?"})
        elif self.path == "/props":
            self.answer(200, {"default_generation_settings": {"n_ctx": context()}, "model_path": value("-m")})
        elif self.path == "/v1/models":
            self.answer(200, {"data": [{"id": WORDS[1], "max_model_len": context()}]})
        else:
            self.answer(404, {})

    def do_POST(self) -> None:
        """A chat: the first word of a stream, and then nothing more."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        chunk = {
            "choices": [
                {"index": 0, "delta": {"role": "assistant", "content": "Well"}, "finish_reason": None}
            ]
        }
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()
        threading.Event().wait()

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, template: str, *args: object) -> None:
        sys.stderr.write(f"{template % args}\n")


def main() -> int:
    launches = os.environ.get("FORGE_TEST_LAUNCHES")
    if launches:
        with Path(launches).open("a") as file:
            file.write(json.dumps([Path(sys.argv[0]).name, *WORDS]) + "\n")
    sys.stdout.write("starting\n")
    if os.environ.get("FORGE_TEST_STUBBORN"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    failure = os.environ.get("FORGE_TEST_FAIL")
    if failure:
        sys.stderr.write(f"error: {failure}\n")
        return 1
    port = os.environ.get("FORGE_TEST_LISTEN") or value("--port", "-p", default="8080")
    ThreadingHTTPServer((value("-H", default="127.0.0.1"), int(port)), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
