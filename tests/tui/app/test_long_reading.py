"""A long session as it is read: by keyboard and by mouse, folded, found, selected and copied."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.stubs.story import called, finished, started
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import TextPart, Usage
from tui_agent.tui.controller.chat import ChatWidget

LONG = "\n".join(f"Point {number}: keep what is there, and say what you changed." for number in range(60))
ANSWER = "Done, with **bold words** and `code`.\n\n- first\n- second"


@asynccontextmanager
async def read_through() -> AsyncIterator[tuple[Driven, ChatWidget, list[str]]]:
    copied: list[str] = []

    def copy(text: str) -> bool:
        copied.append(text)
        return True

    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        driven.app.terminal.copy = copy  # type: ignore[method-assign]
        output = "\n".join(f"row {number}" for number in range(40))
        done = finished("c9").model_copy(update={"display": (TerminalBlock(text=output),)})
        answer = ModelResponded(
            request_id=RequestId("r9"),
            first_part=90,
            parts=(TextPart(text=ANSWER),),
            finish="stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=1.0,
        )
        driven.session.feed(
            UserMessageReceived(text=LONG),
            TurnStarted(turn=3),
            called("c9", "run", "make all"),
            started("c9"),
            done,
        )
        driven.session.feed(answer, TurnFinished(turn=3, reason="finished"))
        await driven.settle()
        assert driven.app.controller is not None and driven.app.controller.chat.widget is not None
        yield driven, driven.app.controller.chat.widget, copied


def row_with(driven: Driven, text: str) -> int:
    return next(y for y, row in enumerate(driven.rows()) if text in row[:80])


async def test_pages_scroll_while_the_prompt_has_the_keys() -> None:
    async with read_through() as (driven, widget, _):
        end = widget.viewport.y
        await driven.press("pageup", "pageup")
        assert widget.viewport.y < end and driven.app.prompt.editor.has_focus
        await driven.press("pagedown", "pagedown")
        assert widget.viewport.y == end


async def test_the_status_names_the_key_that_goes_to_the_newest_row() -> None:
    async with read_through() as (driven, widget, _):
        await driven.press("pageup", "pageup")
        driven.session.feed(UserMessageReceived(text="More."))
        await driven.settle()
        assert "2 new rows (End)" in driven.text()
        await driven.type("ab")
        assert "2 new rows (Ctrl+End)" in driven.text()
        await driven.press("home", "end", "backspace", "backspace")
        assert driven.app.prompt.editor.text == "" and "2 new rows (End)" in driven.text()
        await driven.press("end")
        assert widget.viewport.anchored and "new row" not in driven.text()


async def test_the_keyboard_alone_reaches_folds_opens_and_leaves() -> None:
    async with read_through() as (driven, widget, _):
        await driven.press("tab")
        assert widget.has_focus and widget.cursor
        for _ in range(2):
            await driven.press("up")
        assert "make all" in driven.rows()[row_with(driven, "›")]
        assert "32 earlier lines" in driven.text() and "row 39" in driven.text()
        for key in ("ctrl+o", "enter"):
            await driven.press(key)
            assert "│ row 0" in driven.text() and "earlier lines" not in driven.text()
            await driven.press(key)
            assert "folded, 40 lines" in driven.text() and "│ row" not in driven.text()
        await driven.press("escape")
        assert driven.app.prompt.editor.has_focus


async def test_what_is_typed_in_the_transcript_is_not_lost() -> None:
    async with read_through() as (driven, _, _):
        await driven.press("tab")
        await driven.type("yes")
        assert driven.app.prompt.editor.text == "yes" and driven.app.prompt.editor.has_focus
        driven.app.prompt.editor.put_message("")
        await driven.press("tab")
        await driven.type("/find Point 7:")
        await driven.press("enter")
        while "1 of 1" not in driven.text():
            await driven.pilot.pause(0.01)
        assert "Point 7:" in driven.text()


async def test_the_mouse_folds_selects_and_copies_the_source() -> None:
    async with read_through() as (driven, widget, copied):
        y = row_with(driven, "make all")
        await driven.pilot.click(offset=(16, y))
        await driven.pilot.pause()
        assert "│ row 0" in driven.text()
        await driven.pilot.click(offset=(16, row_with(driven, "make all")))
        await driven.pilot.pause()
        assert "folded, 40 lines" in driven.text()
        y = row_with(driven, "bold words")
        await driven.pilot.mouse_down(offset=(4, y))
        await driven.pilot.hover(offset=(60, y + 3))
        await driven.pilot.mouse_up(offset=(60, y + 3))
        await driven.pilot.pause()
        assert copied == [ANSWER]
        assert "Copied 4 lines." in driven.text()
        await driven.press("ctrl+c")
        assert copied == [ANSWER, ANSWER] and widget.selection is None
        await driven.press("ctrl+c")
        assert "Press Ctrl+C again to quit." in driven.text()


async def test_a_long_message_folds_and_opens_by_key() -> None:
    async with read_through() as (driven, widget, _):
        slot = next(one for one in reversed(widget.viewport.layout.slots) if one.id.startswith("user."))
        assert widget.scroll_to_entry(slot.id) and "more lines" in driven.text()
        await driven.press("tab", "enter")
        if slot.opened is False:
            await driven.press("enter")
        assert slot.opened and slot.count == 60 and "Point 20:" in driven.text()
        await driven.press("enter")
        assert slot.count < 10
