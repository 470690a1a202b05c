"""The proxy below /llm of another web service. From a shell: uvicorn mounted:app --app-dir docs/examples"""

import json
import os
import socket
import threading
import urllib.request

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from forge.proxy import create_app

forge = create_app(
    backend_url=os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1"), backend="llamaserver"
)


async def home(_):
    return PlainTextResponse("a service of its own")


# An application does not run the lifespans of what is mounted in it, so this one is handed to it.
app = Starlette(routes=[Route("/", home), Mount("/llm", app=forge)], lifespan=forge.lifespan)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        print(urllib.request.urlopen(f"{url}/").read().decode())  # noqa: S310 - our own address
        request = urllib.request.Request(  # noqa: S310 - likewise
            f"{url}/llm/v1/chat/completions",
            data=json.dumps({"messages": [{"role": "user", "content": "Hello"}]}).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:  # noqa: S310 - likewise
            print(json.load(response)["choices"][0]["message"]["content"])
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
