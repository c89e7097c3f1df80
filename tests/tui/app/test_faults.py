"""What breaks on the screen itself: said, written down, and no reason for anything else to stand still."""

import inspect
from pathlib import Path

import pytest

from tests.tui.app.driving import NOWHERE, Driven, golden, open_app
from tests.tui.app.replaying import open_replay
from tui_agent.config.paths import screen_error_log
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.screen_folds import Views
from tui_agent.folds.session.todo_list import Todo
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserMessageReceived
from tui_agent.tui.screens.list_page import Page

KEY = "sk-" + "proj-faultsnevershowthis0123456789abcd"


class FakeTodo(Todo):
    """Cannot take any event in."""

    def apply(self, ev: Envelope) -> bool:
        raise KeyError(f"map {KEY}")


def broken(driven: Driven) -> Views:
    """The app's views, whose task list is broken from now on."""
    controller = driven.app.controller
    assert controller is not None
    driven.may_break = True
    controller.views.todo = FakeTodo()
    controller.views._collect_folds()
    return controller.views


async def uncovered(driven: Driven) -> str:
    """The screen without the word above the prompt."""
    driven.app.hide_notice()
    await driven.pilot.pause()
    return driven.text()


def tasks() -> TodoUpdated:
    return TodoUpdated(items=(TodoItem(id="1", content="one thing"),))


async def test_a_fold_that_fails_is_said_and_written_and_the_others_go_on(tmp_path: Path) -> None:
    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path)
    async with open_app(golden("night_shift"), options=options, environ={"OPENAI_API_KEY": KEY}) as driven:
        views = broken(driven)
        seq = driven.session.feed(tasks())
        driven.session.feed(TurnStarted(turn=3), UserMessageReceived(text="still heard"))
        await driven.settle()
        assert (
            f"The task list could not use event {seq}, todo.updated (KeyError: 'map" in driven.app.notice.text
        )
        assert "/bug" in driven.app.notice.text and driven.app.notice.display
        assert "still heard" in await uncovered(driven) and views.state.view().is_busy
        written = screen_error_log(tmp_path)
        await driven.until(lambda: written.is_file() and "in apply" in written.read_text())
        assert driven.session.id in written.read_text() and written.stat().st_mode & 0o777 == 0o600
        assert KEY not in written.read_text() + driven.app.notice.text
        driven.app.hide_notice()
        before = written.read_text()
        driven.session.feed(tasks(), UserMessageReceived(text="and heard again"))
        await driven.settle()
        assert "and heard again" in driven.text()
        assert not driven.app.notice.display and written.read_text() == before
        driven.session.feed(TurnFinished(turn=3, reason="finished"))
        await driven.settle()
        assert "the task list is incomplete: /bug" in driven.text()


async def test_a_pane_that_cannot_be_drawn_is_said_and_the_others_are_drawn() -> None:
    async with open_app(golden("night_shift")) as driven:

        def fails(*_: object) -> None:
            raise RuntimeError("no such colour")

        driven.may_break = True
        driven.app.sidebar.set_views = fails  # type: ignore[method-assign]
        driven.app.header.set_views = fails  # type: ignore[method-assign]
        for text in ("still heard", "and heard again"):
            driven.session.feed(tasks(), UserMessageReceived(text=text))
            await driven.settle()
            assert text in await uncovered(driven)
        assert "could not be drawn (RuntimeError: no such colour)" in driven.app.notice.text
        assert "the header is incomplete" in driven.text()


async def test_going_back_with_a_broken_chat_does_not_stop_the_views() -> None:
    async with open_app(golden("night_shift")) as driven:
        controller = driven.app.controller
        assert controller is not None
        driven.may_break = True
        begin, failed = controller.chat.begin, list[bool]()

        async def fails_once() -> None:
            if not failed:
                failed.append(True)
                raise RuntimeError("no place")
            await begin()

        controller.chat.begin = fails_once  # type: ignore[method-assign]
        end = len(driven.session.records) - 1
        driven.session.feed(SessionHeadMoved(to_seq=end - 5, from_seq=end, reason="undo"))
        await driven.settle()
        assert "The screen could not be drawn (RuntimeError: no place)" in driven.app.notice.text
        driven.session.feed(SessionHeadMoved(to_seq=end, from_seq=end - 5, reason="undo"))
        driven.session.feed(UserMessageReceived(text="still heard"))
        await driven.settle()
        assert "still heard" in await uncovered(driven)


