"""`replay`: what every pane showed at an event, from the log alone."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.golden import GOLDEN, golden
from tests.stubs.state_json import state_from_json
from tui_agent.cli.main import main
from tui_agent.cli.replay.command import views_to_json
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.projection import fold
from tui_agent.folds.replay_cursor import views_at
from tui_agent.folds.session.fold import SessionState
from tui_agent.store.writer_lock import WriterLock

NAME = "ses_00000000000000aa"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stored session of the golden log."""
    found = tmp_path / "data" / "sessions" / NAME
    found.mkdir(parents=True)
    (found / "events.jsonl").write_bytes((GOLDEN / "night_shift.jsonl").read_bytes())
    return found


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: str) -> tuple[int, str, str]:
        status = main(["replay", *words, "--data-dir", str(folder.parent.parent), "-C", str(folder)])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_the_final_state_is_the_live_one(call: Call) -> None:
    status, out, _ = call(NAME, "--headless")
    said = json.loads(out)
    records = golden("night_shift")
    assert status == 0 and said["session"] == NAME and said["events"] == len(records)
    assert said["seq"] == records[-1].seq
    assert state_from_json(said["state"]) == fold(SessionState(), records)


def test_every_view_is_printed_as_it_was_at_the_event(call: Call) -> None:
    _, out, _ = call(NAME, "--to", "120", "--headless")
    said = json.loads(out)
    wanted = json.loads(
        json.dumps(views_to_json(views_at(golden("night_shift"), 120), LineCounter(lambda _: None)))
    )
    assert said["seq"] == 120 and {name: said[name] for name in wanted} == wanted
    assert {"user", "tool", "answer"} <= {entry["type"] for entry in said["transcript"]}
    assert len(said["trace"]["spans"]) > 3 and said["context"]["used"] > 0


@pytest.mark.parametrize("seq", ["-1", "100000"])
def test_an_event_that_is_not_there_is_refused(call: Call, seq: str) -> None:
    status, out, err = call(NAME, "--to", seq, "--headless")
    assert status == 2 and not out and "The session has events 0 to" in err


def test_without_a_terminal_it_says_what_works_there(call: Call) -> None:
    status, _, err = call(NAME)
    assert status == 2 and "needs a terminal" in err and "--headless" in err


def test_a_session_that_is_held_is_read_and_nothing_is_written(call: Call, folder: Path) -> None:
    lock = WriterLock(folder / "lock", wait_s=0)
    before = set(folder.rglob("*"))
    try:
        assert call(NAME, "--headless")[0] == 0
    finally:
        lock.release()
    assert set(folder.rglob("*")) == before
    assert (folder / "events.jsonl").read_bytes() == (GOLDEN / "night_shift.jsonl").read_bytes()


def test_no_engine_no_model_no_tool_and_no_screen_is_loaded(folder: Path) -> None:
    words = ["replay", NAME, "--headless", "--data-dir", str(folder.parent.parent)]
    program = f"import sys\nfrom tui_agent.cli.main import main\nmain({words!r})\nprint('', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    names = done.stdout.splitlines()[-1].split()
    kept_out = ("engine", "models", "tools", "environments", "middleware", "tui", "plugin_host")
    away = ("tui_agent.wiring.session", *(f"tui_agent.{name}" for name in kept_out))
    assert not [name for name in names if name.startswith((*away, "textual", "litellm", "httpx"))]
