"""A fork reads as its parent's branch up to one event and then its own; its parent can go without it noticing."""

import shutil
from pathlib import Path

import pytest

from tests.stubs.store import said, store, write_log
from tui_agent.errors import SessionLocked, SessionNotFound, StoreError
from tui_agent.folds.projection import current_branch
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import (
    ForkChange,
    SessionForked,
    SessionHeadMoved,
    SessionStarted,
    SessionTitled,
)
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import SessionId
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.protocol.stored_text import LongText
from tui_agent.store.lineage import load_lineage, open_blobs
from tui_agent.store.log_reader import LogTail, iterate_records, read_records, read_stored_lines, read_tail
from tui_agent.store.session_log import SessionLog
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import summarise_session

SETTINGS = SessionSettings(model=ModelInfo(profile="p", provider="x", model="m"))
LONG = "x" * 9_000


def back(log: SessionLog, to_seq: int) -> None:
    log.append(SessionHeadMoved(to_seq=to_seq, from_seq=log.last_seq, reason="revert"))


def family(root: Path) -> SessionStore:
    """`a`, with a moved head; `b`, forked from it behind that; `c`, forked from `b`."""
    sessions = store(root)
    log = sessions.create("a")
    log.append(SessionStarted(workspace="/work", product="p", settings=SETTINGS))
    log.append(SessionTitled(title="the first", titled_by="auto"))
    log.append(said(LONG))
    log.append(said("off the branch " + LONG))
    back(log, 2)
    log.append(said("after it"))
    log.append(said("not taken over"))
    log.append(SessionTitled(title="too late", titled_by="user"))
    log.close()
    sessions.fork("a", 5, "b")
    log = sessions.open("b")
    log.append(said("of b"))
    back(log, 4)
    log.append(said("of b again"))
    log.close()
    sessions.fork("b", 9, "c", ForkChange(workspace="/other"))
    return sessions


def seqs(records: list[Record]) -> list[int]:
    return [record.seq for record in records]


def same(folder: Path, expected: list[Record]) -> None:
    """Every reader gives the same history."""
    assert read_records(folder) == expected
    assert list(iterate_records(folder)) == expected
    assert read_tail(folder, 100) == expected
    assert read_tail(folder, 3) == expected[-3:]
    assert LogTail(folder).poll() == expected
    assert [seq for seq, _ in read_stored_lines(folder)] == seqs(expected)
    for after in range(-1, 11):
        later = [record for record in expected if record.seq > after]
        assert read_records(folder, after) == later
        assert LogTail(folder, after).poll() == later
    assert read_records(folder, current_branch_only=True) == current_branch(expected)
    assert open_blobs(folder).read_text(message(expected[2])) == LONG


def message(record: Record) -> LongText:
    assert isinstance(record, Envelope)
    assert isinstance(record.payload, UserMessageReceived)
    return record.payload.text


