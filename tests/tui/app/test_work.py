"""Holding a turn, and looking for a text in the files."""

import subprocess
from pathlib import Path

from tests.tui.app.driving import golden, open_app
from tui_agent.protocol.commands import Pause, Resume
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.settings import PAUSING, AgentState
from tui_agent.tui.handlers.work import search_command


async def test_a_pause_that_has_not_begun_is_seen_and_can_be_taken_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3), AgentStateChanged(state=AgentState.RUNNING))
        await driven.settle()
        await driven.type("/pause")
        await driven.press("escape", "enter")
        assert "/resume takes it back" in driven.text()
        driven.session.feed(AgentStateChanged(state=AgentState.RUNNING, reason=PAUSING))
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
        assert "There is nothing to pause" in driven.text() and driven.session.submitted == []


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
    assert searched(tmp_path, "nowhere at all") == ""
