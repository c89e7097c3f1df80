"""Subtasks in the app: their row with its meter, what they did, the one that is stopped, and the one that asks."""

import pytest

from tests.stubs.story import MODEL, called, finished, requested, responded, started, tool_call
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import Delegate, Interrupt
from tui_agent.protocol.display_blocks import MarkdownBlock
from tui_agent.protocol.effects import WriteEffect
from tui_agent.protocol.events.agent import AgentFinished, AgentSpawned, AgentStateChanged
from tui_agent.protocol.events.model import ModelFailed
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import IterationStarted, TurnStarted
from tui_agent.protocol.ids import MAIN_AGENT, AgentId, CallId, RequestId
from tui_agent.protocol.settings import AgentState

CHILD = AgentId("subtask-1")


async def begun(driven: Driven) -> None:
    """A turn in which a subtask has searched, and asks its model again."""
    feed = driven.session.feed
    feed(TurnStarted(turn=3), AgentStateChanged(state=AgentState.RUNNING))
    feed(IterationStarted(iteration=20, local_iteration=9), requested("m1"))
    feed(responded("m1", "", tool_call("s1", "spawn_subtask")))
    feed(called("s1", "[Subtask]", "count the files"), started("s1", writes=False))
    spawned = AgentSpawned(
        name="subtask",
        parent_agent=MAIN_AGENT,
        delegate_level=1,
        task="count the files",
        tools=("glob",),
        model=MODEL,
        call_id=CallId("s1"),
    )
    feed(spawned, IterationStarted(iteration=21, local_iteration=1, delegate_level=1), agent=CHILD)
    feed(requested("m2"), responded("m2", "", tool_call("g1", "glob")), agent=CHILD)
    feed(called("g1", "find", "*.py"), started("g1", writes=False), finished("g1"), agent=CHILD)
    feed(requested("m3"), agent=CHILD)
    await driven.settle()


async def test_a_subtask_that_works_is_one_row_with_its_own_meter_and_its_newest_call() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            await begun(driven)
            row = next(row for row in driven.rows() if "[Subtask] subtask-1:" in row)
            assert "1 tool call · iteration 1 · 110 tokens" in row
            assert "1 subtask" in driven.rows()[0]
            assert any("│ find *.py" in row for row in driven.rows())


async def test_one_that_waits_for_another_to_end_says_so() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        driven.session.feed(called("s2", "[Subtask]", "read the letters"), started("s2", writes=False))
        await driven.settle()
        row = next(row for row in driven.rows() if row.startswith("  ◆ [Subtask] read the"))
        assert "waits for another subtask" in row and "running" not in row


async def test_one_that_is_done_shows_its_report_and_opened_what_it_called() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        driven.session.feed(responded("m3", "There are 3."), agent=CHILD)
        driven.session.feed(AgentFinished(success=True, summary="3", reason="completed"), agent=CHILD)
        done = finished("s1").model_copy(
            update={"display": (MarkdownBlock(text="There are 3."),), "summary": "1 tool call"}
        )
        driven.session.feed(done)
        await driven.settle()
        assert any("│ There are 3." in row for row in driven.rows())
        assert not any("find *.py" in row for row in driven.rows()[:30] if "│" in row and row[:80].strip())
        await driven.press("tab", "ctrl+o", "ctrl+o", "ctrl+end")
        await driven.until(lambda: any("│ find *.py" in row for row in driven.rows()))


async def test_x_in_the_trace_stops_the_chosen_subtask_alone() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        await driven.press("f3")
        assert "X stop subtask" in driven.text()
        await driven.press("x")
        [stopped] = driven.session.submitted
        assert isinstance(stopped, Interrupt) and (stopped.scope, stopped.agent) == ("agent", CHILD)
        driven.session.feed(AgentFinished(success=False, summary="", reason="interrupted"), agent=CHILD)
        await driven.settle()
        await driven.until(lambda: "X stop subtask" not in driven.text())
        await driven.press("x")
        assert len(driven.session.submitted) == 1
        await driven.until(lambda: "Select the row of a running subtask first." in driven.text())


@pytest.mark.slow
async def test_x_is_offered_on_the_rows_of_a_subtask_that_runs_alone() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        await driven.press("f3")
        assert "X stop subtask" in driven.rows()[-1]
        await driven.press("home")
        assert "X stop subtask" not in driven.rows()[-1]
        await driven.press("end")
        assert "X stop subtask" in driven.rows()[-1]


async def test_what_was_stopped_is_called_stopped_in_the_trace_too() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        stopped = ModelFailed(request_id=RequestId("m3"), fault="cancelled", message="stopped")
        driven.session.feed(stopped, agent=CHILD)
        await driven.settle()
        await driven.press("f3")
        assert "model fast-1   stopped" in driven.text() and "cancelled" not in driven.text()


async def test_an_approval_says_which_subtask_asks() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        driven.session.feed(responded("m3", "", tool_call("w1", "write_file")), agent=CHILD)
        asked = PermissionRequested(
            request_id=RequestId("p1"),
            call_id=CallId("w1"),
            tool="write_file",
            verb="write",
            target="a.py",
            effects=(WriteEffect(path="a.py", creates=True),),
            digest="0" * 32,
            preview=(),
            choices=(),
            risk="",
            reason="the policy asks",
            default_no=False,
        )
        driven.session.feed(called("w1", "write", "a.py"), asked, agent=CHILD)
        await driven.settle()
        await driven.until(lambda: "subtask-1: " in driven.text())


async def test_a_task_is_given_to_a_named_agent() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.put_text("/delegate verify that the tests pass")
        await driven.press("escape", "enter")
        [given] = driven.session.submitted
        assert isinstance(given, Delegate) and (given.agent, given.text) == ("verify", "that the tests pass")
        driven.app.prompt.editor.put_text("/delegate verify")
        await driven.press("escape", "enter")
        assert len(driven.session.submitted) == 1 and "an agent and a task" in driven.text()


async def test_without_a_name_the_agents_are_offered() -> None:
    async def listing(*words: str) -> tuple[int, str]:
        return 0, (
            '{"name": "default", "kind": "hub", "description": ""}\n'
            '{"name": "verify", "kind": "delegate", "description": "checks a task"}\n'
            '{"kind": "fault", "source": "x.md", "message": "no"}\n'
        )

    async with open_app(golden("night_shift"), outside=listing) as driven:
        driven.app.prompt.editor.put_text("/delegate")
        await driven.press("escape", "enter")
        await driven.until(lambda: "checks a task" in driven.text())
        assert "default" not in "".join(row for row in driven.rows() if "▌" in row and "verify" in row)
        await driven.press("enter")
        assert driven.app.prompt.editor.text == "/delegate verify "


async def test_one_that_was_stopped_has_the_sign_of_what_is_stopped_and_not_of_a_fault() -> None:
    async with open_app(golden("night_shift")) as driven:
        await begun(driven)
        driven.session.feed(AgentFinished(success=False, summary="", reason="interrupted"), agent=CHILD)
        driven.session.feed(finished("s1", "interrupted"), responded("m4", "I go on without it."))
        await driven.settle()
        row = next(row for row in driven.rows() if "[Subtask] subtask-1:" in row)
        assert row.startswith("  ■ [Subtask]") and "stopped" in row and "✗" not in row
        await driven.press("f3")
        assert any("■ subtask count the files" in row for row in driven.rows())
