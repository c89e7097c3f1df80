"""The contract for litellm's client, in OpenAI's and Anthropic's form. One module, so that it is imported once."""

import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio
import pytest

from tests.stubs.fault_matrix import CASES, Case
from tests.stubs.model_contract import PATIENCE_S, STALLED_S, Rig, answer, http_rig, request
from tests.stubs.sse_server import Reply
from tui_agent.models.litellm_client import LiteLLMClient, load
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart
from tui_agent.protocol.settings import ModelInfo

Make = Callable[..., AbstractAsyncContextManager[Rig]]

OPENAI = partial(http_rig, "chat", LiteLLMClient, "openai/m")
ANTHROPIC = partial(http_rig, "anthropic", LiteLLMClient, "anthropic/claude-sonnet-4-5")

pytestmark = [
    pytest.mark.slow,  # to import litellm takes as long as hundreds of other tests
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning"
    ),  # litellm's own calls; ours are not on this path
]

both = pytest.mark.parametrize("make", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """litellm's first answer builds its types, which may take longer than the short time limits below."""

    async def once() -> None:
        for make in (OPENAI, ANTHROPIC):
            async with make(Reply(text="warm"), timeout=60.0) as rig:
                assert (await answer(rig)).fault is None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load()
        anyio.run(once)


USER = UserMessage(content=(TextContent(text="go"),))
RESULT = ToolMessage(call_id=CallId("call_a"), name="read_file", content=(TextContent(text="x"),))

READ = ("call_a", "read_file", '{"path": "a.py"}')
READ_AGAIN = ("call_b", "read_file", '{"path": "a.py"}')


@both
async def test_text_comes_out_whole_with_the_providers_usage(make: Make) -> None:
    async with make(Reply(text="Hello there, wörld ✓")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.text == "Hello there, wörld ✓"
    assert outcome.assembler.finish == "stop"
    usage = outcome.assembler.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (110, 7, 30)


@both
async def test_parallel_calls_keep_their_order_and_ids(make: Make) -> None:
    async with make(Reply(text="both", calls=(READ, READ_AGAIN))) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.finish == "tool_calls"
    assert [call.call_id for call in outcome.calls] == ["call_a", "call_b"]
    assert [call.arguments for call in outcome.calls] == [{"path": "a.py"}] * 2


@both
async def test_half_arguments_are_malformed_and_never_completed(make: Make) -> None:
    async with make(Reply(calls=(("call_a", "read_file", '{"path": "a.p'),))) as rig:
        outcome = await answer(rig)
    assert [call.arguments for call in outcome.calls] == [{}]
    assert outcome.calls[0].malformed == '{"path": "a.p'


@both
@pytest.mark.parametrize("fault", ["cut", "abort"])
async def test_a_stream_that_breaks_off_is_cut_although_litellm_says_stop(make: Make, fault: str) -> None:
    async with make(Reply(text="half of an ans", fault=fault)) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"
    assert outcome.assembler.text == "half of an ans"


@both
async def test_a_call_in_a_cut_stream_never_counts_as_an_answer(make: Make) -> None:
    async with make(Reply(calls=(READ,), fault="cut")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"


@both
async def test_an_empty_answer_is_a_transient_fault(make: Make) -> None:
    async with make(Reply()) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "empty"


@both
async def test_a_rate_limit_is_asked_once_and_carries_the_providers_wish(make: Make) -> None:
    async with make(Reply(status=429, headers={"Retry-After": "2"})) as rig:
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    assert outcome.fault is not None
    assert (outcome.fault.kind, outcome.fault.retry_after, outcome.fault.status) == ("rate_limit", 2.0, 429)


@both
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (404, "invalid_request"),
        (500, "server_error"),
        (529, "overloaded"),
    ],
)
async def test_each_status_is_one_typed_fault(make: Make, status: int, kind: str) -> None:
    async with make(Reply(status=status, body={"error": {"message": "no luck"}})) as rig:
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    assert outcome.fault is not None
    assert outcome.fault.kind == kind
    assert "no luck" in outcome.fault.message


@both
async def test_an_overflow_is_told_apart_from_other_bad_requests(make: Make) -> None:
    error = {
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 210000 tokens > 200000 maximum",
        }
    }
    async with make(Reply(status=400, body=error)) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "overflow"


