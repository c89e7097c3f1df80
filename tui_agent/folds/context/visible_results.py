"""Tool results that models still get in full, and the summaries that replaced other results of the main agent.

Invariant: events that are not on the log's current branch have no effect.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_agent.folds.session.branches import Branches, is_on_branch, stretches
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.agent import AgentFinished
from tui_agent.protocol.events.context import ContextCompacted, ContextReduced, ContextRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.ids import MAIN_AGENT, AgentId
from tui_agent.protocol.stored_text import text_size

TAKES: tuple[type[Payload], ...] = (
    ToolFinished,
    ContextCompacted,
    ContextReduced,
    ContextRestored,
    AgentFinished,
    SessionHeadMoved,
)


_ResultChange: TypeAlias = tuple[int, AgentId, Payload | None]
"""An event that can change the visible results, as (seq, agent, payload). For a new result, the payload is None."""


@dataclass(slots=True)
class _VisibleResults:
    """The tool results that models get, as of one event. Results are named by their event numbers.

    - `hot`: results that models get in full. Maps a result to the agent that got it.
    - `cold`: results that were replaced. Maps a result to (event that replaced the result, True if the result was
      reduced to one line, agent that got the result).
    - `summaries`: (event number, size from `text_size`) of each valid summary of the main agent.
    """

    hot: dict[int, AgentId] = field(default_factory=dict)
    cold: dict[int, tuple[int, bool, AgentId]] = field(default_factory=dict)
    summaries: list[tuple[int, int]] = field(default_factory=list)

    def apply_change(self, seq: int, agent: AgentId, payload: Payload | None) -> None:
        match payload:
            case None:
                self.hot[seq] = agent
            case ContextCompacted(removed_seqs=removed, summary=summary):
                self._replace(removed, seq, by_line=False)
                if agent == MAIN_AGENT:
                    self.summaries.append((seq, text_size(summary)))
            case ContextReduced(removed_seqs=removed):
                self._replace(removed, seq, by_line=True)
            case ContextRestored(seqs=seqs, compaction=compaction):
                self._restore(frozenset(seqs), compaction)
            case _:
                self.hot = {result: owner for result, owner in self.hot.items() if owner != agent}

    def _replace(self, results: Iterable[int], seq: int, *, by_line: bool) -> None:
        for result in results:
            agent = self.hot.pop(result, None)
            if agent is not None:
                self.cold[result] = seq, by_line, agent

    def _restore(self, results: frozenset[int], compaction: int | None) -> None:
        """Make results visible again: all results that `compaction` removed, and each shortened result in `results`."""
        for result, (replaced_by, by_line, agent) in list(self.cold.items()):
            if replaced_by == compaction or (by_line and result in results):
                del self.cold[result]
                self.hot[result] = agent
        self.summaries = [summary for summary in self.summaries if summary[0] != compaction]


class VisibleResults:
    """Counts the tool results that models get in full."""

    def __init__(self) -> None:
        self._changes: list[_ResultChange] = []
        self._branches = Branches()
        self._visible = _VisibleResults()

    @property
    def hot(self) -> int:
        """Number of tool results that models get in full."""
        return len(self._visible.hot)

    @property
    def summary_chars(self) -> int:
        """Size of the main agent's newest valid summary, from `text_size`."""
        return self._visible.summaries[-1][1] if self._visible.summaries else 0

    def apply(self, ev: Envelope) -> bool:
        """Apply one event. Return True if the event can change the visible results."""
        if type(ev.payload) not in TAKES:
            return False
        if isinstance(ev.payload, SessionHeadMoved):
            self._branches.apply(ev)
            branch = stretches(self._branches.state.moves, ev.seq)
            self._visible = _VisibleResults()
            for change in self._changes:
                if is_on_branch(change[0], branch):
                    self._visible.apply_change(*change)
            return True
        payload = None if isinstance(ev.payload, ToolFinished) else ev.payload
        self._changes.append((ev.seq, ev.agent, payload))
        self._visible.apply_change(ev.seq, ev.agent, payload)
        return True
