"""The files that the strip and the diff list and count, also after changes outside the app."""

import re
from pathlib import Path

import pytest
from textual import events

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import end_grace_period, golden, open_app
from tests.tui.app.test_diff import NEW, OLD, change, show, turn
from tui_agent.protocol.commands import RevertHunk
from tui_agent.protocol.events.files import (
    CheckpointTaken,
    FolderChange,
)
from tui_agent.protocol.events.session import (
    WorkspaceMoved,
)
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.tui.modals.confirm import Confirm


@pytest.mark.slow
async def test_a_generated_folder_is_one_row_with_the_same_count_in_chat_and_sheet() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(session=FakeSession(golden("streaming")[:3]), size=size) as driven:
            session = driven.session
            made = change(session, "a.txt", b"a\n", b"b\n")
            install = CheckpointTaken(
                part=1, commit="c" * 40, author="command", paths=("a.txt",), unlisted_count=3,
                folders=(FolderChange(path=".venv/", files=2_570, total=2_570),),
            )  # fmt: skip
            again = CheckpointTaken(
                part=2, commit="d" * 40, author="command",
                folders=(FolderChange(path=".venv/", files=30, total=2_570),),
            )  # fmt: skip
            turn(driven, 1, made, install, again)
            await driven.settle()
            assert "4 files +1 −1 · .venv/ 2,570 files" in driven.text()
            for argument in ("", "turn 1"):
                sheet = await show(driven, argument)
                assert sheet.right == "4 files +1 −1, .venv/ 2,570 files"
                assert "and 3 more files whose names were not recorded" in driven.text()
                assert any(
                    row.strip().startswith("▌") and ".venv/   2,570 generated files" in row
                    for row in driven.rows()
                )
                await driven.press("escape")


async def test_a_file_that_you_changed_after_the_session_says_so(tmp_path: Path) -> None:
    (tmp_path / "same.py").write_text("def func_2(): ...\n")
    (tmp_path / "renamed.py").write_text("def func_two(): ...\n")
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        new = b"def func_2(): ...\n"
        paths = "same.py", "renamed.py"
        driven.session.feed(WorkspaceMoved(workspace=str(tmp_path), previous=""))
        turn(driven, 1, *(change(driven.session, path, None, new) for path in paths))
        await driven.settle()
        await show(driven)
        heads = [row.split() for row in driven.rows() if re.search(r"\.py +\+1", row)]
        later = ["changed", "later"]
        assert [("created" in head, head[-2:] == later) for head in heads] == [
            (True, False), (True, True),
        ]  # fmt: skip
        await driven.press("escape")
        driven.session.feed(TurnStarted(turn=2))
        await driven.settle()
        await show(driven)
        assert "changed later" not in driven.text(), "a running command possibly changed it"


async def test_the_strip_stops_counting_a_file_that_you_undid_while_the_terminal_had_no_focus(
    tmp_path: Path,
) -> None:
    paths = "first.py", "second.py"
    for path in paths:
        (tmp_path / path).write_text(NEW)
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        driven.session.feed(WorkspaceMoved(workspace=str(tmp_path), previous=""))
        turn(driven, 1, *(change(driven.session, path, OLD.encode(), NEW.encode()) for path in paths))
        await driven.until(lambda: "2 files" in driven.text())
        (tmp_path / "first.py").write_text(OLD)
        driven.app.post_message(events.AppBlur())
        driven.app.post_message(events.AppFocus())
        await driven.until(lambda: "1 file +" in driven.text())
        turn(driven, 2, change(driven.session, "first.py", OLD.encode(), NEW.encode()))
        await driven.until(lambda: "2 files" in driven.text())


@pytest.mark.slow
async def test_strip_and_sheet_show_the_same_number_of_files(tmp_path: Path) -> None:
    paths = [f"part{number}.py" for number in range(6)]
    for path in paths:
        (tmp_path / path).write_text(NEW)
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        session = driven.session
        session.feed(WorkspaceMoved(workspace=str(tmp_path), previous=""))
        changes = [change(session, path, OLD.encode(), NEW.encode()) for path in paths]
        more = CheckpointTaken(part=1, commit="c" * 40, author="command", paths=(), unlisted_count=3)
        turn(driven, 1, *changes, more)
        await driven.until(lambda: "9 files" in driven.text())
        (tmp_path / paths[2]).write_text(OLD)  # the terminal says nothing about its focus
        sheet = await show(driven)
        assert sheet.right.startswith("8 files ") and "file 1 of 8" in driven.text()
        await driven.press("escape")
        await driven.until(lambda: "8 files" in driven.text())
        sheet = await show(driven)
        await driven.press("n", "n")
        assert re.search(r"part2.py +no longer changed", driven.text())
        await driven.press("n")
        assert re.search(r"part3.py +file 3 of 8", driven.text())
        (tmp_path / paths[0]).write_text(OLD)
        driven.app.post_message(events.AppBlur())
        driven.app.post_message(events.AppFocus())
        await driven.until(lambda: sheet.right.startswith("7 files "))
        await driven.press("escape")
        await driven.until(lambda: "7 files" in driven.text())
        (tmp_path / paths[1]).write_text(OLD)
        turn(driven, 2)
        await driven.until(lambda: "6 files" in driven.text(), "a turn ended")


