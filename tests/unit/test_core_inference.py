"""One turn: what is sent, what is appended, which budget is charged."""

import pytest
from pydantic import BaseModel

from forge.clients.backend import Tokenizer
from forge.clients.base import ChunkType, StreamChunk
from forge.context import ContextManager, NoCompact, SlidingWindowCompact, TieredCompact
from forge.core.calls import TextResponse, ToolCall
from forge.core.inference import run_inference
from forge.core.messages import Message, MessageMeta, MessageRole, MessageType
from forge.core.report import RunReport
from forge.core.workflow import ToolSpec
from forge.errors import StreamError, ToolCallError
from forge.guardrails import ErrorTracker, ResponseValidator

pytestmark = pytest.mark.anyio


class Params(BaseModel):
    n: int = 0


SPECS = [ToolSpec(name=name, description="", parameters=Params) for name in ("fetch", "submit")]
GOOD = [ToolCall("fetch", {"n": 1})]
BAD_ARGS = [ToolCall("fetch", {"n": "many"})]
UNKNOWN = [ToolCall("nope", {})]
PROSE = TextResponse("prose")


def history():
    return [
        Message(MessageRole.SYSTEM, "s", MessageMeta(MessageType.SYSTEM_PROMPT)),
        Message(MessageRole.USER, "u", MessageMeta(MessageType.USER_INPUT)),
    ]


async def infer(client, messages=None, *, context=None, retries=3, tool_errors=2, **options):
    return await run_inference(
        history() if messages is None else messages,
        client,
        context or ContextManager(NoCompact(), None),
        ResponseValidator(SPECS),
        options.pop("tracker", None) or ErrorTracker(retries, tool_errors),
        SPECS,
        **options,
    )


def kinds(messages):
    return [m.metadata.type.value for m in messages]


async def test_a_good_answer_costs_one_call(scripted):
    client = scripted((GOOD, 100))
    result = await infer(client, step_index=4)
    assert (result.response, result.new_messages, result.attempts) == (GOOD, [], 1)
    assert result.usage.prompt_tokens == 100
    assert client.sent == [[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]]
    assert client.options == [{"tools": SPECS, "sampling": None, "anthropic": None}]


async def test_a_text_answer_is_appended_with_its_correction(scripted):
    messages = history()
    client = scripted(PROSE, GOOD)
    result = await infer(client, messages, step_index=7)
    assert (result.attempts, kinds(result.new_messages)) == (2, ["text_response", "retry_nudge"])
    assert messages[2:] == result.new_messages
    assert {m.metadata.step_index for m in messages[2:]} == {7}
    assert client.sent[1][:2] == client.sent[0]
    assert client.sent[1][2] == {"role": "assistant", "content": "prose"}


async def test_every_call_of_a_rejected_batch_is_answered(scripted):
    client = scripted([ToolCall("nope", {}, reasoning="r"), ToolCall("fetch", {"n": "many"})], GOOD)
    result = await infer(client, tool_call_counter=3)
    assert kinds(result.new_messages) == ["reasoning", "tool_call", "retry_nudge", "retry_nudge"]
    _, call, first, second = result.new_messages
    assert [c.call_id for c in call.tool_calls] == ["call_000000003", "call_000000004"]
    assert (first.tool_call_id, first.tool_name, first.role) == ("call_000000003", "nope", MessageRole.TOOL)
    assert first.content.startswith("[UnknownTool] ")
    assert second.content.startswith("[ToolArgValidationError] ")
    assert result.tool_call_counter == 5


async def test_an_empty_list_of_calls_is_retried(scripted):
    assert (await infer(scripted([], GOOD))).attempts == 2


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(PROSE, "Exhausted after max_retries=3", id="text"),
        pytest.param(UNKNOWN, "Exhausted after max_retries=3", id="unknown"),
        pytest.param(BAD_ARGS, "Exhausted after max_tool_errors=2", id="arguments"),
    ],
)
async def test_a_spent_budget_is_an_error_that_carries_the_conversation(scripted, answer, text):
    client = scripted((answer, 9))
    messages, shown = history(), []
    with pytest.raises(ToolCallError, match=text) as caught:
        await infer(client, messages, on_message=shown.append)
    assert len(client.sent) == (4 if "retries" in text else 3)
    assert caught.value.usage.prompt_tokens == 9
    assert caught.value.messages == [*history(), *shown]
    assert len(caught.value.messages) > len(messages)
    assert caught.value.raw_response == (
        "prose" if answer is PROSE else str([(c.tool, c.args) for c in answer])
    )


