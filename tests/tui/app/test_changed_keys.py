"""Keys that the user changed, in the whole app: the new one works, the old one does nothing, and the screen names it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tests.tui.app.sessions_story import Programs, shown
from tests.tui.app.test_approvals import ask, request
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserQueued, UserUnqueued
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.replay.screen import ReplayScreen
from tui_agent.tui.screens.sessions.screen import SessionsScreen
from tui_agent.tui.screens.trace.screen import TraceScreen
from tui_agent.tui.widgets.key_settings import apply_key_settings


@asynccontextmanager
async def open_with_keys(folder: Path, keys: str, size: tuple[int, int] = (160, 45)) -> AsyncIterator[Driven]:
    """The app on a session, with these lines under `[keys]` in config.toml."""
    path = folder / "tui-agent" / "config.toml"
    path.parent.mkdir()
    path.write_text(f"[keys]\n{keys}\n")
    environ = {"XDG_CONFIG_HOME": str(folder)}
    async with open_app(golden("night_shift"), size=size, environ=environ, outside=Programs()) as driven:
        yield driven


class Case(NamedTuple):
    """`opens` is pressed first; then `old` keeps what `state` gives as it is, and `new` changes it."""

    setting: str
    opens: Sequence[str]
    screen: type
    old: str
    new: str
    state: Callable[[Driven], object]
    shows: str = ""


def depth(driven: Driven) -> int:
    return len(driven.app.screen_stack)


def screen(driven: Driven, name: str) -> object:
    """An attribute of what lies on top, by its path."""
    found: object = driven.app.screen
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


CASES = {
    "app": Case('palette = "f9"', (), object, "ctrl+p", "f9", depth, "F9 palette"),
    "command without a key": Case('status = "f9"', (), object, "f10", "f9", depth),
    "quit": Case('quit = "f9"', (), object, "ctrl+q", "f9", lambda driven: driven.app.has_quit),
    "sheet": Case('view_close = "f9"', ("f4",), Viewer, "escape", "f9", depth, "F9 close"),
    "sheet, its own key": Case('context = "f9"', ("f9",), Viewer, "f4", "f9", depth),
    "viewer": Case('view_scroll = ["f9", "f10"]', ("f4",), Viewer, "down", "f10", lambda d: screen(d, "scrolled.scroll_offset.y"), "F9/F10 scroll"),
    "list": Case('list_choose = ["f9", "f10"]', ("ctrl+p",), Picker, "down", "f10", lambda d: screen(d, "chosen"), "F9/F10 choose"),
    "trace": Case('span = ["i", "m"]', ("f3",), TraceScreen, "up", "i", lambda d: screen(d, "spans.index"), "I/M span"),
    "trace, a choice": Case('filter = ["a", "b", "d", "f", "g", "h"]', ("f3",), TraceScreen, "4", "f", lambda d: screen(d, "spans.filter"), "A/B/D/F/G/H filter"),
    "trace, leave": Case('leave_trace = "g"', ("f3",), TraceScreen, "escape", "g", depth, "G back"),
}  # fmt: skip

QUICK = {"app", "sheet, its own key", "list", "trace, a choice"}
"""Of these the slow run has the rest: `test_key_dispatch` plays every key."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, case in CASES.items()
    ],
)
async def test_the_new_key_works_and_the_old_one_does_nothing(case: Case, tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, case.setting) as driven:
        await driven.press(*case.opens)
        assert isinstance(driven.app.screen, case.screen)
        assert case.shows in driven.text()
        before = case.state(driven)
        await driven.press(case.old)
        assert case.state(driven) == before
        await driven.press(case.new)
        assert case.state(driven) != before


async def test_the_prompt_sends_and_erases_with_other_keys(tmp_path: Path) -> None:
    keys = 'send = "f9"\nerase = ["f10", "f11", "f12"]\nnewline = "ctrl+t"'
    async with open_with_keys(tmp_path, keys) as driven:
        editor = driven.app.prompt.editor
        await driven.type("one two")
        await driven.press("enter", "ctrl+w", "ctrl+j")
        assert editor.text == "one two" and driven.session.submitted == []
        await driven.press("f12", "ctrl+t")
        assert editor.text == "one \n"
        await driven.type("three")
        await driven.press("f9")
        [sent] = driven.session.submitted
        assert isinstance(sent, SubmitPrompt) and sent.text == "one \nthree"


async def test_the_history_is_walked_with_other_keys_and_the_arrows_move_the_cursor(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'history = ["f9", "f10"]') as driven:
        editor = driven.app.prompt.editor
        await driven.press("up")
        assert editor.text == ""
        await driven.press("f9")
        assert editor.text.startswith("timesheet report --week 13")
        await driven.press("f10")
        assert editor.text == ""


async def test_the_menu_is_used_with_other_keys(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'close_menu = "f9"\ncomplete = "f10"') as driven:
        await driven.type("/tod")
        assert driven.app.prompt.menu.display and "F10 complete" in driven.text()
        await driven.press("tab")
        assert driven.app.prompt.editor.text == "/tod" and driven.app.prompt.menu.display
        await driven.press("o", "f10")
        assert driven.app.prompt.editor.text.startswith("/todo")
        await driven.type("x")
        driven.app.prompt.editor.put_text("/tod")
        await driven.pilot.pause()
        await driven.press("f9")
        assert not driven.app.prompt.menu.display


async def test_an_approval_is_answered_with_other_keys(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'yes = "u"\nno = "k"\napproval_choose = ["up", "down"]') as driven:
        modal = await ask(driven, request())
        assert "U  Yes, this once" in driven.text() and "K  No, and say why" in driven.text()
        await driven.press("y", "n")
        assert driven.app.screen is modal and not modal.typing
        assert driven.app.editor.text == "yn", "letters that are no keys begin a message"
        await driven.press("backspace", "backspace")
        end_grace_period(modal)
        await driven.press("u")
        [decided] = driven.session.submitted
        assert isinstance(decided, DecidePermission) and decided.decision == "allow"


