"""The list of files that an undo kept, because somebody else changed them too."""

import re

import pytest
from textual.events import Paste

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, end_grace_period, open_app
from tests.tui.app.turns_story import begun, run_long_command, turn
from tui_agent.protocol.commands import Redo, Revert, Undo
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointRestoreStarted, FolderChange
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.tui.controller.rewind import KeptFilesPicker


def hear(driven: Driven) -> None:
    """Keys count for the question at once."""
    assert isinstance(driven.app.screen, KeptFilesPicker)
    end_grace_period(driven.app.screen)


async def test_kept_files_are_listed_with_the_reason() -> None:
    async with open_app(session=begun()) as driven:
        to_seq = run_long_command(driven)
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=to_seq, from_seq=end, reason="undo"))
        driven.session.feed(
            CheckpointRestored(
                source="c" * 40,
                commit="d" * 40,
                paths=(),
                skipped_paths=("b.py", "theirs.py"),
                skipped_reasons={"theirs.py": "changed by the session “Other”"},
            )
        )
        await driven.settle()
        assert "Kept 2 files" in driven.text() and "changed by the session “Other”" in driven.text()
        hear(driven)
        await driven.press("escape")
        shown = " ".join(re.sub(r"[│ ]+", " ", driven.text()).split())
        assert (
            "1 file kept, changed by you or another session: b.py; 1 file kept, changed by the session"
            in shown
        )


async def test_files_left_alone_are_asked_about_one_by_one() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py", "b.py"))
        )
        await driven.settle()
        assert "Kept 2 files, because you or another session changed them too" in driven.text()
        hear(driven)
        await driven.press("down", "down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert revert.overwrite == ("a.py",)
        assert (revert.to_seq, revert.conversation) == (first - 1, False)


async def test_files_that_a_redo_kept_are_redone_anyway() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end + 1, reason="redo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py", "b.py"))
        )
        await driven.settle()
        assert "redo all 2 anyway" in driven.text() and "Redo one of them anyway" in driven.text()


async def test_what_is_typed_ahead_goes_to_the_prompt_and_never_answers_of_files_left_alone() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=second - 1, from_seq=end, reason="undo"))
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
        )
        await driven.settle()
        sheet = driven.app.screen
        assert isinstance(sheet, KeptFilesPicker)
        await driven.press("enter")
        assert driven.app.screen is sheet, "too early to be an answer"
        assert driven.app.prompt.editor.text == "the second thing", "and nothing that is to be sent"
        await driven.press("down", "/", "u", "n", "d", "o", "enter")
        await driven.settle()
        sheet.post_message(Paste("pasted"))
        await driven.settle()
        assert driven.app.screen is sheet and not sheet.field.text
        assert [type(one) for one in driven.session.submitted] == [Undo, Undo]
        assert driven.app.prompt.editor.text == "the first thingpasted"
        hear(driven)
        await driven.press("down", "down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert revert.overwrite == ("a.py",)


async def test_a_command_typed_into_the_list_never_selects_a_row_and_runs_as_a_command() -> None:
    """As a filter, `/redo` would match only the row `tests/test_requests.py   Undo it anyway`."""
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        await driven.settle()
        end = len(driven.session.records) - 1
        driven.session.feed(
            SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"),
            CheckpointRestored(
                source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("tests/test_requests.py",)
            ),
        )
        await driven.settle()
        hear(driven)
        assert "type to filter" not in driven.text()
        await driven.type("/redo")
        await driven.settle()
        assert "keep your versions" in driven.text() and driven.app.prompt.editor.text == "/redo"
        await driven.press("enter")
        await driven.settle()
        assert [type(command) for command in driven.session.submitted] == [Redo]
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end + 3, reason="redo", redone="undo"))
        await driven.settle()
        assert not isinstance(driven.app.screen, KeptFilesPicker), "its answer would be about an older state"


async def test_a_later_restore_of_files_closes_the_list() -> None:
    """Its answer would undo again what `/redo` has just restored."""
    async with open_app(session=begun()) as driven:
        target = turn(driven, 1, "the first thing", "one") - 1
        await driven.settle()
        driven.session.feed(
            CheckpointRestoreStarted(source="c" * 40, to_seq=target, paths=("a.py", "b.py")),
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=("a.py",), skipped_paths=("b.py",)),
        )
        await driven.settle()
        assert isinstance(driven.app.screen, KeptFilesPicker)
        driven.session.feed(
            CheckpointRestoreStarted(source="e" * 40, to_seq=target + 1, paths=("a.py",)),
            CheckpointRestored(source="e" * 40, commit="f" * 40, paths=("a.py",)),
        )
        await driven.settle()
        assert not isinstance(driven.app.screen, KeptFilesPicker)


