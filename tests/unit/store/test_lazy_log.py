"""A log that is made lazily: nothing on the disk until something happens that is worth a session."""

from pathlib import Path

import pytest

from tests.stubs.faulty_files import FaultyFiles
from tests.stubs.store import said, store
from tui_agent.errors import StoreError, StoreFull, StoreUnusable
from tui_agent.protocol.events.session import RunFinished, SessionStarted
from tui_agent.protocol.ids import RunId
from tui_agent.protocol.settings import ModelInfo, SessionSettings

MODEL = ModelInfo(profile="m", provider="m", model="m")
STARTED = SessionStarted(workspace="/w", product="test", settings=SessionSettings(model=MODEL))


async def test_a_log_without_a_word_leaves_nothing_behind(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1", lazy=True)
    first = log.append(STARTED)
    last = log.append(RunFinished(run_id=RunId("run_0"), reason="quit"))
    await log.commit()
    assert list(log.read()) == [first, last] and (log.last_seq, log.last_stored_seq) == (1, -1)
    log.close()
    assert not log.folder.exists() and sessions.list() == []


async def test_the_first_word_writes_all_that_was_before_it(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("s1", lazy=True)
    events = [log.append(STARTED), log.append(said("hello " * 4_000)), log.append(said("more"))]
    assert log.last_stored_seq == 2
    await log.commit()
    log.close()
    assert sessions.read("s1") == events
    assert [summary.workspace for summary in sessions.list()] == ["/w"]


def test_a_full_disk_refuses_the_first_word_and_takes_it_later_with_all_before(tmp_path: Path) -> None:
    for at in range(1, 20):
        root = tmp_path / str(at)
        ops = FaultyFiles(at, "fail")
        log = store(root, ops).create("s1", lazy=True)
        log.append(STARTED)
        with pytest.raises(StoreFull):
            log.append(said("hello"))
        assert log.last_stored_seq == -1, at
        log.append(said("hello"))
        log.close()
        records = store(root).read("s1")
        assert [record.seq for record in records] == [0, 1], at
        if ops.fired == "write":
            return
    raise AssertionError("the write itself never failed")


def test_a_folder_that_takes_no_session_is_told_before_anything_is_said(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file")
    with pytest.raises(StoreUnusable, match="No session can be created"):
        store(tmp_path).create("s1", lazy=True)


def test_a_session_that_came_up_meanwhile_is_not_written_into(tmp_path: Path) -> None:
    log = store(tmp_path).create("s1", lazy=True)
    log.append(STARTED)
    store(tmp_path).create("s1").close()
    with pytest.raises(StoreError, match="already"):
        log.append(said("hello"))