def test_a_fork_is_its_parents_branch_and_then_its_own(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    records = sessions.read("b")
    assert seqs(records) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert len((sessions.folder("b") / "events.jsonl").read_bytes().splitlines()) == 4
    same(sessions.folder("b"), records)
    grandchild = sessions.read("c")
    assert seqs(grandchild) == [0, 1, 2, 4, 8, 9, 10]
    same(sessions.folder("c"), grandchild)


def test_a_fork_is_listed_with_what_it_took_over(tmp_path: Path) -> None:
    listed = {str(summary.id): summary for summary in family(tmp_path).list()}
    assert (listed["b"].title, listed["b"].workspace, listed["b"].events) == ("the first", "/work", 9)
    assert (listed["c"].title, listed["c"].workspace, listed["c"].events) == ("the first", "/other", 7)
    assert listed["a"].title == "too late"


def test_a_fork_of_what_a_fork_took_over_refers_to_the_log_that_holds_it(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    sessions.fork("c", 2, "d")
    forked = sessions.read("d")[-1]
    assert isinstance(forked, Envelope)
    assert isinstance(forked.payload, SessionForked)
    assert forked.payload.parent_session == "a"
    assert seqs(sessions.read("d")) == [0, 1, 2, 3]
    for seq in (3, 5, 6, 99, -1):
        with pytest.raises(StoreError, match=f"no event {seq}"):
            sessions.fork("c", seq, "e")
    with pytest.raises(StoreError, match="session d already"):
        sessions.fork("a", 1, "d")
    with pytest.raises(SessionNotFound):
        sessions.fork("nothing", 1, "e")


def test_the_writer_of_a_fork_holds_the_whole_history_and_goes_on(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    log = sessions.open("c")
    assert list(log.read()) == sessions.read("c")
    assert log.last_seq == 10
    assert log.blobs.read_text(message(log.read()[2])) == LONG
    tail = LogTail(log.folder)
    tail.poll()
    new = log.append(said("more"))
    assert (new.seq, new.parent) == (11, 10)
    assert tail.poll() == [new]
    log.close()
    again = sessions.open("c")
    assert again.repair is None
    assert list(again.read(8)) == sessions.read("c")[5:]
    again.close()


@pytest.mark.parametrize("gone", ["a", "b"])
def test_removing_a_parent_makes_its_forks_whole_first(tmp_path: Path, gone: str) -> None:
    sessions = family(tmp_path)
    before = {name: sessions.read(name) for name in ("a", "b", "c") if name != gone}
    summaries = {one.id: (one.title, one.workspace, one.events) for one in sessions.list()}
    tail = LogTail(sessions.folder("c"))
    tail.poll()
    sessions.remove(gone)
    assert not sessions.folder(gone).exists()
    assert [path.name for path in sessions.root.iterdir() if path.name.startswith(".")] == []
    for name, records in before.items():
        assert sessions.read(name) == records
    same(sessions.folder("c"), before["c"])
    assert {one.id: (one.title, one.workspace, one.events) for one in sessions.list()} == {
        name: what for name, what in summaries.items() if name != gone
    }
    log = sessions.open("c")
    new = log.append(said("goes on"))
    assert tail.poll() == [new]
    log.close()


def test_only_what_is_named_is_taken_over_and_by_link(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    named = {path.name for path in (sessions.folder("a") / "blobs").iterdir()}
    assert len(named) == 2
    inode = max(path.stat().st_ino for path in (sessions.folder("a") / "blobs").iterdir())
    sessions.remove("a")
    (own,) = (sessions.folder("b") / "blobs").iterdir()
    assert own.name in named
    assert own.stat().st_ino <= inode
    assert own.stat().st_nlink == 1


def test_a_parent_is_not_removed_while_it_or_a_fork_is_in_use(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    for held in ("a", "b"):
        log = sessions.open(held)
        with pytest.raises(SessionLocked, match=f"session {held} is in use"):
            sessions.remove("a")
        log.close()
    assert len(sessions.list()) == 3


def test_without_its_parent_a_forks_own_events_are_read_and_opening_says_what_is_missing(
    tmp_path: Path,
) -> None:
    sessions = family(tmp_path)
    shutil.rmtree(sessions.folder("a"))
    assert seqs(sessions.read("b")) == [6, 7, 8, 9]
    assert seqs(sessions.read("c")) == [8, 9, 10]
    assert {summary.id for summary in sessions.list()} == {"b", "c"}
    for name in ("b", "c"):
        with pytest.raises(StoreError, match="forked from a, which is missing"):
            sessions.open(name)
    with pytest.raises(StoreError, match="forked from a"):
        sessions.remove("b")
    assert seqs(sessions.read("c")) == [8, 9, 10]


def test_a_parent_that_is_another_one_is_not_taken_for_it(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    path = sessions.folder("a") / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]))
    assert "event 5 is missing" in str(load_lineage(sessions.folder("b")).fault)
    shutil.rmtree(sessions.folder("a"))
    write_log(tmp_path, "a", [f"quite different {number}" for number in range(9)])
    assert "has changed since the fork" in str(load_lineage(sessions.folder("b")).fault)
    assert seqs(sessions.read("b")) == [6, 7, 8, 9]


@pytest.mark.parametrize("parent", ["../a", "s1", ".", "a/b"])
def test_a_parents_name_never_leads_out_of_the_sessions_folder_nor_round(tmp_path: Path, parent: str) -> None:
    write_log(tmp_path, "a", ["one"])
    sessions = store(tmp_path)
    log = sessions.create("s1")
    log.append(SessionForked(parent_session=SessionId(parent), at_seq=0, parent_crc="00000000"))
    log.close()
    assert len(sessions.read("s1")) == 1
    assert load_lineage(sessions.folder("s1")).fault is not None


def test_a_parent_that_goes_on_does_not_change_its_forks(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    before = sessions.read("c")
    for name in ("a", "b"):
        log = sessions.open(name)
        back(log, 0)
        log.append(said("elsewhere"))
        log.close()
    assert sessions.read("c") == before


def test_a_long_parent_is_read_up_to_the_fork_only(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("a")
    for number in range(3_000):
        log.append(said(f"{number} " + "y" * 700))
    log.close()
    sessions.fork("a", 1_234, "b")
    assert seqs(sessions.read("b")) == list(range(1_236))
    assert seqs(read_records(sessions.folder("b"), after=1_230)) == list(range(1_231, 1_236))
    assert seqs(read_tail(sessions.folder("b"), 10)) == list(range(1_226, 1_236))
    assert seqs(read_records(sessions.folder("a"), after=2_500, limit=2)) == [2_501, 2_502]


def test_a_summary_counts_the_events_of_the_history(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    for name in ("a", "b", "c"):
        records = read_records(sessions.folder(name))
        summary = summarise_session(sessions.folder(name))
        assert summary is not None
        assert (summary.events, summary.last_seq) == (len(records), records[-1].seq)
