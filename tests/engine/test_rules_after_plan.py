"""The session's rules after the user's answer to a plan."""

from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.story import decision
from tests.stubs.tool_context import tools_of
from tui_agent.protocol.commands import AnswerQuestion, SubmitPrompt
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.turn import QuestionAsked

EDIT, REMOVE, RUN = "allow edit src/**", "allow remove *.tmp", "allow run pytest *"


@pytest.mark.parametrize(
    ("choice", "kept"), [(0, (RUN,)), (1, (EDIT, REMOVE, RUN)), (2, (EDIT, REMOVE, RUN))]
)
async def test_earlier_edit_rules_end_with_the_answer_to_ask_before_changes(
    choice: int, kept: tuple[str, ...], tmp_path: Path
) -> None:
    answers = [call(("present_plan", '{"plan": "1. Read"}')), say("A.")]
    tools = list(tools_of("ask").values())
    async with running(tmp_path, answers, tools, policy_name="plan") as bench:
        await bench.until("agent.state_changed")
        for number, rule in enumerate((EDIT, REMOVE, RUN)):
            bench.recorder.append(decision(f"c{number}", reach="session", rule=rule))
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("question.asked")
        [question] = bench.of(QuestionAsked)
        bench.submit(AnswerQuestion(question_id=question.question_id, answer="", choice=choice))
        await bench.until("turn.finished")
        assert bench.recorder.state.granted_rules == kept
        assert len(bench.of(PermissionRevoked)) == 3 - len(kept)
