"""`/evals`: the cells of an evaluation run, also while it runs, and their sessions."""

from pathlib import Path

import pytest

from tests.stubs.cells import result, stored_run
from tests.stubs.golden import golden_session
from tests.tui.app.driving import Driven, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.evals.runs.progress_board import Board
from tui_agent.evals.runs.run_folder import LOCK_FILE, RESULT_FILE, RunFolder
from tui_agent.store.writer_lock import WriterLock
from tui_agent.tui.screens.eval_board import NO_RUNS, BoardScreen
from tui_agent.tui.screens.replay.live_log import FollowingScreen
from tui_agent.units import format_duration


async def board(driven: Driven, argument: str = "") -> BoardScreen:
    driven.app.do("evals", argument)
    await driven.settle()
    page = driven.app.screen
    assert isinstance(page, BoardScreen)
    await read_again(driven, page)
    return page


async def read_again(driven: Driven, page: BoardScreen) -> None:
    page.follow()
    await driven.app.workers.wait_for_complete(
        [worker for worker in driven.app.workers if worker.name == "evals"]
    )
    await driven.settle()


def options(tmp_path: Path) -> SessionOptions:
    return SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")


def begin_again(run: RunFolder, number: int) -> None:
    """Take back the result of the cell with this number."""
    cell = list(run.load_plan().cells())[number]
    run.result_file(cell).unlink()


@pytest.mark.slow
async def test_each_cell_has_its_state_and_the_newest_run_is_shown(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "eval-runs" / "one", fast="pf!p")
    cells = list(run.load_plan().cells())
    run.save_result(
        cells[1], result(cells[1], passed=False, failure="model", detail="the tests failed", seconds=65)
    )
    begin_again(run, 3)
    async with open_app(options=options(tmp_path)) as driven:
        page = await board(driven)
        shown = driven.text()
        for words in (
            "Evaluation of s",
            "1 passed, 1 failed, 4 cells",
            "case-0/fast-1",
            "provider failed",
            "waiting",
        ):
            assert words in shown, words
        page.move(1)
        await driven.settle()
        assert "the tests failed" in driven.text() and format_duration(65) in driven.text()


async def test_a_running_run_is_followed_and_a_killed_one_is_stopped(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "mine", fast="pp")
    cells = list(run.load_plan().cells())
    begin_again(run, 0)
    run.save_session(cells[0], "ses_1")
    lock = WriterLock(run.path / LOCK_FILE, wait_s=0.0)
    async with open_app(options=options(tmp_path)) as driven:
        page = await board(driven, "mine")
        assert "running" in driven.text()
        lock.release()
        await read_again(driven, page)
        assert "stopped" in driven.text() and "running" not in driven.text()
        run.save_result(cells[0], result(cells[0]))
        await read_again(driven, page)
        assert "2 passed, 2 cells" in driven.text()


async def test_enter_opens_the_session_of_a_cell(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "mine", fast="pp")
    cells = list(run.load_plan().cells())
    begin_again(run, 0)
    begin_again(run, 1)
    golden_session(run.data, "streaming")
    run.save_session(cells[0], "streaming")
    with_lock = WriterLock(run.path / LOCK_FILE, wait_s=0.0)
    async with open_app(options=options(tmp_path)) as driven:
        page = await board(driven, "mine")
        page.enter()
        await driven.settle()
        replay = driven.app.screen
        assert isinstance(replay, FollowingScreen) and replay.is_watched
        replay.leave()
        await driven.settle()
        page.move(1)
        page.enter()
        await driven.settle()
        assert "case-1/fast-1 has no session yet." in driven.text()
    with_lock.release()


async def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    async with open_app(options=options(tmp_path)) as driven:
        driven.app.do("evals", "")
        await driven.settle()
        assert driven.app.notice.text == NO_RUNS
        driven.app.do("evals", "nowhere")
        await driven.settle()
        assert "is not the folder of an evaluation run" in driven.app.notice.text


def test_a_damaged_result_is_a_cell_that_is_not_done(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "mine", fast="p")
    shown = Board(run.path)
    (cell,) = run.load_plan().cells()
    (run.cell_folder(cell) / RESULT_FILE).write_text("{")
    assert [row.state for row in shown.read()] == ["waiting"]
