import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from forge.core.request import Reasoning
from forge.wire.openai import encode_messages
from forge.wire.responses_input import Conversation
from forge.wire.responses_reasoning import sealed


def items(*values):
    return [Raw(json.dumps(value).encode()) for value in values]


def messages(*values, instructions=None):
    conversation = Conversation(instructions)
    conversation.add(items(*values))
    return [json.loads(bytes(message)) for message in encode_messages(conversation.messages())]


def text(*texts, kind="input_text"):
    return [{"type": kind, "text": text} for text in texts]


def call(name="f", call_id="c1", arguments="{}", **fields):
    return {
        "type": "function_call",
        "id": "fc_1",
        "name": name,
        "call_id": call_id,
        "arguments": arguments,
        **fields,
    }


def output(value, call_id="c1", kind="function_call_output"):
    return {"type": kind, "call_id": call_id, "output": value}


def said(content):
    return {"type": "message", "role": "assistant", "content": text(content, kind="output_text")}


def chat_call(name="f", call_id="c1", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(content="", *calls, **fields):
    message = {"role": "assistant", "content": content, **fields}
    return {**message, "tool_calls": list(calls)} if calls else message


def tool(content, call_id="c1"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


USER = {"role": "user", "content": "q"}
CHAT_USER = {"role": "user", "content": "q"}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([{"role": "user", "content": text("a", "b")}], [{"role": "user", "content": "a\nb"}], id="texts"),
        pytest.param([{"role": "user", "content": ["a", IMAGE]}], [{"role": "user", "content": [{"type": "text", "text": "a"}, CHAT_IMAGE]}], id="image"),
        pytest.param(
            [{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}]}],
            [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}}]}],
            id="file",
        ),
        pytest.param(
            [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]}],
            [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]}],
            id="audio",
        ),
        pytest.param([USER, said("a"), USER], [CHAT_USER, assistant("a"), CHAT_USER], id="turns"),
        pytest.param([said("a"), said("b")], [assistant("a"), assistant("b")], id="two-answers"),
        pytest.param(
            [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}], [assistant("no")], id="refusal"
        ),
        pytest.param([USER, call(), output("r")], [CHAT_USER, assistant("", chat_call()), tool("r")], id="call"),
        pytest.param(
            [said("a"), call(), call(call_id="c2"), output("r"), output("s", "c2"), said("b")],
            [assistant("a", chat_call(), chat_call(call_id="c2")), tool("r"), tool("s", "c2"), assistant("b")],
            id="parallel-calls",
        ),
        pytest.param(
            [call(), output("r"), call(call_id="c2"), output("s", "c2")],
            [assistant("", chat_call()), tool("r"), assistant("", chat_call(call_id="c2")), tool("s", "c2")],
            id="one-after-the-other",
        ),
        pytest.param(
            [call(), said("a"), output("r")], [assistant("a", chat_call()), tool("r")], id="text-behind-a-call"
        ),
        pytest.param(
            [said("a"), call(), said("b"), output("r")],
            [assistant("a\n\nb", chat_call()), tool("r")],
            id="texts-around-a-call",
        ),
        pytest.param([call(arguments="{broken")], [assistant("", chat_call(arguments='{"unreadable_arguments":"{broken"}'))], id="broken-arguments"),
        pytest.param([call("g", namespace="n")], [assistant("", chat_call("n__g"))], id="namespace"),
        pytest.param([call("g", namespace="mcp__x__")], [assistant("", chat_call("mcp__x__g"))], id="namespace-with-its-own-end"),
        pytest.param([call(), output(text("a", "b"))], [assistant("", chat_call()), tool("a\nb")], id="output-parts"),
        pytest.param([call(), output(None)], [assistant("", chat_call()), tool("")], id="no-output"),
        pytest.param([call(), output({"a": 1})], [assistant("", chat_call()), tool('{"a": 1}')], id="output-object"),
        pytest.param(
            [call(), call(call_id="c2"), output([IMAGE]), output("s", "c2"), USER],
            [
                assistant("", chat_call(), chat_call(call_id="c2")),
                tool(""),
                tool("s", "c2"),
                {"role": "user", "content": [{"type": "text", "text": "Returned by the tool:"}, CHAT_IMAGE]},
                CHAT_USER,
            ],
            id="output-image",
        ),
        pytest.param(
            [{"type": "custom_tool_call", "call_id": "c1", "name": "p", "input": 'a"b'}, output("r", kind="custom_tool_call_output")],
            [assistant("", chat_call("p", arguments='{"input":"a\\"b"}')), tool("r")],
            id="custom",
        ),
        pytest.param(
            [
                {"type": "local_shell_call", "id": "l", "call_id": "c1", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
                {"type": "local_shell_call_output", "id": "c1", "output": "files"},
            ],
            [assistant("", chat_call("local_shell", arguments='{"action":{"type": "exec", "command": ["ls"]}}')), tool("files")],
            id="local-shell",
        ),
        pytest.param(
            [
                {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
                {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "files"}]},
            ],
            [assistant("", chat_call("shell", arguments='{"action":{"commands": ["ls"]}}')), tool('[{"stdout": "files"}]')],
            id="shell",
        ),
        pytest.param(
            [
                {"type": "apply_patch_call", "call_id": "c1", "status": "completed", "operation": {"type": "delete_file", "path": "a"}},
                {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed"},
            ],
            [assistant("", chat_call("apply_patch", arguments='{"operation":{"type": "delete_file", "path": "a"}}')), tool('{"status":"failed"}')],
            id="apply-patch",
        ),
        pytest.param(
            [{"role": "developer", "content": "a"}, {"role": "system", "content": text("b", "c")}, USER],
            [{"role": "system", "content": "a\n\nb\nc"}, CHAT_USER],
            id="privileged-opening",
        ),
        pytest.param(
            [USER, {"role": "developer", "content": "a"}], [CHAT_USER, {"role": "system", "content": "a"}], id="developer-later"
        ),
        pytest.param(
            [{"type": "reasoning", "id": "r", "summary": text("hm", "so", kind="summary_text")}, said("a")],
            [assistant("a", reasoning_content="hm\nso")],
            id="summary",
        ),
        pytest.param(
            [{"type": "reasoning", "summary": [], "content": text("hm", kind="reasoning_text")}, call()],
            [assistant("", chat_call(), reasoning_content="hm")],
            id="reasoning-text",
        ),
        pytest.param(
            [{"type": "reasoning", "summary": [], "encrypted_content": sealed([Reasoning("hm", "reasoning")])}, said("a")],
            [assistant("a", reasoning="hm")],
            id="sealed",
        ),
        pytest.param([said("a"), {"type": "reasoning", "summary": text("hm", kind="summary_text")}, said("b")], [assistant("a"), assistant("b", reasoning_content="hm")], id="thought-between"),
        pytest.param([USER, {"type": "web_search_call", "id": "w"}, said("a")], [CHAT_USER, assistant("a")], id="hosted"),
        pytest.param([{"role": "critic", "content": "a"}], [{"role": "critic", "content": "a"}], id="unknown-role"),
    ],
)  # fmt: skip
def test_items_become_messages(given, expected):
    assert messages(*given) == expected


