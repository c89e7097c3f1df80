"""Random acts on whole sessions (turns, crashes, forks, reverts, compaction), compared with plain lists of the results."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import pytest
from anyio.from_thread import BlockingPortal
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
)

from tests.properties.session_life import Answers, Life, Plain, Put, Say, harmed, inherited, last_commit
from tests.stubs.clock import FakeClock, SequentialIds
from tests.stubs.plain_checkpoints import Files, files_in, put_files
from tests.stubs.strict_history import faults_in
from tui_agent.errors import SessionLocked, SessionNotFound
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.projection import fold
from tui_agent.folds.session.branches import Branches
from tui_agent.folds.session.fold import SessionState
from tui_agent.protocol.commands import (
    Command,
    Interrupt,
    Queue,
    Redo,
    Rename,
    Revert,
    SetPolicy,
    Steer,
    SubmitPrompt,
    Undo,
)
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.session import RunFinished
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.ids import RunId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import PolicyName
from tui_agent.session.fork_workspace import detach_checkpoints, fork_checkpoints
from tui_agent.store.damage_report import verify_session
from tui_agent.store.lineage import open_blobs, read_origin
from tui_agent.store.log_reader import iterate_history, read_records
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore
from tui_agent.store.session_summary import summarise_session

PATHS = st.sampled_from(["a.txt", "b.txt", "deep/er/c.txt"])
TEXTS = st.sampled_from([None, "one\n", "two\n", "three\nlines\nhere\n", "LINES"])
WORDS = st.sampled_from(["Done.", "LONG", "VERY LONG"])
CALLS = st.one_of(st.builds(Put, path=PATHS, text=TEXTS), st.builds(Say, words=WORDS))
TURNS = st.tuples(st.lists(st.tuples(WORDS, st.lists(CALLS, min_size=1, max_size=3)), max_size=2), WORDS)
"""What the model answers: words with calls, and words to end with."""
WHERE = st.integers(0, 999)
"""A place in a list whose length differs from run to run, by thousandths of it."""
PARTS = st.sampled_from([0.0, 0.3, 0.999, 1.0])
Turn = tuple[list[tuple[str, list[Put | Say]]], str]
ItemT = TypeVar("ItemT")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where files cost no disk; None: the usual place."""
MINE = "mine.txt"
"""A person's file: no session ever touches it."""
SHARED = "shared.txt"
"""A file that the person and the session change in turns."""