async def test_each_budget_decides_for_itself(scripted):
    """Two kinds of failure in turn must not end a turn before one of the budgets is spent."""
    client = scripted(BAD_ARGS, PROSE, BAD_ARGS, PROSE, PROSE, GOOD)
    assert (await infer(client)).attempts == 6
    assert (await infer(scripted(*[BAD_ARGS] * 8, GOOD), tool_errors=10)).attempts == 9


async def test_the_attempt_limit_ends_without_an_error(scripted):
    client = scripted(PROSE)
    assert await infer(client, max_attempts=2) is None
    assert await infer(client, max_attempts=0) is None
    assert len(client.sent) == 2


async def test_a_new_list_for_each_attempt(scripted):
    client = scripted(PROSE, PROSE, GOOD)
    await infer(client)
    assert [len(sent) for sent in client.sent] == [2, 4, 6]


async def test_a_valid_answer_resets_the_retries(scripted):
    tracker = ErrorTracker()
    tracker.record_retry()
    await infer(scripted(GOOD), tracker=tracker)
    assert tracker.consecutive_retries == 0


async def test_usage_is_that_of_the_attempt_and_tells_the_context(scripted):
    context = ContextManager(NoCompact(), 1000)
    result = await infer(scripted((PROSE, 100), GOOD), context=context)
    assert result.usage is None
    assert context.usage is None
    await infer(scripted((GOOD, 123)), context=context)
    assert context.usage.current_usage_tokens == 123


async def test_compaction_replaces_the_callers_list_in_place(scripted):
    messages = history()
    for step in range(6):
        messages.append(Message(MessageRole.USER, "x" * 400, MessageMeta(MessageType.USER_INPUT, step)))
    context = ContextManager(SlidingWindowCompact(1, compact_threshold=0.5), 800)
    client = scripted(GOOD)
    await infer(client, messages, context=context)
    assert len(messages) == len(client.sent[0]) == 3


async def test_a_replaced_maybe_compact_is_called_once_for_each_attempt(scripted):
    context = ContextManager(NoCompact(), None)
    seen = []

    def keep(messages, step_index=0, step_hint=""):
        seen.append((len(messages), step_index, step_hint))
        return messages

    context.maybe_compact = keep
    await infer(scripted(PROSE, GOOD), context=context, step_index=2, step_hint="h")
    assert seen == [(2, 2, "h"), (4, 2, "h")]


async def test_a_warning_goes_out_but_not_into_the_history(scripted):
    context = ContextManager(
        NoCompact(), 100, context_thresholds=[0.5], on_context_threshold=lambda *_: "full"
    )
    context.update_token_count(60)
    messages, client = history(), scripted(GOOD)
    result = await infer(client, messages, context=context, inbound_anthropic_body={"a": 1})
    assert client.sent[0][-1] == {"role": "user", "content": "full"}
    assert (kinds(result.new_messages), len(messages)) == (["context_warning"], 2)
    assert client.options[0]["anthropic"] is None


async def test_a_callers_own_bodies_go_out_while_nothing_changed(scripted):
    raw = [{"role": "user", "content": "raw", "extra": 1}]
    client = scripted(PROSE, GOOD)
    await infer(client, raw_openai_messages=raw, inbound_anthropic_body={"a": 1})
    assert client.sent[0] == raw
    assert client.sent[0] is not raw
    assert client.sent[1][0] == {"role": "system", "content": "s"}
    assert [o["anthropic"] for o in client.options] == [{"a": 1}, None]


