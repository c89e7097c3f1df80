"""The tool results that models still see in full, and the summaries of the main agent that replace others.

Invariant: follows the log's current branch: results that a revert removed no longer count, and results behind
a summary that was undone count again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_agent.folds.session.branches import HeadMove, is_on_branch, stretches
from tui_agent.protocol.base import text_size
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.base import Payload
from tui_agent.protocol.events.context import ContextCompacted, ContextReduced, ContextRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.ids import MAIN_AGENT, AgentId

TAKES: tuple[type[Payload], ...] = (
    ToolFinished,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    AgentFinished,
    SessionHeadMoved,
)


@dataclass(frozen=True, slots=True)
class _ResultChange:
    """The effect of one event on results.

    A result arrived (`came`); results `away` were replaced by a summary or a `line`; results `back`, or all
    behind the summary `undone`, were restored; or the agent ended.
    """

    seq: int
    agent: AgentId
    away: tuple[int, ...] = ()
    line: bool = False
    summary: int | None = None
    back: frozenset[int] = frozenset()
    undone: int | None = None
    ended: bool = False
    came: bool = False


@dataclass(slots=True)
class _VisibleResults:
    """The results as of one event.

    `hot` are those in full. `cold` maps the others to the event that replaced them, whether by a line, and
    their agent. `summaries` are the main agent's valid summaries with their lengths.
    """

    hot: dict[int, AgentId] = field(default_factory=dict)
    cold: dict[int, tuple[int, bool, AgentId]] = field(default_factory=dict)
    summaries: list[tuple[int, int]] = field(default_factory=list)

    def apply_change(self, change: _ResultChange) -> None:
        """Apply one change."""
        if change.came:
            self.hot[change.seq] = change.agent
        for seq in change.away:
            agent = self.hot.pop(seq, None)
            if agent is not None:
                self.cold[seq] = change.seq, change.line, agent
        if change.summary is not None:
            self.summaries.append((change.seq, change.summary))
        if change.ended:
            self.hot = {seq: agent for seq, agent in self.hot.items() if agent != change.agent}
        if change.back or change.undone is not None:
            self._restore(change)

    def _restore(self, change: _ResultChange) -> None:
        """Restore reduced results in full; a single result behind a summary returns only as a quotation."""
        for seq, (replaced_by, line, agent) in list(self.cold.items()):
            if replaced_by == change.undone or (line and seq in change.back):
                del self.cold[seq]
                self.hot[seq] = agent
        self.summaries = [summary for summary in self.summaries if summary[0] != change.undone]


class VisibleResults:
    """A fold of results, of their removal and restoration, and of head moves."""

    def __init__(self) -> None:
        self._changes: list[_ResultChange] = []
        self._moves: list[HeadMove] = []
        self._visible = _VisibleResults()

    @property
    def hot(self) -> int:
        """Number of results that models see in full."""
        return len(self._visible.hot)

    @property
    def summary_chars(self) -> int:
        """Length of the main agent's newest valid summary."""
        return self._visible.summaries[-1][1] if self._visible.summaries else 0

    def apply(self, ev: Envelope) -> bool:
        """Fold one event; return True if something may have changed. A head move replays all results."""
        if isinstance(ev.payload, SessionHeadMoved):
            self._move_head(ev, ev.payload)
            return True
        change = _change_of(ev)
        if change is None:
            return False
        self._changes.append(change)
        self._visible.apply_change(change)
        return True

    def _move_head(self, ev: Envelope, moved: SessionHeadMoved) -> None:
        self._moves.append(HeadMove(ev.seq, ev.time, moved.to_seq, moved.from_seq, moved.reason, moved.files))
        branch = stretches(self._moves, ev.seq)
        self._visible = _replay_changes(
            change for change in self._changes if is_on_branch(change.seq, branch)
        )


def _replay_changes(changes: Iterable[_ResultChange]) -> _VisibleResults:
    visible = _VisibleResults()
    for change in changes:
        visible.apply_change(change)
    return visible


def _change_of(ev: Envelope) -> _ResultChange | None:
    match ev.payload:
        case ToolFinished():
            return _ResultChange(ev.seq, ev.agent, came=True)
        case ContextCompacted(removed_seqs=forgets, summary=summary):
            size = text_size(summary) if ev.agent == MAIN_AGENT else None
            return _ResultChange(ev.seq, ev.agent, away=forgets, summary=size)
        case ContextReduced(removed_seqs=forgets):
            return _ResultChange(ev.seq, ev.agent, away=forgets, line=True)
        case ContextRestored(seqs=seqs, compaction=compaction):
            return _ResultChange(ev.seq, ev.agent, back=frozenset(seqs), undone=compaction)
        case AgentFinished():
            return _ResultChange(ev.seq, ev.agent, ended=True)
        case _:
            return None
