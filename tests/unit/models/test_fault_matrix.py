"""Every fault of a provider comes to one typed outcome, over Chat Completions and Responses."""

import json

import pytest

from tests.stubs.fault_matrix import CASES, Case
from tests.stubs.model_contract import PATIENCE_S, STALLED_S, answer, http_rig
from tests.stubs.sse_server import Reply
from tui_agent.models.chat_completions import ChatCompletionsClient
from tui_agent.models.responses import ResponsesClient


@pytest.mark.parametrize(
    ("shape", "case"),
    [
        pytest.param(shape, case, id=f"{shape}: {case.name}")
        for shape in ("chat", "responses")
        for case in CASES
        if shape in case.shapes
    ],
)
async def test_a_fault_has_one_outcome(shape: str, case: Case) -> None:
    make = ChatCompletionsClient if shape == "chat" else ResponsesClient
    timeout = STALLED_S if case.reply.fault.startswith("stall") else PATIENCE_S
    async with http_rig(shape, make, "m", case.reply, timeout=timeout) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    case.check(outcome)


MISSHAPEN = {
    "chat": (
        {"choices": 5},
        {"choices": [5]},
        {"choices": [{"delta": 5}]},
        {"choices": [{"delta": {"tool_calls": 5}}]},
        {"choices": [{"delta": {"tool_calls": [5]}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": 5}]}}]},
        {"choices": [], "usage": 5},
        {"choices": [], "usage": {"prompt_tokens": {}}},
        [],
        5,
        None,
    ),
    "responses": (
        {"type": 5},
        {"type": "response.output_item.done", "item": 5},
        {"type": "response.output_text.delta", "delta": 5},
        {"type": "response.completed", "response": 5},
        {"type": "response.completed", "response": {"usage": 5}},
        {"type": "response.failed", "response": {"error": 5}},
        [],
        5,
        None,
    ),
}


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        pytest.param(shape, said, id=f"{shape}: {json.dumps(said)}")
        for shape, all_said in MISSHAPEN.items()
        for said in all_said
    ],
)
async def test_json_of_another_shape_is_a_fault_and_no_exception(shape: str, said: object) -> None:
    make = ChatCompletionsClient if shape == "chat" else ResponsesClient
    reply = Reply(raw=(b"data: %b\n\n" % json.dumps(said).encode(),))
    async with http_rig(shape, make, "m", reply, timeout=PATIENCE_S) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
    assert outcome.fault is not None
    assert outcome.fault.kind in ("malformed", "cut", "server_error", "invalid_request")
