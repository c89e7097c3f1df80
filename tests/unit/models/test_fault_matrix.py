"""Every fault of a provider comes to one typed outcome, over Chat Completions and Responses."""

import pytest

from tests.stubs.fault_matrix import CASES, Case
from tests.stubs.model_contract import answer, http_rig
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
    async with http_rig(shape, make, "m", case.reply, timeout=0.3) as rig:  # type: ignore[arg-type]
        outcome = await answer(rig)
        assert rig.server is not None
        assert len(rig.server.requests) == 1
    case.check(outcome)
