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
