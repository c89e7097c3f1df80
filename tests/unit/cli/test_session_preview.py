"""What is printed of a session before it is opened."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tests.stubs.story import file_changed
from tui_agent.cli.main import main
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.events.session import ForkChange, SessionHeadMoved, SessionStarted
from tui_agent.protocol.events.todo import TodoItem, TodoUpdated
from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued, UserSteered, UserUnqueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import ModelInfo, SessionSettings

SETTINGS = SessionSettings(model=ModelInfo(profile="demo", provider="scripted", model="demo"))


@pytest.fixture
def shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], str]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run() -> str:
        assert main(["sessions", "preview", "ses_a", "--data-dir", str(tmp_path)]) == 0
        return capsys.readouterr().out

    return run


def test_what_waits_and_what_was_left_is_said_in_words(tmp_path: Path, shown: Callable[[], str]) -> None:
    sessions = store(tmp_path)
    log = sessions.create("ses_a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS))
    log.append(said("one"))
    log.append(said("two"))
    log.append(SessionHeadMoved(to_seq=1, from_seq=2, reason="revert"))
    log.append(
        TodoUpdated(items=(TodoItem(id="1", content="a", status="completed"), TodoItem(id="2", content="b")))
    )
    log.close()
    sessions.fork("ses_a", 1, "ses_b", ForkChange())
    (tmp_path / "sessions" / "ses_a" / "draft").write_text("words")
    out = shown()
    assert "\nTodo\n  1 of 2 done\n" in out
    assert "\nWaiting\n  an unsent draft\n" in out
    branches = out.partition("\nBranches\n")[2].splitlines()
    assert [row.partition(",")[0].strip() for row in branches[:3]] == ["main", "branch at 1", "fork at 1"]
    assert "ses_b" in branches[2]
    assert "{" not in out and "[" not in out


def test_a_file_that_changed_twice_is_compared(
    tmp_path: Path, shown: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = store(tmp_path).create("ses_a")
    one, two = (log.blobs.put_bytes(text) for text in (b"a\n", b"b\n"))
    log.append(said("one"))
    log.append(file_changed(after=one, added=1, removed=0))
    log.append(file_changed(before=one, after=two, added=1))
    log.append(CheckpointTaken(commit="0" * 40, part=1, paths=("a",), author="agent"))
    log.close()
    assert "\nFiles\n  +1  a\n" in shown()
    assert main(["sessions", "checkpoints", "ses_a", "--data-dir", str(tmp_path)]) == 0
    assert "agent   +1     a\n" in capsys.readouterr().out
    assert main(["replay", "ses_a", "--headless", "--data-dir", str(tmp_path)]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    (file,) = files["files"]
    assert (files["added"], files["removed"], file["added"], file["removed"]) == (1, 0, 1, 0)


def test_the_last_message_can_have_steered_the_turn_or_waited_in_the_queue(
    tmp_path: Path, shown: Callable[[], str]
) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(said("one"))
    log.append(UserSteered(text="steered\n" * 50, own_words="look here"))
    assert "\nYou (first)\none\n\nYou (last)\nlook here\n" in shown()
    log.append(UserQueued(queue_id=RequestId("q"), text="steer with this"))
    log.append(UserUnqueued(queue_id=RequestId("q")))
    log.append(UserSteered(text="steer with this"))
    assert "\nYou (last)\nsteer with this\n" in shown()
    log.append(UserQueued(queue_id=RequestId("r"), text="then this"))
    assert "\nYou (last)\nsteer with this\n" in shown(), "it is not sent yet"
    log.append(UserMessageReceived(text="then this", source="queue", queue_id=RequestId("r")))
    assert "\nYou (last)\nthen this\n" in shown()
    log.close()
