"""The session's rules after an undo: it may end rules, but never brings one back that was not in force."""

from pathlib import Path

from tests.engine.harness import call, running, say
from tests.engine.test_rewind import go, turn
from tests.stubs.story import decision
from tests.stubs.tool_context import tools_of
from tui_agent.protocol.commands import AnswerQuestion, Redo, RevokeRule, SubmitPrompt, Undo
from tui_agent.protocol.events.policy import PermissionRevoked
from tui_agent.protocol.events.session import ForkChange, SessionForked
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import SessionId

EDIT, RUN = "allow edit src/**", "allow run pytest *"


async def test_an_undone_plan_does_not_bring_back_the_edit_rules_that_its_answer_revoked(
    tmp_path: Path,
) -> None:
    answers = [call(("present_plan", '{"plan": "1. Read"}')), say("A.")]
    tools = list(tools_of("ask").values())
    async with running(tmp_path, answers, tools, policy_name="plan") as bench:
        await bench.until("agent.state_changed")
        for number, rule in enumerate((EDIT, RUN)):
            bench.recorder.append(decision(f"c{number}", reach="session", rule=rule))
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("question.asked")
        [question] = bench.of(QuestionAsked)
        bench.submit(AnswerQuestion(question_id=question.question_id, answer="", choice=0))
        await bench.until("turn.finished")
        await go(bench, Undo())
        state = bench.recorder.state
        assert state.settings is not None
        assert (state.settings.policy, state.granted_rules) == ("ask", (RUN,))


async def test_neither_undo_nor_redo_brings_back_a_revoked_rule(tmp_path: Path) -> None:
    async with running(tmp_path, [say("A."), say("B.")]) as bench:
        await bench.until("agent.state_changed")
        bench.recorder.append(decision("c1", reach="session", rule=RUN))
        await turn(bench, "first")
        await turn(bench, "second")
        await go(bench, Undo())
        assert bench.recorder.state.granted_rules == (RUN,)
        bench.submit(RevokeRule(rule=RUN))
        await bench.until_payload(PermissionRevoked)
        await go(bench, Redo())
        assert bench.recorder.state.granted_rules == ()
        await go(bench, Undo())
        assert bench.recorder.state.granted_rules == ()


async def test_an_undo_in_a_fork_in_another_folder_does_not_bring_back_its_parents_rules(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, [say("A.")]) as bench:
        await bench.until("agent.state_changed")
        bench.recorder.append(decision("c1", reach="session", rule=RUN))
        await turn(bench, "first")
        changes = ForkChange(workspace=str(tmp_path / "copy"))
        bench.recorder.append(
            SessionForked(
                parent_session=SessionId("ses_p"),
                at_seq=bench.recorder.state.seq,
                parent_crc="00000000",
                changes=changes,
            )
        )
        assert bench.recorder.state.granted_rules == ()
        await go(bench, Undo())
        assert bench.recorder.state.granted_rules == ()