async def test_a_file_that_you_undid_outside_is_not_counted_and_shows_no_change(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text(NEW)
    for name in ("undone.txt", "restored.txt"):
        (tmp_path / name).write_text(OLD)
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        session.feed(WorkspaceMoved(workspace=str(tmp_path), previous=""))
        changes = [
            change(session, name, before, after)
            for name, before, after in (
                ("undone.txt", OLD.encode(), NEW.encode()),
                ("restored.txt", OLD.encode(), None),
                ("deleted.txt", None, NEW.encode()),
                ("kept.txt", OLD.encode(), NEW.encode()),
            )
        ]
        turn(driven, 1, *changes)
        await driven.settle()
        sheet = await show(driven)
        assert sheet.right == "1 file +2 −2"
        marked = re.findall(r"(\w+\.txt) .*no longer changed", driven.text())
        assert marked == ["undone.txt", "restored.txt", "deleted.txt"]
        notes = re.findall(r"The file is as it was before the session\S*", driven.text())
        assert notes == ["The file is as it was before the session."] * 3
        assert driven.text().count("LINE 20") == 1
        (tmp_path / "undone.txt").write_text(OLD + "more\n")
        (tmp_path / "deleted.txt").mkdir()
        await driven.press("escape")
        sheet = await show(driven)
        assert sheet.right.startswith("3 files") and driven.text().count("no longer changed") == 1


async def test_your_lines_are_not_counted_and_are_kept_by_a_revert() -> None:
    """Your lines are recorded between two changes by the agent."""
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        session = driven.session
        versions = [b"a\nb\n", b"a\nb\nmine\n", b"a\nbb\nmine\n"]
        turn(driven, 1, change(session, "a.txt", None, versions[0]))
        by_you = change(session, "a.txt", versions[0], versions[1], "human")
        turn(driven, 2, by_you, change(session, "a.txt", versions[1], versions[2], "command"))
        await driven.until(lambda: "1 file +2" in driven.text())
        sheet = await show(driven)
        assert sheet.right == "1 file +2"
        assert re.search(r"a\.txt +\+2 +created", driven.text())
        assert "changed by you" not in driven.text() and "mine" in driven.text()
        await driven.press("r")
        question = driven.app.screen
        assert isinstance(question, Confirm)
        assert question.paragraphs == (
            "a.txt, lines 1–3: +2",
            "Lines that you or another session wrote in this file are kept. Only this change is reverted. /redo restores it.",
        )
        end_grace_period(question)
        await driven.press("enter")
        (command,) = session.submitted
        assert isinstance(command, RevertHunk)
        assert command.user_changes == ((by_you.before, by_you.after),)


async def test_your_changes_between_two_calls_of_a_turn_are_not_counted_in_the_turn() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        session, lines = driven.session, OLD.encode()
        mine = lines.replace(b"line 10\n", b"mine\nmine too\n")
        both = NEW.encode().replace(b"line 10\n", b"mine\nmine too\n")
        half = lines.replace(b"line 3\n", b"LINE 3\n")
        turn(
            driven,
            1,
            change(session, "a.txt", lines, half),
            change(session, "a.txt", half, mine.replace(b"line 3\n", b"LINE 3\n"), "human"),
            change(session, "a.txt", mine.replace(b"line 3\n", b"LINE 3\n"), both),
        )
        await driven.until(lambda: "1 file +2 −2" in driven.text())
        for argument in ("turn 1", ""):
            sheet = await show(driven, argument)
            assert sheet.right == "1 file +2 −2"
            await driven.press("escape")


async def test_a_change_in_which_you_changed_the_same_lines_is_marked_and_not_reverted() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        versions = [b"a\nb\n", b"a\nmine\n", b"a\nmine\nc\n"]
        turn(driven, 1, change(session, "a.txt", None, versions[0]))
        by_you = change(session, "a.txt", versions[0], versions[1], "human")
        turn(driven, 2, by_you, change(session, "a.txt", versions[1], versions[2], "command"))
        await driven.settle()
        sheet = await show(driven)
        assert re.search(
            r"a\.txt +\+3 +created +1 line also changed by you or another session", driven.text()
        )
        assert "R revert it" not in driven.text()
        await driven.press("r")
        assert driven.app.screen is sheet
        text = " ".join(driven.text().split())
        assert "You or another session changed line 2 too, so this change is not reverted." in text
        assert session.submitted == []
        await driven.press("escape")
        await show(driven, "turn 2")
        assert (
            "also changed by you or another session" not in driven.text() and "R revert it" in driven.text()
        )


async def test_lines_that_another_session_changed_too_name_the_session() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        versions = [b"a\nb\n", b"a\ntheirs\n", b"a\ntheirs\nc\n"]
        turn(driven, 1, change(session, "a.txt", None, versions[0]))
        theirs = change(session, "a.txt", versions[0], versions[1], "human")
        theirs = theirs.model_copy(update={"other_session": "Parser"})
        turn(driven, 2, theirs, change(session, "a.txt", versions[1], versions[2], "command"))
        await driven.settle()
        await show(driven)
        assert "1 line also changed by the session “Parser”" in driven.text()


async def test_a_file_in_which_you_undid_the_agents_change_by_hand_says_so() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        turn(driven, 1, change(session, "a.txt", b"a\nb\n", b"a\nB\n"))
        session.feed(change(session, "a.txt", b"a\nB\n", b"a\nb\nmine\n", "human"))
        await driven.settle()
        sheet = await show(driven)
        assert "Only changes by you or another session are left." in driven.text() and "+" not in sheet.right
