"""The branches of a log as a tree: the start, the messages and the outcome of each branch.

An undo starts a new branch if the undone part contains work, such as a message or a tool call.

Invariant: each record that belongs to a branch is in `Branch.own` of exactly one branch.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.net_changes import LineCounter
from tui_agent.folds.session.branches import HeadMove, Stretch, is_on_branch, stretches
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.text.labels import TURN_END_LABELS, describe_failing_tests
from tui_agent.folds.text.line_diff import FileCounts
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import ContextCompacted
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import SessionForked, SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import (
    IterationStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserShellStarted,
)
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import CostPrecision

TurnState: TypeAlias = Literal["done", "failed", "stopped", "open", "empty"]
"""State of a turn (`open`: the turn has not ended, `empty`: the turn never started)."""
MAIN_BRANCH: Final = "main"
_WORK: Final = (
    UserMessageReceived,
    UserShellStarted,
    TurnStarted,
    ModelResponded,
    ToolFinished,
    TurnFinished,
    ContextCompacted,
)
"""Event payloads that count as work. An undo that leaves work behind starts a new branch."""
FAILED_ENDS: Final[frozenset[TurnEnd]] = frozenset(("rejected", "stuck", "model_error", "error"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A state and its label, e.g. `done, 32 tests pass`."""

    state: TurnState = "empty"
    label: str = "no messages"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One message of the user, and the result of the turn that the message started.

    - `seq`: event of the message.
    - `last_seq`: last event before the next message.
    - `text`: text of the message. Empty if a turn continued without a new message.
    """

    seq: int
    last_seq: int
    time: float
    text: str
    outcome: Outcome
    answer: str = ""
    files: tuple[FileCounts, ...] = ()
    tools: Mapping[str, int] | None = None
    duration_s: float = 0.0
    cost_usd: float | None = None
    cost_precision: CostPrecision = "exact"
    iterations: int = 0
    tests_passed: int | None = None
    tests_failed: int | None = None
    test_errors: int = 0
    stale_tests: str = ""
    """Reason why the test counts are stale; empty if they are not."""


def outcome_of(figures: MetricsView) -> Outcome:
    """Return the outcome of the newest turn in these metrics."""
    if not figures.turns:
        return Outcome("empty", "not answered")
    end = figures.last_turn_end
    if not end:
        return Outcome("open", "not finished")
    label = TURN_END_LABELS[end]  # type: ignore[index]  # the fold stores the event's own reason
    state: TurnState = "done" if end == "finished" else "failed" if end in FAILED_ENDS else "stopped"
    if figures.tests_failed:
        staleness = figures.later_changes.short_description
        tests = describe_failing_tests(figures.tests_failed, figures.test_errors, staleness)
        if staleness:
            return Outcome(state, f"{label}, {tests}")
        return Outcome("failed", f"{tests}, turn finished" if state == "done" else f"{label}, {tests}")
    if figures.tests_passed and state == "done":
        return Outcome("done", f"{label}, {format_count(figures.tests_passed, 'test passes', 'tests pass')}")
    return Outcome(state, label)


class TurnResultFold:
    """Computes the result of a message from the events up to the next message."""

    def __init__(self, seq: int, time: float, text: LongText, lines: LineCounter) -> None:
        self._lines = lines
        self._seq, self._time, self._text = seq, time, text_preview(text)
        self._last_seq, self._last_time = seq, time
        self._metrics, self._files = Metrics(), FilesChanged()
        self._turns = self._iterations = 0

    @property
    def has_started(self) -> bool:
        """True if the message has started a turn."""
        return self._turns > 0

    def apply(self, ev: Envelope) -> None:
        self._metrics.apply(ev)
        # A change that remained after an undo is recorded again, but it is not a change of this turn.
        if not isinstance(ev.payload, FileChanged) or ev.payload.original_author is None:
            self._files.apply(ev)
        self._turns += ev.payload.kind == "turn.started"
        self._iterations += isinstance(ev.payload, IterationStarted) and not ev.payload.delegate_level
        self._last_seq = ev.seq
        if ev.payload.kind in ("turn.finished", "model.responded", "tool.finished"):
            self._last_time = ev.time

    def result(self) -> TurnResult:
        """Return the result of the message as of the last applied event."""
        figures = self._metrics.view()
        return TurnResult(
            seq=self._seq,
            last_seq=self._last_seq,
            time=self._time,
            text=self._text,
            outcome=outcome_of(figures),
            answer=figures.final_answer,
            files=_count_files(self._files, self._lines),
            tools=dict(figures.tools),
            duration_s=max(0.0, self._last_time - self._time),
            cost_usd=figures.cost_usd,
            cost_precision=figures.cost_precision,
            iterations=self._iterations,
            tests_passed=figures.tests_passed,
            tests_failed=figures.tests_failed,
            test_errors=figures.test_errors,
            stale_tests=figures.later_changes.description,
        )


def _count_files(files: FilesChanged, lines: LineCounter) -> tuple[FileCounts, ...]:
    return tuple(FileCounts(file.path, *lines.count(file)) for file in files.view().files)


def fork_name(at_seq: int | None) -> str:
    """Return the name of a fork's first branch. `at_seq`: last event that comes from the parent session."""
    return f"fork at {at_seq}"


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a log.

    - `parent`: index of the branch from which this branch starts (None for the first branch).
    - `at_seq`: event of `parent` after which this branch starts (None for the first branch).
    - `own`: the ranges of records that belong only to this branch.
    - `path`: the ranges of all records from the log's first record to the branch's last record.
    - `current`: True for the branch that the session is on.
    - `files`: net changes in `own`.
    """

    parent: int | None
    at_seq: int | None
    depth: int
    own: tuple[Stretch, ...]
    path: tuple[Stretch, ...]
    turns: tuple[TurnResult, ...]
    started: float
    ended: float
    current: bool
    files: tuple[FileCounts, ...] = ()

    @property
    def name(self) -> str:
        """The name of the branch within its session: `main` or e.g. `branch at 50`."""
        return MAIN_BRANCH if self.at_seq is None else f"branch at {self.at_seq}"

    @property
    def first(self) -> int:
        """The seq of the first record in `own`."""
        return self.own[0].first

    @property
    def last(self) -> int:
        """The seq of the branch's last record."""
        return self.own[-1].last

    @property
    def outcome(self) -> Outcome:
        """The outcome of the branch's newest turn."""
        return self.turns[-1].outcome if self.turns else Outcome()


