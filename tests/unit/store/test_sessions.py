"""Finding sessions: by list, prefix, workspace and newest use, from the ends of their logs only."""

from pathlib import Path

import pytest

from tests.stubs.store import said, store, write_log
from tui_agent.errors import SessionNotFound, UsageError
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.session import SessionStarted, SessionTitled
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.session_store import SessionStore

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))


def started(workspace: str) -> SessionStarted:
    return SessionStarted(workspace=workspace, product="tui-agent", settings=SETTINGS)


def many(root: Path, count: int) -> SessionStore:
    sessions = store(root)
    for number in range(count):
        log = sessions.create(f"ses_{number:04d}")
        log.append(started(f"/work/{number % 3}"))
        log.append(SessionTitled(title=f"first title {number}", titled_by="auto"))
        for at in range(20):
            log.append(said(f"message {at} " + "x" * 1_500))
        if number % 2:
            log.append(SessionTitled(title=f"title {number}", titled_by="user"))
            for _ in range(20):
                log.append(said("y" * 1_500))
        log.close()
    return sessions


@pytest.mark.slow
def test_two_hundred_sessions_are_listed_by_last_use_without_reading_them_whole(tmp_path: Path) -> None:
    sessions = many(tmp_path, 200)
    listed = sessions.list()
    assert [summary.id for summary in listed] == [f"ses_{number:04d}" for number in reversed(range(200))]
    odd, even = listed[0], listed[1]
    assert (odd.title, odd.events) == ("title 199", 43)
    assert (even.title, even.events) == ("first title 198", 22)
    assert odd.workspace == "/work/1"
    assert odd.started < odd.updated
    assert not odd.is_locked
    assert odd.size_bytes == (odd.path / "events.jsonl").stat().st_size
    assert len(sessions.list("/work/2")) == 66
    assert sessions.latest_session_id("/work/0") == "ses_0198"
    assert sessions.latest_session_id("/nowhere") is None


def test_a_session_is_found_by_prefix_and_by_the_word_latest(tmp_path: Path) -> None:
    sessions = many(tmp_path, 12)
    assert sessions.resolve("ses_0003") == "ses_0003"
    assert sessions.resolve("latest") == "ses_0011"
    with pytest.raises(UsageError, match="2 sessions begin"):
        sessions.resolve("ses_001")
    with pytest.raises(SessionNotFound):
        sessions.resolve("nothing")
    with pytest.raises(SessionNotFound):
        store(tmp_path / "empty").resolve("latest")


def test_an_exact_id_wins_over_longer_ones(tmp_path: Path) -> None:
    for name in ("a", "ab"):
        write_log(tmp_path, name, ["x"])
    assert store(tmp_path).resolve("a") == "a"


def test_damaged_foreign_and_empty_folders_do_not_stop_a_list(tmp_path: Path) -> None:
    good = write_log(tmp_path, "good", ["one", "two"])
    sessions = store(tmp_path)
    for name, content in [("empty", b""), ("junk", b"\x00" * 5_000), ("torn", good.read_bytes()[:-9])]:
        (sessions.root / name).mkdir()
        (sessions.root / name / "events.jsonl").write_bytes(content)
    (sessions.root / "no-log").mkdir()
    (sessions.root / "a-file").write_text("x")
    listed = {summary.id: summary.events for summary in sessions.list()}
    assert listed == {"good": 2, "torn": 1}


def test_a_last_line_of_any_length_is_found(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1")
    log.append(started("/work"))
    for _ in range(4):
        log.append(said('"\x01' * 3_900))
    log.close()
    assert store(tmp_path).list()[0].events == 5


def test_no_folder_is_no_sessions(tmp_path: Path) -> None:
    assert store(tmp_path).list() == []
    with pytest.raises(SessionNotFound):
        store(tmp_path).read("ses_1")


def test_the_latest_session_is_one_in_which_something_was_said(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    for name, title in (("ses_a", "fix it"), ("ses_b", "")):
        log = sessions.create(name)
        log.append(started("/work/0"))
        if title:
            log.append(SessionTitled(title=title, titled_by="auto"))
        log.close()
    assert sessions.latest_session_id("/work/0") == "ses_a"


def test_a_session_with_a_damaged_beginning_is_still_of_its_workspace(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("ses_1")
    log.append(started("/work/x"))
    log.append(EnvStarted(environment="local", root="/work/x"))
    log.append(said("hello"))
    log.close()
    damage_first_line(log.folder / "events.jsonl")
    (found,) = sessions.list("/work/x")
    assert (found.workspace, found.is_damaged, found.events) == ("/work/x", True, 3)
    assert found.started > 0
    assert sessions.latest_session_id("/work/x") == "ses_1"
    assert sessions.list("/work/y") == []


def test_a_session_whose_workspace_nobody_knows_is_listed_everywhere_and_continued_nowhere(
    tmp_path: Path,
) -> None:
    sessions = store(tmp_path)
    log = sessions.create("ses_1")
    log.append(started("/work/x"))
    log.append(said("hello"))
    log.close()
    damage_first_line(log.folder / "events.jsonl")
    assert [summary.id for summary in sessions.list("/work/y")] == ["ses_1"]
    assert sessions.latest_session_id("/work/y") is None
    assert sessions.latest_session_id(None) == "ses_1"


def damage_first_line(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[30] ^= 0x01
    path.write_bytes(bytes(data))
