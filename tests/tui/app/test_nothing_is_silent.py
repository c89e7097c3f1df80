"""Every key and every command that the app names does something that can be seen."""

from collections.abc import Sequence

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.tui.keys_and_commands import ACTIONS, TYPED

ARGUMENTS = {
    "/find": "midnight",
    "/base-url": "http://localhost:9",
    "/rename": "Nights",
    "/read": "app.py",
    "/search": "hours",
    "/run": "git status",
    "/reasoning": "low",
}
"""Words for commands that need some."""
LEAVES = {"quit", "new", "editor", "copy_or_stop", "stop"}
"""Actions that leave the session or the screen; their own tests say what they do."""
WORDS = [word for word, (action, _) in TYPED.items() if action.name not in LEAVES]
OF_THE_APP = [action for action in ACTIONS if action.scope == "app" and action.name not in LEAVES]


def seen(driven: Driven) -> tuple[Sequence[str], str, int, int]:
    """Everything that a person, or the engine, would notice."""
    app = driven.app
    return driven.rows(), app.notice.text, len(app.screen_stack), len(driven.session.submitted)


@pytest.mark.slow
async def test_every_key_that_is_listed_shows_something() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        for key in (key for action in OF_THE_APP for key in action.keys):
            driven.app.prompt.editor.put_text("")
            await driven.settle()
            before = seen(driven)
            await driven.press(*key.split())
            await driven.pilot.pause(0.02)
            assert seen(driven) != before, key
            while len(driven.app.screen_stack) > 1:
                await driven.press("escape")


@pytest.mark.slow
async def test_every_command_that_is_typed_and_every_other_action_shows_something() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        for word in [*WORDS, *(action.name for action in OF_THE_APP if not action.typed_words)]:
            # Or the end of what the last one did would be taken for this one's, or the same notice would not be seen.
            await driven.settle()
            driven.app.hide_notice()
            await driven.settle()
            before = seen(driven)
            if word.startswith("/"):
                driven.app.prompt.editor.put_text(f"{word} {ARGUMENTS.get(word, '')}")
                await driven.press("enter")
            else:
                driven.app.do(word)
            await driven.until(lambda before=before: seen(driven) != before, word)
            while len(driven.app.screen_stack) > 1:
                await driven.press("escape")


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_in_help_no_command_touches_its_words_and_no_bar_runs_across(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await driven.press("f1")
        text = driven.text()
        assert "▏" not in text
        assert "Enterse" not in text and "queue the message" in text


async def test_help_with_words_lists_only_what_matches_them() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        await driven.type("/help clipboard")
        await driven.press("enter")
        await driven.until(lambda: "Help" in driven.text())
        shown = driven.text()
        assert "clipboard" in shown and "/copy" in shown and " of " in shown and "/new" not in shown
        await driven.press("escape")
        assert "/new" in driven.text() or "queue the message" in driven.text()


async def test_f2_shows_the_whole_text_of_a_task() -> None:
    content = "Check that each of the reports of last week " * 4 + "has a total at its very end"
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        driven.session.feed(TodoUpdated(items=(TodoItem(id="1", content=content, status="in_progress"),)))
        await driven.settle()
        await driven.press("f2")
        assert "at its very end" in " ".join(driven.text().replace("▌", " ").split())


@pytest.mark.slow
async def test_a_second_overlay_takes_the_place_of_the_first_and_its_own_key_closes_it() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        for key, title in (("f2", "Todo"), ("f1", "Help"), ("f4", "Context"), ("f1", "Help")):
            await driven.press(key)
            assert len(driven.app.screen_stack) == 2
            assert f"▌  {title}" in driven.text()
        await driven.press("f1")
        assert len(driven.app.screen_stack) == 1
        await driven.press("f2", "f3", "f1")
        assert len(driven.app.screen_stack) == 3 and "Help" in driven.text()
        await driven.press("escape", "f3")
        assert len(driven.app.screen_stack) == 1
