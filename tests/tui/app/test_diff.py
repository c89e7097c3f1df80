"""The sheet of changes: of the session or of one turn, from file to file by key, and one change reverted by key."""

import hashlib
import re

import anyio
import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.folds.session.changed_files import ChangedFile
from tui_agent.folds.text.line_diff import LineDiff
from tui_agent.protocol.commands import Command, RevertHunk
from tui_agent.protocol.events.files import (
    Author,
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
    FolderChange,
)
from tui_agent.protocol.events.session import (
    CommandRejected,
    RevertedHunk,
    SessionHeadMoved,
)
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.protocol.frozen_model import Payload
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.diff import FILES_AT_ONCE, DiffSheet
from tui_agent.tui.transcript.transcript_messages import EntryAction
from tui_agent.tui.widgets.question_keys import GRACE_PERIOD_S

OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")


def change(
    session: FakeSession, path: str, before: bytes | None, after: bytes | None, author: Author = "agent"
) -> FileChanged:
    """A recorded change, with its contents in the session."""
    digests = [None if data is None else hashlib.sha256(data).hexdigest() for data in (before, after)]
    session.blobs.update(
        {
            digest: data
            for digest, data in zip(digests, (before, after), strict=True)
            if digest and data is not None
        }
    )
    return FileChanged(
        path=path, before=digests[0], after=digests[1], before_size=len(before or b""), after_size=len(after or b""),
        mode=None if after is None else 0o644, author=author, added=1, removed=1,
    )  # fmt: skip


def turn(driven: Driven, number: int, *changes: Payload) -> None:
    """One turn with these changes."""
    driven.session.feed(
        UserMessageReceived(text=f"message {number}"),
        TurnStarted(turn=number),
        *changes,
        TurnFinished(turn=number, reason="finished", duration_ms=5.0),
    )


async def read(driven: Driven) -> DiffSheet:
    """The open sheet, once everything is compared."""
    sheet = driven.app.screen
    assert isinstance(sheet, DiffSheet)
    await driven.until(lambda: "reading" not in driven.text())
    return sheet


async def show(driven: Driven, argument: str = "") -> DiffSheet:
    await driven.type(f"/diff {argument}".rstrip())
    await driven.press("enter")
    return await read(driven)


def chosen(sheet: DiffSheet) -> tuple[str, int]:
    stop = sheet._selection.stop
    assert stop is not None
    return stop.file.path, stop.hunk


def top_row(driven: Driven, sheet: DiffSheet) -> str:
    """The text of the first visible row below the title."""
    strip = sheet.scrolled.strips[sheet.scrolled.scroll_offset.y]
    return "".join(segment.text for segment in strip).strip()


async def three_files(driven: Driven) -> None:
    session = driven.session
    long = "".join(f"{number}\n" for number in range(60)).encode()
    turn(
        driven, 1, change(session, "a.txt", OLD.encode(), NEW.encode()), change(session, "b.txt", None, long)
    )
    turn(
        driven,
        2,
        change(session, "a.txt", NEW.encode(), NEW.replace("line 30", "x").encode()),
        change(session, "c.txt", long, None),
    )
    await driven.settle()


async def test_the_diff_of_a_turns_row_shows_the_changes_of_that_turn() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        await three_files(driven)
        controller = driven.app.controller
        assert controller is not None and controller.chat.widget is not None
        first, second = (entry for entry in controller.chat.entries if entry.id.startswith("turn."))
        controller.chat.widget.post_message(EntryAction(second.id, "diff"))
        await driven.pilot.pause()
        sheet = await read(driven)
        assert "Changes in turn 2" in driven.text()
        assert [file.path for file in sheet._view.files] == ["a.txt", "c.txt"]
        assert sheet.right == "2 files +1 −61"
        await driven.press("escape")
        controller.chat.widget.post_message(EntryAction(first.id, "diff"))
        await driven.pilot.pause()
        sheet = await read(driven)
        assert [file.path for file in sheet._view.files] == ["a.txt", "b.txt"]
        assert sheet.right == "2 files +62 −2"
        await driven.press("escape")
        sheet = await show(driven)
        assert [file.path for file in sheet._view.files] == ["a.txt", "b.txt", "c.txt"]


