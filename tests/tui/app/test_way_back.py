"""Esc in every screen of trust and of context: back where one came from, with what was being written."""

import pytest

from tests.tui.app.driving import golden, open_app

SCREENS = ("jobs", "map", "policy", "memory", "context", "trace", "cost", "status")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_esc_leads_back_to_what_was_being_written(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        main = driven.app.screen
        await driven.type("half a thought")
        for name in SCREENS:
            driven.app.do(name)
            await driven.until(lambda: driven.app.screen is not main)
            await driven.pilot.pause()
            assert "Esc" in driven.text() or size[0] < 100, name
            await driven.press("escape")
            await driven.until(lambda: driven.app.screen is main)
            assert driven.app.prompt.editor.text == "half a thought", name
        assert driven.session.submitted == []
