"""Sessions of a real engine over a real store, kept alive between the acts of a property test; and its plain model.

A `Life` is one process's hold on a session. A crash is the disk as it stood in the middle of one call of the store:
it is copied there, the process is thrown away, and the copy takes the place of what it left.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import anyio
from anyio.from_thread import BlockingPortal
from pydantic import BaseModel

from tests.engine.harness import Bench, running
from tests.stubs.clock import SequentialIds
from tests.stubs.plain_checkpoints import Files, PlainCheckpoints, files_in
from tui_agent.ports.environment import Environment
from tui_agent.ports.model import FinishChunk, ModelChunk, TextChunk, ToolCallChunk
from tui_agent.ports.tool import Preview, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import AnswerQuestion, Unqueue
from tui_agent.protocol.effects import Effect, InternalEffect, WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.protocol.events.model import ModelRequested
from tui_agent.protocol.events.session import SessionForked, SessionHeadMoved
from tui_agent.protocol.events.turn import QuestionAsked, TurnFinished, UserMessageReceived, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, RequestId
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import AgentState
from tui_agent.store.file_ops import FileOps
from tui_agent.store.log_reader import read_records

SPELT = {
    "LINES": "long line\n" * 1_200,
    "LONG": "A longer answer. " * 60,
    "VERY LONG": "Very long. " * 1_000,
}
"""What such a word stands for in a model's answer, so that a failing sequence can be read."""


class Put(BaseModel):
    """A file's new text; without one it goes."""

    path: str
    text: str | None = None

    def spelt(self) -> "Put":
        """With what its text stands for."""
        return Put(path=self.path, text=None if self.text is None else SPELT.get(self.text, self.text))


class PutTool:
    """Writes or removes a file, whatever stands there."""

    spec: ClassVar[ToolSpec] = ToolSpec(
        "put", "Writes a file.", Put, "edit", timeout=60.0, parallel_safe=False
    )

    def target(self, args: Put) -> str:
        return args.path

    def effects(self, args: Put) -> tuple[Effect, ...]:
        return (WriteEffect(path=args.path),)

    async def preview(self, args: Put, env: Environment) -> Preview:
        return Preview((), content=args.text or "")

    async def run(self, args: Put, ctx: ToolContext) -> ToolResult:
        there = await ctx.env.stat(args.path)
        digest = None if there is None else (await ctx.env.read(args.path)).digest
        if args.text is not None:
            await ctx.env.write(args.path, args.text.encode(), digest)
        elif digest is not None:
            await ctx.env.remove(args.path, digest)
        return ToolResult(ok=True, content=(TextContent(text=f"put {args.path}"),), summary="put")


class Say(BaseModel):
    """Words to say."""

    words: str

    def spelt(self) -> "Say":
        """With what its words stand for."""
        return Say(words=SPELT.get(self.words, self.words))


class SayTool:
    """Changes nothing; may run beside others, and prints a little."""

    spec: ClassVar[ToolSpec] = ToolSpec("say", "Says words.", Say, "echo", timeout=60.0, parallel_safe=True)

    def target(self, args: Say) -> str:
        return args.words[:20]

    def effects(self, args: Say) -> tuple[Effect, ...]:
        return (InternalEffect(subject="say"),)

    async def preview(self, args: Say, env: Environment) -> Preview:
        return Preview((), content=args.words)

    async def run(self, args: Say, ctx: ToolContext) -> ToolResult:
        ctx.progress("saying\n")
        return ToolResult(ok=True, content=(TextContent(text=args.words),), summary="said")


class DoomedFiles(FileOps):
    """The real files; in the middle of call number `at` (from 1 on), `crash` is told, after `part` of a write.

    Nothing is synced: what was written survives the end of a process.
    """

    def __init__(self) -> None:
        self.at = 0
        self.part = 1.0
        self.crash: Callable[[], None] = lambda: None

    def _due(self) -> bool:
        self.at -= 1
        return self.at == 0

    def write(self, fd: int, data: bytes) -> int:
        if not self._due():
            return super().write(fd, data)
        end = os.fstat(fd).st_size
        place = os.lseek(fd, 0, os.SEEK_CUR)
        super().write(fd, data[: int(len(data) * self.part)])
        self.crash()
        os.ftruncate(fd, end)
        os.lseek(fd, place, os.SEEK_SET)
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        if self._due():
            self.crash()

    def rename(self, source: Path, target: Path) -> None:
        if self._due():
            self.crash()
        super().rename(source, target)

    def truncate(self, fd: int, size: int) -> None:
        if self._due():
            self.crash()
        super().truncate(fd, size)