@dataclass(frozen=True, slots=True)
class TreeView:
    """The branches of a log in the order of their start, beginning with the main branch."""

    branches: tuple[Branch, ...] = ()

    @property
    def current(self) -> int | None:
        """The index of the current branch."""
        return next((index for index, branch in enumerate(self.branches) if branch.current), None)

    def find_branch(self, seq: int) -> Branch | None:
        """Return the branch with this record; None if no branch has it."""
        return next((branch for branch in self.branches if is_on_branch(seq, branch.own)), None)

    def shown_branches(self) -> tuple[Branch, ...]:
        """Return the branches to show, in the order of their start."""
        return tuple(branch for index, branch in enumerate(self.branches) if self.is_worth_showing(index))

    def children(self, index: int) -> tuple[int, ...]:
        """Return the indexes of the branches that start from branch `index`, oldest first."""
        return tuple(child for child, branch in enumerate(self.branches) if branch.parent == index)

    def is_worth_showing(self, index: int) -> bool:
        """Return True if the branch is the first or current one, or if the branch or a child has turns.

        All other branches are empty: they remain after an undo and a redo.
        """
        branch = self.branches[index]
        return bool(
            index == 0
            or branch.turns
            or branch.current
            or any(self.is_worth_showing(child) for child in self.children(index))
        )


@dataclass(slots=True)
class _OpenBranch:
    parent: int | None
    at_seq: int | None
    depth: int
    own: list[tuple[int, int]]
    above: tuple[Stretch, ...]
    started: float
    ended: float
    finished: list[TurnResult]
    files: FilesChanged
    current: TurnResultFold | None = None
    last_work: int = -1
    """Seq of the branch's newest record of work (see `_WORK`). -1 if there is none."""
    pending_records: list[Envelope] = field(default_factory=list)
    """The branch's records after the newest record of work. They are counted when the next record of work is added."""


