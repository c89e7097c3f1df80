"""The list of what is not in the context as it was said: its rows, and the same in a replay."""

import pytest

from tests.tui.app.driving import open_app
from tests.tui.app.replaying import open_replay
from tests.tui.app.test_compacting import listed, story


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_list_shows_what_was_said_and_how_long_it_is(size: tuple[int, int]) -> None:
    async with open_app(session=story(), size=size) as driven:
        await listed(driven)
        row = next(one for one in driven.rows() if "How is the weekly report" in one)
        assert "you" in row and "~13 tokens" in row


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_replay_lists_what_was_put_away_by_then_and_shows_it_whole(size: tuple[int, int]) -> None:
    records = story().records
    async with open_replay(records, size=size) as shown:
        await shown.press("a")
        await shown.until(lambda: "Turn 1" in shown.text())
        assert "How is the weekly report" in shown.text() and "undo" not in shown.text()
        await shown.press("enter")
        await shown.until(lambda: "you, turn 1" in shown.text())
        assert "How is the weekly report put together?" in shown.text()
        await shown.press("escape", "left", "a")
        await shown.until(lambda: "Nothing yet: all messages" in shown.text())
