"""The store against a plain list: append, crash at any byte, reopen, a second opener, a blocked disk."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from tests.stubs.store import said, store
from tui_agent.errors import SessionLocked, StoreFull
from tui_agent.folds.base import branch
from tui_agent.folds.session_state import SessionState
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.store.files import SystemFiles
from tui_agent.store.reader import LogTail
from tui_agent.store.sessions import SessionStore


class Switchable(SystemFiles):
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
        to_seq = data.draw(st.integers(0, self.stored[-1].seq))
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
        cut = data.draw(st.integers(max(0, len(content) - 4_000), len(content)))
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        self.stored = self.stored[:whole]
        self.log = self.sessions.open("s1")
        torn = cut - (content[:cut].rfind(b"\n") + 1)
        assert (self.log.repaired.moved_bytes if self.log.repaired else 0) == torn
        self.tail, self.tailed = LogTail(self.log.folder), 0

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = self.sessions.open("s1")
        assert self.log.repaired is None

    @rule()
    def second_opener(self) -> None:
        with pytest.raises(SessionLocked):
            self.sessions.open("s1", wait_s=0.0)

    @rule()
    def follow_from_another_process(self) -> None:
        new = self.tail.poll()
        assert new == self.stored[self.tailed :]
        self.tailed = len(self.stored)

    @invariant()
    def the_log_is_the_model(self) -> None:
        assert self.log.last_seq == len(self.stored) - 1
        assert list(self.log.read()) == self.stored

    @invariant()
    def readers_and_folds_agree(self) -> None:
        found = self.sessions.read("s1")
        assert found == self.stored
        state = SessionState()
        for record in branch(found):
            assert isinstance(record, Envelope)
            state.apply(record)
        assert state.view().seq == (found[-1].seq if found else -1)


StoreMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStore = StoreMachine.TestCase