@dataclass
class Plain:
    """A session as a list: every event that must be readable, in order, and what stands in its files."""

    name: str
    folder: Path
    workspace: Path
    events: list[Envelope] = field(default_factory=list)
    files: Files = field(default_factory=dict)
    commits: dict[str, Files] = field(default_factory=dict)
    """The workspace at each checkpoint."""
    unsure: bool = False
    """A crash fell into a change of files, so that whose they are now cannot be told from here."""

    def line(self, last: int | None = None) -> list[Envelope]:
        """The events from the first to one (or the newest), by their parents."""
        at = {event.seq: event for event in self.events}
        wanted = self.events[-1].seq if last is None else last
        found: list[Envelope] = []
        event = at.get(wanted)
        while event is not None:
            found.append(event)
            event = None if event.parent is None else at.get(event.parent)
        return found[::-1]

    def prompts(self, last: int | None = None) -> list[str]:
        """What the user said on the branch, without what a summary stands for."""
        cut = max((through for through, _ in self._summaries(last)), default=-1)
        return [text for seq, text in self._said(last) if seq > cut]

    def unsent(self, last: int | None = None) -> list[str]:
        """What a summary names the place of, though no request had taken it along: where it waited behind open calls, it
        waits on behind the summary."""
        requests = [e for e in self.line(last) if isinstance(e.payload, ModelRequested)]
        # the one for the summary takes nothing along
        sent = [e.seq for e in requests if e.agent == MAIN_AGENT]
        return [
            text
            for seq, text in self._said(last)
            for through, at in self._summaries(last)
            if seq <= through and not any(seq < one < at for one in sent)
        ]

    def _summaries(self, last: int | None) -> list[tuple[int, int]]:
        line = self.line(last)
        return [(e.payload.through_seq, e.seq) for e in line if isinstance(e.payload, ContextCompacted)]

    def _said(self, last: int | None) -> list[tuple[int, str]]:
        said = [e for e in self.line(last) if isinstance(e.payload, UserMessageReceived | UserSteered)]
        texts = [
            (e.seq, e.payload.text) for e in said if isinstance(e.payload, UserMessageReceived | UserSteered)
        ]
        return [(seq, text) for seq, text in texts if isinstance(text, str)]

    def commit_at(self, last: int) -> str:
        """The checkpoint of the files at an event: the newest on its branch, else the first of all.

        One of the start of a turn counts as of the event before the turn.
        """
        line = {event.seq for event in self.line(last)}
        taken = [
            (event.seq if seq is None else seq, event.seq, event.payload.commit)
            for event in self.events
            if isinstance(event.payload, CheckpointTaken | CheckpointRestored)
            for seq in [getattr(event.payload, "as_of_seq", None)]
        ]
        return max((one for one in taken if one[0] in line), default=(0, 0, taken[0][2] if taken else ""))[2]

    def kept(self, to_seq: int) -> set[str]:
        """The files that turns had changed when the conversation alone left these turns, after an event of the branch."""
        reached, branch = {event.seq for event in self.line(to_seq)}, self.line()
        known, found = {event.seq for event in self.events}, set[str]()
        for number, event in enumerate(branch):
            if not isinstance(move := event.payload, SessionHeadMoved) or move.files or event.seq in reached:
                continue
            starts = [one.parent for one in branch[number:] if isinstance(one.payload, UserMessageReceived)]
            moves = [one.parent for one in branch[number + 1 :] if isinstance(one.payload, SessionHeadMoved)]
            end = min(seq for seq in (*starts, *moves, branch[-1].seq) if seq is not None)
            start, left = move.to_seq, self.line(move.from_seq) if move.from_seq in known else []
            if move.to_seq in [one.seq for one in left]:
                turns = [one for one in left if isinstance(one.payload, UserMessageReceived)]
                start = next((turn.parent for turn in turns if turn.seq > move.to_seq), None)  # type: ignore[assignment]
            if start is None:
                continue
            before, after = (self.commits.get(self.commit_at(seq), {}) for seq in (start, end))
            found |= {path for path in before | after if before.get(path) != after.get(path)}
        return found

    def asked(self) -> list[Envelope]:
        """The user's messages on the branch, whatever was summarised."""
        return [event for event in self.line() if isinstance(event.payload, UserMessageReceived)]

    def steered(self) -> bool:
        """Whether a message came into a running turn; one that no model has seen yet is beyond any summary."""
        return any(isinstance(event.payload, UserSteered) for event in self.line())

    def ended(self) -> list[int]:
        """Where turns on the branch ended."""
        return [event.seq for event in self.line() if isinstance(event.payload, TurnFinished)]

    def undone(self) -> list[int]:
        """Where the branch stood before each move that a redo can take back, the newest last."""
        found: list[int] = []
        for event in self.events:
            match event.payload:
                case UserMessageReceived():
                    found.clear()
                case SessionHeadMoved(reason="redo"):
                    found = found[:-1]
                case SessionHeadMoved(from_seq=from_seq):
                    found.append(from_seq)
                case _:
                    pass
        return found