class Tree:
    """Builds the tree of branches from all records of a log.

    - `after`: messages up to this event are left out.
    - `text`: function that returns the stored content with a given SHA-256, or None.
    """

    def __init__(self, after: int = -1, text: Callable[[str], bytes | None] = lambda _: None) -> None:
        self._after = after
        self._lines = LineCounter(text)
        self._branches: list[_OpenBranch] = []
        self._starts: list[int] = []
        """The first seq of each stretch of records. A new stretch starts after an undo, a redo or a revert."""
        self._stretch_branches: list[int] = []
        """For each stretch in `_starts`, the index of its branch."""
        self._current = 0
        self._moves: list[HeadMove] = []

    def apply(self, record: Record) -> bool:
        """Add the next record of the log."""
        payload = record.payload
        if not self._branches:
            self._start_branch(None, None, 0, (), record)
        elif isinstance(payload, SessionHeadMoved):
            self._move_head(payload, record)
        branch = self._branches[self._current]
        branch.own[-1] = branch.own[-1][0], record.seq
        branch.ended = record.time
        if not isinstance(record, Envelope):
            return True
        if record.seq > self._after:
            branch.pending_records.append(record)
        if isinstance(payload, _WORK):
            branch.last_work = record.seq
            self._count_records(branch)
        return True

    def _count_records(self, branch: _OpenBranch) -> None:
        """Add the records in `pending_records` to the branch's results, and empty the list."""
        waiting, branch.pending_records = branch.pending_records, []
        for record in waiting:
            _apply_to_branch(branch, record, self._lines)

    def _move_head(self, move: SessionHeadMoved, record: Record) -> None:
        to_seq = move.to_seq
        stretch = max(0, bisect_right(self._starts, to_seq) - 1)
        index = self._stretch_branches[stretch]
        branch = self._branches[index]
        above = stretches(self._moves, to_seq)
        self._moves.append(HeadMove(record.seq, record.time, to_seq, move.from_seq, move.reason, move.files))
        # The move leaves work behind, or another branch already starts after its target.
        if to_seq < branch.last_work or not self._continues(index, to_seq):
            self._start_branch(index, to_seq, branch.depth + 1, above, record)
            return
        branch.pending_records = [event for event in branch.pending_records if event.seq <= to_seq]
        branch.own = [(first, min(last, to_seq)) for first, last in branch.own if first <= to_seq]
        branch.own.append((record.seq, record.seq))
        self._switch_to(index, record.seq)

    def _continues(self, index: int, to_seq: int) -> bool:
        """Return True if the record `to_seq` belongs to this branch, and no other branch starts after this record."""
        is_own = any(first <= to_seq <= last for first, last in self._branches[index].own)
        later = (branch for branch in self._branches if branch.parent == index and branch.at_seq is not None)
        return is_own and all(branch.at_seq is not None and branch.at_seq <= to_seq for branch in later)

    def _start_branch(
        self, parent: int | None, at_seq: int | None, depth: int, above: tuple[Stretch, ...], record: Record
    ) -> None:
        branch = _OpenBranch(
            parent,
            at_seq,
            depth,
            [(record.seq, record.seq)],
            above,
            record.time,
            record.time,
            [],
            FilesChanged(),
        )
        self._branches.append(branch)
        self._switch_to(len(self._branches) - 1, record.seq)

    def _switch_to(self, index: int, seq: int) -> None:
        self._current = index
        self._starts.append(seq)
        self._stretch_branches.append(index)

    def view(self) -> TreeView:
        """Return the tree as of the last record."""
        return TreeView(tuple(self._freeze_branch(index) for index in range(len(self._branches))))

    def _freeze_branch(self, index: int) -> Branch:
        branch = self._branches[index]
        self._count_records(branch)
        own = tuple(Stretch(first, last) for first, last in branch.own)
        return Branch(
            parent=branch.parent,
            at_seq=branch.at_seq,
            depth=branch.depth,
            own=own,
            path=(*branch.above, *own),
            turns=(*branch.finished, branch.current.result())
            if branch.current is not None
            else tuple(branch.finished),
            started=branch.started,
            ended=branch.ended,
            current=index == self._current,
            files=_count_files(branch.files, self._lines),
        )


def _apply_to_branch(branch: _OpenBranch, ev: Envelope, lines: LineCounter) -> None:
    payload, current = ev.payload, branch.current
    branch.files.apply(ev)
    is_prompt = isinstance(payload, UserMessageReceived) and ev.agent == MAIN_AGENT
    is_continuation = isinstance(payload, TurnStarted) and (current is None or current.has_started)
    if is_prompt or is_continuation:
        if current is not None:
            branch.finished.append(current.result())
        text = payload.own_words or payload.text if isinstance(payload, UserMessageReceived) else ""
        branch.current = TurnResultFold(ev.seq, ev.time, text, lines)
    if branch.current is not None:
        branch.current.apply(ev)


def branch_tree(
    records: Iterable[Record], after: int = -1, text: Callable[[str], bytes | None] = lambda _: None
) -> TreeView:
    """Return the branches of a log."""
    fold = Tree(after, text)
    for record in records:
        fold.apply(record)
    return fold.view()


def name_branch(records: Sequence[Record]) -> str:
    """Return the name of the branch that contains the last record, e.g. `branch at 50`.

    `records`: the records of all branches.
    """
    branch = branch_tree(records).find_branch(records[-1].seq) if records else None
    if branch is not None and branch.at_seq is not None:
        return branch.name
    forked = [record.payload for record in records if isinstance(record.payload, SessionForked)]
    return fork_name(forked[-1].at_seq) if forked else MAIN_BRANCH