def test_a_fold_that_fails_is_named_once_for_each_kind_of_event() -> None:
    views, records = Views(), golden("night_shift")
    views.todo = FakeTodo()
    views._collect_folds()
    copy = views.copy()
    for record in records:
        views.apply(record)
    assert {name for name, _ in views.faults} == {"todo"} and ("todo", "todo.updated") in views.faults
    assert views.seq == records[-1].seq and not copy.faults
    assert len(views.transcript.view().entries) > 3


LONG = " ".join(f"word{at}" for at in range(150)) + " the very end."


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_all_of_a_long_error_can_be_read(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        driven.app.say(LONG, "error")
        await driven.settle()
        assert "Ctrl+O shows" in driven.text()
        await driven.press("ctrl+o")
        await driven.until(lambda: len(driven.app.screen_stack) > 1)
        await driven.press("end")
        await driven.until(lambda: "the very end." in driven.text())


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_all_of_a_long_error_on_a_page_can_be_read(size: tuple[int, int]) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await driven.type("/jobs")
        await driven.press("escape", "enter")
        await driven.until(lambda: isinstance(driven.app.screen, Page))
        page = driven.app.screen
        assert isinstance(page, Page)
        page.say(LONG, "error")
        await driven.until(lambda: "D shows" in driven.text())
        await driven.press("d")
        await driven.until(lambda: driven.app.screen is not page)
        await driven.press("end")
        await driven.until(lambda: "the very end." in driven.text())
        await driven.press("escape")
        assert driven.app.screen is page


async def test_without_a_fault_nothing_is_written(tmp_path: Path) -> None:
    async with open_app(golden("night_shift"), options=SessionOptions(cwd=NOWHERE, data_dir=tmp_path)):
        pass
    assert not screen_error_log(tmp_path).exists()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("line", "name"),
    [("/sessions", "list"), ("/tree", "tree"), ("/checkpoints", "checkpoints"), ("/map", "map")],
)
async def test_what_breaks_beside_a_page_is_said_on_it(line: str, name: str, tmp_path: Path) -> None:
    async def breaks(*words: str) -> tuple[int, str]:
        raise RuntimeError("no such thing")

    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path)
    async with open_app(golden("night_shift"), options=options, outside=breaks) as driven:
        await driven.type(line)
        await driven.press("escape", "enter")
        await driven.until(lambda: f"{name} failed: RuntimeError('no such thing')" in driven.text())
        written = screen_error_log(tmp_path)
        await driven.until(lambda: written.is_file() and f" {name}\n" in written.read_text())
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1


async def test_a_replay_says_what_it_cannot_show_and_goes_on() -> None:
    records = golden("night_shift")
    async with open_replay(records, to_seq=3) as replayed:
        await replayed.until(lambda: replayed.screen.ready)
        views = replayed.screen.views
        assert views is not None
        views.todo = FakeTodo()
        views._collect_folds()
        await replayed.press("end")
        await replayed.until(lambda: "todo could not use event" in replayed.text())
        assert "32 passed" in replayed.text()


async def test_a_pane_of_a_replay_that_cannot_be_drawn_is_said_and_the_others_are_drawn() -> None:
    async with open_replay(golden("night_shift"), to_seq=3) as replayed:
        await replayed.until(lambda: replayed.screen.ready)

        def fails(*_: object) -> None:
            raise RuntimeError("no such colour")

        replayed.screen.sidebar.set_views = fails  # type: ignore[method-assign]
        await replayed.press("end")
        await replayed.until(
            lambda: "the sidebar could not be drawn: RuntimeError: no such colour" in replayed.text()
        )
        assert "32 passed" in replayed.text()
        await replayed.press("home")
        assert "the sidebar is incomplete" in replayed.rows()[0]
        assert "32 passed" not in replayed.text()


async def test_a_replay_whose_timeline_cannot_be_drawn_goes_on_and_says_so_at_its_top() -> None:
    async with open_replay(golden("night_shift"), to_seq=3) as replayed:
        await replayed.until(lambda: replayed.screen.ready)

        def fails(*_: object) -> None:
            raise RuntimeError("no such colour")

        replayed.screen.pane.set_head = fails  # type: ignore[method-assign]
        await replayed.press("end")
        await replayed.until(lambda: "the timeline is incomplete" in replayed.rows()[0])
        assert "32 passed" in replayed.text()


async def test_a_worker_that_is_cancelled_before_it_starts_leaves_no_warning() -> None:
    async def work() -> None:
        raise AssertionError("started")

    async with open_app(golden("approval")) as driven:
        begun = work()
        driven.app.run_worker(begun).cancel()
        await driven.pilot.pause()
        assert inspect.getcoroutinestate(begun) == inspect.CORO_CLOSED
