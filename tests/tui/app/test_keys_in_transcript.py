"""Keys of the prompt, pressed while the transcript has the focus."""

import pytest

from tests.tui.app.driving import golden, open_app


async def test_esc_out_of_a_search_gives_the_keys_back_to_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/find midnight")
        await driven.press("enter")
        await driven.until(lambda: not driven.app.editor.has_focus)
        await driven.press("escape")
        assert driven.app.editor.has_focus


async def test_the_search_of_earlier_messages_opens_from_the_transcript() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/rename pickled herring")
        await driven.press("enter", "tab")
        assert not driven.app.editor.has_focus
        await driven.press("ctrl+r")
        await driven.type("pickle")
        await driven.until(lambda: "history: 1 found" in driven.text())
        await driven.press("enter")
        assert driven.app.editor.text == "/rename pickled herring"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("ctrl+z", "some words"),
        ("ctrl+y", "some words"),
        ("ctrl+j", "\n"),
        ("left", ""),
        ("backspace", ""),
        ("delete", ""),
        ("ctrl+a", ""),
    ],
)
async def test_other_keys_of_the_prompt_work_from_the_transcript(key: str, text: str) -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("some words")
        await driven.press("ctrl+u", "tab")
        assert not driven.app.editor.has_focus
        await driven.press(key)
        assert driven.app.editor.has_focus and driven.app.editor.text == text


async def test_a_key_without_an_action_leaves_the_focus_in_the_transcript() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("tab", "ctrl+t")
        assert not driven.app.editor.has_focus
