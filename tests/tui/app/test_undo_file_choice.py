"""The question, before an undo, about files that changed while a command ran."""

import pytest

from tests.tui.app.driving import Driven, end_grace_period, open_app
from tests.tui.app.turns_story import begun, run_long_command, start_job, turn
from tui_agent.protocol.commands import PlanRevert, Revert, Undo
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, PlannedFileChange
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.tui.controller.rewind import KeptFilesPicker
from tui_agent.tui.modals.undo_question import FileChoice

REASON = "changed while `pytest -q` ran (14.0 s)"


def plan_undo(driven: Driven, to_seq: int, *changes: PlannedFileChange) -> None:
    driven.session.feed(CheckpointPlanned(to_seq=to_seq, changes=changes))


def planned_change(path: str, conflict: str = REASON, *, uncertain: bool = True) -> PlannedFileChange:
    return PlannedFileChange(
        path=path, operation="remove", added=0, removed=1, conflict=conflict, uncertain=uncertain
    )


async def test_undo_asks_about_files_that_changed_while_a_long_command_ran() -> None:
    others = planned_change("theirs.py", "changed by the session “Other”", uncertain=False)
    changes = planned_change("made.txt"), planned_change("user.txt"), others
    for keys, overwrite in (
        (("enter",), ("made.txt", "user.txt")),
        (("down", "space", "enter"), ("made.txt",)),
        (("up", "space", "enter"), ("made.txt", "user.txt", "theirs.py")),
        (("escape",), None),
    ):
        async with open_app(session=begun()) as driven:
            to_seq = run_long_command(driven)
            await driven.settle()
            await driven.type("/undo")
            await driven.press("enter")
            assert driven.session.submitted == [PlanRevert(id=driven.session.submitted[0].id, to_seq=to_seq)]
            plan_undo(driven, to_seq, *changes)
            await driven.settle()
            sheet = driven.app.screen
            assert isinstance(sheet, FileChoice)
            for text in ("Undo these files too?", "Changed while `pytest -q` ran (14.0 s)", "[x] made.txt"):
                assert text in driven.text()
            assert "Changed by the session “Other”" in driven.text() and "[ ] theirs.py" in driven.text()
            end_grace_period(sheet)
            await driven.press(*keys)
            undone = [command.overwrite for command in driven.session.submitted if isinstance(command, Undo)]
            assert undone == ([] if overwrite is None else [overwrite])
            assert driven.app.prompt.editor.text == ("" if overwrite is None else "the first thing")
            end = len(driven.session.records) - 1
            driven.session.feed(SessionHeadMoved(to_seq=to_seq, from_seq=end, reason="undo"))
            driven.session.feed(
                CheckpointRestored(
                    source="c" * 40,
                    commit="d" * 40,
                    paths=(),
                    skipped_paths=("user.txt",),
                    skipped_reasons={"user.txt": REASON},
                )
            )
            await driven.settle()
            assert isinstance(driven.app.screen, KeptFilesPicker) == (overwrite is None), "asked once"


@pytest.mark.parametrize("is_open", [True, False], ids=["open question", "plan on its way"])
async def test_a_message_sent_before_the_answer_about_files_cancels_the_undo(is_open: bool) -> None:
    async with open_app(session=begun()) as driven:
        to_seq = run_long_command(driven)
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        if is_open:
            plan_undo(driven, to_seq, planned_change("made.txt"))
            await driven.settle()
            assert isinstance(driven.app.screen, FileChoice)
        turn(driven, 2, "the next thing", "done")
        await driven.settle()
        if not is_open:
            plan_undo(driven, to_seq, planned_change("made.txt"))
            await driven.settle()
        assert not isinstance(driven.app.screen, FileChoice)
        assert driven.app.notice.text == "Nothing was undone, because a new turn started."
        assert not [command for command in driven.session.submitted if isinstance(command, Undo)]


