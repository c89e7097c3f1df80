"""The store against a plain list: append, crash at any byte, reopen, a second opener, a blocked disk,
forks and the removal of what they were forked from, an index that is lost, damaged or locked."""

import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from tests.stubs.examples import example_count
from tests.stubs.store import said, store
from tui_agent.errors import SessionLocked, StoreFull
from tui_agent.folds.projection import current_branch
from tui_agent.folds.session.fold import SessionState
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.store.file_ops import FileOps
from tui_agent.store.log_reader import LogTail, read_records, read_tail
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import summarise_session


class Switchable(FileOps):
    """A disk that can be full: then half of a line is written."""

    full = False

    def write(self, fd: int, data: bytes) -> int:
        return super().write(fd, data[: len(data) // 2] if self.full else data)


class StoreMachine(RuleBasedStateMachine):
    """`stored` is the model: the events that must be there, and nothing else."""

    events = Bundle("events")

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="store-"))
        self.ops = Switchable()
        self.sessions: SessionStore = store(self.root, self.ops)
        self.log = self.sessions.create("s1")
        self.stored: list[Envelope] = []
        self.tail = LogTail(self.log.folder)
        self.tailed = 0
        self.name = "s1"
        self.forks = 0
        self.parents: list[str] = []
        self.own_from = 0
        """How many of the events lie in parents' logs."""

    def teardown(self) -> None:
        self.log.close()
        shutil.rmtree(self.root)

    @rule(text=st.text(max_size=300))
    def append(self, text: str) -> None:
        self.stored.append(self.log.append(said(text)))

    @rule(size=st.integers(8_000, 70_000), char=st.sampled_from("aä\x00\ud800"))
    def append_long(self, size: int, char: str) -> None:
        self.stored.append(self.log.append(said(char * size)))

    @precondition(lambda self: len(self.stored) > 0)
    @rule(data=st.data())
    def move_head(self, data: st.DataObject) -> None:
        to_seq = data.draw(st.sampled_from(self.stored)).seq
        event = self.log.append(SessionHeadMoved(to_seq=to_seq, from_seq=self.log.last_seq, reason="revert"))
        assert event.parent == to_seq
        self.stored.append(event)

    @rule()
    def disk_is_full(self) -> None:
        self.ops.full = True
        with pytest.raises(StoreFull):
            self.log.append(said("no room"))
        self.ops.full = False

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The process ends and the file with it, anywhere in its last bytes; then a new one opens it."""
        path = self.log.folder / "events.jsonl"
        self.log.close()
        content = path.read_bytes()
        first = content.find(b"\n") + 1 if self.own_from else 0  # a fork's log appears with its first line
        cut = data.draw(st.integers(max(first, len(content) - 4_000), len(content)))
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        self.stored = self.stored[: self.own_from + whole]
        self.log = self.sessions.open(self.name)
        torn = cut - (content[:cut].rfind(b"\n") + 1)
        repaired = self.log.repair
        # one that was named before may have lost the event that named it
        assert (repaired.moved_bytes if repaired else 0) >= torn
        if repaired is not None:
            self.stored.append(self.log.append(repaired))
        self.tail, self.tailed = LogTail(self.log.folder), 0

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = self.sessions.open(self.name)
        assert self.log.repair is None

    @precondition(lambda self: len(self.stored) > 0)
    @rule(data=st.data())
    def go_on_in_a_fork(self, data: st.DataObject) -> None:
        at_seq = data.draw(st.sampled_from(self.stored)).seq
        self.forks += 1
        new = f"fork{self.forks}"
        self.sessions.fork(self.name, at_seq, new)
        self.log.close()
        self.parents.append(self.name)
        self.log, self.name = self.sessions.open(new), new
        assert self.log.repair is None
        until = [event for event in self.stored if event.seq <= at_seq]
        self.stored = [event for event in current_branch(until) if isinstance(event, Envelope)]
        self.own_from = len(self.stored)
        forked = self.log.read(at_seq)[0]
        assert isinstance(forked, Envelope)
        assert (forked.seq, forked.parent) == (at_seq + 1, at_seq)
        self.stored.append(forked)
        self.tail, self.tailed = LogTail(self.log.folder), 0

    @precondition(lambda self: len(self.parents) > 0)
    @rule(data=st.data())
    def remove_a_parent(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.parents))
        direct = self.name in self.sessions.forks(gone)
        if direct:
            with pytest.raises(SessionLocked):
                self.sessions.remove(gone)
        self.log.close()
        self.sessions.remove(gone)
        self.parents.remove(gone)
        self.log = self.sessions.open(self.name)
        if direct:
            self.own_from = 0

    @rule(data=st.data())
    def a_parent_goes_on(self, data: st.DataObject) -> None:
        for name in self.parents:
            log = self.sessions.open(name)
            to_seq = data.draw(st.sampled_from(log.read())).seq
            log.append(SessionHeadMoved(to_seq=to_seq, from_seq=log.last_seq, reason="undo"))
            log.append(said("of a parent"))
            log.close()

    @rule(harm=st.sampled_from(["", "gone", "damaged", "locked"]))
    def look_for_something(self, harm: str) -> None:
        """The index is as good as the logs, whatever becomes of it."""
        self.stored.append(self.log.append(said(f"marked{self.log.last_seq}")))
        index, blocker = self.sessions.index, None
        if harm == "gone":
            index.delete()
        elif harm == "damaged" and index.path.exists():
            index.path.write_bytes(index.path.read_bytes()[:1_000] + b"\xff" * 5_000)
        elif harm == "locked" and index.path.exists():
            blocker = sqlite3.connect(index.path, isolation_level=None)
            blocker.execute("BEGIN IMMEDIATE")
        try:
            plain = [summarise_session(folder) for folder in self.sessions.folders()]
            assert self.sessions.list() == sorted(filter(None, plain), key=lambda one: (-one.updated, one.id))
        finally:
            if blocker is not None:
                blocker.close()
        found = [
            (hit.session, hit.seq)
            for hit in self.sessions.index.search(
                self.sessions.log_states(), f"marked{self.log.last_seq - 1}"
            )
        ]
        assert (self.name, self.log.last_seq) in found

    @rule()
    def second_opener(self) -> None:
        with pytest.raises(SessionLocked):
            self.sessions.open(self.name, wait_s=0.0)

    @rule()
    def follow_from_another_process(self) -> None:
        new = self.tail.poll()
        assert new == self.stored[self.tailed :]
        self.tailed = len(self.stored)

    @invariant()
    def the_log_is_the_model(self) -> None:
        assert self.log.last_seq == (self.stored[-1].seq if self.stored else -1)
        assert list(self.log.read()) == self.stored

    @invariant()
    def readers_and_folds_agree(self) -> None:
        found = self.sessions.read(self.name)
        assert found == self.stored
        assert read_records(self.log.folder, current_branch_only=True) == current_branch(found)
        assert read_tail(self.log.folder, 5) == self.stored[-5:]
        state = SessionState()
        for record in current_branch(found):
            assert isinstance(record, Envelope)
            state.apply(record)
        assert state.view().seq == (found[-1].seq if found else -1)


StoreMachine.TestCase.settings = settings(
    max_examples=example_count(100), stateful_step_count=25, suppress_health_check=list(HealthCheck)
)
TestStore = StoreMachine.TestCase
