"""The guarded turn as event transcripts: deltas of each attempt in, visible outputs and requests out."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import Raw
from servers.turns import CALLS, CONSTRAINING, STOP, Played, native, text_attempt

from forge.core.capabilities import Capabilities
from forge.core.events import (
    GUARD_FAILED,
    CallDelta,
    CallReady,
    Delta,
    Finish,
    Finished,
    ReasoningDelta,
    Send,
    Started,
    TextDelta,
    Usage,
)
from forge.core.request import Call, ChatMessage, Reasoning, Request, Result, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.errors import BackendError, MalformedOutputError, ProtocolMisuseError, RequestError, StreamError

WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
READ = Tool(
    name="read_file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def ask(choice: ToolChoice | None = None, tools: Sequence[Tool] = (WEATHER, READ), **options: str) -> Request:
    return Request(
        messages=(ChatMessage(role="user", parts=(Text("weather in Paris?"),)),),
        tools=tuple(tools),
        tool_choice=choice,
        options={key: Raw(value.encode()) for key, value in options.items()},
    )


def play(
    request: Request,
    *attempts: Sequence[Delta] | Exception,
    policy: Policy | None = None,
    capabilities: Capabilities = CONSTRAINING,
) -> Played:
    return Played(Turn(request, policy, capabilities), attempts)


HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


# -- answers that are good ------------------------------------------------------------------------------------


def test_plain_text_with_tools_ends_the_turn_after_one_call() -> None:
    played = play(ask(), text_attempt("It is sunny in Paris today."))

    assert played.text == "It is sunny in Paris today."
    assert played.end.reason == "stop"
    assert len(played.requests) == 1


def test_text_leaves_piece_by_piece() -> None:
    turn = Turn(ask())
    turn.start()

    assert turn.feed(TextDelta("It is")) == [TextDelta("It is")]
    assert turn.feed(TextDelta(" sunny.")) == [TextDelta(" sunny.")]


def test_reasoning_leaves_piece_by_piece() -> None:
    turn = Turn(ask())
    turn.start()

    assert turn.feed(ReasoningDelta("hm")) == [ReasoningDelta("hm")]


def test_signed_thinking_stays_with_the_answer_that_is_corrected() -> None:
    played = play(
        ask(),
        [
            ReasoningDelta("h"),
            ReasoningDelta("m"),
            ReasoningDelta("", signature="s"),
            ReasoningDelta("", redacted="x"),
            TextDelta("Let me see."),
            ReasoningDelta("later", signature="t"),
            native("get_weather", "{}"),
            CALLS,
        ],
        [native("get_weather", '{"city": "Paris"}'), CALLS],
    )

    answer = played.requests[1].messages[-2]
    assert answer.parts[:-1] == (
        Reasoning("hm", signature="s"),
        Reasoning("", redacted="x"),
        Text("Let me see."),
    )


def test_thinking_that_nobody_signed_is_not_sent_back() -> None:
    played = play(
        ask(),
        [ReasoningDelta("hm"), native("get_weather", "{}"), CALLS],
        [native("get_weather", '{"city": "Paris"}'), CALLS],
    )

    assert not any(isinstance(part, Reasoning) for part in played.requests[1].messages[-2].parts)


def test_a_valid_native_call_keeps_id_and_argument_bytes() -> None:
    played = play(ask(), [native("get_weather", '{"city":'), native("", ' "Paris"}', call_id=None), CALLS])

    ready = [o for o in played.outputs if isinstance(o, CallReady)]
    assert [(c.id, c.name, c.arguments) for c in ready] == [("id1", "get_weather", '{"city": "Paris"}')]
    assert played.end.reason == "tool_calls"


def test_text_beside_a_call_survives() -> None:
    played = play(ask(), [TextDelta("Looking."), native("get_weather", '{"city": "Paris"}'), CALLS])

    assert played.text == "Looking."
    assert played.calls == [("get_weather", {"city": "Paris"})]


def test_a_call_written_as_text_becomes_a_call() -> None:
    played = play(ask(), text_attempt("Sure.\n" + HERMES))

    assert played.calls == [("get_weather", {"city": "Paris"})]
    assert played.text.strip() == "Sure."
    assert played.end.reason == "tool_calls"


def test_arguments_are_coerced_where_the_schema_leaves_no_doubt() -> None:
    played = play(ask(), [native("get_weather", '{"city": "Paris", "days": "3"}'), CALLS])

    assert played.calls == [("get_weather", {"city": "Paris", "days": 3})]
    assert len(played.requests) == 1


def test_an_untouched_answer_passes_its_body_on() -> None:
    body = b'{"anything": 1}'
    played = play(ask(), [native("get_weather", '{"city": "Paris"}'), Finish(reason="tool_calls", body=body)])

    assert played.end.body == body


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param([native("get_weather", '{"city": "P", "days": "3"}')], id="coerced"),
        pytest.param([TextDelta(HERMES)], id="rescued"),
        pytest.param([TextDelta("<think>x</think>Hi there")], id="think tags"),
    ],
)
def test_a_changed_answer_passes_no_body_on(deltas: list[Delta]) -> None:
    played = play(ask(), [*deltas, Finish(reason="tool_calls", body=b"{}")])

    assert played.end.body is None


def test_without_tools_nothing_is_guarded() -> None:
    text = HERMES + " and <think>this</think>"
    played = play(ask(tools=()), text_attempt(text))

    assert played.text == text


def test_tool_choice_none_takes_text_as_it_is() -> None:
    played = play(ask(ToolChoice("none")), text_attempt(HERMES))

    assert played.text == HERMES
    assert played.calls == []


def test_content_filter_is_the_backends_verdict() -> None:
    played = play(ask(ToolChoice("required")), [Finish(reason="content_filter")], capabilities=Capabilities())

    assert played.end.reason == "content_filter"


@pytest.mark.parametrize("reason", ["eos_token", "end_turn", "stop_sequence", ""])
def test_a_servers_own_word_for_stop_is_judged_like_stop(reason: str) -> None:
    played = play(
        ask(ToolChoice("required")),
        [TextDelta("I would rather talk."), Finish(reason=reason)],
        [native("get_weather", '{"city": "P"}'), CALLS],
        capabilities=Capabilities(),
    )

    assert played.reasons == ["no_call"]


def test_a_named_tool_that_is_not_offered_is_the_callers_mistake() -> None:
    with pytest.raises(RequestError, match="read_book") as caught:
        Turn(ask(ToolChoice("named", "read_book")))

    assert caught.value.param == "tool_choice"


def test_a_forced_tool_that_only_passes_through_leaves_nothing_to_guard() -> None:
    custom = Tool(name="shell", kind="custom")
    played = play(ask(ToolChoice("named", "shell"), tools=(WEATHER, custom)), text_attempt("ls"))

    assert played.text == "ls"


def test_parallel_calls_forbidden_keeps_the_first() -> None:
    deltas = [
        native("get_weather", '{"city": "A"}'),
        native("get_weather", '{"city": "B"}', index=1, call_id="id2"),
        CALLS,
    ]

    assert play(ask(parallel_tool_calls="false"), deltas).calls == [("get_weather", {"city": "A"})]
    assert len(play(ask(), deltas).calls) == 2


# -- answers that are corrected ---------------------------------------------------------------------------------


def test_a_broken_call_is_corrected_and_its_text_is_never_shown() -> None:
    broken = '<tool_call>{"name": "get_weather", "arguments": {"city": "Par'
    played = play(ask(), text_attempt(broken), [native("get_weather", '{"city": "Paris"}'), CALLS])

    assert played.text == ""
    assert played.calls == [("get_weather", {"city": "Paris"})]
    assert played.reasons == ["cut_off"]


def test_a_retry_only_appends() -> None:
    played = play(
        ask(),
        [native("get_weather", "{}"), CALLS],
        [native("get_weather", '{"days": 1}'), CALLS],
        [native("get_weather", '{"city": "Paris"}'), CALLS],
    )

    first, second, third = played.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    assert first.tools == second.tools == third.tools


def test_invalid_arguments_are_corrected_on_the_tool_channel() -> None:
    played = play(
        ask(), [native("get_weather", '{"days": 2}'), CALLS], [native("get_weather", '{"city": "P"}'), CALLS]
    )

    assistant, result = played.requests[1].messages[-2:]
    assert assistant.parts == (Call(id="id1", name="get_weather", arguments='{"days": 2}'),)
    assert isinstance(result.parts[0], Result)
    assert result.parts[0].call_id == "id1"
    assert result.parts[0].content.startswith("[ToolArgValidationError]")
    assert "city" in result.parts[0].content


def test_broken_arguments_go_back_as_an_empty_object() -> None:
    played = play(
        ask(), [native("get_weather", '{"city": "Pa'), CALLS], [native("get_weather", '{"city": "P"}'), CALLS]
    )

    call = played.requests[1].messages[-2].parts[0]
    assert isinstance(call, Call)
    assert json.loads(call.arguments) == {}


def test_each_call_of_a_batch_gets_its_own_correction() -> None:
    played = play(
        ask(),
        [native("get_weather", '{"city": "P"}'), native("read_file", "{}", index=1, call_id="id2"), CALLS],
        [native("get_weather", '{"city": "P"}'), CALLS],
    )

    innocent, guilty = (message.parts[0] for message in played.requests[1].messages[-2:])
    assert isinstance(innocent, Result)
    assert isinstance(guilty, Result)
    assert "path" not in innocent.content
    assert "path" in guilty.content


def test_an_unknown_tool_is_named_with_the_known_ones() -> None:
    played = play(ask(), [native("get_wether", "{}"), CALLS], text_attempt("Never mind, it is sunny."))

    result = played.requests[1].messages[-1].parts[0]
    assert isinstance(result, Result)
    assert result.content.startswith("[UnknownTool]")
    assert all(name in result.content for name in ("get_wether", "get_weather", "read_file"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("Let me read the file:", "announced", id="announcement"),
        pytest.param("   \n", "empty", id="white space"),
        pytest.param("<think>hm, what now</think>", "empty", id="thinking only"),
    ],
)
def test_failed_texts_are_nudged(text: str, reason: str) -> None:
    played = play(ask(), text_attempt(text), [native("read_file", '{"path": "a"}'), CALLS])

    assert played.reasons == [reason]
    assert played.calls == [("read_file", {"path": "a"})]


def test_an_announcement_is_nudged_once_only() -> None:
    played = play(ask(), text_attempt("Let me read the file:"), text_attempt("Let me read the file:"))

    assert played.reasons == ["announced"]
    assert played.end.reason == "stop"


def test_later_text_continues_after_what_was_shown() -> None:
    played = play(ask(), text_attempt("Let me check the weather:"), text_attempt("It is sunny."))

    assert played.text == "Let me check the weather:\n\nIt is sunny."


def test_the_preamble_of_a_later_call_is_not_shown_twice() -> None:
    played = play(
        ask(),
        text_attempt("Let me check the weather:"),
        [TextDelta("Let me check the weather:"), native("get_weather", '{"city": "P"}'), CALLS],
    )

    assert played.text == "Let me check the weather:"


def test_the_servers_parser_failing_is_a_rejected_attempt() -> None:
    played = play(
        ask(),
        MalformedOutputError(500, "The model produced output that does not match the expected format"),
        [native("get_weather", '{"city": "P"}'), CALLS],
    )

    assert played.reasons == ["broken_call"]
    assert played.calls == [("get_weather", {"city": "P"})]


def test_a_server_that_never_reads_its_model_is_an_error_and_no_empty_answer() -> None:
    unreadable = MalformedOutputError(
        500, "The model produced output that does not match the expected format"
    )

    with pytest.raises(MalformedOutputError):
        play(ask(), *[unreadable] * 4)


def test_what_was_said_before_the_server_gave_up_is_kept() -> None:
    unreadable = MalformedOutputError(
        500, "The model produced output that does not match the expected format"
    )
    played = play(ask(), text_attempt("Let me check the weather:"), *[unreadable] * 3)

    assert played.text == "Let me check the weather:"


# -- required and named -----------------------------------------------------------------------------------------


def test_required_is_constrained_at_once_where_the_backend_does_not_honour_it() -> None:
    answer = '{"name": "get_weather", "arguments": {"city": "<city>"}}'
    played = play(ask(ToolChoice("required")), text_attempt(answer))

    assert played.requests[0].constraint is not None
    assert played.calls == [("get_weather", {"city": "<city>"})]
    assert played.end.reason == "tool_calls"


def test_required_is_left_to_a_backend_that_honours_it() -> None:
    honours = Capabilities(constrains=True, tool_choice_modes=frozenset({"required"}))
    played = play(
        ask(ToolChoice("required")), [native("get_weather", '{"city": "P"}'), CALLS], capabilities=honours
    )

    assert played.requests[0].constraint is None


def test_a_constrained_answer_cut_by_the_limit_shows_nothing() -> None:
    played = play(ask(ToolChoice("required")), text_attempt('{"name": "get_weather", "arg', "length"))

    assert played.text == ""
    assert played.end.reason == "length"


@pytest.mark.parametrize(("reason", "called"), [("stop", True), ("length", False)])
def test_a_draft_in_thinking_that_the_limit_cut_off_is_not_called(reason: str, called: bool) -> None:
    draft = (
        '<think>\nI need it.\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>'
    )
    played = play(ask(), text_attempt(draft, reason))

    assert played.calls == ([("read_file", {"path": "a"})] if called else [])
    assert played.end.reason == ("tool_calls" if called else "length")


LOOPING = '{"name": "get_weather", "arguments": {"city": "' + "the city of the " * 12


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(LOOPING, id="in the text that was cut off"),
        pytest.param(LOOPING + '", "note": "Paris is', id="in a text before it"),
    ],
)
def test_a_constrained_call_that_ran_away_is_asked_for_again_with_short_texts(first: str) -> None:
    """The prompt stays the same: only what may be decoded changes, so nothing is appended."""
    played = play(
        ask(ToolChoice("required")),
        text_attempt(first, "length"),
        text_attempt('{"name": "get_weather", "arguments": {"city": "the city of the"}}'),
    )

    loose, tight = (request.constraint for request in played.requests)
    assert loose is not None
    assert tight is not None
    assert loose.longest_text is None
    assert tight.longest_text is not None
    assert played.requests[1].messages == played.requests[0].messages
    assert played.reasons == ["text_bound"]
    assert played.calls == [("get_weather", {"city": "the city of the"})]
    assert played.text == ""


def test_a_call_that_runs_away_twice_is_cut_off() -> None:
    played = play(
        ask(ToolChoice("required")), text_attempt(LOOPING, "length"), text_attempt(LOOPING, "length")
    )

    assert played.calls == []
    assert played.end.reason == "length"


def test_a_long_text_that_is_cut_off_is_not_asked_for_again() -> None:
    """It would be cut short by the bound as it was by the limit, and then look whole."""
    long = '{"name": "get_weather", "arguments": {"city": "' + " ".join(str(n * n) for n in range(200))

    played = play(ask(ToolChoice("required")), text_attempt(long, "length"))

    assert len(played.requests) == 1
    assert played.end.reason == "length"


def whole(city: str) -> str:
    return json.dumps({"name": "get_weather", "arguments": {"city": city}})


def test_a_call_that_outgrew_our_bound_is_asked_for_again_with_a_wider_one() -> None:
    """It looks whole, but nobody asked for half a text."""
    long = " ".join(str(n * n) for n in range(200))

    played = play(
        ask(ToolChoice("required")), text_attempt(whole(long[:256])), text_attempt(whole(long[:700]))
    )

    constraint = played.requests[1].constraint
    assert constraint is not None
    assert constraint.longest_text == 4096
    assert played.calls == [("get_weather", {"city": long[:700]})]


def test_a_call_that_outgrew_the_wider_bound_as_well_is_cut_off() -> None:
    long = " ".join(str(n * n) for n in range(2000))

    played = play(
        ask(ToolChoice("required")), text_attempt(whole(long[:256])), text_attempt(whole(long[:4096]))
    )

    assert played.calls == []
    assert (played.end.reason, played.text) == ("length", "")


def test_a_call_that_ran_away_into_our_bound_is_asked_for_again_with_short_texts() -> None:
    """The curbed text may fill its bound: what went round in circles has nothing to lose."""
    ran_away = text_attempt(whole(("the city of the " * 20)[:256]))

    played = play(ask(ToolChoice("required")), ran_away, text_attempt(whole("the city of the " * 5)))

    assert played.reasons == ["text_bound"]
    assert played.calls == [("get_weather", {"city": "the city of the " * 5})]


def test_named_constrains_to_that_tool() -> None:
    played = play(
        ask(ToolChoice("named", "read_file")),
        text_attempt('{"name": "read_file", "arguments": {"path": "a"}}'),
    )

    assert played.requests[0].constraint is not None
    assert [tool.name for tool in played.requests[0].constraint.tools] == ["read_file"]


def test_required_shows_no_text_before_the_verdict() -> None:
    played = play(
        ask(ToolChoice("required")),
        text_attempt("I would rather talk."),
        [native("get_weather", '{"city": "P"}'), CALLS],
        capabilities=Capabilities(),
    )

    assert played.text == ""
    assert played.reasons == ["no_call"]


def test_another_tool_than_the_named_one_is_rejected() -> None:
    played = play(
        ask(ToolChoice("named", "read_file")),
        [native("get_weather", '{"city": "P"}'), CALLS],
        [native("read_file", '{"path": "a"}'), CALLS],
        capabilities=Capabilities(),
    )

    assert played.reasons == ["wrong_tool"]
    assert played.calls == [("read_file", {"path": "a"})]


# -- budgets and giving up ----------------------------------------------------------------------------------------


def test_the_last_attempt_is_constrained() -> None:
    bad = [native("get_weather", "{}"), CALLS]
    played = play(ask(), bad, bad, text_attempt('{"name": "get_weather", "arguments": {"city": "P"}}'))

    assert [request.constraint is not None for request in played.requests] == [False, False, True]
    assert played.calls == [("get_weather", {"city": "P"})]


def test_no_constrain_switches_the_last_rung_off() -> None:
    bad = [native("get_weather", "{}"), CALLS]
    played = play(ask(), bad, bad, bad, policy=Policy(constrain=False))

    assert all(request.constraint is None for request in played.requests)


def test_exhausted_arguments_give_the_best_call() -> None:
    worse = [native("get_weather", '{"days": "x"}'), CALLS]
    better = [native("get_weather", '{"days": 1}'), CALLS]
    played = play(ask(), worse, better, worse, capabilities=Capabilities())

    assert played.calls == [("get_weather", {"days": 1})]
    assert played.end.reason == "tool_calls"


def test_exhausted_text_gives_the_first_answer_unaltered() -> None:
    broken = 'See: <tool_call>{"name": "get_weather", "arguments": {"city": "Par'
    played = play(ask(), *[text_attempt(broken)] * 4, capabilities=Capabilities())

    assert played.text == broken
    assert played.calls == []
    assert len(played.requests) == 4


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_budget_of_n_tolerates_n_failures(limit: int) -> None:
    policy = Policy(max_retries=limit)
    played = play(
        ask(), *[[native("nope", "{}"), CALLS]] * (limit + 1), policy=policy, capabilities=Capabilities()
    )

    assert len(played.requests) == limit + 1


def test_usage_is_the_sum_over_attempts() -> None:
    first = [native("nope", "{}"), Usage(prompt_tokens=10, completion_tokens=2, cached_tokens=1), CALLS]
    second = [TextDelta("It is sunny."), Usage(prompt_tokens=20, completion_tokens=3, cached_tokens=10), STOP]
    usage = play(ask(), first, second).end.usage

    assert usage == Usage(prompt_tokens=30, completion_tokens=5, cached_tokens=11)


# -- the token limit ------------------------------------------------------------------------------------------------


def test_a_call_cut_by_the_limit_is_neither_run_nor_retried() -> None:
    played = play(ask(), [native("get_weather", '{"city": "Pa'), Finish(reason="length")])

    assert played.calls == []
    assert played.end.reason == "length"


def test_structured_calls_that_are_whole_keep_the_servers_reason() -> None:
    played = play(ask(), [native("get_weather", '{"city": "P"}'), Finish(reason="length")])

    assert played.calls == [("get_weather", {"city": "P"})]
    assert played.end.reason == "length"


def test_complete_siblings_of_a_cut_call_count() -> None:
    played = play(
        ask(),
        [
            native("get_weather", '{"city": "P"}'),
            native("read_file", '{"path": "a', index=1, call_id="id2"),
            Finish(reason="length"),
        ],
    )

    assert played.calls == [("get_weather", {"city": "P"})]
    assert played.end.reason == "length"


def test_a_whole_call_followed_by_padding_up_to_the_limit_is_a_call() -> None:
    played = play(ask(), [TextDelta(HERMES + "\n" * 50), Finish(reason="length")])

    assert played.calls == [("get_weather", {"city": "Paris"})]
    assert played.end.reason == "tool_calls"


def test_text_cut_by_the_limit_is_the_answer() -> None:
    played = play(ask(), text_attempt("Let me read the file:", "length"))

    assert played.end.reason == "length"
    assert len(played.requests) == 1


# -- respond ----------------------------------------------------------------------------------------------------------


def test_respond_streams_its_message_as_text() -> None:
    turn = Turn(ask(), Policy(inject_respond_tool=True), CONSTRAINING)
    send = turn.start()[0]
    assert isinstance(send, Send)
    assert [tool.name for tool in send.request.tools] == ["get_weather", "read_file", "respond"]
    assert turn.feed(native("respond", '{"mess')) == []
    assert turn.feed(native("", 'age": "Hel', call_id=None)) == [TextDelta("Hel")]
    assert turn.feed(native("", 'lo"}', call_id=None)) == [TextDelta("lo")]

    (finished,) = turn.feed(CALLS)

    assert isinstance(finished, Finished)
    assert finished.reason == "stop"


def test_respond_beside_real_calls_is_text_beside_calls() -> None:
    played = play(
        ask(),
        [
            native("respond", '{"message": "On it."}'),
            native("get_weather", '{"city": "P"}', index=1, call_id="b"),
            CALLS,
        ],
        policy=Policy(text_policy="respond"),
    )

    assert played.text == "On it."
    assert played.calls == [("get_weather", {"city": "P"})]


def test_a_rescued_respond_call_is_text() -> None:
    played = play(
        ask(),
        text_attempt('<tool_call>{"name": "respond", "arguments": {"message": "Hi"}}</tool_call>'),
        policy=Policy(inject_respond_tool=True),
    )

    assert played.text == "Hi"
    assert played.end.reason == "stop"


@pytest.mark.parametrize("opener", ["", "<tool_call>", "```json\n", "  <tools>\n"])
def test_a_written_respond_call_streams_its_message_as_text(opener: str) -> None:
    turn = Turn(ask(), Policy(inject_respond_tool=True), CONSTRAINING)
    turn.start()
    assert turn.feed(TextDelta(opener + '{"name": "respond", "arguments": {"message": "It ')) == [
        TextDelta("It ")
    ]
    assert turn.feed(TextDelta("is so.")) == [TextDelta("is so.")]
    closer = {"<tool_call>": "</tool_call>", "```json\n": "\n```", "  <tools>\n": "</tools>"}.get(opener, "")
    outputs = turn.feed(TextDelta('"}}' + closer)) + turn.feed(STOP)

    assert [type(output) for output in outputs] == [Finished]


def test_a_written_respond_call_that_is_cut_off_leaves_its_message() -> None:
    played = play(
        ask(),
        text_attempt('<tool_call>{"name": "respond", "arguments": {"message": "It is', "length"),
        policy=Policy(inject_respond_tool=True),
    )

    assert (played.text, played.end.reason) == ("It is", "length")


@pytest.mark.parametrize("pieces", [['{"message": "It is so."}'], ['{"mess', 'age": "It is', ' so."}']])
def test_text_before_a_respond_call_comes_before_its_message(pieces: list[str]) -> None:
    calls = [native("respond", pieces[0]), *(CallDelta(index=0, arguments=piece) for piece in pieces[1:])]
    played = play(ask(), [TextDelta("Done. "), *calls, CALLS], policy=Policy(inject_respond_tool=True))

    assert (played.text, played.calls) == ("Done. It is so.", [])


def test_talk_about_a_respond_call_is_not_one() -> None:
    talk = 'Say {"name": "respond", "arguments": {"message": "no"}} like this.'
    turn = Turn(ask(), Policy(inject_respond_tool=True), CONSTRAINING)
    turn.start()
    assert turn.feed(TextDelta(talk)) == []


OWN_RESPOND = Tool(
    name="respond", parameters={"type": "object", "properties": {"message": {"type": "string"}}}
)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([native("respond", '{"message": "Hi"}'), CALLS], id="native"),
        pytest.param(
            text_attempt('<tool_call>{"name": "respond", "arguments": {"message": "Hi"}}</tool_call>'),
            id="written",
        ),
    ],
)
def test_a_clients_own_respond_tool_stays_a_tool(answer: list[Delta]) -> None:
    played = play(ask(tools=[WEATHER, OWN_RESPOND]), answer, policy=Policy(inject_respond_tool=True))

    assert played.calls == [("respond", {"message": "Hi"})]
    assert played.text == ""
    assert [tool.name for tool in played.requests[0].tools] == ["get_weather", "respond"]


def test_a_clients_own_respond_tool_stays_a_tool_in_a_constrained_attempt() -> None:
    played = play(
        ask(ToolChoice("required"), tools=[WEATHER, OWN_RESPOND]),
        text_attempt('{"name": "respond", "arguments": {"message": "Hi"}}'),
    )

    assert (played.text, played.calls) == ("", [("respond", {"message": "Hi"})])


def test_a_tool_of_another_kind_may_be_named_respond() -> None:
    own = Tool(name="respond", kind="custom")
    turn = Turn(ask(tools=[WEATHER, own]), Policy(inject_respond_tool=True))
    (send,) = turn.start()
    assert isinstance(send, Send)
    assert [tool.name for tool in send.request.tools] == ["get_weather", "respond"]


# -- text policies --------------------------------------------------------------------------------------------------------


def test_nudge_rejects_any_bare_text() -> None:
    played = play(
        ask(),
        text_attempt("It is sunny."),
        [native("get_weather", '{"city": "P"}'), CALLS],
        policy=Policy(text_policy="nudge"),
    )

    assert played.reasons == ["no_call"]


def test_trust_takes_any_text() -> None:
    text = 'Let me see: <tool_call>{"name": "nope", "arguments": {}}</tool_call>'
    played = play(ask(), text_attempt(text), policy=Policy(text_policy="trust"))

    assert played.text == text
    assert len(played.requests) == 1


# -- failures ----------------------------------------------------------------------------------------------------------------


def test_a_backend_error_of_the_first_attempt_is_the_callers() -> None:
    turn = Turn(ask())
    turn.start()

    with pytest.raises(BackendError):
        turn.fail(BackendError(503, "loading"))


def test_a_backend_error_of_a_retry_gives_the_answer_so_far() -> None:
    played = play(ask(), [native("get_weather", '{"days": 1}'), CALLS], StreamError("gone"))

    assert played.calls == [("get_weather", {"days": 1})]
    assert [a.verdict for a in played.end.attempts] == ["invalid_arguments", "backend_failed"]


def test_started_reaches_the_end() -> None:
    started = Started(id="chatcmpl-1", model="m", created=5)

    assert play(ask(), [started, TextDelta("It is sunny."), STOP]).end.started == started


def test_feeding_out_of_order_is_refused() -> None:
    turn = Turn(ask())
    with pytest.raises(ProtocolMisuseError):
        turn.feed(TextDelta("x"))
    turn.start()
    with pytest.raises(ProtocolMisuseError):
        turn.start()
    turn.feed(TextDelta("It is sunny."))
    turn.feed(STOP)
    with pytest.raises(ProtocolMisuseError):
        turn.feed(STOP)


# -- what is left of answers that were cut, rejected, or met a fault of ours ------------------------------------


def test_a_call_that_was_cut_before_its_arguments_is_not_executed() -> None:
    """No argument is required, so the call would be valid; but what the model was about to write is not known."""
    optional = Tool(
        name="list_files", parameters={"type": "object", "properties": {"path": {"type": "string"}}}
    )

    played = play(ask(tools=[optional]), [native("list_files", ""), Finish(reason="length")])

    assert played.calls == []
    assert played.end.reason == "length"
    assert len(played.requests) == 1


def test_the_best_calls_go_out_without_the_text_of_another_attempt() -> None:
    broken = text_attempt('Hm. <tool_call>{"name": "nope", "arguments": {}}</tool_call>')

    played = play(
        ask(),
        [native("get_weather", '{"city": [1, 2]}'), CALLS],
        broken,
        broken,
        policy=Policy(max_retries=1, max_tool_errors=1),
    )

    assert played.calls == [("get_weather", {"city": [1, 2]})]
    assert played.text == ""


def test_a_constrained_attempt_that_was_cut_leaves_the_earlier_answer() -> None:
    honoured = Capabilities(constrains=True, tool_choice_modes=frozenset({"required"}))

    played = play(
        ask(ToolChoice("required")),
        text_attempt("It is sunny in Paris."),
        text_attempt('{"name": "get_weather", "arguments": {"city": "Par', "length"),
        policy=Policy(max_retries=1),
        capabilities=honoured,
    )

    assert played.requests[1].constraint is not None
    assert (played.text, played.end.reason) == ("It is sunny in Paris.", "stop")


class Exploding(dict[str, object]):
    """A schema in which looking at anything fails: a stand-in for any fault of ours while an answer is judged."""

    armed = False

    def get(self, key: str, default: object = None) -> object:
        if self.armed:
            raise RuntimeError("boom")
        return super().get(key, default)

    def __getitem__(self, key: str) -> object:
        if self.armed:
            raise RuntimeError("boom")
        return super().__getitem__(key)


def test_a_fault_in_a_guard_passes_the_backends_answer_through() -> None:
    schema = Exploding(WEATHER.parameters)
    turn = Turn(ask(tools=[Tool(name="get_weather", parameters=schema)]))
    turn.start()
    pieces = ["Look: ", HERMES, " So ", "<tool"]

    schema.armed = True
    outputs = [output for delta in [*map(TextDelta, pieces), STOP] for output in turn.feed(delta)]

    assert "".join(output.text for output in outputs if isinstance(output, TextDelta)) == "".join(pieces)
    assert not any(isinstance(output, CallReady) for output in outputs)
    assert isinstance(outputs[-1], Finished)
    assert outputs[-1].attempts[0].verdict == GUARD_FAILED


def test_the_example_in_a_correction_is_of_the_tool_that_was_meant() -> None:
    broken = text_attempt('<tool_call>{"name": "read_file", "arguments": {"path": </tool_call>')

    shown = []
    for able in (Capabilities(), CONSTRAINING):
        played = play(ask(), broken, broken, text_attempt("I give up."), capabilities=able)
        correction = played.requests[2].messages[-1].parts[0]
        assert isinstance(correction, Text)
        shown.append('"name": "read_file"' in correction.text)
    # Where decoding can be constrained the form is safe, and an example is only something to copy.
    assert shown == [True, False]


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"city":' * 50_000])
def test_arguments_nested_beyond_any_reader_are_a_fault_of_the_model_not_of_a_guard(arguments: str) -> None:
    played = play(
        ask(),
        [TextDelta(HERMES), native("get_weather", arguments), CALLS],
        [native("get_weather", '{"city": "Rome"}'), CALLS],
    )

    assert played.reasons == ["invalid_arguments"]
    assert played.calls == [("get_weather", {"city": "Rome"})]


def test_arguments_in_many_pieces_cost_no_more_than_their_length() -> None:
    turn = Turn(ask())
    turn.start()
    begin = time.process_time()

    turn.feed(native("get_weather", '{"city": "'))
    for _ in range(300_000):
        turn.feed(CallDelta(index=0, arguments="x" * 8))
    turn.feed(CallDelta(index=0, arguments='"}'))
    outputs = turn.feed(CALLS)

    assert isinstance(outputs[0], CallReady)
    assert time.process_time() - begin < 20  # adding the pieces up one by one would take minutes


# -- no calls wanted ---------------------------------------------------------------------------------------------

NONE = ToolChoice("none")


def test_where_no_call_may_be_made_text_leaves_piece_by_piece() -> None:
    turn = Turn(ask(NONE))
    turn.start()
    assert turn.feed(TextDelta("<tool_call>")) == [TextDelta("<tool_call>")]


def test_a_call_that_may_not_be_made_is_told_so() -> None:
    played = play(ask(NONE), [native("get_weather", "{broken"), CALLS], text_attempt("It is sunny."))

    assert (played.text, played.calls, played.end.reason) == ("It is sunny.", [], "stop")
    assert played.reasons == ["forbidden"]
    made, told = (message.parts[0] for message in played.requests[1].messages[-2:])
    assert isinstance(made, Call)
    assert made.arguments == "{}"  # a history with broken arguments would be refused
    assert isinstance(told, Result)
    assert told.content.startswith("[NotRun]")
    assert all(request.constraint is None for request in played.requests)


@pytest.mark.parametrize("retries", [0, 1])
def test_a_call_that_is_insisted_on_is_shown(retries: int) -> None:
    attempts = [[native("get_weather", '{"city": "Paris"}'), CALLS]] * (retries + 1)
    played = play(ask(NONE), *attempts, policy=Policy(max_retries=retries))

    assert played.calls == []
    assert "get_weather" in played.text
    assert "Paris" in played.text
    assert played.end.reason == "stop"
    assert len(played.end.attempts) == retries + 1


def test_a_call_that_may_not_be_made_is_shown_where_the_next_attempt_fails() -> None:
    gone = StreamError("gone")
    played = play(ask(NONE), [native("get_weather", "{}"), CALLS], gone)
    assert (played.text, played.calls, played.end.reason) == ("get_weather({})", [], "stop")


def test_a_dropped_call_is_on_record_and_its_answer_is_not_passed_on_whole() -> None:
    finish = Finish(reason="tool_calls", body=b"{}")
    played = play(ask(NONE), [TextDelta("Sunny."), native("get_weather", "{}"), finish])

    assert (played.text, played.calls, played.end.body) == ("Sunny.", [], None)
    assert [attempt.verdict for attempt in played.end.attempts] == ["calls_dropped"]


def test_an_answer_without_calls_is_passed_on_whole_where_none_may_be_made() -> None:
    played = play(ask(NONE), [TextDelta("Sunny."), Finish(reason="stop", body=b"{}")])
    assert played.end.body == b"{}"


def test_no_tool_to_answer_by_is_offered_to_a_caller_that_demands_a_call() -> None:
    turn = Turn(ask(ToolChoice("required")), Policy(text_policy="respond"))
    (send,) = turn.start()
    assert isinstance(send, Send)
    assert [tool.name for tool in send.request.tools] == ["get_weather", "read_file"]


def logprobs(*tokens: str) -> dict[str, Any]:
    return {"logprobs": {"content": [{"token": token} for token in tokens], "refusal": None}}


@pytest.mark.parametrize("pieces", [["a", " <", " b", "."], ["a <", " b."], ["a < b."]], ids=len)
def test_what_came_beside_a_text_that_had_to_wait_goes_out_with_it(pieces: list[str]) -> None:
    """ "<" may begin a call, so it waits for what follows."""
    played = play(ask(), [*(TextDelta(piece, logprobs(piece)) for piece in pieces), STOP])

    extras = [o.extra for o in played.outputs if isinstance(o, TextDelta) and o.extra]
    assert played.text == "a < b."
    assert [t["token"] for extra in extras for t in extra["logprobs"]["content"]] == pieces


@pytest.mark.parametrize("choice", [None, ToolChoice("required")], ids=["auto", "required"])
def test_a_refusal_is_an_answer(choice: ToolChoice | None) -> None:
    refusal = {"delta": {"refusal": "I cannot do that."}}
    played = play(ask(choice), [TextDelta("", refusal), STOP])

    assert (played.reasons, played.end.reason) == ([], "stop")
    assert [o.extra for o in played.outputs if isinstance(o, TextDelta)] == [refusal]


def test_what_comes_without_text_is_no_text_to_go_on_from() -> None:
    played = play(ask(), [TextDelta("", logprobs("")), STOP], text_attempt("Hello."))
    assert played.text == "Hello."
