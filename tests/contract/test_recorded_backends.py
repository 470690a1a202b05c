"""Recorded answers of llama-server, vLLM, Ollama and dasllama, read to the exact result.

``tests/fixtures/expected.json`` is the table: one row per recording with its HTTP status (200 where it says none)
and what it says: text, reasoning, calls (id, name, arguments), finish reason, usage (prompt, completion, cached), or
the error.
"""

import json
import random

import pytest
from cases import each, each_awaited
from servers import recordings

from forge.core.events import Finish
from forge.errors import ForgeError, StreamError
from forge.wire import anthropic, openai
from forge.wire.json_text import is_json
from forge.wire.ndjson import LineDecoder
from forge.wire.ollama import ObjectDecoder
from forge.wire.sse import SSEDecoder

pytestmark = pytest.mark.anyio

TABLE = json.loads((recordings.FIXTURES / "expected.json").read_text(encoding="utf-8"))
STREAMS = [name for name, row in TABLE.items() if name.endswith((".sse", ".ndjson")) and "error" not in row]


def by_server(names):
    """A test for the recordings of each server with its model; their names are the cases."""
    groups = {}
    for name in names:
        groups.setdefault(name.rpartition("/")[0], {})[name] = name
    return pytest.mark.parametrize("names", groups.values(), ids=groups)


def streams(name):
    return not name.endswith(".json") or name.endswith("_stream.json")


@by_server(TABLE)
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_recorded_answer_is_read_exactly(names, seed):
    async def read_exactly(name):
        expected = dict(TABLE[name])
        script = recordings.script(name, expected.pop("status", 200), seed=seed)
        deltas, error = [], None
        try:
            await recordings.replay(name, script, deltas, stream=streams(name))
        except ForgeError as raised:
            error = raised

        assert recordings.read(deltas, error) == expected
        assert error is not None or [d for d in deltas if isinstance(d, Finish)] == [deltas[-1]]

    await each_awaited(read_exactly, names)


def last_word(name):
    """Where the part of a recorded stream begins that says that it is finished."""
    data = (recordings.FIXTURES / name).read_bytes()
    marks = {".ndjson": b'"done":true', ".sse": b'"finish_reason":"'}
    if "anthropic_" in name:
        return data.rindex(b"message_stop")
    return data.index(marks[name[name.rindex(".") :]])


@by_server(STREAMS)
async def test_a_cut_stream_is_an_error_wherever_it_is_cut(names):
    await each_awaited(an_error_wherever_it_is_cut, names)


async def an_error_wherever_it_is_cut(name):
    for upto in random.Random(name).sample(range(last_word(name)), 3):
        with pytest.raises(StreamError):
            await recordings.replay(name, recordings.script(name, upto=upto), [], stream=True)


def whole_of(name):
    return name.replace("_stream", "").replace(".sse", ".json").replace(".ndjson", ".json")


@by_server(sorted({whole_of(name) for name in STREAMS} & set(TABLE)))
async def test_a_whole_answer_where_a_stream_was_asked_for(names):
    await each_awaited(a_whole_answer_where_a_stream_was_asked_for, names)


async def a_whole_answer_where_a_stream_was_asked_for(name):
    deltas = []
    await recordings.replay(name, recordings.script(name), deltas, stream=True)

    assert recordings.read(deltas) == TABLE[name]


def decoded(name, pieces):
    """What the wire layer alone reads in a stream that arrives in these pieces."""
    deltas = []
    if name.endswith(".ndjson"):
        lines, objects = LineDecoder(), ObjectDecoder()
        read = [line for piece in pieces for line in lines.feed(piece)]
        for line in [*read, *filter(is_json, lines.finish())]:
            deltas += objects.feed(line)
        objects.end()
        return deltas
    events = SSEDecoder()
    reader = anthropic.EventDecoder() if "anthropic_" in name else openai.ChunkDecoder()
    for piece in pieces:
        for event in events.feed(piece):
            deltas += reader.feed(event.data)
    return deltas + reader.end()


@by_server(STREAMS)
def test_every_split_is_read_alike(names):
    each(every_split_is_read_alike, names)


def every_split_is_read_alike(name):
    data = (recordings.FIXTURES / name).read_bytes()
    splits = [
        [data],
        [data[i : i + 1] for i in range(len(data))],
        [data[i : i + 3] for i in range(0, len(data), 3)],
    ]
    # Every place where one cut can be, in the part of the stream that has an end of each kind in it.
    cuts = range(max(0, len(data) - 120), len(data))
    splits += [[data[:cut], data[cut:]] for cut in cuts]

    first, *others = (decoded(name, pieces) for pieces in splits)
    assert recordings.read(first) == TABLE[name]
    assert all(other == first for other in others)
