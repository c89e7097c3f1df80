"""Panes of plugins: folded sections of the sidebar, pages, and what a pane that fails looks like."""

import asyncio
from collections.abc import Callable

import pytest

from tests.stubs.story import file_changed
from tests.tui.app.driving import NOWHERE, Driven, golden, open_app
from tests.tui.app.replaying import open_replay
from tests.tui.app.test_start import empty_session
from tui_agent.plugin_host.panes.pane_messages import PaneAnswer, PaneBlocks, PaneFault, PaneRequest
from tui_agent.plugin_host.plugin_folders import PanePlace
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.eval import TestFinished
from tui_agent.protocol.events.plugin import PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.tui.controller.session_controller import SessionController
from tui_agent.tui.modals.viewer import Viewer


class FakeSource:
    """Answers requests as it is told to, and counts."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.closed = 0
        self.answer: Callable[[PaneRequest], PaneAnswer] = lambda request: PaneBlocks(
            seq=request.seq, blocks=(TextBlock(text=f"{request.pane} at {request.seq}"),)
        )
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def ask(self, request: PaneRequest, progress: Callable[[int], object]) -> PaneAnswer:
        self.asked.append((request.pane, request.seq))
        progress(7)
        await self.go_on.wait()
        return self.answer(request)

    async def close(self) -> None:
        self.closed += 1


def loaded(plugin: str, *panes: str) -> PluginLoaded:
    names = tuple(f"pane:{name}" for name in panes)
    return PluginLoaded(plugin=plugin, version="1", source="user", contributions=names)


async def offer(driven: Driven, *panes: str) -> FakeSource:
    """Let the plugin `mine` offer panes; they are answered by the returned source."""
    controller = driven.app.controller
    assert isinstance(controller, SessionController)
    source, feed = FakeSource(), controller.plugin_panes
    feed.make_source = lambda: source
    feed.find = lambda: {name: PanePlace("mine", NOWHERE) for name in panes}
    driven.session.feed(loaded("mine", *panes))
    await driven.settle()
    return source


def row_of(driven: Driven, words: str) -> int:
    return next(number for number, row in enumerate(driven.rows()) if words in row)


async def test_a_section_starts_nothing_until_it_is_opened_and_then_follows_the_session() -> None:
    async with open_app(golden("night_shift")) as driven:
        source = await offer(driven, "hot_spots", "other")
        assert source.asked == []
        y = row_of(driven, "▸ Hot spots")
        assert "▸ Other" in driven.rows()[y + 1]
        await driven.pilot.click(offset=(driven.rows()[y].index("▸"), y))
        await driven.until(lambda: "hot_spots at 197" in driven.text())
        assert source.asked == [("hot_spots", 197)]
        driven.session.feed(UserMessageReceived(text="And now?"))
        await driven.until(lambda: "hot_spots at 198" in driven.text())
        y = row_of(driven, "▾ Hot spots")
        await driven.pilot.click(offset=(driven.rows()[y].index("▾"), y))
        await driven.settle()
        assert "hot_spots at" not in driven.text()
        driven.session.feed(UserMessageReceived(text="Nobody looks."))
        await driven.settle()
        assert len(source.asked) == 2


async def test_a_folded_section_follows_the_trace_and_names_the_command_that_opens_it() -> None:
    async with open_app(empty_session("m")) as driven:
        source = await offer(driven, "hot_spots", "other")
        y = row_of(driven, "▸ Hot spots")
        assert "Nothing has run." in driven.rows()[y - 2] and driven.rows()[y].endswith("/pane hot_spots")
        assert driven.rows()[y + 1].endswith("▸ Other                /pane other")
        await driven.pilot.click(offset=(driven.rows()[y].index("▸"), y))
        await driven.until(lambda: source.asked)
        assert "/pane hot_spots" not in driven.text() and driven.rows()[-1].strip()


async def test_the_folded_section_of_the_tests_counts_the_newest_run_without_the_plugin() -> None:
    async with open_app(golden("night_shift")) as driven:
        source = await offer(driven, "tests", "other")
        assert driven.rows()[row_of(driven, "▸ Tests")].endswith(" 32 passed")
        assert driven.rows()[row_of(driven, "▸ Other")].endswith(" /pane other")
        for passed, failed, errors, note in (
            (31, 2, 0, "2 failed"),
            (0, 1, 1, "1 error"),
            (0, 3, 1, "2 failed, 1 error"),
            (-1, -1, 0, "/pane tests"),
        ):
            run = TestFinished(
                framework="pytest",
                command="pytest",
                passed=passed,
                failed=failed,
                errors=errors,
                skipped=0,
                exit_code=1,
            )
            driven.session.feed(run, TurnStarted(turn=3))
            await driven.settle()
            assert driven.rows()[row_of(driven, "▸ Tests")].endswith(f" {note}")
        fault = "file or directory not found: tests/test_of_a_name_too_long.py [exit 4]"
        driven.session.feed(run.model_copy(update={"fault": fault}), TurnStarted(turn=3))
        await driven.settle()
        assert "failed: file or di" in driven.rows()[row_of(driven, "▸ Tests")]
        driven.session.feed(file_changed("a.py"), TurnStarted(turn=3))
        await driven.settle()
        assert driven.rows()[row_of(driven, "▸ Tests")].endswith(" failed before 1 edit")
        failed_run = run.model_copy(update={"passed": 3, "failed": 2, "errors": 0, "fault": ""})
        driven.session.feed(failed_run, file_changed("a.py"), file_changed("a.py"), TurnStarted(turn=3))
        await driven.settle()
        assert driven.rows()[row_of(driven, "▸ Tests")].endswith(" 2 failed before 2 edits")
        assert source.asked == []


async def test_an_open_section_has_rows_on_a_low_screen_too() -> None:
    async with open_app(golden("night_shift"), size=(100, 26)) as driven:
        await offer(driven, "one", "two", "three")
        controller = driven.app.controller
        assert isinstance(controller, SessionController)
        controller.plugin_panes.toggle("two")
        await driven.until(lambda: "two at 197" in driven.text())
        assert "▸ Three" in driven.text() and "Context" in driven.text()


@pytest.mark.slow
async def test_a_page_shows_a_pane_on_both_sizes_and_follows() -> None:
    for size in ((120, 40), (80, 24)):
        async with open_app(golden("night_shift"), size=size) as driven:
            source = await offer(driven, "tests")
            source.go_on.clear()
            await driven.type("/pane tests")
            await driven.press("enter")
            await driven.until(lambda: "reading the log, at event 7" in driven.text())
            source.go_on.set()
            await driven.until(lambda: "tests at 197" in driven.text())
            assert "Tests" in driven.rows()[1] and "plugin mine" in driven.rows()[1]
            driven.session.feed(UserMessageReceived(text="And now?"))
            await driven.until(lambda: "tests at 198" in driven.text())
            await driven.press("f1")
            assert isinstance(driven.app.screen, Viewer) and "scroll down one line" in driven.text()
            await driven.press("escape", "c")
            assert "Copied 1 line." in driven.text()
            await driven.press("escape")
            assert "tests at" not in driven.text()


async def test_control_characters_are_harmless_and_a_stopped_pane_is_named() -> None:
    async with open_app(golden("night_shift")) as driven:
        source = await offer(driven, "evil")
        source.answer = lambda request: PaneBlocks(
            seq=request.seq, blocks=(TextBlock(text="a\x1b]0;title\x07b\x1b[2Jc\x9bd"),)
        )
        await driven.type("/pane evil")
        await driven.press("enter")
        await driven.until(lambda: "abc" in driven.text())
        source.answer = lambda _: PaneFault(message="Stopped: 1 s of\x1b[1m computing.", stopped=True)
        driven.session.feed(UserMessageReceived(text="And now?"))
        await driven.until(lambda: "mine: Stopped: 1 s of computing." in driven.text())
        asked = len(source.asked)
        driven.session.feed(UserMessageReceived(text="And now?"))
        await driven.settle()
        assert len(source.asked) == asked
        await driven.press("s", "escape")  # opened again, in the sidebar, it is tried again
        await driven.until(lambda: "stopped" in driven.rows()[row_of(driven, "▾ Evil")])
        assert len(source.asked) == asked + 1


async def test_a_reload_starts_the_process_again_and_a_plugin_that_is_gone_is_gone() -> None:
    async with open_app(golden("night_shift")) as driven:
        source = await offer(driven, "tests")
        await driven.type("/pane")
        await driven.press("escape", "enter")
        await driven.until(lambda: "tests at 197" in driven.text())
        closed = source.closed
        driven.session.feed(loaded("mine", "tests"))
        await driven.until(lambda: "tests at 198" in driven.text())
        assert source.closed == closed + 1
        driven.session.feed(PluginUnloaded(plugin="mine"))
        await driven.until(lambda: "plugin was removed" in driven.text())
        await driven.press("escape")
        await driven.type("/pane tests")
        await driven.press("enter")
        assert "No pane 'tests'" in driven.text()


async def test_a_replay_shows_a_pane_as_it_was_at_the_shown_event() -> None:
    records = golden("night_shift")
    offer = records[-1].model_copy(update={"seq": 197, "payload": loaded("mine", "tests")})
    async with open_replay([*records, offer], size=(120, 40)) as shown:
        source, feed = FakeSource(), shown.screen.plugin_panes
        feed.make_source = lambda: source
        feed.find = lambda: {"tests": PanePlace("mine", NOWHERE)}
        await shown.press("p")
        await shown.until(lambda: "tests at 197" in shown.text())
        await shown.press("s", "escape")
        assert "▾ Tests" in shown.text() and "tests at 197" in shown.text()
        await shown.press("left")
        assert "Tests" not in shown.text()  # the plugin was not loaded yet
        await shown.press("right")
        await shown.until(lambda: "tests at 197" in shown.text())


async def test_a_replay_names_the_key_that_opens_a_pane() -> None:
    records = golden("night_shift")
    offer = records[-1].model_copy(update={"seq": 197, "payload": loaded("mine", "other")})
    async with open_replay([*records, offer], size=(120, 40)) as shown:
        await shown.until(lambda: "▸ Other" in shown.text())
        assert "P to open" in shown.text() and "/pane" not in shown.text()