async def test_strip_turn_row_and_sheet_count_a_file_that_was_changed_twice_alike() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        old, middle, new = b"a\nb\n", b"A\nb\n", b"AA\nb\n"
        turn(
            driven,
            1,
            change(driven.session, "a.txt", old, middle),
            change(driven.session, "a.txt", middle, new),
        )
        await driven.settle()
        assert "turn 1 · 5 ms · 0 iterations · 1 file, 2 edits" in driven.text()
        await driven.until(lambda: "Todo none   1 file +1 −1" in driven.text())
        assert (await show(driven)).right == "1 file +1 −1"


async def test_what_the_user_changed_is_in_no_turns_diff_or_counts() -> None:
    """Neither before the turn's first call nor between two calls, and not a generated folder."""
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        mine, ours = (
            OLD.replace("line 3\n", "mine\n"),
            OLD.replace("line 3\n", "mine\n").replace("line 20\n", "ours\n"),
        )
        folders = (FolderChange(path=".venv/", files=9, total=9),)
        turn(
            driven,
            1,
            change(session, "a.txt", OLD.encode(), mine.encode(), "human"),
            change(session, "b.txt", b"1\n", b"2\n", "human"),
            CheckpointTaken(
                part=0, commit="c" * 40, author="human", paths=("a.txt", "b.txt"), folders=folders
            ),
            change(session, "a.txt", mine.encode(), ours.encode()),
            change(session, "a.txt", ours.encode(), ours.replace("line 30", "mine").encode(), "human"),
        )
        await driven.settle()
        assert "1 file +1 −1   " in driven.text()
        sheet = await show(driven, "turn 1")
        assert ([file.path for file in sheet._view.files], sheet.right) == (["a.txt"], "1 file +1 −1")
        assert "ours" in driven.text() and "+ mine" not in driven.text()
        await driven.press("escape")
        sheet = await show(driven)
        assert [file.path for file in sheet._view.files] == ["a.txt"]


@pytest.mark.slow
async def test_a_turn_that_does_not_exist_or_changed_nothing_says_so() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        turn(driven, 1)
        await driven.settle()
        for number in (1, 9):
            await show(driven, f"turn {number}")
            assert f"No files changed in turn {number}." in driven.text()
            await driven.press("n", "tab", "r", "escape")
        await show(driven, "turn")
        assert "No changed file matches turn." in driven.text()


async def test_keys_go_from_file_to_file_and_from_change_to_change() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        await three_files(driven)
        sheet = await show(driven)
        assert chosen(sheet) == ("a.txt", 0)
        await driven.press("right")
        assert chosen(sheet) == ("a.txt", 1)
        await driven.press("n")
        assert chosen(sheet) == ("b.txt", 0) and top_row(driven, sheet).startswith("b.txt")
        await driven.press("n", "n")
        assert chosen(sheet) == ("c.txt", 0)
        await driven.press("left")
        assert chosen(sheet) == ("b.txt", 0)
        await driven.press("p", "p")
        assert chosen(sheet) == ("a.txt", 0) and top_row(driven, sheet).startswith("a.txt")
        await driven.press("end")
        await driven.press("space")
        assert chosen(sheet)[0] == "c.txt"


