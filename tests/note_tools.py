"""Two tools that suffice to test a notation: ``note`` has arguments of three types, ``ping`` has none."""

from forge.dialects import parse_tool_calls

TOOLS = [
    {
        "name": "note",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "tags": {"type": "array"},
                "count": {"type": "integer"},
            },
            "required": ["text"],
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
]


def calls(text):
    """The calls in ``text``, each as a name and its arguments."""
    return [(call.tool, call.args) for call in parse_tool_calls(text, TOOLS).calls]
