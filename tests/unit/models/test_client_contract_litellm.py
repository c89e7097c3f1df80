"""What only litellm's client does, in OpenAI's, Anthropic's and Gemini's form."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from tests.stubs.fault_matrix import CASES, Case
from tests.stubs.model_contract import (
    ANTHROPIC,
    LITELLM_MARKS,
    OPENAI,
    PATIENCE_S,
    STALLED_S,
    Rig,
    answer,
    litellm_rig,
    request,
)
from tests.stubs.sse_server import Reply
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import AssistantMessage, ToolMessage, UserMessage
from tui_agent.protocol.parts import ReasoningPart, TextContent, TextPart
from tui_agent.protocol.settings import ModelInfo

Make = Callable[..., AbstractAsyncContextManager[Rig]]

pytestmark = [*LITELLM_MARKS]
both = pytest.mark.parametrize("make", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])


USER = UserMessage(content=(TextContent(text="go"),))
RESULT = ToolMessage(call_id=CallId("call_a"), name="read_file", content=(TextContent(text="x"),))

READ = ("call_a", "read_file", '{"path": "a.py"}')


@both
@pytest.mark.parametrize("fault", ["broken", "error"])
async def test_a_fault_inside_the_stream_is_one_fault_and_keeps_the_text(make: Make, fault: str) -> None:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    async with make(Reply(text="so far", fault=fault, error=error)) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.assembler.text == "so far"


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


GEMINI = partial(litellm_rig, "gemini", "gemini/gemini-2.5-pro")


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