async def test_one_change_is_reverted_after_a_question_and_its_outcome_is_shown() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        made = change(session, "a.txt", OLD.encode(), NEW.encode())
        turn(driven, 1, made)
        await driven.settle()
        seq = len(session.records) - 1
        half = change(session, "a.txt", NEW.encode(), OLD.replace("line 3\n", "LINE 3\n").encode(), "human")

        def react(command: Command) -> None:
            if isinstance(command, RevertHunk) and len(session.submitted) == 1:
                session.feed(
                    half,
                    SessionHeadMoved(to_seq=seq + 1, from_seq=seq, reason="hunk", files=True, turn=1),
                    CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("a.txt",)),
                )
            elif isinstance(command, RevertHunk):
                session.feed(
                    CommandRejected(command="revert_hunk", reason="a.txt was changed since.", hint="Kept.")
                )

        session.react = react
        sheet = await show(driven)
        await driven.press("right", "r")
        question = driven.app.screen
        assert isinstance(question, Confirm)
        assert question.paragraphs == (
            "a.txt, lines 17–23: +1 −1",
            "Only this change is reverted. /redo restores it.",
        )
        await driven.press("escape")
        assert session.submitted == []
        await driven.press("r")
        assert isinstance(driven.app.screen, Confirm)
        end_grace_period(driven.app.screen)
        await driven.press("enter")
        (command,) = session.submitted
        assert command == RevertHunk(
            id=command.id, path="a.txt", before=made.before, after=made.after, hunk=1
        )
        await driven.settle()
        await driven.until(lambda: "Reverted the change. /redo restores it." in driven.text())
        assert "LINE 20" not in driven.text() and "LINE 3" in driven.text()
        await driven.press("r")
        assert isinstance(driven.app.screen, Confirm)
        assert driven.app.screen.paragraphs[1].startswith(
            "Lines that you or another session wrote in this file are kept."
        )
        end_grace_period(driven.app.screen)
        await driven.press("enter")
        await driven.settle()
        await driven.until(lambda: "a.txt was changed since. Kept." in driven.text())
        assert chosen(sheet) == ("a.txt", 0)


async def test_a_question_that_the_user_opened_takes_enter_soon() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        turn(driven, 1, change(session, "a.txt", OLD.encode(), NEW.encode()))
        await driven.settle()
        await show(driven)
        await driven.press("right", "r", "enter")
        question = driven.app.screen
        assert isinstance(question, Confirm) and question.in_grace_period  # Enter came too early
        assert session.submitted == [] and question.grace_period_s < GRACE_PERIOD_S
        await driven.until(lambda: not question.in_grace_period)
        await driven.press("enter")
        assert [type(one) for one in session.submitted] == [RevertHunk]


async def test_a_reverted_change_is_marked_in_the_diff_of_its_turn() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        made = change(session, "a.txt", OLD.encode(), NEW.encode())
        turn(driven, 1, made)
        await driven.settle()
        seq = len(session.records) - 1

        def react(command: Command) -> None:
            if isinstance(command, RevertHunk):
                hunk = RevertedHunk(path="a.txt", before=made.before, after=made.after, hunk=1)
                session.feed(
                    SessionHeadMoved(to_seq=seq, from_seq=seq, reason="hunk", files=True, turn=1, hunk=hunk),
                    CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("a.txt",)),
                )

        session.react = react
        sheet = await show(driven, "turn 1")
        assert sheet.right == "1 file +2 −2"
        await driven.press("right", "r")
        assert isinstance(driven.app.screen, Confirm)
        end_grace_period(driven.app.screen)
        await driven.press("enter")
        await driven.settle()
        await driven.until(lambda: "Reverted: lines 17–23" in driven.text())
        assert "LINE 20" not in driven.text() and "LINE 3" in driven.text()
        assert sheet.right == "1 file +1 −1"
        await driven.until(lambda: chosen(sheet) == ("a.txt", 0) and "R revert it" in driven.text())
        await driven.press("right")
        assert "R revert it" not in driven.text()
        await driven.press("r")
        assert driven.app.screen is sheet and "This change is already reverted." in driven.text()
        await driven.press("escape")
        again = change(session, "a.txt", OLD.encode(), NEW.encode())
        turn(driven, 2, again)
        await driven.settle()
        sheet = await show(driven, "turn 1")
        assert sheet.right == "1 file +2 −2", "the agent made the change again"


