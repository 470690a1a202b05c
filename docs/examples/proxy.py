"""A proxy inside a program: any OpenAI client, here the standard library alone, gets checked tool calls from it."""

import json
import os
import urllib.request

from forge.proxy import ProxyServer

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def main() -> None:
    # From a shell: python -m forge.proxy --backend llamaserver --backend-url http://localhost:8080
    backend = os.environ.get("FORGE_BACKEND_URL", "http://localhost:8080/v1")
    with ProxyServer(backend_url=backend, backend="llamaserver", port=0) as proxy:
        body = {"messages": [{"role": "user", "content": "Weather in Paris, two days?"}], "tools": [WEATHER]}
        request = urllib.request.Request(  # noqa: S310 - our own address
            f"{proxy.url}/v1/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:  # noqa: S310 - likewise
            choice = json.load(response)["choices"][0]
    print(choice["finish_reason"])
    for call in choice["message"].get("tool_calls") or ():
        print(call["function"]["name"], call["function"]["arguments"])


if __name__ == "__main__":
    main()
