"""Holding a turn, looking for a text in the files, and what the command line is asked for."""

import asyncio
import subprocess
from pathlib import Path
from typing import cast

import pytest

from tests.tui.app.driving import NOWHERE, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.protocol.commands import Pause, Resume
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.settings import PAUSE_PENDING, AgentState
from tui_agent.tui.commands.shell import search_command
from tui_agent.tui.modals.picker import Picker
from tui_agent.tui.modals.viewer import Viewer


async def test_a_pause_that_has_not_begun_is_seen_and_can_be_taken_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3), AgentStateChanged(state=AgentState.RUNNING))
        await driven.settle()
        await driven.type("/pause")
        await driven.press("escape", "enter")
        assert "/resume continues it" in driven.text()
        driven.session.feed(AgentStateChanged(state=AgentState.RUNNING, reason=PAUSE_PENDING))
        await driven.settle()
        assert "pauses after this call" in driven.app.status.view.word
        await driven.type("/resume")
        await driven.press("escape", "enter")
        pause, resume = driven.session.submitted
        assert isinstance(pause, Pause) and isinstance(resume, Resume)


async def test_where_nothing_runs_there_is_nothing_to_pause() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/pause")
        await driven.press("escape", "enter")
        assert "No turn is running. /pause pauses a turn" in driven.text() and driven.session.submitted == []


def searched(folder: Path, text: str) -> str:
    done = subprocess.run(
        ["sh", "-c", search_command(text)], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_search_finds_new_files_too_but_not_what_is_ignored_or_not_the_users(tmp_path: Path) -> None:
    def put(name: str) -> None:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("def it's():\n")

    for name in ("new.py", ".venv/lib.py", "node_modules/lib.js", "src/old.py"):
        put(name)
    (tmp_path / ".gitignore").write_text(".venv\nnode_modules\n")
    without = searched(tmp_path, "def it's(")
    assert sorted(line.removeprefix("./") for line in without.splitlines()) == [
        "new.py:1:def it's():",
        "src/old.py:1:def it's():",
    ]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "src"], cwd=tmp_path, check=True)
    assert searched(tmp_path, "def it's(").splitlines() == [
        "new.py:1:def it's():",
        "src/old.py:1:def it's():",
    ]
    assert searched(tmp_path, "nowhere at all") == "No matches.\n"


DOCTOR = """
{"check": "version", "state": "ok", "message": "tui-agent 1, Python 3", "advice": ""}
{"check": "terminal", "state": "note", "message": "This is no terminal.", "advice": "The app needs one."}
{"check": "model", "state": "bad", "message": "It needs a key.", "advice": "Set one."}
"""


async def test_the_doctor_looks_at_the_apps_terminal_and_at_this_sessions_model_and_folder() -> None:
    asked: list[tuple[str, ...]] = []

    async def outside(*words: str) -> tuple[int, str]:
        asked.append(words)
        return 0, DOCTOR if words[0] == "doctor" else ""

    options = SessionOptions(cwd=NOWHERE, data_dir=NOWHERE, plugin_dirs=(Path("/p"),))
    async with open_app(golden("night_shift"), outside=outside, options=options) as driven:
        driven.app.do("doctor")
        await driven.until(lambda: "This session" in driven.text())
        text = driven.text()
        assert "This is no terminal" not in text
        assert "terminal        120×40, true colour, TERM xterm-256color, mouse" in text
    words = next(one for one in asked if one[0] == "doctor")
    assert words[1:6] == ("--json", "--cwd", "/home/ada/timesheet", "--plugin-dir", "/p")
    assert words[6:8] == ("--model", "claude-sonnet-4-5")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_doctors_sheet_begins_with_what_to_fix_and_is_copied_as_text(size: tuple[int, int]) -> None:
    async def outside(*words: str) -> tuple[int, str]:
        return 0, DOCTOR if words[0] == "doctor" else ""

    async with open_app(golden("night_shift"), outside=outside, size=size) as driven:
        driven.app.do("doctor")
        await driven.until(lambda: "1 to fix" in driven.text())
        sheet = driven.app.screen
        assert isinstance(sheet, Viewer)
        assert [" ".join(row.text.split()) for row in sheet.body(66)[:6]] == [
            "To fix",
            "✗ model It needs a key.",
            "Set one.",
            "",
            "Working",
            "✓ version tui-agent 1, Python 3",
        ]
        assert sheet.plain.startswith(
            "To fix\n  model           It needs a key. Set one.\n\nWorking\n  version"
        )
        assert "\n\nThis session\n  session" in sheet.plain


async def test_the_agents_to_choose_are_those_of_the_loaded_plugins_at_once() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            PluginLoaded(plugin="reader", version="1", source="bundled", contributions=("agent:reader",))
        )
        await driven.settle()
        driven.app.do("agent")
        await driven.pilot.pause()
        assert "reader" in driven.text() and "default" in driven.text()


LATE = '{"profile": "late", "provider": "made-up", "model": "of-a-plugin", "window": 0}'


async def test_models_that_are_found_late_move_neither_focus_nor_choice() -> None:
    found = asyncio.Event()

    async def outside(*words: str) -> tuple[int, str]:
        if words[0] == "models":
            await found.wait()
        return 0, LATE

    async with open_app(golden("night_shift"), outside=outside) as driven:
        driven.app.do("model")
        await driven.pilot.pause()
        picker = cast(Picker, driven.app.screen)
        await driven.press("up")
        held = picker.chosen_item
        found.set()
        while not any(item.value == "late" for item in picker.items):
            await driven.pilot.pause(0.01)
        assert picker.chosen_item == held and picker.is_current
        await driven.type("late")
        assert picker.chosen_item is not None and picker.chosen_item.value == "late"