def place_in_head(driven: Driven) -> str:
    """The head's text about the chosen change, such as `a.txt file 1 of 3, change 1 of 2`."""
    row = next(number for number, text in enumerate(driven.rows()) if "Changes  " in text)
    return " ".join(driven.rows()[row + 1].strip(" ▌").split())


async def revert_chosen(driven: Driven) -> str:
    """Revert the chosen change; return the place that the question named."""
    await driven.press("r")
    question = driven.app.screen
    assert isinstance(question, Confirm)
    end_grace_period(question)
    await driven.press("enter")
    return str(question.paragraphs[0])


@pytest.mark.slow
async def test_after_a_revert_the_next_change_is_chosen_and_on_the_screen() -> None:
    """First the last change of a file, then its only one; the other files are longer than the screen."""
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        session = driven.session
        long = "".join(f"{number}\n" for number in range(60)).encode()
        contents = OLD.encode(), OLD.replace("line 3\n", "LINE 3\n").encode(), NEW.encode()
        turn(
            driven,
            1,
            change(session, "a.txt", None, long),
            change(session, "b.txt", contents[0], contents[2]),
            change(session, "c.txt", None, long),
        )
        await driven.settle()
        steps = iter(((contents[2], contents[1]), (contents[1], contents[0])))

        def react(command: Command) -> None:
            if isinstance(command, RevertHunk):
                seq = len(session.records)
                session.feed(
                    change(session, "b.txt", *next(steps), "human"),
                    SessionHeadMoved(to_seq=seq, from_seq=seq, reason="hunk", files=True, turn=1),
                    CheckpointRestored(source="c" * 40, commit="c" * 40, paths=("b.txt",)),
                )

        session.react = react
        sheet = await show(driven)
        await driven.press("n", "right")
        assert place_in_head(driven) == "b.txt file 2 of 3, change 2 of 2"
        assert await revert_chosen(driven) == "b.txt, lines 17–23: +1 −1"
        await driven.until(lambda: place_in_head(driven) == "b.txt file 2 of 3, change 1 of 1")
        await driven.until(lambda: "LINE 3" in driven.text() and "Reverted the change." in driven.text())
        assert await revert_chosen(driven) == "b.txt, lines 1–6: +1 −1"
        await driven.until(lambda: place_in_head(driven) == "c.txt file 2 of 2, change 1 of 1")
        await driven.until(lambda: top_row(driven, sheet).startswith("c.txt"))
        await driven.press("r")
        assert isinstance(driven.app.screen, Confirm)
        assert driven.app.screen.paragraphs[0].startswith("c.txt, lines 1–60")


async def test_keys_while_files_are_read_choose_a_file_that_is_then_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3]), size=(80, 24)) as driven:
        session = driven.session
        long = "".join(f"{number}\n" for number in range(60)).encode()
        turn(driven, 1, *(change(session, f"{name}.txt", None, long) for name in "abcdef"))
        await driven.settle()
        controller, released = driven.app.controller, anyio.Event()
        assert controller is not None
        compare = controller.reader.compare

        async def compare_late(file: ChangedFile) -> tuple[LineDiff | None, str]:
            await released.wait()
            return await compare(file)

        monkeypatch.setattr(controller.reader, "compare", compare_late)
        await driven.type("/diff")
        await driven.press("enter", "n", "n", "n")
        sheet = driven.app.screen
        assert isinstance(sheet, DiffSheet) and place_in_head(driven).startswith("d.txt")
        released.set()
        await driven.until(lambda: place_in_head(driven) == "d.txt file 4 of 6, change 1 of 1")
        await driven.until(lambda: top_row(driven, sheet).startswith("d.txt"))
        await driven.press("r")
        assert isinstance(driven.app.screen, Confirm)
        assert driven.app.screen.paragraphs[0].startswith("d.txt, lines 1–60")


