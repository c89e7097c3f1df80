"""When the main screen is painted: a key does not wait for the timer that paces everything else."""

from tests.tui.app.driving import golden, open_app
from tui_agent.tui.main_screen import MainScreen


async def test_a_typed_letter_is_painted_without_the_timer() -> None:
    async with open_app(golden("streaming")) as driven:
        screen = driven.app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        before = screen.fast_painted_at
        for letter in "letters":  # a busy machine may be late for some of them
            await driven.press(letter)
            if screen.fast_painted_at > before:
                return
        raise AssertionError("no letter was painted at once")


async def test_what_no_key_asked_for_waits_for_the_timer() -> None:
    async with open_app(golden("streaming")) as driven:
        screen = driven.app.screen_stack[0]
        assert isinstance(screen, MainScreen)
        before = screen.fast_painted_at
        driven.app.header.refresh()
        await driven.pilot.pause()
        assert screen.fast_painted_at == before
