"""The checkpoints on the screen: what each holds, whose it is, what it changed, and the way back to it."""

import json
from pathlib import Path

from tests.tui.app.branching import Walked, walk
from tui_agent.folds.session.checkpoints import Checkpoint
from tui_agent.protocol.commands import PlanRevert, Revert
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.cli_client import read_rows
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.screens.tree.checkpoints import CheckpointsScreen
from tui_agent.tui.widgets.rows import cells


def names(walked: Walked) -> list[str]:
    shown = walked.app.screen_stack[1]
    assert isinstance(shown, CheckpointsScreen)
    return [f"{one.author} {one.part}" for one in shown.listing.items]


async def test_they_are_listed_the_newest_first_with_the_diff_of_the_chosen_one(tmp_path: Path) -> None:
    async with walk(tmp_path, size=(160, 45)) as walked:
        await walked.slash("/checkpoints")
        assert names(walked)[:3] == ["agent 54", "agent 44", "command 63"]
        text = walked.text()
        assert "8 checkpoints" in text and "+9" in text
        assert "After part 54" in text and "the agent's edit" in text
        assert "total += abs(entry.hours)" in text, "what it changed is read and shown"
        row = next(one for one in walked.rows() if ".pytest_cache" in one)
        assert "other branch" in row and "command" in row


async def test_the_count_is_shown_if_the_pane_leaves_room_for_it(tmp_path: Path) -> None:
    async with walk(tmp_path, size=(160, 45)) as walked:
        await walked.slash("/checkpoints")
        shown = walked.app.screen_stack[1]
        assert isinstance(shown, CheckpointsScreen)
        narrowest = cells(shown.head.title) + 40 + len("8 checkpoints") + 8
        for width, is_shown in ((narrowest, False), (narrowest + 1, True)):
            await walked.pilot.resize_terminal(width, 45)
            await walked.quiet()
            assert shown.detail_width == 40 and not shown.narrow
            assert ("8 checkpoints" in walked.text()) == is_shown


async def test_they_are_filtered_by_author_by_key_and_by_mouse(tmp_path: Path) -> None:
    async with walk(tmp_path, size=(160, 45)) as walked:
        await walked.slash("/checkpoints")
        await walked.keys("3")
        assert names(walked) == ["command 63"]
        assert "changed by  a command, as a side effect" in walked.text()
        await walked.keys("4")
        assert names(walked) == [] and "No checkpoints by this author. 1 shows all 8." in walked.text()
        row = walked.rows()[2]
        await walked.pilot.click(offset=(row.index("agent"), 2))
        await walked.quiet()
        assert set(names(walked)) == {"agent 54", "agent 44", "agent 53", "agent 43", "agent 36", "agent 35"}


async def test_enter_goes_back_there_after_the_plan_was_shown(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/checkpoints")
        await walked.keys("down", "enter")
        assert isinstance(walked.app.screen, Picker)
        assert "Revert to after part 44" in walked.text()
        assert isinstance(walked.session.submitted[-1], PlanRevert)
        await walked.keys("down", "down", "enter")
        (revert,) = [one for one in walked.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.files) == (213, False, True)
        assert len(walked.app.screen_stack) == 1


async def test_while_a_turn_runs_it_stays(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        walked.session.feed(TurnStarted(turn=9))
        await walked.settle()
        await walked.slash("/checkpoints")
        await walked.keys("enter")
        assert "A turn is running." in walked.text()
        assert isinstance(walked.app.screen, CheckpointsScreen)
        await walked.keys("escape")
        assert len(walked.app.screen_stack) == 1


def test_rows_that_do_not_fit_are_skipped() -> None:
    row = {"seq": 4, "time": 1.5, "turn": 1, "part": 0, "author": "agent", "commit": "c", "other": 1}
    lines = [json.dumps(row), json.dumps(row | {"files": [7]}), json.dumps({"seq": 5}), "not json"]
    (only,) = read_rows(Checkpoint, "\n".join(lines))
    assert (only.seq, only.part, only.files, only.on_branch) == (4, 0, (), True)