async def test_optional_arguments_are_passed_only_when_given():
    seen: list[set[str]] = []

    class Wide:
        async def send(self, messages, **options):
            seen.append(set(options))
            return [PROSE, GOOD][len(seen) - 1]

    await infer(Wide(), raw_openai_tools=[{}], extra_headers={"x": "y"})
    always = {"tools", "sampling", "passthrough", "inbound_anthropic_body"}
    assert seen == [always | {"raw_openai_tools", "extra_headers"}, always | {"extra_headers"}]


# -- partly good answers ------------------------------------------------------------------------------------


async def test_the_good_calls_of_a_mixed_answer_can_be_accepted(scripted):
    mixed = [ToolCall("nope", {}), *GOOD]
    tracker = ErrorTracker()
    result = await infer(scripted(mixed), accept_partial=True, tracker=tracker)
    assert (result.response, result.attempts, tracker.consecutive_retries) == (GOOD, 1, 1)
    assert [e.correction is None for e in result.judged] == [False, True]
    assert (await infer(scripted(mixed, GOOD))).attempts == 2


# -- streaming ----------------------------------------------------------------------------------------------


async def test_chunks_go_to_the_callback_with_a_mark_between_attempts(scripted):
    chunks: list[StreamChunk] = []

    async def show(chunk):
        chunks.append(chunk)

    result = await infer(scripted(TextResponse("a b"), GOOD), stream=True, on_chunk=show)
    assert result.response == GOOD
    types = [c.type for c in chunks]
    assert types == [ChunkType.TEXT_DELTA] * 2 + [ChunkType.FINAL, ChunkType.RETRY, ChunkType.FINAL]


async def test_a_stream_without_its_end_keeps_what_it_brought():
    class Dies:
        async def send_stream(self, messages, **_):
            yield StreamChunk(ChunkType.TEXT_DELTA, content="half an ")
            yield StreamChunk(ChunkType.TEXT_DELTA, content="answer")

    with pytest.raises(StreamError, match="FINAL chunk") as caught:
        await infer(Dies(), stream=True)
    assert caught.value.messages[-1].content == "half an answer"


async def test_every_call_is_reported(scripted):
    report = RunReport()
    await infer(scripted((PROSE, 10), ([ToolCall("fetch", {"n": "4"})], 20)), report=report, turn=3)
    assert [(c.verdict, c.step, c.attempt, c.prompt_tokens) for c in report.model_calls] == [
        ("retry", 3, 1, 10),
        ("accepted", 3, 2, 20),
    ]
    assert (report.retries, report.prompt_tokens, report.completion_tokens) == (1, 30, 10)
    assert [fix.path for fix in report.fixes] == ["/n"]


class Counting(Tokenizer):
    """A client whose server counts: a token for two characters."""

    api_format = "openai"

    def __init__(self, client, known=True):
        self.client, self.known, self.counted = client, known, []

    async def send(self, messages, **options):
        return await self.client.send(messages, **options)

    async def count_tokens(self, text, *, headers=None):
        self.counted.append(text)
        return len(text) // 2 if self.known else None


@pytest.mark.parametrize(
    ("budget", "known", "asked", "tokens"),
    [
        pytest.param(300, True, ["x" * 500], 250, id="counted"),
        pytest.param(200, False, ["x" * 500], 125, id="no tokenizer"),
        pytest.param(4000, True, [], 125, id="far from the budget"),
    ],
)
async def test_long_texts_are_counted_by_the_clients_tokenizer(scripted, budget, known, asked, tokens):
    client = Counting(scripted(GOOD), known)
    context = ContextManager(TieredCompact(), budget)
    messages = [*history(), Message(MessageRole.USER, "x" * 500, MessageMeta(MessageType.USER_INPUT))]
    for _ in range(2):
        await infer(client, messages, context=context)
    assert client.counted == (asked if known else asked * 2)
    context.count_tools([])
    assert context.estimate_tokens(messages) == pytest.approx(tokens, abs=2)


async def test_a_validator_may_take_text_for_an_answer(scripted):
    result = await run_inference(
        history(),
        scripted(TextResponse("Let me read the file:"), TextResponse("It is done.")),
        ContextManager(NoCompact(), None),
        ResponseValidator(SPECS, text_policy="auto"),
        ErrorTracker(),
        SPECS,
    )
    assert (result.response, result.attempts) == (TextResponse("It is done."), 2)