def pick(found: Sequence[ItemT], where: int) -> ItemT:
    """The item that stands there."""
    return found[where * len(found) // 1_000]


class SessionMachine(RuleBasedStateMachine):
    """`sessions` are the models; `plain` is the one that `life` holds."""

    git = False
    portal: ClassVar[BlockingPortal]
    checked: ClassVar[int] = 0
    """How many states were held against the model."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="sessions-", dir=MEMORY)).resolve()
        self.store = SessionStore(self.root / "sessions", FakeClock(tick=1.0), Redactor())
        self.ids = SequentialIds()
        self.answers = Answers()
        self.sessions: dict[str, Plain] = {}
        self.said = self.made = 0
        self.life: Life | None = None

    def teardown(self) -> None:
        try:
            if self.life is not None:
                self.check()
                self.life.end()
        finally:
            shutil.rmtree(self.root)

    @initialize()
    def begin(self) -> None:
        self.open(self.model("s0"))

    def model(self, name: str) -> Plain:
        plain = Plain(name, self.store.folder(name), self.root / "work" / name)
        plain.workspace.mkdir(parents=True)
        put_files(plain.workspace, {MINE: name})
        plain.files = {MINE: name}
        self.sessions[name] = plain
        return plain

    def open(self, plain: Plain) -> None:
        self.life = Life(self.portal, self.root, plain, self.ids, git=self.git)
        self.check(strictly=True)

    @property
    def live(self) -> Life:
        assert self.life is not None
        return self.life

    @property
    def plain(self) -> Plain:
        return self.live.plain

    # -- turns -----------------------------------------------------------------------------------------------------

    def prompt(self) -> str:
        self.said += 1
        return f"prompt number{self.said}x"

    def run_turn(self, turn: Turn, *more: tuple[int, Command]) -> None:
        """One turn to its end, and those of messages queued in it; each of `more` is sent after so many events."""
        bench, first = self.live.bench, len(self.plain.events)
        script = [self.answers.call(text, calls) for text, calls in turn[0]]
        bench.model.answers[:] = [*script, self.answers.say(turn[1])]
        before, waiting = len(bench.events), sorted(more, key=lambda one: -one[0])

        def seen(event: Envelope) -> None:
            while waiting and len(bench.events) - before >= waiting[-1][0]:
                bench.submit(waiting.pop()[1])

        self.live.on_event = seen
        self.live.call(bench.submit, SubmitPrompt(text=self.prompt()))
        self.live.call(self.live.quiet, before, 1)
        self.live.on_event = lambda event: None
        self.live.take_in()
        self.written(self.plain.events[first:])

    def written(self, events: list[Envelope]) -> None:
        """Every call that was carried out left its text; one that was stopped may have, or left the one before."""
        texts: dict[str, set[str | None]] = {}
        for event in events:
            if not isinstance(event.payload, ToolFinished) or event.payload.call_id not in self.answers.puts:
                continue
            path, text = self.answers.puts[event.payload.call_id]
            before = texts.get(path, {self.plain.files.get(path)})
            texts[path] = {text} if event.payload.status == "ok" else {*before, text}
        there = files_in(self.plain.workspace)
        for path, possible in texts.items():
            assert there.get(path) in possible, f"{path} is what no call made it"
        self.plain.files = {path: text for path, text in self.plain.files.items() if path not in texts}
        self.plain.files |= {path: there[path] for path in texts if path in there}

    @rule(turn=TURNS)
    def turn(self, turn: Turn) -> None:
        self.run_turn(turn)
        self.check()

    @rule(turn=TURNS, at=st.integers(1, 30))
    def stopped_turn(self, turn: Turn, at: int) -> None:
        self.run_turn(turn, (at, Interrupt()))
        self.check()

    @rule(turn=TURNS, at=st.integers(1, 20), queued=st.booleans(), stop=st.integers(1, 60))
    def turn_with_another_message(self, turn: Turn, at: int, queued: bool, stop: int) -> None:
        text = self.prompt()
        self.run_turn(turn, (at, Queue(text=text) if queued else Steer(text=text)), (stop, Interrupt()))
        self.check()

    @rule(turn=TURNS, at=st.integers(1, 60), part=PARTS)
    def crash_in_a_turn(self, turn: Turn, at: int, part: float) -> None:
        self.live.doom(at, part)
        self.run_turn(turn)
        self.reopen()

    @rule(mine=st.sampled_from(["mine\n", "mine again\n"]))
    def a_person_writes(self, mine: str) -> None:
        put_files(self.plain.workspace, {MINE: mine})
        self.plain.files[MINE] = mine

    @rule(turn=TURNS, mine=st.sampled_from([None, "mine\n", "mine again\n"]), text=TEXTS)
    def a_person_edits_between_turns(self, turn: Turn, mine: str | None, text: str | None) -> None:
        """An undo of the turn gives back the person's version, and a redo the turn's."""
        if self.live.bench.recorder.state.queue:
            return  # its message would be a turn after this one
        place = self.plain.workspace / SHARED
        if mine is None:
            place.unlink(missing_ok=True)
        else:
            place.write_text(mine)
        self.plain.files = before = files_in(self.plain.workspace)
        self.run_turn(([*turn[0], ("Done.", [Put(path=SHARED, text=text)])], turn[1]))
        after = files_in(self.plain.workspace)
        for command, files in ((Undo(), before), (Redo(), after)):
            self.move(command)
            assert files_in(self.plain.workspace) == files
        self.plain.files = after
        self.check()

    @rule(policy=st.sampled_from(["plan", "bypass"]))
    def settings_change(self, policy: PolicyName) -> None:
        for command in (SetPolicy(policy=policy), Rename(title=f"called {policy}")):
            before = len(self.live.bench.events)
            self.live.call(self.live.bench.submit, command)
            self.live.call(self.live.more_than, before)
        self.live.take_in()
        self.check()

    # -- the life of a process -------------------------------------------------------------------------------------

    @rule(cleanly=st.booleans())
    def open_again(self, cleanly: bool) -> None:
        if cleanly:
            self.live.call(self.live.bench.recorder.append, RunFinished(run_id=RunId("run_0"), reason="quit"))
        self.reopen()

    @rule(torn=st.binary(min_size=1, max_size=40))
    def crash_with_a_torn_tail(self, torn: bytes) -> None:
        plain = self.close()
        with (plain.folder / "events.jsonl").open("ab") as log:
            log.write(torn.replace(b"\n", b"\0"))
        self.open(plain)
        assert "log.repaired" in self.live.bench.kinds()

    @rule()
    def second_opener(self) -> None:
        with pytest.raises(SessionLocked):
            self.store.open(self.plain.name, wait_s=0.0)
        with pytest.raises(SessionLocked):
            self.store.remove(self.plain.name)
        self.check()

    @rule(where=WHERE)
    def go_on_in_another_session(self, where: int) -> None:
        self.close()
        self.open(self.sessions[pick(sorted(self.sessions), where)])

    def close(self) -> Plain:
        plain, life = self.plain, self.live
        self.life = None
        life.end()
        return plain

    def reopen(self) -> None:
        self.open(self.close())

    # -- time ------------------------------------------------------------------------------------------------------

    def move(self, command: Undo | Redo | Revert) -> None:
        bench, before = self.live.bench, len(self.live.bench.events)
        self.live.call(bench.submit, command)
        self.live.call(self.live.gone, before)
        self.live.take_in()
        kinds = bench.kinds()[before:]
        assert "command.rejected" not in kinds and "error.raised" not in kinds

    def moved_to(self, files: Files) -> None:
        """The files are these; those of `SHARED` depend on whose change was the last."""
        there = files_in(self.plain.workspace)
        shared = {SHARED: there[SHARED]} if SHARED in there else {}
        mine = {path: text for path, text in files.items() if path != SHARED}
        self.plain.files = there if self.plain.unsure else {**mine, **shared}

    def expected_files(self, to_seq: int) -> Files:
        """The session's files as they were kept at an event, the person's as they are now."""
        commit = self.plain.commit_at(to_seq)
        if not commit:
            return self.plain.files
        return {**self.plain.commits[commit], MINE: self.plain.files[MINE]}

    @rule(where=WHERE, what=st.sampled_from(["both", "both", "files", "conversation"]))
    def revert(self, where: int, what: str) -> None:
        to_seq = pick(self.plain.events, where).seq
        prompts, files = self.plain.prompts(), self.plain.files
        if what != "files":
            prompts = self.plain.prompts(to_seq)
        if what != "conversation":
            files = self.expected_files(to_seq)
        self.move(Revert(to_seq=to_seq, conversation=what != "files", files=what != "conversation"))
        self.moved_to(files)
        assert self.plain.prompts() == prompts
        self.check(strictly=True)

    @rule()
    def undo(self) -> None:
        if not self.plain.asked():
            return
        newest = self.plain.asked()[-1]
        assert newest.parent is not None
        prompts, files = self.plain.prompts(newest.parent), self.expected_files(newest.parent)
        for path in self.plain.kept(newest.parent):
            files = {name: text for name, text in files.items() if name != path}
            files |= {path: self.plain.files[path]} if path in self.plain.files else {}
        self.move(Undo())
        self.moved_to(files)
        assert self.plain.prompts() == prompts
        self.check(strictly=True)

    @rule()
    def redo(self) -> None:
        if not self.plain.undone():
            return
        to_seq = self.plain.undone()[-1]
        if to_seq not in [event.seq for event in self.plain.events]:
            return  # a fork does not hold what its parent had taken back
        prompts, files = self.plain.prompts(to_seq), self.expected_files(to_seq)
        self.move(Redo())
        self.moved_to(files)
        assert self.plain.prompts() == prompts
        self.check(strictly=True)

    @rule(at=st.integers(1, 12), part=PARTS)
    def crash_in_an_undo(self, at: int, part: float) -> None:
        if not self.plain.asked():
            return
        self.live.doom(at, part)
        self.plain.unsure = True
        self.move(Undo())
        self.reopen()

    @rule(where=WHERE, long=st.booleans())
    def compact(self, where: int, long: bool) -> None:
        if not self.plain.ended() or self.plain.steered():
            return
        through = pick(self.plain.ended(), where)
        forgets = tuple(event.seq for event in self.plain.line() if event.seq <= through)
        summary = "What was said. " * (1_000 if long else 1)
        blobs = self.live.bench.engine._parts.blobs
        compacted = ContextCompacted(
            through_seq=through,
            summary=blobs.put_text(summary),
            removed_seqs=forgets,
            turns=1,
            before_tokens=100,
            after_tokens=10,
            trigger="user",
        )
        self.live.call(self.live.bench.recorder.append, compacted)
        self.live.take_in()
        self.check(strictly=True)

    # -- forks -----------------------------------------------------------------------------------------------------

    @rule(where=WHERE, go_there=st.booleans())
    def fork(self, where: int, go_there: bool) -> None:
        parent = self.plain
        self.made += 1
        name = f"s{self.made}"
        event = pick(parent.events, where)
        before = (parent.folder / "events.jsonl").read_bytes()
        self.store.fork(parent.name, event.seq, name)
        child = self.model(name)
        self.lend_checkpoints(child)
        child.events = self.read(child)
        assert child.events == inherited(parent, event.seq, child.events[-1])
        assert (child.events[-1].seq, child.events[-1].parent) == (event.seq + 1, event.seq)
        child.commits, child.unsure = parent.commits, parent.unsure
        child.files |= {**parent.commits.get(last_commit(child.events), {}), MINE: name}
        put_files(child.workspace, child.files)
        assert (parent.folder / "events.jsonl").read_bytes() == before
        if go_there:
            self.close()
            self.open(child)
        self.check(strictly=True)

    def lend_checkpoints(self, child: Plain) -> None:
        origin = read_origin(child.folder)
        assert origin is not None
        if self.git:
            fork_checkpoints(origin.folder, child.folder)
        elif (origin.folder / "checkpoints.git").exists():
            shutil.copytree(origin.folder / "checkpoints.git", child.folder / "checkpoints.git")

    @rule(where=WHERE)
    def remove_another_session(self, where: int) -> None:
        others = sorted(self.sessions.keys() - {self.plain.name})
        if not others:
            return
        gone = pick(others, where)
        borrowed = self.plain.name in self.store.forks(gone)
        if borrowed:
            with pytest.raises(SessionLocked):
                self.store.remove(gone)
        plain = self.close() if borrowed else None
        self.store.remove(gone, detach_checkpoints if self.git else None)
        del self.sessions[gone]
        with pytest.raises(SessionNotFound):
            self.store.open(gone)
        for other in self.sessions.values():
            assert self.read(other) == other.events
        if plain is not None:
            self.open(plain)
        self.check(strictly=True)

    # -- what is lost ----------------------------------------------------------------------------------------------

    @rule(harm=st.sampled_from(["", "gone", "damaged", "locked"]))
    def list_and_search(self, harm: str) -> None:
        """The index is as good as the logs, whatever becomes of it."""
        with harmed(self.store.index.path, harm):
            summaries = [summarise_session(folder) for folder in self.store.folders()]
            wanted = sorted(filter(None, summaries), key=lambda one: (-one.updated, one.id))
            assert self.store.list() == wanted
            assert {each.id for each in wanted} == set(self.sessions)
        for plain in self.sessions.values():
            for event in plain.asked()[-1:]:
                found = self.store.index.search(
                    self.store.log_states(), str(getattr(event.payload, "text", ""))
                )
                assert any(hit.seq == event.seq for hit in found), (plain.name, event.seq)

    @rule(where=WHERE)
    def a_text_is_lost(self, where: int) -> None:
        """Without one of its texts a session still opens, lists, folds and says what is missing."""
        blobs = sorted((self.plain.folder / "blobs").glob("?" * 64))
        if not blobs:
            return
        plain = self.close()
        blob = pick(blobs, where)
        held = blob.read_bytes()
        blob.unlink()
        named = any(blob.name.encode() in line for line, _ in iterate_history(plain.folder))
        lost = named and open_blobs(plain.folder).find(blob.name) is None  # a parent may have it, too
        assert any(blob.name[:12] in line for line in verify_session(plain.folder)) == lost
        self.open(plain)
        self.store.list()
        self.store.index.search(self.store.log_states(), "number1x")
        self.run_turn(([], "Done."))
        self.check()
        self.close()
        blob.write_bytes(held)
        assert verify_session(plain.folder) == []
        self.open(plain)

    # -- what must hold --------------------------------------------------------------------------------------------

    def read(self, plain: Plain) -> list[Envelope]:
        records = read_records(plain.folder)
        found = [record for record in records if isinstance(record, Envelope)]
        assert len(found) == len(records)
        return found

    def check(self, *, strictly: bool = False) -> None:
        """`strictly`: the history is shown to a third provider, too."""
        SessionMachine.checked += 1
        plain, recorder = self.plain, self.live.bench.recorder
        assert self.read(plain) == plain.events
        line = plain.line()
        assert recorder.state == fold(SessionState(), line)
        assert recorder.branches == fold(Branches(), plain.events)
        messages = recorder.messages()
        assert messages == fold(ModelMessages(), line)
        if not recorder.state.turn_running:
            assert faults_in(messages, anthropic=strictly) == []
        said = [message.content[0] for message in messages if isinstance(message, UserMessage)]
        texts = [piece.text for piece in said if isinstance(piece, TextContent)]
        prompts, unsent = plain.prompts(), plain.unsent()
        known = [text for text in texts if str(text).startswith("prompt") and text not in unsent]
        assert known == [text for text in prompts if text not in unsent]
        starts = [event.payload.call_id for event in plain.events if isinstance(event.payload, ToolStarted)]
        assert len(starts) == len(set(starts)), "a call ran twice"
        there = files_in(plain.workspace)
        assert plain.unsure or there == plain.files
        assert there[MINE] == plain.files[MINE]


class GitSessionMachine(SessionMachine):
    """The same over real checkpoints, which cost processes."""

    git = True
