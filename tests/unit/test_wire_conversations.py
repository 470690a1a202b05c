import json
import re
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from forge.core.request import ChatMessage
from forge.errors import RequestError
from forge.wire.conversations import SHORTEST, Conversations
from forge.wire.openai import decode_request, encode_request

LONG = {"role": "system", "content": 'é "quoted" \\ ' * SHORTEST}
USER = {"role": "user", "content": "hi"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "ok"}, {"type": "x"}]}
_numbers = count()


def outcome(body: bytes):
    """Everything that a request says; or the error."""
    try:
        request = decode_request(body)
    except RequestError as error:
        return re.sub(r"byte \d+", "byte", str(error)), error.param
    raws = [bytes(message.raw) for message in request.messages]
    parts = [message.parts for message in request.messages]
    options = {name: bytes(raw) for name, raw in request.options.items() if not name.startswith("cold")}
    return raws, parts, options, request.model, request.stream, request.tools


def cold(body: bytes):
    """The outcome for the same body under a beginning that was never seen."""
    return outcome(b'{"cold%d":0,%b' % (next(_numbers), body.lstrip()[1:]))


def dumped(messages, **fields):
    return json.dumps({"model": "m", "messages": messages, **fields}).encode()


messages = st.lists(st.sampled_from([USER, CALL, RESULT, {"role": "user"}, {"role": 1}, 5]), max_size=5)


@given(earlier=messages, following=messages, spaced=st.booleans())
def test_a_longer_conversation_is_read_as_if_it_were_new(earlier, following, spaced):
    separators = (" ,\n", " : ") if spaced else (",", ":")
    for tail in ([], following, [*following, USER], [USER, *following]):
        fields = {"messages": [LONG, *earlier, *tail], "stream": True, "tools": []}
        body = json.dumps(fields, separators=separators).encode()
        assert outcome(body) == cold(body)


SHARED = dumped([LONG, USER, CALL])[: -len(json.dumps(CALL)) - 4]  # up to the end of USER


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"]}", id="nothing-more"),
        pytest.param(b', {"role": "user"}], "n": 2}', id="more"),
        pytest.param(b",]}", id="trailing-comma"),
        pytest.param(b'{"role": "user"}]}', id="no-comma"),
        pytest.param(b"}", id="wrong-bracket"),
        pytest.param(b', {"role": 5}]}', id="bad-message"),
        pytest.param(b', {"role": "user", "content": [{"type": "text", "text": 5}]}]}', id="bad-part"),
        pytest.param(b", 5]}", id="no-message"),
        pytest.param(b'], "messages": [{"role": "user"}]}', id="given-twice"),
        pytest.param(b'], "messages": null}', id="given-twice-null"),
        pytest.param(b'], "temperature": NaN}', id="not-strict"),
        pytest.param(b', {"role": "user", "content": "\\ud83d"}]}', id="half-an-emoji"),
        pytest.param(b', {"role": "user", "content": "cut', id="cut"),
    ],
)
def test_whatever_follows_a_known_beginning(rest):
    decode_request(dumped([LONG, USER, CALL]))
    assert outcome(SHARED + rest) == cold(SHARED + rest)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b'{"metadata": {"messages": [%b]}, ', id="inside-another-field"),
        pytest.param(b'{"messages": [%b], ', id="given-twice"),
        pytest.param(b'{"user": "\\"messages\\": [", "x": [%b], ', id="inside-a-text"),
    ],
)
def test_an_array_that_is_not_the_conversation_is_not_taken_for_it(head):
    array = json.dumps([LONG, USER, USER])[1:-1].encode()
    for last in (b'{"role": "user"}', b'{"role": "user", "content": "x"}', b"5"):
        body = (head % array) + b'"messages": [' + array + b", " + last + b"]}"
        assert outcome(body) == cold(body)
        changed = body.replace(b'"hi"', b'"ho"', 1)
        assert outcome(changed) == cold(changed)


def test_a_known_beginning_is_sent_on_in_the_callers_bytes():
    for number in range(3):
        body = b'{"messages":[%b,  {"role":"user","content":"%d"},{"role":"user"}]}' % (
            json.dumps(LONG).encode(),
            number,
        )
        assert encode_request(decode_request(body)) == body.replace(b",  {", b",{")


def remembered(conversations: Conversations, text: str, size: int = SHORTEST) -> bytes:
    entries = [b'"%b"' % text.encode().ljust(size, b"."), b"1"]
    body = b'{"messages":[%b]}' % b",".join(entries)
    conversations.remember(body, None, [Raw(e) for e in entries], (ChatMessage(role="a"),) * 2)
    return body


def test_only_the_last_conversations_are_kept():
    conversations = Conversations()
    bodies = [remembered(conversations, str(number)) for number in range(100)]
    known = [conversations.find(body) is not None for body in bodies]
    assert known == sorted(known)
    assert 0 < sum(known) < 100


def test_only_so_many_bytes_are_kept():
    conversations = Conversations()
    bodies = [remembered(conversations, str(number), 1_500_000) for number in range(4)]
    assert [conversations.find(body) is not None for body in bodies] == [False, False, True, True]
    assert conversations.find(remembered(conversations, "too long", 5_000_000)) is None
    assert conversations.find(bodies[-1]) is not None


def test_a_conversation_that_goes_on_stays_one():
    conversations = Conversations()
    text = b'"%b"' % b"x".ljust(SHORTEST)
    body = b'{"messages":[%b,1,2]}' % text
    conversations.remember(body, None, [Raw(text), Raw(b"1"), Raw(b"2")], (ChatMessage(role="a"),) * 3)
    known = conversations.find(body)
    assert known is not None
    assert body[len(known.text) :] == b",2]}"
    assert known.shortened(body) == b'{"messages":["read before",2]}'

    longer = b'{"messages":[%b,1,2,3]}' % text
    conversations.remember(longer, known, [Raw(b"2"), Raw(b"3")], (ChatMessage(role="a"),) * 4)
    found = conversations.find(longer)
    assert found is not None
    assert len(found.messages) == 3
    assert conversations.find(body.replace(b"2", b"9")) is None
