"""A replay in a pseudo terminal: real keys, a recorded log, nothing written."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal
from tests.stubs.golden import GOLDEN

pytestmark = pytest.mark.e2e

SESSION = "ses_00000000000000aa"


@pytest.fixture
def folder(program: Program) -> Path:
    found = program.data / "sessions" / SESSION
    found.mkdir(parents=True)
    (found / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    return found


@pytest.mark.smoke
def test_a_replay_moves_plays_and_leaves_and_writes_nothing(program: Program, folder: Path) -> None:
    line = program.line("replay", SESSION, "--to", "150", "--speed", "4")
    with Terminal(line, size=(120, 40), cwd=program.workspace, environment=program.environment) as terminal:
        for words in ("event 150 of 196", "REPLAY", "FAILED tests/test_report.py", "$0.086 of $0.097"):
            terminal.until_text(words)
        terminal.send("\x1b[D\x1b[D")
        terminal.until_text("event 148 of 196")
        terminal.send("\x1b[1;5D")
        terminal.until_text("event 47 of 196")
        terminal.send("\x1b[F")
        terminal.until_text("event 196 of 196")
        terminal.send("9 ")
        terminal.until_text("4x paused")
        terminal.until_text("event 196 of 196")
        terminal.send("\x1b")
        assert terminal.until_end() == 0
        assert "\x1b[?1049l" in terminal.output[-4000:].decode("utf-8", "replace")
    assert [path.name for path in folder.iterdir()] == ["events.jsonl"]