def _commits(events: Sequence[Envelope]) -> list[str]:
    payloads = [event.payload for event in events]
    return [each.commit for each in payloads if isinstance(each, CheckpointTaken | CheckpointRestored)]


def last_commit(events: Sequence[Envelope]) -> str:
    """The newest checkpoint of a branch."""
    return next(iter(reversed(_commits(events))), "")


class Answers:
    """What the model will say: texts and calls with ids that are never used twice."""

    def __init__(self) -> None:
        self.count = 0
        self.puts: dict[str, tuple[str, str | None]] = {}
        """What each call of `put` writes where."""

    def say(self, text: str) -> list[ModelChunk]:
        text = SPELT.get(text, text)
        return [*(TextChunk(text[at : at + 700]) for at in range(0, len(text), 700)), FinishChunk("stop")]

    def call(self, text: str, calls: Sequence[Put | Say]) -> list[ModelChunk]:
        made: list[ModelChunk] = [TextChunk(SPELT.get(text, text))] if text else []
        for index, named in enumerate(calls):
            self.count += 1
            call = named.spelt()
            call_id = f"call_{self.count}"
            if isinstance(call, Put):
                self.puts[call_id] = (call.path, call.text)
            name = "put" if isinstance(call, Put) else "say"
            made.append(ToolCallChunk(index, call_id, name, call.model_dump_json()))
        return [*made, FinishChunk("tool_calls")]


