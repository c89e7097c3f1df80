"""How long a notice above the prompt is shown."""

import pytest

from tests.tui.app.driving import golden, open_app
from tui_agent.tui import main_screen

LONG = "a notice that needs two rows " * 5


@pytest.mark.parametrize("before", ["", "short"])
async def test_a_notice_that_is_shown_whole_ends_by_itself_also_after_a_shorter_one(
    before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(golden("night_shift")) as driven:
        if before:
            driven.app.say(before)
            await driven.settle()
        monkeypatch.setattr(main_screen, "NOTICE_S", 0.05)
        driven.app.say(LONG)
        await driven.until(lambda: not driven.app.notice.display)


@pytest.mark.slow
async def test_a_notice_covers_no_row_of_an_open_menu() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            await driven.type("/re")
            menu = [row for row in driven.rows() if row.lstrip(" ▌›").startswith("/re")]
            assert len(menu) > 4
            driven.app.say("The server has ended.")
            await driven.settle()
            rows = driven.rows()
            [place] = [index for index, row in enumerate(rows) if "The server has ended." in row]
            assert rows[place + 1 : place + 1 + len(menu)] == menu
            await driven.type("d")
            assert "The server has ended." in driven.text()
            await driven.press("escape")
            assert "The server has ended." in driven.text()
            await driven.press("escape")
            assert "The server has ended." not in driven.text()
