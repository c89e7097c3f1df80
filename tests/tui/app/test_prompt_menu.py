"""The menu of the prompt: commands and files to complete."""

from pathlib import Path

import pytest

from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.session import WorkspaceMoved
from tui_agent.tui.prompt.completion_symbols import Symbol


async def test_the_slash_menu_narrows_and_tab_completes() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/rea")
        assert "/read" in driven.text() and "/reasoning" in driven.text()
        assert "2 commands" in driven.text()
        await driven.press("down", "tab")
        assert driven.app.prompt.editor.text == "/reasoning "
        assert driven.session.submitted == []


async def test_esc_closes_the_menu_and_keeps_the_text() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/re")
        await driven.press("escape")
        assert not driven.app.prompt.menu.display and driven.app.prompt.editor.text == "/re"
        await driven.type("a")
        assert driven.app.prompt.menu.display


async def test_up_and_down_go_past_an_earlier_command_without_a_menu() -> None:
    async with open_app(golden("night_shift")) as driven:
        editor, menu = driven.app.prompt.editor, driven.app.prompt.menu
        for text in ("first", "/diff", "/model ", "last"):
            editor.history_of_messages.add(text)
        seen = []
        for key in ("up", "up", "up", "up", "down", "down"):
            await driven.press(key)
            seen.append((editor.text, menu.display))
        shown = ["last", "/model ", "/diff", "first", "/diff", "/model "]
        assert seen == [(text, False) for text in shown]
        await driven.press("up")
        await driven.press("end", "backspace")
        assert editor.text == "/dif" and menu.display


async def test_a_mentioned_file_is_completed_from_the_folder_that_the_session_works_in(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "entry.py").write_text("")
    (tmp_path / "src" / "report.py").write_text("")
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(WorkspaceMoved(workspace=str(tmp_path), previous="/gone"))
        await driven.settle()
        assert driven.app.prompt.editor.root == driven.app.prompt.files.root == tmp_path
        await driven.type("see @ent")
        while not driven.app.prompt.menu.display:
            await driven.pilot.pause(0.01)
        assert "src/entry.py" in driven.text()
        await driven.press("tab")
        assert driven.app.prompt.editor.text == "see @src/entry.py "


async def test_enter_after_a_completely_typed_path_sends_the_message(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "mime.ts").touch()
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.set_root(tmp_path)
        await driven.type("look at @src/mime.t")
        await driven.until(lambda: driven.app.prompt.menu.candidate is not None)
        assert "insert" in driven.text()
        await driven.type("s")
        assert driven.app.prompt.menu.display and "send" in driven.text().splitlines()[-1]
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "look at @src/mime.ts"


@pytest.mark.slow_variants
@pytest.mark.parametrize("complete_key", ["enter", "tab"])
async def test_enter_on_the_folder_that_is_already_in_the_message_sends_it(
    tmp_path: Path, complete_key: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "api.md").touch()
    async with open_app(golden("night_shift")) as driven:
        prompt = driven.app.prompt
        prompt.set_root(tmp_path)
        await driven.type("see @doc")
        await driven.until(lambda: prompt.menu.candidate is not None)
        assert "Enter insert" in driven.rows()[-1]
        await driven.press(complete_key)
        await driven.until(
            lambda: [each.label for each in prompt.menu.candidates] == ["docs/", "docs/api.md"]
        )
        assert prompt.editor.text == "see @docs/" and "Enter send" in driven.rows()[-1]
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "see @docs/" and not prompt.menu.display


@pytest.mark.slow
async def test_tab_on_the_folder_that_is_already_in_the_message_goes_into_it(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "api.md").touch()
    async with open_app(golden("night_shift")) as driven:
        prompt = driven.app.prompt
        prompt.set_root(tmp_path)
        await driven.type("see @docs/ first")
        prompt.editor.move_cursor((0, len("see @docs/")))
        await driven.until(lambda: len(prompt.menu.candidates) == 2)
        assert "Enter send" in driven.rows()[-1]
        await driven.press("tab")
        assert prompt.editor.text == "see @docs/ first" and "Enter insert" in driven.rows()[-1]
        await driven.press("tab")
        assert prompt.editor.text == "see @docs/api.md first" and not driven.session.submitted


async def test_a_menu_that_does_not_hold_all_files_says_so(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"file{number}.txt").touch()
    async with open_app(golden("night_shift")) as driven:
        driven.app.prompt.set_root(tmp_path)
        await driven.type("@")
        await driven.until(lambda: "first 50 in 60 files" in driven.text())
        await driven.type("file59")
        await driven.until(lambda: "1 found in 60 files" in driven.text())


async def test_long_paths_use_the_whole_row_and_are_cut_in_the_middle(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "test_utils_misc"
    for name in ("test_walk_modules", "test_walk_modules_2", f"test_walk_modules_{'x' * 60}"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()

    async def find(root: Path, query: str) -> list[Symbol]:
        return [Symbol("misc_settings", "src/misc.py", 1)]

    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        driven.app.prompt.set_root(tmp_path)
        driven.app.prompt.find_symbols = find
        await driven.type("@misc")
        await driven.until(lambda: "src/misc.py:1" in driven.text())
        text = driven.text()
        assert "tests/test_utils_misc/test_walk_modules/__init__.py" in text
        assert "tests/test_utils_misc/test_walk_modules_2/__init__.py" in text
        await driven.until(lambda: "xxx" in driven.text())
        cut = next(
            row for row in driven.rows() if "xxx" in row
        )  # the file or its folder, whichever comes first
        assert "tests/test_utils_misc" in cut and "…" in cut
