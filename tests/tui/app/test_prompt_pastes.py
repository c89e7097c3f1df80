"""Pasted text and pictures in the prompt: folded, opened, edited, sent and removed."""

from pathlib import Path

from textual import events

from tests.tui.app.driving import golden, open_app
from tests.tui.app.test_prompt_keys import PASTE
from tui_agent.protocol.commands import (
    SubmitPrompt,
)


async def test_a_long_paste_becomes_a_chip_and_goes_out_whole() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.post_message(events.Paste(PASTE))
        await driven.pilot.pause()
        assert "[pasted 312 lines]" in driven.text() and "line 200" not in driven.text()
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == PASTE and command.own_words == ""


async def test_a_message_with_a_long_paste_carries_its_own_words() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.post_message(events.Paste(PASTE))
        await driven.pilot.pause()
        await driven.type(" what is this?")
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == f"{PASTE} what is this?"
        assert command.own_words == "what is this?"


async def test_a_text_that_no_model_can_take_is_refused_with_the_limit() -> None:
    async with open_app(golden("night_shift")) as driven:
        editor = driven.app.prompt.editor
        editor.post_message(events.Paste("x" * 4_000_001))
        await driven.until(lambda: "4,000,001 characters" in driven.app.notice.text)
        assert "The pasted text is too long." in driven.app.notice.text and editor.text == ""
        for letter in "ab":  # two pastes that are too long together
            editor.paste(letter * 2_000_001)
        await driven.press("enter")
        await driven.until(lambda: "The message is too long. It has 4,000,002" in driven.app.notice.text)
        assert driven.session.submitted == [] and len(editor.message) == 4_000_002


async def test_a_folded_paste_is_opened_edited_and_folded_again_by_undo() -> None:
    async with open_app(golden("night_shift")) as driven:
        editor = driven.app.prompt.editor
        await driven.type("see ")
        editor.paste(PASTE)
        await driven.pilot.pause()
        assert "Ctrl+O shows the pasted text" in driven.text()
        await driven.press("ctrl+o")
        assert editor.text == f"see {PASTE}" and editor.cursor_location == (0, 4)
        await driven.press("ctrl+z")
        assert editor.text == "see [pasted 312 lines]" and editor.message == f"see {PASTE}"
        await driven.press("ctrl+o", "x", "enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == f"see x{PASTE}"


async def test_the_full_text_of_a_paste_is_shown_wherever_the_cursor_is() -> None:
    async with open_app(golden("night_shift")) as driven:
        editor = driven.app.prompt.editor
        editor.paste("first\n" * 400)
        await driven.press("ctrl+j")
        editor.paste(PASTE)
        await driven.type(" tail")
        await driven.press("ctrl+o")
        assert editor.text == f"[pasted 400 lines]\n{PASTE} tail"
        await driven.press("ctrl+z", "ctrl+home", "down", "ctrl+o")
        assert editor.text == f"[pasted 400 lines]\n{PASTE} tail"
        await driven.press("ctrl+o")
        assert editor.text.startswith("first\n")


async def test_a_final_new_line_of_a_paste_is_no_line_of_its_own() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.paste(PASTE + "\n")
        assert driven.app.prompt.editor.text == "[pasted 312 lines]"
        assert driven.app.prompt.editor.message == PASTE + "\n"


async def test_backspace_takes_a_chip_away_as_a_whole() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.paste(PASTE)
        await driven.press("backspace")
        assert driven.app.prompt.editor.text == ""


async def test_pasted_control_sequences_are_taken_out() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.post_message(events.Paste("a\x1b[31mb\x07\u202ec\r\nd"))
        await driven.pilot.pause()
        assert driven.app.prompt.editor.text == "abc\nd"


async def test_a_pasted_path_of_a_picture_is_attached(tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(b"\x89PNG")
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.editor.paste(str(picture))
        await driven.type(" what is this")
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt)
        assert command.text == "[image shot.png] what is this"
        assert [one.path for one in command.attachments] == [str(picture)]
