"""What a client is shown over several attempts: nothing twice, nothing lost, the same for every split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace
from servers.turns import CALLS, CONSTRAINING, STOP, Played, native

from forge.core.events import Delta, Finish, Output, Started, TextDelta
from forge.core.request import Call, ChatMessage, Request, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.errors import MalformedOutputError, StreamError

WEATHER = Tool(
    name="get_weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
RESPOND = Policy(inject_respond_tool=True, max_tool_errors=1)
WORKING = native("respond", '{"message": "Working on it."}', 0, "a")
BAD = native("get_weather", '{"town": "Paris"}', 1, "b")
GOOD = native("get_weather", '{"city": "Paris"}', 1, "b")
LOGPROBS = {"logprobs": {"content": [{"token": "<"}]}}


def ask(*, choice: ToolChoice | None = None, tools: Sequence[Tool] = (WEATHER,)) -> Request:
    user = ChatMessage(role="user", parts=(Text("weather?"),))
    return Request(messages=(user,), tools=tuple(tools), tool_choice=choice)


def play(
    *attempts: Sequence[Delta] | Exception, policy: Policy | None = None, request: Request | None = None
) -> Played:
    return Played(Turn(request or ask(), policy, CONSTRAINING), attempts)


def beside(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    return [output.extra for output in outputs if isinstance(output, TextDelta) and output.extra]


# -- messages of the respond tool -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "calls"),
    [
        pytest.param([WORKING, GOOD, CALLS], [("get_weather", {"city": "Paris"})], id="beside a good call"),
        pytest.param([WORKING, BAD, CALLS], [("get_weather", {"town": "Paris"})], id="given up"),
        pytest.param([WORKING, CALLS], [], id="alone"),
        pytest.param(
            [native("respond", '{"message": "In other words."}', 0, "a"), GOOD, CALLS],
            [("get_weather", {"city": "Paris"})],
            id="another one beside a good call",
        ),
    ],
)
def test_a_message_that_was_shown_is_not_shown_again(second: list[Delta], calls: list[object]) -> None:
    played = play([WORKING, BAD, CALLS], second, policy=RESPOND)

    assert (played.text, played.calls) == ("Working on it.", calls)


def test_another_message_that_ends_the_turn_follows_what_was_shown() -> None:
    final = native("respond", '{"message": "It is sunny."}', 0, "a")
    played = play([WORKING, BAD, CALLS], [final, CALLS], policy=RESPOND)

    assert played.text == "Working on it.\n\nIt is sunny."


@pytest.mark.parametrize(
    ("deltas", "text"),
    [
        pytest.param([TextDelta("Sure."), WORKING, CALLS], "Sure.\n\nWorking on it.", id="behind a text"),
        pytest.param(
            [WORKING, native("respond", '{"message": "Done."}', 1, "b"), CALLS],
            "Working on it.\n\nDone.",
            id="behind a message",
        ),
    ],
)
def test_a_message_stands_apart_from_what_comes_before_it(deltas: list[Delta], text: str) -> None:
    assert play(deltas, policy=RESPOND).text == text


def test_a_message_read_otherwise_at_its_end_is_not_shown_twice() -> None:
    twice = native("respond", '{"message": "One.", "message": "Two."}', 0, "a")

    assert play([twice, CALLS], policy=RESPOND).text == "One."


# -- later attempts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [["\n\n  It is", " sunny."], ["\n", "\n", "  It", " is sunny."]])
def test_a_later_text_follows_in_the_same_way_for_every_split(pieces: list[str]) -> None:
    announced = [TextDelta("Let me check the weather:"), STOP]
    played = play(announced, [*map(TextDelta, pieces), STOP])

    assert played.text == "Let me check the weather:\n\nIt is sunny."


def test_an_answer_has_the_identity_of_its_first_attempt() -> None:
    first, second = (
        [Started(id=name), native("get_weather", arguments), CALLS]
        for name, arguments in (("one", "{}"), ("two", '{"city": "Paris"}'))
    )
    assert play(first, second).end.started == Started(id="one")


def test_a_text_that_a_failing_backend_tore_off_is_no_answer() -> None:
    turn = Turn(ask(), Policy(max_retries=1))
    turn.start()
    turn.feed(Finish(reason="stop"))
    turn.feed(TextDelta("It is su"))

    outputs = turn.fail(StreamError("gone"))

    assert [output for output in outputs if isinstance(output, TextDelta)] == []
    assert turn.done


def test_a_backend_that_fails_after_a_malformed_answer_has_failed() -> None:
    turn = Turn(ask(), Policy(max_retries=1))
    turn.start()
    turn.fail(MalformedOutputError(500, "cannot parse"))
    turn.feed(TextDelta("It is su"))

    with pytest.raises(StreamError):
        turn.fail(StreamError("gone"))


def test_a_choice_that_the_backend_ignores_is_constrained_in_every_attempt() -> None:
    wrong = [TextDelta('{"name": "get_weather", "arguments": {"town": "Paris"}}'), STOP]
    right = [TextDelta('{"name": "get_weather", "arguments": {"city": "Paris"}}'), STOP]
    played = play(wrong, right, request=ask(choice=ToolChoice("required")))

    assert [request.constraint is not None for request in played.requests] == [True, True]
    assert played.calls == [("get_weather", {"city": "Paris"})]


def test_what_is_written_where_a_constraint_is_ignored_is_shown_in_the_end() -> None:
    text = 'Here: <tool_call>{"name": "get_weather", "arguments": {"city": "Par'
    request = ask(choice=ToolChoice("required"))

    assert play([TextDelta(text), STOP], request=request, policy=Policy(max_retries=0)).text == text


def test_the_only_call_that_is_taken_is_not_the_one_that_was_cut() -> None:
    now = Tool(name="now", parameters={"type": "object", "properties": {}})
    single = replace(ask(tools=(now,)), options={"parallel_tool_calls": Raw(b"false")})
    played = play(
        [native("now", "", 0, "a"), native("now", "", 1, "b"), Finish(reason="length")], request=single
    )

    assert played.calls == [("now", {})]


def test_corrections_name_calls_by_ids_of_their_own() -> None:
    rejected = [native("get_weather", "{}", 0, "call_0"), CALLS]
    earlier = ChatMessage(role="assistant", parts=(Call("call_0", "get_weather", "{}"),))
    request = ask()
    request = Request(messages=(*request.messages, earlier), tools=request.tools)
    played = play(rejected, rejected, [GOOD, CALLS], request=request)

    ids = [p.id for m in played.requests[-1].messages for p in m.parts if isinstance(p, Call)]
    assert len(ids) == len(set(ids)) == 3


def test_a_call_of_a_tool_that_only_passes_through_keeps_its_arguments_as_json() -> None:
    searches = Tool(name="web_search", kind="web_search")
    request = ask(choice=ToolChoice("required"), tools=(WEATHER, searches))
    played = play([TextDelta('{"name": "web_search", "arguments": {"q": "x"}}'), STOP], request=request)

    assert played.calls == [("web_search", {"q": "x"})]


# -- what stands beside text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["a <", " b"], id="waits as it may begin a call"),
        pytest.param(["", "a"], id="without text"),
        pytest.param(
            ["a ", "<tool_call>", '{"name": "get_weather", "arguments": {"city": "x"}}'], id="a call"
        ),
    ],
)
def test_what_stands_beside_a_piece_of_text_is_never_lost(pieces: list[str]) -> None:
    played = play([*(TextDelta(piece, LOGPROBS) for piece in pieces), STOP])

    tokens = [token for extra in beside(played.outputs) for token in extra["logprobs"]["content"]]
    assert tokens == LOGPROBS["logprobs"]["content"] * len(pieces)


def test_a_refusal_is_an_answer_and_reaches_the_client() -> None:
    refusal = {"delta": {"refusal": "I will not."}}
    played = play([TextDelta("", refusal), STOP])

    assert beside(played.outputs) == [refusal]
    assert (played.reasons, played.end.reason) == ([], "stop")
