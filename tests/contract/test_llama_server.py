"""What llama-server's answers hold beside what ``test_recorded_backends`` reads in them: envelope, body, fields of
its own, and the endings that it need not send.
"""

import json

import pytest
from servers import recordings

from forge.clients.llamafile import LlamafileClient
from forge.core.events import CallDelta, Finish, Started, TextDelta
from forge.errors import MalformedOutputError

pytestmark = pytest.mark.anyio

TABLE = {
    name: row
    for name, row in json.loads((recordings.FIXTURES / "expected.json").read_text(encoding="utf-8")).items()
    if name.startswith("llama-server/") and "anthropic_" not in name
}
STREAMS = [name for name, row in TABLE.items() if name.endswith(".sse") and "error" not in row]


async def replay(name, *, upto=None):
    deltas = []
    await recordings.replay(
        f"llama-server/{name}",
        recordings.script(f"llama-server/{name}", upto=upto),
        deltas,
        stream=name.endswith(".sse"),
    )
    return deltas


def test_the_table_reads_them_with_the_client_for_llama_server():
    assert len(TABLE) > 180
    assert isinstance(recordings.client_for(next(iter(TABLE)), "http://127.0.0.1:1"), LlamafileClient)


@pytest.mark.parametrize("name", STREAMS)
async def test_an_envelope_comes_first_and_done_need_not_come(name):
    data = (recordings.FIXTURES / name).read_bytes()

    deltas = await replay(name.removeprefix("llama-server/"), upto=data.index(b"data: [DONE]"))

    assert recordings.read(deltas) == TABLE[name]
    assert isinstance(deltas[0], Started)
    assert deltas[0].extra == {"system_fingerprint": "b0-unknown"}
    assert [d for d in deltas if isinstance(d, Finish)] == [deltas[-1]]


async def test_a_malformed_answer_keeps_what_came_before_it():
    name = "llama-server/smollm2-135m-hermes-template/err_malformed_output_500_mid_stream.sse"
    deltas = []
    with pytest.raises(MalformedOutputError):
        await recordings.replay(name, recordings.script(name), deltas, stream=True)

    assert "".join(d.arguments for d in deltas if isinstance(d, CallDelta)) == '{"city": "Paris"}'


async def test_a_whole_answer_keeps_its_body():
    name = "qwen2.5-coder-1.5b/chat_plain.json"

    deltas = await replay(name)

    assert deltas[-1].body == (recordings.FIXTURES / "llama-server" / name).read_bytes()


async def test_what_has_no_neutral_name_survives():
    logprobs = await replay("smollm2-135m-hermes-template/n_probs.json")
    timings = await replay("smollm2-135m-hermes-template/timings_per_token.sse")

    texts = [d for d in logprobs if isinstance(d, TextDelta)]
    assert len(texts[0].extra["logprobs"]["content"]) == 3
    assert {"timings", "prompt_progress"} <= set(timings[-1].extra)
