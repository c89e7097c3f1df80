"""What Enter and Ctrl+O expand and fold in the chat, and what the footer says about it."""

from tests.stubs.story import called, finished, started
from tests.tui.app.driving import Driven, golden, open_app
from tests.tui.app.test_keys_by_focus import LINES, footer, kinds
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.session import CommandRejected
from tui_agent.protocol.events.tool import ToolProgress
from tui_agent.protocol.events.turn import (
    TurnStarted,
    UserMessageReceived,
)
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.tui.controller.chat import ChatWidget


def add_run(driven: Driven) -> None:
    """Feed a turn with a command that printed 30 lines, and an answer after it."""
    done = finished("c9").model_copy(update={"display": (TerminalBlock(text=LINES),)})
    say = ModelDelta(request_id=RequestId("r9"), part_kind="text", part_index=0, text="All rows are there.")
    driven.session.feed(UserMessageReceived(text="go"), TurnStarted(turn=3), called("c9", "run", "make all"))
    driven.session.feed(started("c9"), done, say)


async def test_ctrl_o_at_the_prompt_opens_the_newest_block_with_hidden_lines() -> None:
    async with open_app(golden("night_shift")) as driven:
        add_run(driven)
        await driven.settle()
        assert "22 earlier lines" in driven.text() and ("Ctrl+O", "expand") in footer(driven)
        await driven.press("ctrl+o")
        assert "│ row 0" in driven.text() and "earlier lines" not in driven.text()
        await driven.press("ctrl+o")
        assert "folded, 30 lines" in driven.text() and "│ row" not in driven.text()
        assert "All rows are there." in driven.text() and kinds(driven) == []


async def test_on_a_low_screen_the_footer_names_the_key_that_folds_the_expanded_block() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        add_run(driven)
        await driven.settle()
        assert "Esc stop   Ctrl+O expand  " in driven.rows()[-1]
        await driven.press("ctrl+o")
        assert "Esc stop   Ctrl+O fold  " in driven.rows()[-1]


async def test_ctrl_o_opens_no_block_of_an_older_turn_while_the_newest_turn_has_one() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(UserMessageReceived(text="go"), TurnStarted(turn=3))
        driven.session.feed(called("c9", "run", "make all"), started("c9"))
        await driven.settle()
        assert "pytest -q   folded, 2 lines" in driven.text()
        driven.session.feed(ToolProgress(call_id=CallId("c9"), text="one.o\ntwo.o\n"))
        await driven.until(lambda: "│ one.o" in driven.text() and ("Ctrl+O", "fold") in footer(driven))
        await driven.press("ctrl+o")
        assert ("Ctrl+O", "expand") in footer(driven)
        assert "│ one.o" not in driven.text() and "pytest -q   folded, 2 lines" in driven.text()
        await driven.press("ctrl+o")
        assert "│ one.o" in driven.text() and "pytest -q   folded, 2 lines" in driven.text()


async def test_ctrl_o_is_not_offered_while_there_is_nothing_to_open() -> None:
    async with open_app() as driven:
        driven.session.feed(UserMessageReceived(text="go"), TurnStarted(turn=1))
        say = ModelDelta(request_id=RequestId("r1"), part_kind="text", part_index=0, text="One.\n\nTwo.")
        driven.session.feed(say)
        await driven.settle()
        assert ("Esc", "stop") in footer(driven) and "Ctrl+O" not in driven.rows()[-1]
        await driven.press("ctrl+o")
        assert "Two." in driven.text()


async def test_the_footer_offers_enter_only_on_entries_that_it_opens_or_folds() -> None:
    async with open_app(golden("night_shift"), environ={"TUI_AGENT_MOTION": "off"}) as driven:
        add_run(driven)
        driven.session.feed(CommandRejected(command="undo", reason="Not now.", hint="Wait."))
        await driven.settle()
        await driven.press("tab")
        enter = [word for key, word in footer(driven) if key == "Enter"]
        widget = driven.app.query_one("#transcript", ChatWidget)
        await driven.until(lambda: "› ! Not now." in driven.text())
        before = driven.text()
        assert "notice" in widget.cursor and enter == []
        await driven.press("enter")
        assert driven.text() == before
        await driven.press("up", "up")
        assert ("Enter", "fold or expand") in footer(driven)
        await driven.press("enter")
        assert "│ row 0" in driven.text()


async def test_enter_on_the_row_of_a_turn_shows_the_changes_of_that_turn() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("tab")
        done = list[tuple[str, str]]()
        driven.app.do = lambda name, argument="": done.append((name, argument))  # type: ignore[method-assign]
        assert ("Enter", "changes") in footer(driven) and ("Enter", "fold or expand") not in footer(driven)
        await driven.press("enter")
        assert done == [("diff", "turn 2")]
