"""Workflow rules and the loop guard in a turn: what is corrected, on which channel, and what happens in the end."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from servers.turns import CALLS, CONSTRAINING, Played, native, text_attempt

from forge.core.capabilities import Capabilities
from forge.core.events import CallDelta, Delta, Send, TextDelta
from forge.core.request import Call, ChatMessage, Request, Result, Text, Tool, ToolChoice
from forge.engine import Policy, Turn
from forge.engine.workflow_rules import WorkflowRules

PUBLISH = WorkflowRules(
    required_steps=("test", "build"),
    terminal_tools=("publish",),
    prerequisites={"build": ("test",), "edit": ({"tool": "read", "match_arg": "path"},)},
)
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = tuple(Tool(name=name, parameters=PATH) for name in ("test", "build", "publish", "read", "edit"))


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", parts=(Text(text),))


def done(name: str, arguments: str = "{}", result: str = "ok", call_id: str = "") -> list[ChatMessage]:
    """A call that was made, and its result."""
    call_id = call_id or f"{name}-{len(result)}"
    call = Call(id=call_id, name=name, arguments=arguments)
    return [
        ChatMessage(role="assistant", parts=(call,)),
        ChatMessage(role="tool", parts=(Result(call_id, result),)),
    ]


def play(
    history: Sequence[ChatMessage],
    *attempts: Sequence[Delta],
    policy: Policy | None = None,
    choice: ToolChoice | None = None,
    tools: tuple[Tool, ...] = TOOLS,
    capabilities: Capabilities = CONSTRAINING,
) -> Played:
    request = Request(messages=(user("go"), *history), tools=tools, tool_choice=choice)
    return Played(Turn(request, policy or Policy(workflows=(PUBLISH,)), capabilities), attempts)


def makes(name: str, arguments: str = "{}") -> list[Delta]:
    return [native(name, arguments), CALLS]


TESTED = done("test")
BUILT = [*TESTED, *done("build")]


# -- workflows ------------------------------------------------------------------------------------------------


def test_text_is_no_answer_while_steps_are_open() -> None:
    played = play(TESTED, text_attempt("All done."), makes("build"))

    assert played.reasons == ["step"]
    assert played.calls == [("build", {})]
    assert played.text == ""
    answer, correction = played.requests[1].messages[-2:]
    assert answer.parts == (Text("All done."),)
    assert correction.role == "user"
    assert isinstance(correction.parts[0], Text)
    assert "build" in correction.parts[0].text
    assert "test" not in correction.parts[0].text


def test_text_is_an_answer_when_the_steps_are_done() -> None:
    played = play(BUILT, text_attempt("All done."))
    assert (played.text, played.reasons) == ("All done.", [])


def test_the_end_waits_for_the_steps_on_the_tool_channel() -> None:
    played = play(TESTED, makes("publish"), makes("build"))

    assert played.reasons == ["step"]
    result = played.requests[1].messages[-1]
    assert result.role == "tool"
    assert isinstance(result.parts[0], Result)
    assert result.parts[0].call_id == "id1"
    assert result.parts[0].content.startswith("[StepEnforcementError]")


def test_the_end_may_come_when_the_steps_are_done() -> None:
    assert play(BUILT, makes("publish")).calls == [("publish", {})]


@pytest.mark.parametrize(
    ("history", "arguments", "fits"),
    [
        pytest.param([], '{"path": "a"}', False, id="never-read"),
        pytest.param(done("read", '{"path": "a"}'), '{"path": "a"}', True, id="read"),
        pytest.param(done("read", '{"path": "b"}'), '{"path": "a"}', False, id="read-another"),
        pytest.param(
            done("read", '{"path": "a"}', "Error: no such file"), '{"path": "a"}', False, id="failed"
        ),
        pytest.param(done("read", '{"path": "a"}')[:1], '{"path": "a"}', False, id="no-result"),
    ],
)
def test_a_call_waits_for_the_success_that_it_depends_on(
    history: list[ChatMessage], arguments: str, fits: bool
) -> None:
    attempts = [makes("edit", arguments)] if fits else [makes("edit", arguments), makes("test")]
    played = play(history, *attempts)

    assert played.reasons == ([] if fits else ["prerequisite"])
    if not fits:
        result = played.requests[1].messages[-1].parts[0]
        assert isinstance(result, Result)
        assert result.content.startswith("[PrerequisiteError]")
        assert "read" in result.content


def test_a_call_of_the_same_answer_is_no_success_yet() -> None:
    both = [native("test", "{}"), native("build", "{}", 1, "id2"), CALLS]
    played = play([], both, makes("test"))

    assert played.reasons == ["prerequisite"]
    first, second = (message.parts[0] for message in played.requests[1].messages[-2:])
    assert isinstance(first, Result)
    assert isinstance(second, Result)
    assert first.content.startswith("[NotRun]")
    assert second.content.startswith("[PrerequisiteError]")


def test_corrections_get_sharper_and_then_the_answer_passes() -> None:
    played = play(TESTED, *[makes("publish")] * 4)

    assert played.reasons == ["step"] * 3
    assert played.calls == [("publish", {})]
    told = [request.messages[-1].parts[0] for request in played.requests[1:]]
    assert len({part.content for part in told if isinstance(part, Result)}) == 3


def test_in_the_end_the_text_passes_too() -> None:
    played = play(TESTED, *[text_attempt("All done.")] * 4)
    assert (played.text, played.end.reason) == ("All done.", "stop")


def test_the_constrained_attempt_offers_only_what_may_be_called_now() -> None:
    played = play([], *[makes("publish")] * 3, text_attempt('{"name": "test", "arguments": {}}'))

    constraint = played.requests[-1].constraint
    assert constraint is not None
    assert [tool.name for tool in constraint.tools] == ["test", "read", "edit"]
    assert played.calls == [("test", {})]
    assert [len(request.tools) for request in played.requests] == [5] * 4


def test_rules_for_other_tools_do_not_hold() -> None:
    played = play([], text_attempt("All done."), tools=TOOLS[:3])
    assert (played.text, played.reasons) == ("All done.", [])


def test_what_the_caller_demands_by_name_is_not_held_up() -> None:
    played = play([], makes("publish"), choice=ToolChoice("named", "publish"), capabilities=Capabilities())
    assert played.calls == [("publish", {})]


def test_a_caller_that_wants_no_call_gets_text() -> None:
    played = play([], text_attempt("All done."), choice=ToolChoice("none"))
    assert played.text == "All done."


def test_the_tool_to_answer_by_is_an_end_too_and_its_message_waits() -> None:
    policy = Policy(workflows=(PUBLISH,), text_policy="respond")
    turn = Turn(Request(messages=(user("go"),), tools=TOOLS), policy)
    turn.start()
    outputs = turn.feed(native("respond", '{"message": "All'))
    outputs += turn.feed(CallDelta(index=0, arguments=' done."}'))
    assert outputs == []
    assert isinstance(turn.feed(CALLS)[-1], Send)


def test_in_the_end_the_message_passes_as_text() -> None:
    policy = Policy(workflows=(PUBLISH,), text_policy="respond", max_retries=1)
    played = play([], *[makes("respond", '{"message": "All done."}')] * 2, policy=policy)
    assert (played.text, played.calls, played.end.reason) == ("All done.", [], "stop")


def test_text_before_a_call_is_kept_while_steps_are_open() -> None:
    played = play([], [TextDelta("First I test."), native("test", "{}"), CALLS])
    assert (played.text, played.calls) == ("First I test.", [("test", {})])


# -- the loop guard ------------------------------------------------------------------------------------------


READ = ("read", '{"path": "a"}', "contents of a")
LIST = ("edit", '{"path": "b"}', "a b c")


def again(*calls: tuple[str, str, str]) -> list[ChatMessage]:
    return [m for n, (name, args, result) in enumerate(calls) for m in done(name, args, result, f"c{n}")]


def loop(history: Sequence[ChatMessage], *attempts: Sequence[Delta], limit: int = 3) -> Played:
    return play(history, *attempts, policy=Policy(loop_limit=limit))


@pytest.mark.parametrize("history", [[READ] * 3, [READ, LIST, READ, LIST]], ids=["same", "cycle"])
def test_a_call_that_goes_round_in_circles_is_told_what_it_gave(history: list[tuple[str, str, str]]) -> None:
    played = loop(again(*history), makes("read", '{"path":"a"}'), text_attempt("It says so."))

    assert played.reasons == ["repeated"]
    assert played.text == "It says so."
    result = played.requests[1].messages[-1].parts[0]
    assert isinstance(result, Result)
    assert result.content.startswith("[RepeatedCall]")
    assert "contents of a" in result.content


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([READ] * 2, id="not-often-enough"),
        pytest.param([READ, READ, ("read", '{"path": "a"}', "other")], id="polling"),
        pytest.param([("read", '{"path": "b"}', "contents of a")] * 3, id="other-arguments"),
        pytest.param([READ, READ, READ, LIST], id="something-else-since"),
    ],
)
def test_what_does_not_go_round_in_circles_passes(history: list[tuple[str, str, str]]) -> None:
    assert loop(again(*history), makes("read", '{"path": "a"}')).reasons == []


def test_a_word_of_the_users_is_a_reason_to_call_again() -> None:
    history = [*again(READ, READ, READ), user("Read it once more.")]
    assert loop(history, makes("read", '{"path": "a"}')).reasons == []


def test_a_reminder_beside_a_result_is_no_word_of_the_users() -> None:
    history = again(READ, READ, READ)
    last = history[-1]
    history[-1] = ChatMessage(
        role="user", parts=(*last.parts, Text("<system-reminder>tidy up</system-reminder>"))
    )
    played = loop(history, makes("read", '{"path": "a"}'), text_attempt("It says so."))
    assert played.reasons == ["repeated"]


def test_an_answer_that_also_does_something_new_passes() -> None:
    both = [native("read", '{"path": "a"}'), native("edit", '{"path": "z"}', 1, "id2"), CALLS]
    assert loop(again(READ, READ, READ), both).reasons == []


def test_a_limit_of_none_lets_everything_pass() -> None:
    assert loop(again(*[READ] * 9), makes("read", '{"path": "a"}'), limit=0).reasons == []


def test_in_the_end_the_call_passes_without_being_constrained() -> None:
    played = loop(again(READ, READ, READ), *[makes("read", '{"path": "a"}')] * 4)

    assert played.reasons == ["repeated"] * 3
    assert played.calls == [("read", {"path": "a"})]
    assert all(request.constraint is None for request in played.requests)


def test_a_long_result_is_quoted_in_part() -> None:
    long = ("read", '{"path": "a"}', "x" * 50_000)
    played = loop(again(long, long, long), makes("read", '{"path": "a"}'), text_attempt("Enough."))
    result = played.requests[1].messages[-1].parts[0]
    assert isinstance(result, Result)
    assert 500 < len(result.content) < 2000


def test_a_written_call_goes_round_in_circles_too() -> None:
    written = '<tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>'
    played = loop(again(READ, READ, READ), text_attempt(written), text_attempt("It says so."))
    assert played.reasons == ["repeated"]
    assert json.loads(written[11:-12])["name"] == "read"


def test_the_guards_share_one_turn() -> None:
    """A repeated call that is corrected may come back as one that is too early, and both are told."""
    policy = Policy(workflows=(PUBLISH,))
    played = play(
        again(READ, READ, READ),
        makes("read", '{"path": "a"}'),
        makes("publish"),
        makes("test"),
        policy=policy,
    )
    assert played.reasons == ["repeated", "step"]