@both
@pytest.mark.parametrize("fault", ["stall", "stall_first"])
async def test_a_stall_ends_by_our_own_clock_and_hangs_up(make: Make, fault: str) -> None:
    async with make(Reply(text="and then", fault=fault), timeout=STALLED_S) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
        assert rig.server is not None
        with anyio.fail_after(PATIENCE_S):
            await rig.server.hung_up.wait()
    assert outcome.fault is not None
    assert outcome.fault.kind == "timeout"


@both
async def test_cancelling_closes_the_connection(make: Make) -> None:
    async with make(Reply(text="and then", fault="stall")) as rig:
        assert rig.server is not None
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(answer, rig)
                await rig.server.sent.wait()
                group.cancel_scope.cancel()
            await rig.server.hung_up.wait()


@both
@pytest.mark.parametrize("fault", ["broken", "error"])
async def test_a_fault_inside_the_stream_is_one_fault_and_keeps_the_text(make: Make, fault: str) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    async with make(Reply(text="so far", fault=fault, error=error)) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.assembler.text == "so far"


@both
async def test_a_refusal_is_final(make: Make) -> None:
    async with make(Reply(text="I cannot help with that.", finish="refusal")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "refusal"


@both
async def test_a_length_finish_is_an_answer_that_says_so(make: Make) -> None:
    async with make(Reply(text="to be contin", finish="length")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert outcome.assembler.finish == "length"


def thinking(rig: Rig) -> ModelInfo:
    return rig.info.model_copy(update={"effort": "low", "effective_effort": "low"})


async def test_anthropics_thinking_goes_back_with_its_signature_to_the_same_model_only() -> None:
    async with ANTHROPIC(
        Reply(reasoning="a thought", calls=(READ,)), Reply(text="a"), Reply(text="b")
    ) as rig:
        info = thinking(rig)
        outcome = await answer(rig, request(info))
        for model in ("p", "another"):
            await answer(rig, request(info, USER, AssistantMessage(parts=outcome.parts, model=model), RESULT))
        assert rig.server is not None
        asked = [one.body for one in rig.server.requests]
        same, other = (str(body["messages"]) for body in asked[1:])
    reasoning = outcome.parts[0]
    assert isinstance(reasoning, ReasoningPart)
    assert (reasoning.text, reasoning.signature) == ("a thought", "sealed")
    assert "a thought" in same
    assert "sealed" in same
    assert "a thought" not in other
    assert ["thinking" in body for body in asked] == [True, True, False]


async def test_anthropic_is_asked_to_keep_the_prompt_in_its_cache() -> None:
    async with ANTHROPIC(Reply(text="a")) as rig:
        await answer(rig)
        assert rig.server is not None
        body = rig.server.requests[0].body
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@both
async def test_the_same_litellm_serves_a_client_made_after_another_was_closed(make: Make) -> None:
    for text in ("first", "second"):
        async with make(Reply(text=text)) as rig:
            outcome = await answer(rig)
        assert outcome.assembler.text == text
        assert isinstance(outcome.parts[0], TextPart)


@both
async def test_requests_name_the_product_and_carry_a_token_limit(make: Make) -> None:
    async with make(Reply(text="ok")) as rig:
        await answer(rig)
        assert rig.server is not None
        asked = rig.server.requests[0]
    assert asked.headers["user-agent"].startswith("tui-agent/")
    assert asked.body["max_tokens"] == 1_000
    assert asked.body["stream"] is True


@both
async def test_nothing_is_printed(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    async with make(Reply(status=401), Reply(text="ok"), Reply(text="x", fault="broken")) as rig:
        for _ in range(3):
            await answer(rig)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES if "anthropic" in c.shapes])
async def test_a_fault_has_one_outcome(case: Case) -> None:
    timeout = STALLED_S if case.reply.fault.startswith("stall") else PATIENCE_S
    async with ANTHROPIC(case.reply, timeout=timeout) as rig:
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    case.check(outcome)


GEMINI = partial(http_rig, "gemini", LiteLLMClient, "gemini/gemini-2.5-pro")


async def test_gemini_ends_where_it_says_so() -> None:
    async with GEMINI(Reply(text="Hello there")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert (outcome.assembler.text, outcome.assembler.finish) == ("Hello there", "stop")


async def test_geminis_calls_are_calls() -> None:
    async with GEMINI(Reply(calls=(READ,))) as rig:
        outcome = await answer(rig)
    assert outcome.fault is None
    assert [call.arguments for call in outcome.calls] == [{"path": "a.py"}]


async def test_gemini_cut_in_the_middle_is_cut() -> None:
    async with GEMINI(Reply(text="half an ans", fault="cut")) as rig:
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind == "cut"
