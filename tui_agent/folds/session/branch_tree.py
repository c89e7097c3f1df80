"""The branches of a log as a tree: the start, the messages and the outcome of each branch.

Invariant: every record is in `own` of exactly one branch. The `path` of a branch has exactly the records that
`folds.session.branches.stretches` returns for the branch's last record. Work that continues at the end of a branch
belongs to that branch. The result of a message is derived from the records up to the next message on its branch.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.comparison.files import LineCounter
from tui_agent.folds.session.branches import Stretch
from tui_agent.folds.session.changed_files import FilesChanged
from tui_agent.folds.text.labels import TURN_END_LABELS
from tui_agent.folds.trace.metrics import Metrics, MetricsView
from tui_agent.protocol.base import MAIN_AGENT, LongText, text_preview
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.turn import TurnEnd, TurnStarted, UserMessageReceived
from tui_agent.protocol.unicode_text import format_count

TurnState: TypeAlias = Literal["done", "failed", "stopped", "open", "empty"]
"""State of a turn. `open` means that the turn has not ended, and `empty` that it never started."""
FAILED_ENDS: Final[frozenset[TurnEnd]] = frozenset(("rejected", "stuck", "model_error", "error"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A state with the label that is shown for it, e.g. `done, 32 tests pass`."""

    state: TurnState = "empty"
    label: str = "no messages"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One message of the user and its result. `text` is empty if a turn continued without a new message.

    `seq` is the event of the message. `last_seq` is the last event before the next message. `files` are (path, lines
    added, lines removed).
    """

    seq: int
    last_seq: int
    time: float
    text: str
    outcome: Outcome
    answer: str = ""
    files: tuple[tuple[str, int, int], ...] = ()
    tools: Mapping[str, int] | None = None
    duration_s: float = 0.0
    cost_usd: float | None = None
    iterations: int = 0
    tests_passed: int | None = None
    tests_failed: int | None = None


def outcome_of(figures: MetricsView) -> Outcome:
    """Return the outcome of the newest turn in these metrics.

    If tests fail, the outcome is `failed`, even if the agent reported success.
    """
    if not figures.turns:
        return Outcome("empty", "not answered")
    end = figures.last_turn_end
    if not end:
        return Outcome("open", "not finished")
    label = TURN_END_LABELS[end]  # type: ignore[index]  # the fold stores the event's own reason
    state: TurnState = "done" if end == "finished" else "failed" if end in FAILED_ENDS else "stopped"
    if figures.tests_failed:
        tests = format_count(figures.tests_failed, "test fails", "tests fail")
        return Outcome("failed", f"{tests}, agent says done" if state == "done" else f"{label}, {tests}")
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
        self._turns = 0

    @property
    def has_started(self) -> bool:
        """True if the message has started a turn."""
        return self._turns > 0

    def apply(self, ev: Envelope) -> None:
        self._metrics.apply(ev)
        self._files.apply(ev)
        self._turns += ev.payload.kind == "turn.started"
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
            iterations=figures.iterations,
            tests_passed=figures.tests_passed,
            tests_failed=figures.tests_failed,
        )


def _count_files(files: FilesChanged, lines: LineCounter) -> tuple[tuple[str, int, int], ...]:
    return tuple((file.path, *lines.count(file)) for file in files.view().files)


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a log.

    `own` are the branch's own records. `path` are all records from the log's first record to the branch's last record.
    The branch starts from the branch `parent` (an index) after the event `at_seq`; both are None for the first branch.
    `current` is True for the branch that the session is on. `files` are the net changes in `own`, as in `TurnResult`.
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
    files: tuple[tuple[str, int, int], ...] = ()

    @property
    def first(self) -> int:
        """The seq of the first record in `own`."""
        return self.own[0].first

    @property
    def last(self) -> int:
        """The seq of the branch's last record. The branch can continue after this record."""
        return self.own[-1].last

    @property
    def outcome(self) -> Outcome:
        """The outcome of the branch's newest turn."""
        return self.turns[-1].outcome if self.turns else Outcome()


@dataclass(frozen=True, slots=True)
class TreeView:
    """The branches of a log in the order of their start. The first is the main branch."""

    branches: tuple[Branch, ...] = ()

    @property
    def current(self) -> int | None:
        """The index of the current branch."""
        return next((index for index, branch in enumerate(self.branches) if branch.current), None)

    def children(self, index: int) -> tuple[int, ...]:
        """Return the indexes of the branches that start from branch `index`, oldest first."""
        return tuple(child for child, branch in enumerate(self.branches) if branch.parent == index)

    def is_worth_showing(self, index: int) -> bool:
        """Return True unless the branch and its children are empty.

        For example, an undo and a redo leave an empty branch.
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


class Tree:
    """Builds the tree of branches from all records of a log.

    Messages up to the event `after` are left out. `text` returns the stored content with a given SHA-256.
    """

    def __init__(self, after: int = -1, text: Callable[[str], bytes | None] = lambda _: None) -> None:
        self._after = after
        self._lines = LineCounter(text)
        self._branches: list[_OpenBranch] = []
        self._starts: list[int] = []
        """The first seq of each stretch. A stretch is the records between two moves of the head."""
        self._run_branches: list[int] = []
        """For each stretch in `_starts`, the index of its branch."""
        self._current = 0

    def apply(self, record: Record) -> bool:
        """Add one record of the log. Records must be added in order. Always returns True."""
        payload = record.payload if isinstance(record, Envelope) else None
        if not self._branches:
            self._start_branch(None, None, 0, (), record)
        elif isinstance(payload, SessionHeadMoved):
            self._move_head(payload.to_seq, record)
        branch = self._branches[self._current]
        branch.own[-1] = branch.own[-1][0], record.seq
        branch.ended = record.time
        if isinstance(record, Envelope) and record.seq > self._after:
            _apply_to_branch(branch, record, self._lines)
        return True

    def _move_head(self, to_seq: int, record: Record) -> None:
        run = max(0, bisect_right(self._starts, to_seq) - 1)
        index = self._run_branches[run]
        branch = self._branches[index]
        # A head move to the end of a branch continues it; a move to an earlier event starts a new branch.
        if to_seq >= branch.own[-1][1]:
            branch.own[-1] = branch.own[-1][0], to_seq
            branch.own.append((record.seq, record.seq))
            self._switch_to(index, record.seq)
            return
        shared = tuple(Stretch(first, min(last, to_seq)) for first, last in branch.own if first <= to_seq)
        self._start_branch(index, to_seq, branch.depth + 1, (*branch.above, *shared), record)

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
        self._run_branches.append(index)

    def view(self) -> TreeView:
        """Return the tree as of the last record. Takes time linear in the number of branches."""
        return TreeView(tuple(self._freeze_branch(index) for index in range(len(self._branches))))

    def _freeze_branch(self, index: int) -> Branch:
        branch = self._branches[index]
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
    """Return the branches of a log. Streamed pieces can be missing from the records."""
    fold = Tree(after, text)
    for record in records:
        fold.apply(record)
    return fold.view()