@pytest.mark.slow
async def test_the_chosen_file_and_change_are_named_while_scrolling() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(session=FakeSession(golden("streaming")[:3]), size=size) as driven:
            await three_files(driven)
            await show(driven)
            for keys, place in (
                ((), r"a\.txt +file 1 of 3, change 1 of 3"),
                (("right",), r"a\.txt +file 1 of 3, change 2 of 3"),
                (("n", "down", "down", "down", "down"), r"b\.txt +file 2 of 3, change 1 of 1"),
                (("end",), r"c\.txt +file 3 of 3, change 1 of 1"),
                (("home",), r"a\.txt +file 1 of 3, change 1 of 3"),
            ):
                await driven.press(*keys)
                await driven.pilot.pause()
                row = next(number for number, text in enumerate(driven.rows()) if "Changes  " in text)
                assert re.search(place, driven.rows()[row + 1]), (keys, driven.text())
        async with open_app(session=FakeSession(golden("streaming")[:3]), size=size) as driven:
            turn(driven, 1, change(driven.session, "a.txt", b"a\n", b"b\n"))
            await driven.settle()
            await show(driven)
            assert "P/N file" not in driven.text() and "Left/Right change" not in driven.text()
            assert "R revert it" in driven.text()


async def test_nothing_is_reverted_during_a_turn_or_where_there_is_no_diff() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        changes = [
            change(session, "a.bin", b"\0", b"\0\1"),
            change(session, "big.txt", b"x\n" * 600_000, b"y\n"),
            FileChanged(path="lost.txt", before="0" * 64, after="1" * 64, before_size=1, after_size=1, mode=None, author="agent", added=1, removed=1),
        ]  # fmt: skip
        turn(driven, 1, *changes)
        session.feed(TurnStarted(turn=2))
        await driven.settle()
        sheet = await show(driven)
        for note in ("Binary file.", "Too large to compare.", "Content not stored."):
            assert note in driven.text()
        await driven.press("r")
        assert "A turn is running. You can revert when the turn has ended." in driven.text()
        session.feed(TurnFinished(turn=2, reason="finished", duration_ms=5.0))
        await driven.settle()
        await driven.press("n", "r")
        assert driven.app.screen is sheet
        assert "Changes to big.txt cannot be reverted one by one." in driven.text()
        assert session.submitted == []


async def test_a_change_that_is_still_being_read_is_not_said_to_be_unable() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        turn(driven, 1, change(session, "a.py", b"a\n", b"b\n"))
        await driven.settle()
        sheet = await show(driven)
        assert isinstance(sheet, DiffSheet)
        sheet._comparisons.clear()
        await driven.press("r")
        assert "This change is still loading." in driven.text()
        await sheet._compare()
        await driven.until(lambda: "still loading" not in driven.text())


@pytest.mark.slow
async def test_ten_thousand_files_are_compared_some_at_a_time() -> None:
    async with open_app(session=FakeSession(golden("streaming")[:3])) as driven:
        session = driven.session
        changes = [change(session, f"src/f{number:05}.txt", b"a\n", b"b\n") for number in range(10_000)]
        turn(driven, 1, *changes)
        await driven.settle()
        sheet = await show(driven)
        assert sheet.right == f"files 1–{FILES_AT_ONCE} of 10,000 files"
        assert len(sheet._comparisons) == FILES_AT_ONCE
        await driven.press("end")
        assert "9,950 more files" in driven.text()
        await driven.press("home")
        for _ in range(FILES_AT_ONCE):
            await driven.press("n")
        await driven.until(lambda: chosen(sheet) == (f"src/f{FILES_AT_ONCE:05}.txt", 0))
        assert sheet.right == f"files {FILES_AT_ONCE + 1}–{2 * FILES_AT_ONCE} of 10,000 files"
        assert len(sheet._comparisons) == 2 * FILES_AT_ONCE
        await driven.press("p")
        await driven.until(lambda: chosen(sheet) == (f"src/f{FILES_AT_ONCE - 1:05}.txt", 0))