class Life:
    """One process's hold on a session."""

    def __init__(
        self, portal: BlockingPortal, root: Path, plain: Plain, ids: SequentialIds, *, git: bool
    ) -> None:
        self.plain = plain
        self.ops = DoomedFiles()
        self._portal = portal
        self._root = root
        self._crashed: int | None = None
        store = plain.folder / "checkpoints.git"
        plain.workspace.mkdir(parents=True, exist_ok=True)
        made = running(
            root,
            [],
            [PutTool(), SayTool()],
            session=plain.name,
            ops=self.ops,
            checkpoints=True if git else PlainCheckpoints(plain.workspace, store),
            workspace=plain.workspace,
            ids=ids,
            on_event=self._seen,
        )
        self._context: AbstractContextManager[Bench] = portal.wrap_async_context_manager(made)
        self._known = list(plain.events)
        self.on_event: Callable[[Envelope], None] = lambda event: None
        self.bench = self._context.__enter__()
        self.call(self.more_than, 0, "agent.state_changed")
        kinds = self.bench.kinds()
        self.call(self.quiet, kinds.index("run.resumed") if "run.resumed" in kinds else 0)
        self.take_in()

    def _seen(self, event: Envelope) -> None:
        if isinstance(event.payload, CheckpointTaken | CheckpointRestored):
            self.plain.commits[event.payload.commit] = files_in(self.plain.workspace)
        if isinstance(event.payload, QuestionAsked):  # the same call again and again is asked about
            answer = AnswerQuestion(question_id=event.payload.question_id, answer="", choice=0)
            self.bench.submit(answer)
        self.on_event(event)

    def call(self, act: Callable[..., object], *arguments: object) -> None:
        """Do something in the engine's loop, to its end."""
        self._portal.call(act, *arguments)

    async def quiet(self, before: int, turns: int = 0) -> None:
        """Wait until at least so many turns have ended since, none runs, and neither message nor command waits."""
        await self._until(lambda: self._is_quiet(self.bench.kinds()[before:], turns))
        self.on_event = lambda event: None
        if turns or self.bench.engine._checkpointing.has_uncheckpointed_changes:
            await self.bench.engine._checkpointing.begin()  # which the first message began beside its turn
        refused = self.bench.kinds().count("command.rejected")
        self.bench.submit(Unqueue(queue_id=RequestId("req_none")))  # commands are carried out in their order
        await self.more_than(refused, "command.rejected")
        await self._until(lambda: self._is_quiet(self.bench.kinds()[before:], turns))

    def _is_quiet(self, kinds: list[str], turns: int) -> bool:
        state, ended = self.bench.recorder.state, kinds.count("turn.finished")
        if ended < turns or kinds.count("user.message") != ended or state.agent_state is AgentState.RUNNING:
            return False
        return not state.queue or state.last_turn_end not in (None, "finished")

    async def more_than(self, count: int, kind: str = "") -> None:
        """Wait until more events (of a kind) were recorded."""
        await self._until(lambda: len([one for one in self.bench.kinds() if kind in ("", one)]) > count)

    async def gone(self, before: int) -> None:
        """Wait until a command that goes back or forth was carried out."""
        await self._until(lambda: self.bench.kinds()[before:].count("agent.state_changed") >= 2)

    async def _until(self, done: Callable[[], bool]) -> None:
        with anyio.fail_after(60):
            while not done():
                self.bench._news = anyio.Event()
                await self.bench._news.wait()

    def take_in(self) -> None:
        """What was recorded joins the model."""
        self.plain.events = [*self._known, *self.bench.events]

    def doom(self, at: int, part: float) -> None:
        """Let the process die in call number `at` of the store from here on."""
        self.ops.at, self.ops.part, self.ops.crash = at, part, self._crash

    @property
    def doomed(self) -> bool:
        """Whether the crash came about."""
        return self._crashed is not None

    def _crash(self) -> None:
        if self._crashed is not None:
            return
        self._crashed = len(self.bench.events)
        for folder in self._places():
            _copy(folder, self._beside(folder))

    def end(self) -> None:
        """Let go. After a crash, the disk is then as it was when it came."""
        self._context.__exit__(None, None, None)
        self.take_in()
        assert not self.bench.troubles, self.bench.troubles
        if self._crashed is None:
            return
        recorded, acknowledged = self.plain.events, len(self._known) + self._crashed
        for folder in self._places():
            shutil.rmtree(folder)
            self._beside(folder).rename(folder)
        there = [record for record in read_records(self.plain.folder) if isinstance(record, Envelope)]
        assert there == recorded[: len(there)] and len(there) >= acknowledged, "an acknowledged event is lost"
        self.plain.events = there
        self.plain.files = files_in(self.plain.workspace)

    def _places(self) -> tuple[Path, Path]:
        return self.plain.folder, self.plain.workspace

    def _beside(self, folder: Path) -> Path:
        return self._root / f"crash-{folder.parent.name}-{folder.name}"


def _copy(folder: Path, target: Path) -> None:
    """A copy while other threads may still work in it: the log first, so that nothing it names is missing."""
    for _ in range(20):
        try:
            shutil.copytree(folder, target)
        except (shutil.Error, FileNotFoundError):
            shutil.rmtree(target, ignore_errors=True)
        else:
            return
    raise AssertionError(f"{folder} never stood still")


def inherited(parent: Plain, at_seq: int, forked: Envelope) -> list[Envelope]:
    """What a fork's history begins with."""
    assert isinstance(forked.payload, SessionForked)
    return [*parent.line(at_seq), forked]


@contextmanager
def harmed(index: Path, harm: str) -> Iterator[None]:
    """An index that is gone, damaged, or held by somebody."""
    if harm == "gone" or not index.exists():
        index.unlink(missing_ok=True)
    elif harm == "damaged":
        index.write_bytes(index.read_bytes()[:1_000] + b"\xff" * 5_000)
    elif harm == "locked":
        blocker = sqlite3.connect(index, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        yield
        blocker.close()
        return
    yield