async def test_files_that_went_back_alone_ask_of_what_was_left_alone_too() -> None:
    async with open_app(session=begun()) as driven:
        first = turn(driven, 1, "the first thing", "one")
        second = turn(driven, 2, "the second thing", "two")
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"))
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end + 1, reason="redo"))
        await driven.settle()
        driven.session.feed(
            CheckpointRestoreStarted(source="c" * 40, to_seq=second - 1, paths=("a.py",)),
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",)),
        )
        await driven.settle()
        assert "Kept 1 file, because you or another session changed it too" in driven.text()
        hear(driven)
        await driven.press("down", "enter")
        (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
        assert (revert.to_seq, revert.conversation, revert.overwrite) == (second - 1, False, ("a.py",))


@pytest.mark.slow
async def test_kept_files_of_a_generated_folder_are_one_row_and_a_long_path_shows_its_file_name() -> None:
    long = "src/" + "very_long_folder_name/" * 6 + "the_file_itself.py"
    for size in ((120, 40), (80, 24)):
        async with open_app(session=begun(), size=size) as driven:
            first = turn(driven, 1, "the first thing", "one")
            await driven.settle()
            end = len(driven.session.records) - 1
            driven.session.feed(
                SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"),
                CheckpointRestored(
                    source="c" * 40, commit="d" * 40, paths=("b.py",), skipped_paths=(long,),
                    folders=(FolderChange(path=".venv/", files=2_440, removed=2_440, conflicts=130),),
                ),
            )  # fmt: skip
            await driven.settle()
            assert isinstance(driven.app.screen, KeptFilesPicker)
            assert "Kept 131 files, because you or another session changed them too" in driven.text()
            row = next(row for row in driven.rows() if "the_file_itself.py" in row)
            assert "src/very_" in row and "…/the_file_itself.py" in row
            assert re.search(r"▌ +\.venv/ +130 files", driven.text())
            hear(driven)
            await driven.press("down", "down", "down", "enter")
            (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
            assert revert.overwrite == (".venv/",)
            assert "1 file restored: b.py; .venv/ 2,440 files removed" in driven.text()


async def test_a_restore_that_restored_nothing_says_so() -> None:
    async with open_app(session=begun()) as driven:
        turn(driven, 1, "the first thing", "one")
        driven.session.feed(
            CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
        )
        await driven.settle()
        await driven.press("escape")
        assert "No file was changed." in driven.text()


@pytest.mark.slow
async def test_more_kept_files_than_the_log_lists_are_counted_and_can_be_undone_together() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(session=begun(), size=size) as driven:
            first = turn(driven, 1, "the first thing", "one")
            await driven.settle()
            end = len(driven.session.records) - 1
            driven.session.feed(
                SessionHeadMoved(to_seq=first - 1, from_seq=end, reason="undo"),
                CheckpointRestored(
                    source="c" * 40, commit="d" * 40, paths=("gone.py", "back.py"), unlisted_count=4, removed_count=5,
                    skipped_paths=tuple(f"f{number:03}.py" for number in range(200)), unlisted_skipped_count=514,
                ),
            )  # fmt: skip
            await driven.settle()
            assert "Kept 714 files, because you or another session changed them too" in driven.text()
            hear(driven)
            await driven.press("up")
            assert re.search(r"and 514 more files +included only in “undo all”", driven.text())
            await driven.press("enter", "down", "down", "enter")
            (revert,) = [one for one in driven.session.submitted if isinstance(one, Revert)]
            assert (revert.overwrite, revert.conversation) == (("/",), False)
            assert "1 file restored: gone.py; 5 files removed: back.py, …" in driven.text()
            shown = " ".join(re.sub(r"[│ ]+", " ", driven.text()).split())
            assert "714 files kept, changed by you or another session: f000.py, f001.py, f002.py, …" in shown


async def _undo_that_keeps_a_file(driven: Driven, *, turns: int) -> None:
    """Record turns and an undo of the newest one that keeps a file."""
    newest = [turn(driven, number, "do it", "done") for number in range(1, turns + 1)][-1]
    end = len(driven.session.records) - 1
    driven.session.feed(SessionHeadMoved(to_seq=newest - 1, from_seq=end, reason="undo"))
    driven.session.feed(
        CheckpointRestored(source="c" * 40, commit="d" * 40, paths=(), skipped_paths=("a.py",))
    )
    await driven.settle()


async def test_in_a_new_session_too_kept_files_are_asked_about() -> None:
    async with open_app(session=begun()) as driven:
        await _undo_that_keeps_a_file(driven, turns=3)  # so the events of this session have higher numbers
        hear(driven)
        await driven.press("escape")
        second = FakeSession(begun().records, session_id="ses_b")
        driven.app.spawn = lambda _: second
        await driven.type("/new")
        await driven.press("enter")
        controller = driven.app.controller
        assert controller is not None
        await driven.until(lambda: controller.session is second and not controller.sessions.under_way)
        driven.session = second
        await _undo_that_keeps_a_file(driven, turns=1)
        hear(driven)