def test_instructions_open_the_conversation():
    assert messages({"role": "developer", "content": "b"}, USER, instructions="a") == [
        {"role": "system", "content": "a\n\nb"},
        CHAT_USER,
    ]


def test_a_part_that_nobody_knows_is_the_backends_to_judge():
    part = {"type": "input_video", "video_url": "v"}
    assert messages({"role": "user", "content": [part]}) == [{"role": "user", "content": [part]}]


def test_signed_thinking_keeps_its_signature():
    conversation = Conversation()
    block = Reasoning("hm", signature="s")
    conversation.add(items({"type": "reasoning", "summary": [], "encrypted_content": sealed([block])}))
    assert conversation.messages()[0].parts == (block,)


TURNS = st.lists(
    st.sampled_from(
        [
            [USER],
            [said("a"), USER],
            [call(), output("r")],
            [said("a"), call(), call(call_id="c2"), output("r"), output([IMAGE], "c2")],
            [{"type": "reasoning", "summary": text("hm", kind="summary_text")}, call(), output("r")],
            [{"type": "reasoning", "summary": text("hm", kind="summary_text")}, said("a"), USER],
            [{"role": "developer", "content": "d"}],
            [call(), said("a"), output("r")],
        ]
    ),
    min_size=1,
    max_size=8,
)


@given(TURNS)
def test_a_conversation_only_grows(turns):
    whole = [USER, *(item for turn in turns for item in turn)]
    shorter = [USER, *(item for turn in turns[:-1] for item in turn)]
    assert messages(*whole)[: len(messages(*shorter))] == messages(*shorter)