async def test_the_list_of_sessions_is_sorted_and_left_with_other_keys(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'sessions_sort = "z"\nsessions_leave = "g"') as driven:
        await driven.type("/sessions")
        await driven.press("enter")
        sessions = await shown(driven)
        await driven.press("down")
        assert "Z sort" in driven.rows()[-1] and "G back" in driven.rows()[-1]
        sort = sessions.table.sort
        await driven.press("s", "escape")
        assert sessions.table.sort == sort and isinstance(driven.app.screen, SessionsScreen)
        await driven.press("z")
        assert sessions.table.sort != sort and "Sorted by" in driven.text()
        await driven.press("g")
        assert depth(driven) == 1


@pytest.mark.slow
async def test_jobs_and_replay_are_left_with_other_keys(tmp_path: Path) -> None:
    async with open_with_keys(
        tmp_path, 'jobs_leave = "g"\nreplay_leave = "g"\nreplay_event = ["h", "l"]'
    ) as driven:
        driven.app.do("jobs")
        await driven.pilot.pause()
        await driven.press("escape", "q")
        assert type(driven.app.screen) is JobsScreen
        await driven.press("g")
        driven.app.do("replay")
        await driven.until(lambda: isinstance(driven.app.screen, ReplayScreen) and driven.app.screen.ready)
        replay = driven.app.screen
        assert isinstance(replay, ReplayScreen) and "H/L event" in driven.text()
        place = replay.playhead.place
        await driven.press("left", "escape")
        assert replay.playhead.place == place and depth(driven) == 2
        await driven.press("h")
        assert replay.playhead.place == place - 1
        await driven.press("g")
        assert depth(driven) == 1


async def test_going_back_is_the_key_that_stops_pressed_twice(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'stop = "f9"') as driven:
        await driven.press("escape", "escape")
        assert depth(driven) == 1
        await driven.press("f9", "f9")
        assert isinstance(driven.app.screen, Picker)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "keys"),
    [((120, 40), "Shift+Enter, Alt+Enter, Ctrl+J or Ctrl+Enter"), ((80, 24), "Shift+Enter, Alt")],
)
async def test_the_list_of_keys_shows_keys_in_every_row_that_has_some(
    size: tuple[int, int], keys: str
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await driven.type("/keys")
        await driven.press("enter")
        await driven.until(lambda: "start a new line" in driven.text())
        row = next(row for row in driven.rows() if "newline" in row)
        assert "start a new line" in row and keys in row


async def test_help_and_footer_name_changed_keys(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'help = "f9"\nsessions_sort = "z"', size=(160, 300)) as driven:
        assert driven.rows()[-1].endswith("F9 help")
        await driven.press("f9")
        assert any(" Z " in row and "sort by last use" in row for row in driven.rows())


async def test_the_status_line_and_a_queued_message_name_changed_keys(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'send = "f9"\nsteer = "f10"') as driven:
        queued = UserQueued(queue_id=RequestId("q1"), text="later")
        driven.session.feed(TurnStarted(turn=3), queued, after=1.0)
        await driven.settle()
        assert "F10 sends it now" in driven.text()
        driven.session.feed(
            UserUnqueued(queue_id=RequestId("q1")), TurnFinished(turn=3, reason="model_error"), after=1.0
        )
        await driven.settle()
        assert "press F9 to try again" in driven.text()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('pallete = "f9"', "There is no action pallete. Did you mean palette?"),
        (
            'palette = "f9"\ntrace = "f9"',
            "F9 is set for both trace and palette. Choose another key for one.",
        ),
        ('palette = "nonsense"', "palette: there is no key nonsense."),
        (
            'palette = "ctrl+shift+t"',
            "palette: Ctrl+Shift+T works only in terminals with the kitty keyboard protocol; "
            "in other terminals use Ctrl+P.",
        ),
    ],
)
async def test_a_wrong_entry_is_told_at_the_start_and_the_default_works(
    keys: str, told: str, tmp_path: Path
) -> None:
    async with open_with_keys(tmp_path, keys) as driven:
        note = " ".join(driven.app.notice.text.split())
        assert note.startswith("[keys] in config.toml:") and told in note
        await driven.press("ctrl+p")
        assert isinstance(driven.app.screen, Picker)


async def test_a_wrong_theme_and_a_wrong_key_are_both_told(tmp_path: Path) -> None:
    path = tmp_path / "tui-agent" / "config.toml"
    path.parent.mkdir()
    path.write_text('theme = "nosuch"\n[keys]\npalette = "nonsense"\n')
    async with open_app(golden("night_shift"), environ={"XDG_CONFIG_HOME": str(tmp_path)}) as driven:
        assert "No theme 'nosuch'." in driven.text() and "there is no key nonsense." in driven.text()


async def test_the_details_of_a_span_name_the_changed_key(tmp_path: Path) -> None:
    async with open_with_keys(tmp_path, 'json = "n"') as driven:
        await driven.press("f3")
        await driven.until(lambda: "its events as JSON" in driven.text())
        assert "N its events as JSON" in driven.text()


async def test_a_key_that_is_changed_now_is_named_at_once_above_the_prompt() -> None:
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        assert "F3 trace" in driven.text()
        driven.app.use_keys(apply_key_settings({"trace": "ctrl+t"}).actions)
        await driven.pilot.pause()
        assert "Ctrl+T trace" in driven.text() and "F3 trace" not in driven.text()
