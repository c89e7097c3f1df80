"""One contract for all model clients: direct ones over HTTP, litellm's, scripted, replay."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio
import pytest

from tests.stubs.model_contract import (
    ANTHROPIC,
    LITELLM_MARKS,
    OPENAI,
    PATIENCE_S,
    STALLED_S,
    Rig,
    answer,
    http_rig,
    replay_rig,
    request,
    scripted_rig,
)
from tests.stubs.sse_server import Reply, chat_calls, chat_delta
from tui_agent.models.chat_completions import ChatCompletionsClient
from tui_agent.models.responses import ResponsesClient
from tui_agent.protocol.messages import AssistantMessage
from tui_agent.protocol.parts import ReasoningPart, TextPart

Make = Callable[..., AbstractAsyncContextManager[Rig]]

CHAT = partial(http_rig, "chat", ChatCompletionsClient, "m")
RESPONSES = partial(http_rig, "responses", ResponsesClient, "m")

SCRIPTED, REPLAY = pytest.param(scripted_rig, id="scripted"), pytest.param(replay_rig, id="replay")
DIRECT = [pytest.param(CHAT, id="chat"), pytest.param(RESPONSES, id="responses")]
LITELLM = [
    pytest.param(OPENAI, id="openai", marks=LITELLM_MARKS),
    pytest.param(ANTHROPIC, id="anthropic", marks=LITELLM_MARKS),
]
every_client = pytest.mark.parametrize("make", [*DIRECT, SCRIPTED, REPLAY, *LITELLM])
failing_clients = pytest.mark.parametrize("make", [*DIRECT, SCRIPTED, *LITELLM])
http_clients = pytest.mark.parametrize("make", [*DIRECT, *LITELLM])
direct_clients = pytest.mark.parametrize("make", DIRECT)

READ = ("call_a", "read_file", '{"path": "a.py"}')
READ_AGAIN = ("call_b", "read_file", '{"path": "a.py"}')


@every_client
async def test_text_comes_out_whole_with_the_providers_usage(make: Make) -> None:
    async with make(Reply(text="Hello there, wörld ✓")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.text == "Hello there, wörld ✓"
    assert outcome.assembler.finish == "stop"
    usage = outcome.assembler.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (110, 7, 30)
    assert not usage.estimated


@every_client
async def test_reasoning_is_kept_apart_from_the_text(make: Make) -> None:
    async with make(Reply(reasoning="first think", text="then speak")) as rig:
        outcome = await answer(rig)
    assert [type(part) for part in outcome.parts] == [ReasoningPart, TextPart]
    assert outcome.parts[0].text == "first think"  # type: ignore[union-attr]


@every_client
async def test_parallel_calls_keep_their_order_and_ids(make: Make) -> None:
    async with make(Reply(text="both", calls=(READ, READ_AGAIN))) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.finish == "tool_calls"
    assert [call.call_id for call in outcome.calls] == ["call_a", "call_b"]
    assert [call.arguments for call in outcome.calls] == [{"path": "a.py"}] * 2
    assert all(call.malformed is None for call in outcome.calls)


@every_client
async def test_half_arguments_are_malformed_and_never_completed(make: Make) -> None:
    async with make(Reply(calls=(("call_a", "read_file", '{"path": "a.p'),))) as rig:
        outcome = await answer(rig)
    assert [call.arguments for call in outcome.calls] == [{}]
    assert outcome.calls[0].malformed == '{"path": "a.p'


@every_client
async def test_an_empty_answer_is_a_transient_fault(make: Make) -> None:
    async with make(Reply()) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "empty"


@failing_clients
@pytest.mark.parametrize("fault", ["cut", "abort"])
async def test_a_stream_that_breaks_off_is_cut_and_keeps_its_text(make: Make, fault: str) -> None:
    async with make(Reply(text="half of an ans", fault=fault)) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"
    assert outcome.assembler.text == "half of an ans"


@failing_clients
async def test_a_call_in_a_cut_stream_never_counts_as_an_answer(make: Make) -> None:
    async with make(Reply(calls=(READ,), fault="cut")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"


@failing_clients
async def test_a_rate_limit_carries_the_providers_wish(make: Make) -> None:
    async with make(Reply(status=429, headers={"Retry-After": "2"})) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.retry_after, outcome.fault.status) == ("rate_limit", 2.0, 429)


@failing_clients
async def test_a_failed_request_can_be_sent_again(make: Make) -> None:
    limit = Reply(status=429, headers={"Retry-After": "2"}, text="now it works")
    async with make(limit, Reply(text="now it works")) as rig:
        assert (await answer(rig)).fault is not None
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.text == "now it works"


@every_client
async def test_leaving_early_ends_the_stream(make: Make) -> None:
    async with make(Reply(text="one two three four five six")) as rig:
        with anyio.fail_after(PATIENCE_S):
            async with rig.client.stream(request(rig.info)) as chunks:
                await anext(chunks)


@http_clients
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (403, "auth"),
        (404, "invalid_request"),
        (500, "server_error"),
        (502, "server_error"),
        (503, "overloaded"),
        (529, "overloaded"),
    ],
)
async def test_each_status_is_one_typed_fault(make: Make, status: int, kind: str) -> None:
    async with make(Reply(status=status, body={"error": {"message": "no luck"}})) as rig:
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.status) == (kind, status)
    assert "no luck" in outcome.fault.message


@direct_clients
async def test_a_timeout_of_the_server_keeps_its_status(make: Make) -> None:
    async with make(Reply(status=408)) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.status) == ("timeout", 408)


@http_clients
async def test_an_overflow_is_told_apart_from_other_bad_requests(make: Make) -> None:
    error = {
        "error": {
            "code": "context_length_exceeded",
            "message": "This model's maximum context length is 8192.",
        }
    }
    async with make(Reply(status=400, body=error)) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "overflow"


@pytest.mark.slow_variants
@http_clients
@pytest.mark.parametrize("fault", ["stall", "stall_first"])
async def test_a_stall_ends_by_our_own_clock_and_hangs_up(make: Make, fault: str) -> None:
    async with make(Reply(text="and then", fault=fault), timeout=STALLED_S) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
        assert rig.server is not None
        with anyio.fail_after(PATIENCE_S):
            await rig.server.hung_up.wait()
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


@http_clients
async def test_cancelling_closes_the_connection(make: Make) -> None:
    async with make(Reply(text="and then", fault="stall")) as rig:
        assert rig.server is not None
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(answer, rig)
                await rig.server.sent.wait()
                group.cancel_scope.cancel()
            await rig.server.hung_up.wait()


@direct_clients
async def test_broken_json_in_the_stream_is_malformed_and_kept(make: Make) -> None:
    async with make(Reply(text="so far", fault="broken")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "malformed"
    assert '"con' in outcome.fault.original


@direct_clients
async def test_an_error_inside_the_stream_is_one_fault(make: Make) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded, try again later"}
    async with make(Reply(text="so far", fault="error", error=error)) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "overloaded"
    assert outcome.assembler.text == "so far"


@http_clients
async def test_a_refusal_is_final_and_says_what_the_model_said(make: Make) -> None:
    async with make(Reply(text="I cannot help with that.", finish="refusal")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "refusal"
    assert "I cannot help" in outcome.fault.message


@http_clients
async def test_a_length_finish_is_an_answer_that_says_so(make: Make) -> None:
    async with make(Reply(text="to be contin", finish="length")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.finish == "length"


@direct_clients
async def test_a_connection_lost_after_the_finish_signal_is_no_fault(make: Make) -> None:
    async with make(Reply(text="all said", fault="late_abort")) as rig:
        outcome = await answer(rig)
    assert outcome.assembler.finished is not None
    assert outcome.fault is None


@direct_clients
async def test_a_server_that_cannot_stream_is_understood(make: Make) -> None:
    async with make(Reply(text="in one piece", calls=(READ,), whole=True)) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.text == "in one piece"
    assert outcome.calls[0].arguments == {"path": "a.py"}


@direct_clients
async def test_requests_name_the_product_carry_the_key_and_a_token_limit(make: Make) -> None:
    async with make(Reply(text="ok")) as rig:
        await answer(rig)
        assert rig.server is not None
        asked = rig.server.requests[0]
    assert asked.headers["user-agent"].startswith("tui-agent/")
    assert asked.headers["authorization"] == "Bearer sk-test"
    assert 1_000 in (asked.body.get("max_tokens"), asked.body.get("max_output_tokens"))


@direct_clients
async def test_reasoning_goes_back_to_the_model_that_gave_it_only(make: Make) -> None:
    async with make(Reply(reasoning="thought", calls=(READ,)), Reply(text="a"), Reply(text="b")) as rig:
        outcome = await answer(rig)
        for model in ("p", "another"):
            await answer(rig, request(rig.info, AssistantMessage(parts=outcome.parts, model=model)))
        assert rig.server is not None
        same, other = (str(asked.body) for asked in rig.server.requests[1:])
    assert "thought" in same
    assert "thought" not in other
    assert "call_a" in other


async def test_the_end_marker_alone_does_not_finish_a_chat_answer() -> None:
    async with CHAT(Reply(text="half", fault="done_only")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"


@direct_clients
async def test_an_unreachable_address_says_which(make: Make) -> None:
    async with make() as rig:
        assert rig.server is not None
        await rig.server.stop()
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "transport"
    assert "127.0.0.1" in outcome.fault.message


async def test_odd_tool_call_streams_of_real_servers_come_out_right() -> None:
    pieces = chat_calls(
        {"index": 0, "function": {"name": "read_file", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"path": "a.py"}'}},
        {"index": 0, "id": "two", "function": {"name": "grep", "arguments": '{"pattern":'}},
        {"index": 0, "id": "two", "function": {"arguments": ' "x"}'}},
    )
    async with CHAT(Reply(raw=(*pieces, chat_delta({}, "stop")))) as rig:
        outcome = await answer(rig)
    assert [(call.name, call.arguments) for call in outcome.calls] == [
        ("read_file", {"path": "a.py"}),
        ("grep", {"pattern": "x"}),
    ]
    assert outcome.assembler.finish == "tool_calls"


@direct_clients
async def test_half_surrogates_do_not_stop_a_request(make: Make) -> None:
    async with make(Reply(text="ok")) as rig:
        outcome = await answer(rig, request(rig.info, text="bad \ud800 text"))
        assert rig.server is not None
        assert "bad ? text" in str(rig.server.requests[0].body)
    assert outcome.fault is None


@direct_clients
async def test_an_unknown_model_is_answered_with_the_models_that_there_are(make: Make) -> None:
    unknown = Reply(status=404, body={"error": {"message": "The model `m` does not exist"}})
    for names, hint in (
        ([], "Check the model's name and its options (tui-agent models check)."),
        (
            list("abcdefgh"),
            "Available models: a, b, c, d, e, f and 2 more.",
        ),
    ):
        async with make(unknown) as rig:
            assert rig.server is not None
            rig.server.models = names
            outcome = await answer(rig)
        assert outcome.fault is not None and outcome.fault.hint == hint
        assert [asked.path for asked in rig.server.requests][1:] == ["/v1/models"]


@direct_clients
async def test_a_missing_route_of_an_own_server_is_a_matter_of_the_address(make: Make) -> None:
    async with make(Reply(status=404, body={"detail": "Not Found"})) as rig:
        assert rig.server is not None
        outcome = await answer(rig)
        path = rig.server.requests[0].path
    assert outcome.fault is not None
    assert (
        outcome.fault.hint == f"Check the address and the model's name: {rig.server.url}{path} was not found."
    )


async def test_a_missing_route_of_an_address_without_a_version_asks_for_the_version() -> None:
    async with http_rig(
        "anthropic", ChatCompletionsClient, "m", Reply(status=404, body={"detail": "Not Found"})
    ) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None and outcome.fault.hint == "Does the address end in /v1?"


@direct_clients
async def test_another_refusal_does_not_ask_for_the_models(make: Make) -> None:
    async with make(Reply(status=400, body={"error": {"message": "temperature must be below 2"}})) as rig:
        assert rig.server is not None
        await answer(rig)
    assert len(rig.server.requests) == 1