async def test_text_typed_into_the_question_goes_to_the_prompt_and_ticks_nothing() -> None:
    async with open_app(session=begun()) as driven:
        to_seq = run_long_command(driven)
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        plan_undo(driven, to_seq, planned_change("made.txt"))
        await driven.settle()
        sheet = driven.app.screen
        assert isinstance(sheet, FileChoice)
        end_grace_period(sheet)
        await driven.type("not yet")
        assert driven.app.prompt.editor.text == "not yet" and "[x] made.txt" in driven.text()
        await driven.press("escape")
        await driven.until(lambda: "Enter undo" in driven.rows()[-1])
        await driven.press("ctrl+u")
        await driven.until(lambda: driven.app.prompt.editor.text == "")
        await driven.until(lambda: "Enter undo" in driven.rows()[-1])
        await driven.type("not now")
        assert driven.app.prompt.editor.text == "not now" and "[x] made.txt" in driven.text()
        await driven.press("escape", "enter")
        undone = [command.overwrite for command in driven.session.submitted if isinstance(command, Undo)]
        assert undone == [("made.txt",)] and driven.app.prompt.editor.text == "not now"


async def test_undo_after_a_long_command_does_not_ask_if_nothing_is_uncertain() -> None:
    async with open_app(session=begun()) as driven:
        to_seq = run_long_command(driven)
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        plan_undo(
            driven, to_seq, planned_change("a.py", "also changed by you or another session", uncertain=False)
        )
        await driven.settle()
        assert [type(command) for command in driven.session.submitted] == [PlanRevert, Undo]


@pytest.mark.slow_variants
@pytest.mark.parametrize("has_files", [True, False])
async def test_undo_says_that_it_stops_the_running_job_of_the_turn(has_files: bool) -> None:
    async with open_app(session=begun()) as driven:
        to_seq = start_job(driven, "cmake --build build")
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [PlanRevert]
        changes = (planned_change("made.o"),) if has_files else ()
        driven.session.feed(
            CheckpointPlanned(to_seq=to_seq, changes=changes, running_jobs=("cmake --build build",))
        )
        await driven.settle()
        sheet = driven.app.screen
        assert isinstance(sheet, FileChoice)
        shown = driven.text()
        assert "A background job of this turn is still running: `cmake --build build`" in shown
        assert "The undo stops it first." in shown and ("[x] made.o" in shown) == has_files
        end_grace_period(sheet)
        await driven.press("space", "space", "enter")
        undone = [command.overwrite for command in driven.session.submitted if isinstance(command, Undo)]
        assert undone == [("made.o",) if has_files else ()]
        move = SessionHeadMoved(
            to_seq=to_seq, from_seq=to_seq + 3, reason="undo", stopped_jobs=("cmake --build build",)
        )
        driven.session.feed(move)
        await driven.settle()
        assert "Stopped the background job `cmake --build build`; a redo does not" in driven.text()


async def test_undo_says_how_many_files_it_does_not_list() -> None:
    async with open_app(session=begun()) as driven:
        to_seq = run_long_command(driven)
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        planned = CheckpointPlanned(
            to_seq=to_seq,
            changes=(planned_change("made.txt"),),
            unlisted_count=90,
            unlisted_conflict_count=51,
        )
        driven.session.feed(planned)
        await driven.settle()
        assert "and 51 more files, which the undo does not change" in driven.text()


async def test_undo_asks_about_files_that_the_running_job_of_an_earlier_turn_may_have_made() -> None:
    reason = "changed while `make` and job-1 of an earlier turn ran"
    async with open_app(session=begun()) as driven:
        start_job(driven, "npm run dev")
        to_seq = turn(driven, 2, "the next thing", "done") - 1
        await driven.settle()
        await driven.type("/undo")
        await driven.press("enter")
        plan_undo(driven, to_seq, planned_change("made.txt", reason))
        await driven.settle()
        assert isinstance(driven.app.screen, FileChoice)
        assert "Changed while `make` and job-1 of an earlier turn ran" in driven.text()
        end_grace_period(driven.app.screen)
        await driven.press("enter")
        undone = [command.overwrite for command in driven.session.submitted if isinstance(command, Undo)]
        assert undone == [("made.txt",)]


async def test_a_revert_lists_the_running_jobs_that_it_stops_and_asks_once() -> None:
    async with open_app(session=begun()) as driven:
        to_seq = start_job(driven, "cmake --build build")
        await driven.settle()
        await driven.type(f"/revert {to_seq}")
        await driven.press("enter")
        driven.session.feed(CheckpointPlanned(to_seq=to_seq, running_jobs=("cmake --build build",)))
        await driven.settle()
        assert "Running background jobs" in driven.text() and "stopped first" in driven.text()
        await driven.press("enter")
        assert [type(command) for command in driven.session.submitted] == [PlanRevert, Revert]
