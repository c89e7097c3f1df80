"""What a message mentions, as the prompt offers it and the transcript tells of it."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from tests.tui.app.driving import golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Steer, SubmitPrompt
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.mentions import REFUSED_MENTIONS, Mention
from tui_agent.tui.prompt.attachments import PastedSpans
from tui_agent.tui.prompt.completion_symbols import Symbol
from tui_agent.tui.prompt.prompt import Prompt
from tui_agent.tui.prompt.symbol_search import search_git, search_index

SAID = "Compare @src/app.py with @src/, @Cart, @.env and @old.py."
NAMED = (
    Mention(
        reference="src/app.py",
        kind="file",
        path="src/app.py",
        tokens=1_240,
        size=4_960,
        text="<file>…</file>",
    ),
    Mention(reference="src/", kind="directory", path="src/", size=12, tokens=60, text="<directory>"),
    Mention(
        reference="Cart", kind="symbol", path="src/shop.py", first_line=12, last_line=40, text="<symbol>"
    ),
    Mention(
        reference=".env",
        kind="refused",
        path=".env",
        note=".env may hold secrets, so the agent must not read it",
    ),
    Mention(reference="old.py", kind="missing", note="there is no such file"),
)


async def test_the_row_says_what_was_sent_and_what_was_not() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            driven.session.feed(UserMessageReceived(text=SAID, mentions=NAMED))
            await driven.settle()
            shown = " ".join(driven.text().replace("▌", " ").split())
            assert "src/app.py 1.2k tokens" in shown
            assert "src/ 12 entries" in shown and "Cart src/shop.py:12" in shown
            assert "not sent: .env may hold secrets" in shown
            assert "sent as plain text: there is no such file" in shown


async def test_files_folders_and_symbols_are_offered_behind_an_at(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "cart.py").write_text("class Cartridge: ...\n")
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options) as driven:
        prompt = driven.app.prompt
        prompt.set_root(tmp_path)
        asked: list[str] = []

        async def find(root: Path, query: str) -> list[Symbol]:
            asked.append(query)
            return [Symbol("Cartridge", "src/cart.py", 1)]

        prompt.find_symbols = find
        await driven.type("see @cart")
        await driven.until(lambda: any(one.label == "Cartridge" for one in prompt.menu.candidates))
        labels = [one.label for one in prompt.menu.candidates]
        assert labels == ["src/cart.py", "Cartridge"] and asked[-1] == "cart"
        await driven.until(lambda: "src/cart.py:1" in driven.text())
        # It is only put into the text: what runs is a command.
        assert "Enter insert" in driven.rows()[-1] and "Enter run" not in driven.rows()[-1]
        await driven.press("down", "tab")
        assert prompt.editor.text == "see @Cartridge "
        await driven.press("space")
        assert prompt.editor.text == "see @Cartridge "
        await driven.press("space")
        assert prompt.editor.text == "see @Cartridge  "
        await driven.press("backspace")
        await driven.press("@", "s", "r")
        await driven.until(lambda: bool(prompt.menu.candidates))
        await driven.press("tab")
        assert prompt.editor.text == "see @Cartridge @src/"
        await driven.until(lambda: [one.label for one in prompt.menu.candidates] == ["src/", "src/cart.py"])


async def test_what_is_found_late_moves_nobodys_choice(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("my_cart_test.py", "xcaxrxt.py", "c_a_r_t.py"):
        (tmp_path / "src" / name).write_text("")
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options) as driven:
        prompt, gate = driven.app.prompt, asyncio.Event()
        prompt.set_root(tmp_path)

        async def find(root: Path, query: str) -> list[Symbol]:
            await gate.wait()
            return [Symbol("Cartridge", "src/cart.py", 1)]

        prompt.find_symbols = find
        await driven.type("see @cart")
        await driven.until(lambda: len(prompt.menu.candidates) == 3)
        await driven.press("down")
        before = prompt.menu.candidate
        gate.set()
        await driven.until(lambda: any(one.label == "Cartridge" for one in prompt.menu.candidates))
        assert prompt.menu.candidate == before and prompt.menu.chosen == 2


async def test_symbols_are_those_of_the_maps_index_and_without_one_those_that_git_finds(
    tmp_path: Path,
) -> None:
    (tmp_path / "cart.py").write_text("class Cartridge: ...\n")
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    index = [{"name": "cart_total", "path": "src/cart.c", "line": 7}]
    asked: list[tuple[str, ...]] = []

    async def program(*words: str) -> tuple[int, str]:
        asked.append(words)
        return 0, "".join(f"{json.dumps(row)}\n" for row in index)

    find = search_index(program, tmp_path / "data")
    assert await find(tmp_path, "cart") == [Symbol("cart_total", "src/cart.c", 7)]
    assert asked[0][:4] == ("map", "--json", "--symbol", "cart") and str(tmp_path / "data") in asked[0]
    index.clear()
    assert await find(tmp_path, "cart") == [Symbol("Cartridge", "cart.py", 1)]


@pytest.mark.slow
async def test_a_name_of_tests_and_of_sources_is_offered_where_the_source_defines_it(tmp_path: Path) -> None:
    for folder in ("app", "tests", "z_src"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tests" / "cart.py").write_text("class Cartridge: ...\nclass Cart: ...\n")
    (tmp_path / "z_src" / "cart.py").write_text("class Cartridge: ...\nclass CartTotalOfAll: ...\n")
    (tmp_path / "app" / "test_cart.py").write_text("class Cartridge: ...\n")
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    async with open_app(
        golden("night_shift"), options=SessionOptions(cwd=tmp_path, data_dir=tmp_path)
    ) as driven:
        prompt = driven.app.prompt
        prompt.find_symbols = search_git
        prompt.set_root(tmp_path)
        await driven.press("@", *"car")
        await driven.until(lambda: "z_src/cart.py:1" in driven.text())
        symbols = [one.help for one in prompt.menu.candidates if one.help]
        assert symbols == ["z_src/cart.py:1", "z_src/cart.py:2", "tests/cart.py:2"]


async def test_completing_before_a_blank_leaves_one(tmp_path: Path) -> None:
    (tmp_path / "cart.py").write_text("class Cartridge: ...\n")
    async with open_app(
        golden("night_shift"), options=SessionOptions(cwd=tmp_path, data_dir=tmp_path)
    ) as driven:
        prompt = driven.app.prompt
        prompt.set_root(tmp_path)
        prompt.editor.put_text("see @cart and")
        prompt.editor.move_cursor((0, 9))
        await driven.until(lambda: bool(prompt.menu.candidates))
        await driven.press("tab")
        assert prompt.editor.text == "see @cart.py and"


LOG = "ERROR in @README.md\n  @cached\n  def f(): ...\n  see /ws/README.md"


@pytest.mark.slow
async def test_pasted_text_mentions_nothing_and_the_prompt_shows_what_is_attached(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Read me.")
    (tmp_path / "a.py").write_text("A = 1\n")
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    log = LOG.replace("/ws", str(tmp_path))
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), options=options, size=size) as driven:
            prompt, editor = driven.app.prompt, driven.app.prompt.editor
            prompt.set_root(tmp_path)
            for paste in (log, "x @README.md\n" * 30):
                await driven.type("fix ")
                editor.paste(paste)
                await driven.press("enter")
                sent = driven.session.submitted[-1]
                assert isinstance(sent, SubmitPrompt | Steer) and sent.typed_mentions == ()
                assert "attaches" not in driven.text()
            await driven.type("look at @a.py and ")
            editor.paste(log)
            await driven.until(lambda: "attaches a.py" in driven.text())
            assert "README.md" not in driven.rows()[-2]
            await driven.press("escape", "enter")
            sent = driven.session.submitted[-1]
            assert isinstance(sent, SubmitPrompt | Steer) and sent.typed_mentions == ("a.py",)
            await driven.until(lambda: "attaches" not in driven.text())


async def test_the_prompt_shows_which_mentioned_file_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "own.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options) as driven:
        driven.app.prompt.set_root(tmp_path)
        driven.session.completions = ["own.pem"]
        await driven.type("see @own.pem ")
        await driven.until(lambda: "ask  not sent: own.pem" in driven.text())
        assert (REFUSED_MENTIONS, "own.pem") in driven.session.completed


async def test_the_menu_marks_files_that_are_not_sent_and_lists_them_last(tmp_path: Path) -> None:
    for name in ("own.pem", "own.pem.txt", "own_keys.py"):
        (tmp_path / name).touch()
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), options=options, size=size) as driven:
            menu, editor = driven.app.prompt.menu, driven.app.prompt.editor
            driven.app.prompt.set_root(tmp_path)
            driven.session.completions = ["own.pem"]
            await driven.type("see @own")
            await driven.until(lambda: "own.pem   not sent with your message" in driven.text())
            labels = [candidate.label for candidate in menu.candidates]
            assert labels == ["own.pem.txt", "own_keys.py", "own.pem"] and menu.chosen == 0
            await driven.press("up")  # wraps around to the last row
            assert "Enter insert" in driven.rows()[-1]
            await driven.press("enter")
            assert editor.text == "see @own.pem "
            await driven.press("backspace")
            await driven.until(lambda: driven.app.prompt.menu.candidates)
            assert menu.candidates[0].label == "own.pem", "a path typed in full stays the first"


async def test_pasted_text_stays_pasted_when_it_is_edited_undone_recalled_or_unfolded(tmp_path: Path) -> None:
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options) as driven:
        editor = driven.app.prompt.editor

        def mentioned() -> list[str]:
            return [mention.text for mention in editor.typed_mentions]

        await driven.type("@a.py ")
        editor.paste("see @b.py and @c.py")
        editor.replace("!", (0, 9), (0, 10))
        editor.insert("@d.py ", (0, 0))
        editor.insert(" @e.py", (0, len("@d.py @a.py see!@b.py")))
        assert editor.text == "@d.py @a.py see!@b.py @e.py and @c.py"
        assert mentioned() == ["d.py", "a.py", "e.py"]
        draft = editor.draft_of(editor.text)
        for _ in range(4):
            editor.undo()
        for _ in range(4):
            editor.redo()
        assert mentioned() == ["d.py", "a.py", "e.py"]
        text = editor.text
        editor.action_delete_to_start_of_line()
        assert mentioned() == []
        editor.action_put_back()
        assert editor.text == text and mentioned() == ["d.py", "a.py", "e.py"]
        editor.put_text("")
        editor.pasted = PastedSpans()
        editor.put_draft(draft)
        assert editor.text == text and mentioned() == ["d.py", "a.py", "e.py"]
        editor.put_text("")
        editor.paste("x @README.md\n" * 30)
        assert editor.unfold_paste() and "@README.md" in editor.text and mentioned() == []
        editor.put_text("@")
        editor.paste("src/a.py")
        assert mentioned() == ["src/a.py"]


async def test_a_message_that_comes_back_keeps_its_pasted_parts(tmp_path: Path) -> None:
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options) as driven:
        prompt, editor = driven.app.prompt, driven.app.prompt.editor
        await driven.type("@a.py ")
        editor.paste("not @b.py")
        await driven.press("enter")
        await driven.press("up")
        assert [mention.text for mention in editor.typed_mentions] == ["a.py"]
        await driven.press("down")
        editor.put_text("@c.py")
        prompt.give_back([Prompt.Submitted("@a.py not @b.py", "send")])
        assert editor.text == "@a.py not @b.py\n@c.py"
        assert [mention.text for mention in editor.typed_mentions] == ["a.py", "c.py"]
