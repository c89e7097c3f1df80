"""A changed byte anywhere, in a fork's own log or in what it takes from its parent's: told, and stepped over."""

from pathlib import Path

import pytest

from tests.stubs.store import said, store
from tui_agent.errors import StoreError
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.store.damage_report import verify_session
from tui_agent.store.lineage import has_event
from tui_agent.store.log_reader import iterate_records, read_marks, read_records, read_tail
from tui_agent.store.session_store import SessionStore

AT = 2
STRIDE = 3
CHANGES = (0x01, 0x20, 0x80)


def forked(root: Path) -> SessionStore:
    """A session of five events, and a fork of it after the third with two of its own."""
    sessions = store(root)
    log = sessions.create("parent")
    for number in range(5):
        log.append(said(f"of the parent {number}"))
    log.close()
    sessions.fork("parent", AT, "child")
    child = sessions.open("child")
    child.append(said("of the fork 4"))
    child.append(said("of the fork 5"))
    child.close()
    return sessions


def seqs(records: list[Record]) -> list[int]:
    return [record.seq for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parent", "child"])
def test_every_changed_byte_is_told_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    sessions = forked(tmp_path)
    whole = sessions.read("child")
    assert seqs(whole) == [0, 1, 2, 3, 4, 5] and verify_session(sessions.folder("child")) == []
    path = sessions.folder(name) / "events.jsonl"
    content = path.read_bytes()
    shared = content if name == "child" else b"".join(content.splitlines(keepends=True)[: AT + 1])
    for place in range(0, len(shared), STRIDE):
        change = CHANGES[place // STRIDE % len(CHANGES)]
        path.write_bytes(content[:place] + bytes([content[place] ^ change]) + content[place + 1 :])
        lines = {content[:place].count(b"\n"), content[: place + 1].count(b"\n")}  # a lost end joins two
        check(sessions, whole, name, lines, place)
    path.write_bytes(content)
    assert sessions.read("child") == whole


def check(sessions: SessionStore, whole: list[Record], name: str, lines: set[int], place: int) -> None:
    folder = sessions.folder("child")
    told, found = verify_session(folder), sessions.read("child")
    assert told or found == whole, (name, place)  # two lines that ran into one are told apart again
    assert set(seqs(found)) <= set(seqs(whole)) and seqs(found) == sorted(set(seqs(found))), (name, place)
    assert all(record in whole for record in found), (name, place)
    lost = {record.seq for record in whole} - set(seqs(found))
    if AT in lines if name == "parent" else 0 in lines:
        assert lost <= set(range(AT + 2)), (place, lost)  # where it was forked cannot be made out any more
    else:
        first = 0 if name == "parent" else AT + 1
        assert lost <= {first + line for line in lines}, (place, lost)
    list(iterate_records(folder, current_branch_only=True))
    read_tail(folder, 3)
    read_marks(folder)
    read_records(folder, current_branch_only=True, skip_deltas=True)
    sessions.list()
    try:
        log = sessions.open("child", wait_s=0.0)
    except StoreError as fault:
        assert "child" in str(fault), place
    else:
        log.close()
        (folder / "events.torn").unlink(missing_ok=True)


def test_events_after_a_torn_start_of_their_line_are_found_as_a_reader_finds_them(tmp_path: Path) -> None:
    sessions = store(tmp_path)
    log = sessions.create("parent")
    log.append(said("one"))
    log.append(SessionTitled(title="the title", titled_by="user"))
    log.append(said("two"))
    log.close()
    path = sessions.folder("parent") / "events.jsonl"
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"".join(line[:20] + line for line in others))
    assert seqs(sessions.read("parent")) == [0, 1, 2]
    assert [has_event(path.parent, seq) for seq in range(4)] == [True, True, True, False]
    sessions.fork("parent", 2, "child")
    assert {summary.id: summary.title for summary in sessions.list()}["child"] == "the title"
    assert seqs(sessions.read("child")) == [0, 1, 2, 3]
