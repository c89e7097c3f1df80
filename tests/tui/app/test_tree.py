"""The tree on the screen: every branch and fork, what came of each message, and the ways from there."""

from pathlib import Path

import pytest
from textual.events import Key

from tests.stubs.branched import FORK, SECOND_MESSAGE, SESSION
from tests.tui.app.branching import Walked, walk
from tui_agent.protocol.commands import ContinueTurn, PlanRevert, Revert
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.tool import ToolStarted
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import CallId
from tui_agent.tui.modals.fork_form import ForkForm
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.tree.screen import TreeScreen


def tree(walked: Walked) -> TreeScreen:
    shown = walked.app.screen_stack[1]
    assert isinstance(shown, TreeScreen)
    return shown


def replayed(walked: Walked) -> tuple[str, int]:
    """The session whose replay is open, and the event that it shows."""
    shown = walked.app.screen
    assert isinstance(shown, ReplayScreen)
    return shown.source.id, shown.seq


def row_of(walked: Walked, text: str) -> str:
    return next(row for row in walked.rows()[4:] if text in row[:74])


async def test_it_shows_branches_forks_and_messages_with_the_place_marked(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        assert "2 branches, 1 fork" in walked.rows()[2]
        names = [node.branch.name for node in tree(walked).listing.items if not node.is_message]
        assert names == ["main", "branch at 46", "fork at 47"]
        assert "here" in row_of(walked, "main ") and "here" not in row_of(walked, "branch at 46")
        assert row_of(walked, "Now round every").startswith("›"), "the newest message is chosen"
        assert "✗" in row_of(walked, "fork at 47") and "ollama/qwen3-coder" in row_of(walked, "fork at 47")


async def test_the_detail_tells_what_came_of_a_row(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("down")
        text = walked.text()
        assert "event 46, “How is the weekly" in text
        assert "30 passed, 2 failed" in text and "+3 −1  src/timesheet/report.py" in text
        assert "The report now shows positive hours." in text
        await walked.keys("down", "up", "home", "down")
        assert "read_file 3" in walked.text() and "cli.report reads the week's lines" in walked.text()


async def test_enter_goes_to_the_end_of_another_branch_after_the_plan_was_shown(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("down", "enter")
        assert isinstance(walked.app.screen, Picker)
        assert "Revert to the end of branch at 46" in walked.text()
        end = walked.told.branched.branch_end
        assert walked.session.submitted[-1].model_dump()["to_seq"] == end
        assert isinstance(walked.session.submitted[-1], PlanRevert)
        await walked.keys("escape")
        assert len(walked.app.screen_stack) == 2, "nothing was decided"
        await walked.keys("enter", "enter")
        (revert,) = [one for one in walked.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.files) == (end, True, True)
        assert len(walked.app.screen_stack) == 1


async def test_where_the_session_stands_there_is_nothing_to_go_to(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("enter")
        assert "The session is already at this point." in walked.text()
        await walked.keys("up", "enter")
        assert "Revert to after “timesheet report" in walked.text()


async def test_enter_on_a_fork_opens_it_and_its_tree_shows_the_parent(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("end", "enter")
        assert [one.session for one in walked.opened] == [FORK]
        assert len(walked.app.screen_stack) == 1
        await walked.slash("/tree")
        assert walked.told.asked[-1] == ("sessions", "tree", FORK, "--json")
        assert "here" in row_of(walked, "fork at 47") and "here" not in row_of(walked, "main ")
        await walked.keys("home", "enter")
        assert [one.session for one in walked.opened] == [FORK, SESSION]


@pytest.mark.slow
async def test_f_forks_at_the_end_of_the_row_and_opens_the_fork(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("home", "down", "f")
        assert isinstance(walked.app.screen, ForkForm)
        assert "after “How is the weekly report put together?”" in walked.text()
        await walked.keys("enter")
        (asked,) = walked.told.forks
        at = str(SECOND_MESSAGE - 1)
        folder = f"--folder=/home/ada/timesheet-fork-{at}"
        assert asked == ("sessions", "fork", SESSION, "--at", at, folder, "--json")
        assert [one.session for one in walked.opened] == [FORK]
        assert len(walked.app.screen_stack) == 1


async def test_f_on_a_branch_that_ends_inside_a_call_forks_before_the_call(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        log = walked.told.branched.store.open(SESSION)
        before = log.append(UserMessageReceived(text="Write it down.")).seq
        log.append(ToolStarted(call_id=CallId("call_open"), writes=True))
        log.close()
        await walked.slash("/tree")
        await walked.keys("f")
        assert f"after event {before}" in walked.text()
        assert f"Event {before + 1} is inside a call; the fork starts before the call" in walked.text()
        await walked.keys("enter")
        assert walked.told.forks[0][3:5] == ("--at", str(before))


async def test_w_answers_the_message_again_with_one_thing_changed(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("home", "down", "down", "w", "right", "enter")
        (asked,) = walked.told.forks
        assert asked[:5] == ("sessions", "fork", SESSION, "--at", str(SECOND_MESSAGE))
        assert asked[5] == "--reasoning-effort=xhigh"
        assert asked[6].startswith("--folder=/home/ada/timesheet-what-if-47")
        assert [type(one) for one in walked.newest.submitted] == [ContinueTurn]
        assert "/compare compares it with" in walked.text()


async def test_w_offers_the_whole_message_of_which_the_tree_shows_the_beginning(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        record = walked.session.records[SECOND_MESSAGE]
        assert isinstance(record, Envelope)
        whole = UserMessageReceived(text="the beginning and the rest", own_words="the beginning")
        walked.session.records[SECOND_MESSAGE] = record.model_copy(update={"payload": whole})
        await walked.slash("/tree")
        await walked.keys("home", "down", "down", "w", "right", "right", "right")
        shown = walked.app.screen
        assert isinstance(shown, ForkForm) and shown.draft.value == "the beginning and the rest"


@pytest.mark.slow
async def test_c_compares_with_the_present_branch_and_says_where_that_is_the_same(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("c")
        assert "This is the current branch." in walked.text()
        await walked.keys("down", "c")
        asked = [words for words in walked.told.asked if words[0] == "compare"]
        assert asked[0][:3] == ("compare", SESSION, f"{SESSION}@{walked.told.branched.branch_end}")


async def test_a_key_that_comes_as_the_page_closes_closes_nothing_else(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        page = tree(walked)
        for _ in range(2):
            page.post_message(Key("escape", None))
        await walked.quiet()
        assert len(walked.app.screen_stack) == 1 and walked.app.is_running


async def test_a_key_that_comes_as_a_sheet_closes_does_not_close_the_one_below(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/what-if")
        await walked.keys("enter")
        picker = walked.app.screen
        for _ in range(2):
            picker.post_message(Key("enter", "\r"))
        await walked.quiet()
        assert isinstance(walked.app.screen, ForkForm)


@pytest.mark.slow
async def test_r_replays_there_and_esc_comes_back(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        await walked.keys("home", "down", "down", "r")
        assert replayed(walked) == (SESSION, SECOND_MESSAGE)
        await walked.keys("escape")
        assert len(walked.app.screen_stack) == 2
        await walked.keys("end", "r")
        assert replayed(walked)[0] == FORK


async def test_while_a_turn_runs_the_tree_can_be_looked_at_and_not_left_for_elsewhere(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        walked.session.feed(TurnStarted(turn=9))
        await walked.settle()
        await walked.slash("/tree")
        await walked.keys("home", "enter")
        assert "A turn is running." in walked.text()
        await walked.keys("end", "enter")
        assert walked.opened == [] and isinstance(walked.app.screen, TreeScreen)


async def test_the_mouse_chooses_and_a_second_press_goes_there(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        y = walked.rows().index(row_of(walked, "branch at 46"))
        await walked.pilot.click(offset=(20, y))
        await walked.quiet()
        assert row_of(walked, "branch at 46").startswith("›")
        await walked.pilot.click(offset=(20, y))
        await walked.quiet()
        assert "Revert to the end of branch at 46" in walked.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_where_there_is_no_room_enter_shows_the_detail_first(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with walk(tmp_path, size=size) as walked:
        await walked.slash("/tree")
        await walked.keys("down")
        assert "30 passed" not in walked.text() and "Enter show" in walked.rows()[-1]
        await walked.keys("enter")
        assert "30 passed, 2 failed" in walked.text() and "Enter go there" in walked.rows()[-1]
        await walked.keys("escape")
        assert "Now round every" in walked.text()
        await walked.keys("enter", "enter")
        assert "Revert to the end of branch at 46" in walked.text()


async def test_before_anything_was_said_it_says_so(tmp_path: Path) -> None:
    async with walk(tmp_path) as walked:
        await walked.slash("/tree")
        screen = tree(walked)
        screen.listing.empty_text = "No messages yet."
        screen.listing.set_items([])
        screen.show_detail()
        await walked.quiet()
        assert "No messages yet." in walked.text()
        await walked.keys("enter", "f", "w", "c", "r", "down")
        assert isinstance(walked.app.screen, TreeScreen)
